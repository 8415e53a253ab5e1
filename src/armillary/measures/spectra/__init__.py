"""Random-matrix and low-rank views of the spectra of weights."""
