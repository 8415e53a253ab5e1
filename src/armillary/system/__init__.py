"""This machine: caches, threads, progress, versions, whole files."""
