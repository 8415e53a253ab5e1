"""What a pass remembers: one file per accumulator, and the state that joins them."""
