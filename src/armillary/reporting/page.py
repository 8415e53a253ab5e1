"""A report as one HTML file: self-contained, without a request, and with every text of a run escaped."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from armillary._version import __version__
from armillary.figures.kit.colours import ON_DARK, THEMES, css_variables
from armillary.figures.kit.style import HEIGHT, template
from armillary.reporting.claims import CLAIMS, claims_section
from armillary.reporting.formulas import formula
from armillary.reporting.heads import heads_table
from armillary.reporting.kinds import NOT_MEASURED, Answer, Heads, Plot, Report
from armillary.reporting.prose import coded, prose
from armillary.reporting.sparkline import sparkline


def page(report: Report) -> str:
    """The whole file. The words come first and plotly last, so that a reader sees the answers while it loads."""
    scripts = [asset("fitted.js") + asset("page.js"), get_plotlyjs()]
    sections = [(name, ordered(plots, report.lead)) for name, plots in by_section(report.plots)]
    names = [*(name for name, _ in sections), *([CLAIMS] if report.claims else [])]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            head(report.title, scripts),
            "<body>",
            header(names),
            '<div class="frame">',
            side_list(sections, report),
            "<main>",
            first_screen(report),
            *(section(name, plots, report) for name, plots in sections),
            *([claims_section(report.claims)] if report.claims else []),
            "</main>",
            "</div>",
            footer(report),
            glossary(),
            '<dialog id="head-card" aria-label="one attention head"></dialog>',
            *(
                f'<script type="application/json" id="{escape(name)}">{inert(text)}</script>'
                for name, text in stored(report).items()
            ),
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def stored(report: Report) -> dict[str, str]:
    """What the scripts of the page read: the colours of both themes, the heads, every figure's data."""
    data = {"themes": json.dumps({name: template(name).to_plotly_json() for name in THEMES})}
    data["dark-colours"] = json.dumps(ON_DARK)
    if report.heads is not None:
        cards = report.heads._asdict() | {"maps": base64.b64encode(report.heads.maps).decode()}
        data["heads"] = json.dumps(cards, ensure_ascii=False)
    return data | {f"data-{plot.name}": figure_json(plot.figure) for plot in report.plots if plot.figure is not None}


def by_section(plots: Iterable[Plot]) -> list[tuple[str, list[Plot]]]:
    """The figures of each section."""
    return [(name, list(some)) for name, some in groupby(plots, key=lambda plot: plot.section)]


def ordered(plots: Iterable[Plot], lead: Sequence[str]) -> list[Plot]:
    """Figures that are shown unfolded first, in the order of the questions that they answer."""
    place = {name: number for number, name in enumerate(lead)}
    return sorted(plots, key=lambda plot: place.get(plot.name, len(place)))


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


def side_list(sections: Iterable[tuple[str, Sequence[Plot]]], report: Report) -> str:
    """All figures by their findings, folded on a narrow page, with a field to search them; nothing where none is."""
    if not report.plots:
        return ""
    parts = []
    for name, plots in sections:
        items = "".join(
            f'<li><a href="#{escape(plot.name)}" title="{escape(plot.name)}">{escape(plot.finding)}</a></li>'
            for plot in plots
        )
        parts.append(f"<h2>{escape(heading(name))}</h2><ul>{items}</ul>")
    count = len(report.plots)
    return (
        f'<details id="list"><summary>All {count} figures</summary>'
        '<p><input type="search" id="figures-words" placeholder="search figures" aria-label="search the figures"></p>'
        f"{''.join(parts)}</details>"
    )


def first_screen(report: Report) -> str:
    """Title, what was read, the questions with their answers, and what the run does not hold."""
    words = worded(report)
    lines = "".join(card(answer, words) for answer in report.answers if answer.verdict != NOT_MEASURED or answer.plot)
    unasked = "".join(
        f"<li>{escape(answer.question)} {words(answer.text)}</li>"
        for answer in report.answers
        if answer.verdict == NOT_MEASURED and not answer.plot
    )
    not_asked = f'<div class="unasked"><b class="verdict not-measured">{NOT_MEASURED}</b><ul>{unasked}</ul></div>'
    missing = "".join(f'<p class="note missing">{coded(sentence)}</p>' for sentence in report.missing)
    folded = f"<details><summary>What this run does not hold</summary>{missing}</details>" if missing else ""
    note = f'<p class="note">{escape(report.note)}</p>'
    elsewhere = (
        "figure</code> writes each to a file" if len(report.sources) == 1 else "compare</code> prints the numbers"
    )
    unscripted = (
        '<noscript><p class="note">Figures are drawn by JavaScript, which is switched off: their findings and tables '
        f"stand here, and <code>armillary {elsewhere}.</p></noscript>"
    )
    numbers = f'<details id="layers"><summary>Numbers by layer</summary>{report.layers}</details>'
    return (
        f'<section id="top"><h1>{escape(report.title)}</h1><p class="about">{escape(report.about)}</p>'
        f'<dl class="answers">{lines}</dl>{not_asked if unasked else ""}'
        f"{note + unscripted if report.plots else ''}{numbers if report.layers else ''}{folded}</section>"
    )


def worded(report: Report) -> Callable[[str], str]:
    """How sentences become markup: heads are links where the page holds their cards."""
    return coded if report.heads is None else prose


def card(answer: Answer, words: Callable[[str], str]) -> str:
    """A question, the verdict as word and colour, one sentence, and a small curve; it leads to the figure."""
    name = answer.verdict.lower().replace(" ", "-")
    verdict = f'<b class="verdict {name}">{escape(answer.verdict)}</b>'
    text = words(answer.text)
    where = str(answer.plot).removeprefix("section-") if str(answer.plot).startswith("section-") else "figure"
    link = f' <a class="more" href="#{escape(answer.plot)}">{escape(where)} →</a>' if answer.plot else ""
    curve = sparkline(answer.curve) if answer.curve is not None else ""
    return f'<div class="{name}"><dt>{escape(answer.question)}</dt><dd><p>{verdict} {text}</p>{curve}{link}</dd></div>'


def section(name: str, plots: Sequence[Plot], report: Report) -> str:
    """A heading, the figures that answer a question, and the others folded; the heads' table with the heads."""
    words = worded(report)
    shown = [plot for plot in plots if plot.name in report.lead]
    others = [plot for plot in plots if plot.name not in report.lead]
    folded = ""
    if others:
        count = f"{len(others)} figure{'' if len(others) == 1 else 's'}" if not shown else f"{len(others)} more"
        articles = "".join(article(plot, words) for plot in others)
        opened = "" if any(plot.name in report.lead for plot in report.plots) else " open"  # else nothing would be seen
        folded = f'<details class="details"{opened}><summary>Details: {count}</summary>{articles}</details>'
    heads = heads_section(report.heads) if report.heads and name == heads_home(report) else ""
    return (
        f'<section id="section-{escape(name)}"><h2>{escape(heading(name))}</h2>'
        f"{''.join(article(plot, words) for plot in shown)}{folded}{heads}</section>"
    )


def heads_home(report: Report) -> str:
    """The section in which the table of heads stands: that of heads, else the first whose figures know heads."""
    held = [plot.section for plot in report.plots]
    return next((name for name in ("heads", "weights", *held) if name in held), "")


def heads_section(heads: Heads) -> str:
    """All heads as a table, folded; every name opens the head's card."""
    table = heads_table(heads)
    return f'<details id="all-heads"><summary>All {len(heads.names)} heads</summary>{table}</details>'


def article(plot: Plot, words: Callable[[str], str]) -> str:
    """One figure: finding, room for the picture, words, downloads; of a figure that failed, that it did."""
    name = escape(plot.name)
    if plot.figure is None:
        return f'<article id="{name}"><h3 class="failed">{escape(plot.finding)}</h3></article>'
    height = int(plot.figure.layout.height or HEIGHT)
    buttons = "".join(
        f'<button type="button" data-save="{kind}" data-figure="{name}">{kind.upper()}</button>'
        for kind in ("csv", "svg", "png")
    )
    detail = f'<p class="detail">{words(plot.detail)}.</p>' if plot.detail else ""
    measured = (
        "<details><summary>How it is measured</summary>"
        f'<p class="formula">{formula(plot.formula)}</p><p class="source">{escape(plot.source)}</p></details>'
        if plot.formula or plot.source
        else ""
    )
    return (
        f'<article id="{name}"><h3>{words(plot.finding)}</h3>'
        f'<div class="picture"><div class="plot" data-figure="{name}" style="height:{height}px" role="img" '
        f'aria-label="{escape(plot.finding)}"></div></div>'
        f'<div class="words">{detail}<p>{coded(plot.text)}</p>{measured}<p class="save">{buttons}</p></div></article>'
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
    """Every attribute of a run, as it stands in its files; a dash where it is empty."""
    shown = {key: str(value) or "–" for key, value in about.items()}
    rows = "".join(f"<tr><th>{escape(str(key))}</th><td>{escape(value)}</td></tr>" for key, value in shown.items())
    return f"<table>{rows}</table>"


def figure_json(figure: go.Figure) -> str:
    """Data and layout as plotly.js reads them; the colours of the page are put in there, by the reader's choice."""
    figure.layout.template = None
    return str(figure.to_json())


def inert(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c")
