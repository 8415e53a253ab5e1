"""`{drawn}` and `{gallery}`: figures of the product in a page, drawn by the plotly that comes with the package."""

import json
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from docutils import nodes
from plotly.offline import get_plotlyjs
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import armillary as arm
from armillary.figures import FIGURES, available
from armillary.figures.kit.colours import ON_DARK, THEMES
from armillary.figures.kit.style import HEIGHT, template
from armillary.reporting.page import asset
from armillary.results.reading import has
from making.runs import PLACE

PLOT = 'class="armillary-plot"'
"""What a page holds that needs plotly."""


class Drawn(SphinxDirective):
    """A figure by name, of :run: runs/minilm unless another is given."""

    required_arguments = 1
    option_spec = {"run": str}  # noqa: RUF012  (docutils reads it from the class)

    def run(self) -> list[nodes.Node]:
        """The figure with its finding above and the command that writes it below."""
        return [shown(self.options.get("run", "runs/minilm"), self.arguments[0])]


class Gallery(SphinxDirective):
    """Every figure of the run that is its argument, by section."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A section of the page for each section of the report."""
        folder = self.arguments[0]
        parts = []
        for name, figures in groupby(available(opened(folder).results), key=lambda figure: figure.section):
            part = nodes.section(ids=[f"{Path(folder).name}-{name}"], names=[f"{folder} {name}"])
            part += nodes.title(text=name.capitalize())
            part += [shown(folder, figure.name) for figure in figures]
            parts.append(part)
        return parts


@cache
def opened(folder: str) -> arm.Run:
    """A run of the build."""
    return arm.open(PLACE / folder)


def shown(folder: str, name: str) -> nodes.raw:
    """A figure in a page: finding, picture, what it is and how to get it."""
    results, figure = opened(folder).results, FIGURES[name]
    if lacking := [path for path in figure.needs if not has(results, path)]:
        raise ValueError(
            f"expected {', '.join(lacking)} in {folder} for {name}, got none: add its command to making/runs.py"
        )
    command = f"armillary figure {folder} {name}"
    return nodes.raw(
        "",
        f'<figure class="armillary" id="{escape(Path(folder).name)}-{escape(name)}">'
        f'<figcaption class="finding">{escape(unbroken(figure.finding(results)))}</figcaption>'
        f"{plot(figure.draw(results))}"
        f"<figcaption><p>{escape(figure.text)}</p>"
        f"<p><code>{escape(command)}</code> · {escape(figure.source)}</p></figcaption></figure>",
        format="html",
    )


def unbroken(text: str) -> str:
    """A sentence whose lines do not break between a number and its error or its per cent."""
    return text.replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")


def plot(figure: go.Figure) -> str:
    """The room of a picture and its data; the colours are put in by the reader's choice of light or dark."""
    figure.layout.template = None
    height = int(figure.layout.height or HEIGHT)
    data = figure.to_json().replace("<", "\\u003c")
    return (
        f'<div {PLOT} style="height:{height}px" data-height="{height}"></div>'
        f'<script type="application/json">{data}</script>'
    )


def put_scripts(app: Sphinx) -> None:
    """Plotly, the two templates and what the report does to fit a page, beside the static files of the site."""
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    static.joinpath("plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    static.joinpath("themes.js").write_text(themes(), encoding="utf-8")
    static.joinpath("fitted.js").write_text(asset("fitted.js"), encoding="utf-8")


def themes() -> str:
    """The two templates, and the shades of colours on a dark page, as a script."""
    looks = {name: template(name).to_plotly_json() for name in THEMES}
    return f"const THEMES = {json.dumps(looks)};\nconst DARKER = {json.dumps(ON_DARK)};\n"


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Only a page with figures loads them."""
    if PLOT in context.get("body", ""):
        for name in ("plotly.min.js", "themes.js", "fitted.js", "figures.js"):
            app.add_js_file(name, defer="defer")
