"""One pass over a corpus: hooks read states, frozen accumulators sum them, engines run the shards."""
