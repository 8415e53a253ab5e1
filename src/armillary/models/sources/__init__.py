"""Where a checkpoint comes from."""
