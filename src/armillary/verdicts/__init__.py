"""The registry: every quantitative statement of four documents as a check that runs and gets a verdict."""
