"""Labelled results: their axes and schema, measuring, files, comparing."""
