"""States on the sphere that a norm puts them on: its shape, the paths of tokens across it, what they are read as."""
