"""Figures of the Gaussian lens: information by distance, logits, what heads keep and mix, similarity through depth."""
