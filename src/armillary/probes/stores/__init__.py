"""Heads as stores: their triplets read by the vocabulary, and words sent through them; no pass of the model."""
