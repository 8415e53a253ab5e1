"""The Gaussian lens held over a run: what its states, logits and heads would be if tokens were jointly Gaussian."""
