"""Measures: pure functions from arrays to arrays, numpy and scipy only, shapes in their signatures."""
