"""A head's weights as a store: singular triplets, read as tokens, and how much of the head they cover."""
