"""Figures of attention heads."""
