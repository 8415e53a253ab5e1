"""Figures of a simulation of attention localization: what walks do, and what the theory says of them."""
