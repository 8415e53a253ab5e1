"""What a small model learns: examples by number, windows that it never sees, and how well it does on them."""
