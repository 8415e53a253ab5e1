"""Reading attention as it happens: patterns, sums over them, mixing."""
