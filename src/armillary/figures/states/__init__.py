"""Figures of the hidden states."""
