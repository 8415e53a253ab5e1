"""Attention localisation of Bao et al. (2024): which positions a head's signal reaches when tokens walk at random."""
