"""Figures of the positional basis."""
