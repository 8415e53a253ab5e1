"""Results as tables: rows of data, and the same as a terminal shows them."""
