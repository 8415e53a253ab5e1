"""A report as one HTML file: self-contained, without a request, and with every text of a run escaped."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from armillary._version import __version__
from armillary.figures.kit.colours import THEMES, css_variables
from armillary.figures.kit.style import HEIGHT, template
from armillary.reporting.claims import CLAIMS, claims_section
from armillary.reporting.kinds import Answer, Plot, Report


def page(report: Report) -> str:
    """The whole file. The words come first and plotly last, so that a reader sees the answers while it loads."""
    scripts = [asset("page.js"), get_plotlyjs()]
    data = {"themes": json.dumps({name: template(name).to_plotly_json() for name in THEMES})}
    data |= {f"data-{plot.name}": figure_json(plot.figure) for plot in report.plots if plot.figure is not None}
    sections = [(name, list(plots)) for name, plots in groupby(report.plots, key=lambda plot: plot.section)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            head(report.title, scripts),
            "<body>",
            header([*(name for name, _ in sections), *([CLAIMS] if report.claims else [])]),
            "<main>",
            first_screen(report),
            *(section(name, plots) for name, plots in sections),
            *([claims_section(report.claims)] if report.claims else []),
            "</main>",
            footer(report),
            glossary(),
            *(
                f'<script type="application/json" id="{escape(name)}">{inert(text)}</script>'
                for name, text in data.items()
            ),
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


@cache
def asset(name: str) -> str:
    """A file of the package's web folder."""
    return (files("armillary.reporting") / "web" / name).read_text(encoding="utf-8")


def policy(scripts: Iterable[str]) -> str:
    """The content security policy: no request of any kind, and no script but these two, known by their hash.

    Plotly sets styles in the page and makes pictures from data and blob addresses.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{digest}'" for digest in digests),
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "connect-src": "'none'",
        "form-action": "'none'",
        "base-uri": "'none'",
    }
    return "; ".join(f"{rule} {value}" for rule, value in rules.items())


def head(title: str, scripts: Iterable[str]) -> str:
    """Policy first: it holds for what comes after it."""
    return "\n".join(
        [
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="armillary {__version__}">',
            f"<title>{escape(title)} · Armillary</title>",
            f"<style>{css_variables()}\n{asset('page.css')}</style>",
            "</head>",
        ]
    )


def header(sections: Iterable[str]) -> str:
    """The way through the page, and the switch between light and dark."""
    links = "".join(f'<a href="#section-{escape(name)}">{escape(heading(name))}</a>' for name in sections)
    switch = '<button type="button" id="theme" aria-label="light or dark">◐</button>'
    last = '<a href="#provenance">Provenance</a><a href="#glossary">Glossary</a>'
    return f'<header><nav><a href="#top">Answers</a>{links}{last}</nav>{switch}</header>'


def heading(section: str) -> str:
    """A section's name as a heading."""
    return section.replace("_", " ").capitalize()


def first_screen(report: Report) -> str:
    """Title, what was read, the questions with their answers, and what the run does not hold."""
    lines = "".join(map(card, report.answers))
    missing = "".join(f'<p class="note missing">{escape(sentence)}</p>' for sentence in report.missing)
    return (
        f'<section id="top"><h1>{escape(report.title)}</h1><p class="about">{escape(report.about)}</p>'
        f'<dl class="answers">{lines}</dl><p class="note">{escape(report.note)}</p>{missing}</section>'
    )


def card(answer: Answer) -> str:
    """A question and its answer, which leads to the figure."""
    text = prose(answer.text)
    linked = f'<a href="#{escape(answer.plot)}">{text}</a>' if answer.plot else text
    return f"<div><dt>{escape(answer.question)}</dt><dd>{linked}</dd></div>"


def prose(text: str) -> str:
    """A sentence, escaped, whose lines do not break between a number and its error or its per cent."""
    return escape(text).replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")


def section(name: str, plots: Iterable[Plot]) -> str:
    """A heading and its figures."""
    return (
        f'<section id="section-{escape(name)}"><h2>{escape(heading(name))}</h2>{"".join(map(article, plots))}</section>'
    )


def article(plot: Plot) -> str:
    """One figure: finding, room for the picture, words, downloads; of a figure that failed, that it did."""
    name = escape(plot.name)
    if plot.figure is None:
        return f'<article id="{name}"><h3 class="failed">{escape(plot.finding)}</h3></article>'
    height = int(plot.figure.layout.height or HEIGHT)
    buttons = "".join(
        f'<button type="button" data-save="{kind}" data-figure="{name}">{kind.upper()}</button>'
        for kind in ("csv", "svg", "png")
    )
    return (
        f'<article id="{name}"><h3>{prose(plot.finding)}</h3>'
        f'<div class="plot" data-figure="{name}" style="height:{height}px" role="img" '
        f'aria-label="{escape(plot.finding)}"></div>'
        f'<div class="words"><p>{escape(plot.text)}</p><p class="formula">{escape(plot.formula)}</p>'
        f'<p class="source">{escape(plot.source)}</p><p class="save">{buttons}</p></div></article>'
    )


def footer(report: Report) -> str:
    """Where every number comes from, and how to make the page again."""
    tables = "".join(f"<h3>{escape(name)}</h3>{provenance(about)}" for name, about in report.sources.items())
    return (
        f'<footer id="provenance"><h2>Provenance</h2>{tables}<p>Made by Armillary {__version__} with</p>'
        f"<pre>{escape(report.command)}</pre></footer>"
    )


def glossary() -> str:
    """What the words of the page mean, folded."""
    from armillary.reporting.glossary import TERMS  # `python -m` runs that file, which must not be loaded before

    terms = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in TERMS.items())
    return f'<details id="glossary"><summary><h2>Glossary</h2></summary><dl>{terms}</dl></details>'


def provenance(about: Mapping[str, Any]) -> str:
    """Every attribute of a run, as it stands in its files."""
    rows = "".join(f"<tr><th>{escape(str(key))}</th><td>{escape(str(value))}</td></tr>" for key, value in about.items())
    return f"<table>{rows}</table>"


def figure_json(figure: go.Figure) -> str:
    """Data and layout as plotly.js reads them; the colours of the page are put in there, by the reader's choice."""
    figure.layout.template = None
    return str(figure.to_json())


def inert(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c")
