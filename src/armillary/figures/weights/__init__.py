"""Figures of weights: heads against independent factors, matrices against noise, RoPE, localization."""
