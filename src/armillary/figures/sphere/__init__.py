"""Figures of the sphere: what norms make of states, and how the tokens of one text travel."""
