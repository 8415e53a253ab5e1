"""What the site shows of the product, made when it is built: runs, figures, printed tables, commands, corrections."""

from typing import Any

from sphinx.application import Sphinx

from making import cells, commands, corrections, docstrings, drawing, runs, terminal


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every directive, and what happens before and after the pages are read."""
    app.add_directive("drawn", drawing.Drawn)
    app.add_directive("gallery", drawing.Gallery)
    app.add_directive("terminal", terminal.Terminal)
    app.add_directive("commands", commands.Commands)
    app.add_directive("corrections", corrections.Corrections)
    app.connect("builder-inited", runs.make)
    app.connect("builder-inited", drawing.put_scripts)
    app.connect("html-page-context", drawing.add_scripts)
    app.connect("autodoc-process-docstring", docstrings.rewrite)
    app.connect("build-finished", runs.put_reports)
    cells.install()
    return {"version": "1", "parallel_read_safe": False}
