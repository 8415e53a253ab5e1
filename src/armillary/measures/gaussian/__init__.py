"""The Gaussian lens: states as jointly Gaussian vectors, what attention does to them, and how far real ones differ."""
