"""One pass over a corpus."""
