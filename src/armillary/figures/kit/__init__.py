"""How figures look and speak."""
