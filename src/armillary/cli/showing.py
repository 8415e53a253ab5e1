"""The commands that show what a run holds: as tables, figures and pages."""

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.arguments import RunFolder
from armillary.cli.flags import spread
from armillary.cli.output import Form, console
from armillary.errors import RequestError

Table = Annotated[
    str | None,
    typer.Option(
        help="decomposition, summary, ranks, position, low-frequency or similarity. "
        "Without it, decomposition, or what else the run holds."
    ),
]


@spread
def show(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folder of a run; with --table also several.")],
    table: Table = None,
    wide: Annotated[bool, typer.Option("--wide", help="Print plug-in estimates and all nulls as well.")] = False,
    *,
    form: Form,
) -> None:
    """Print a table of a run: by default, what its layers hold.

    That is how the hidden states of each layer split into position, context and residual. The other tables have the
    layout of Song and Zhong's: a row per model and text, a column per layer, then mean and spread over layers.
    summary is their table 1, ranks tables 4 and 5, position table 6, low-frequency tables 2 and 3. A run offers those
    it has results for; several runs become several rows.
    """
    from armillary.printing import overview, paper
    from armillary.results.store import open as open_run

    opened = [open_run(run) for run in runs]
    if table not in (None, overview.DECOMPOSITION):
        frame = paper.paper_table(opened, table)
        form.show_rows(lambda: paper.printed(opened, table, console().width), frame)
    elif len(opened) > 1:
        raise RequestError(f"expected one run for the table decomposition, got {len(opened)}: choose another --table")
    else:
        chosen = overview.decomposition if table else overview.overview
        shown = chosen(opened[0], wide=wide)
        form.show_rows(lambda: shown.printed, shown.rows)


@spread
def compare(
    one: Annotated[Path, typer.Argument(help="Folder of a run.")],
    other: Annotated[Path, typer.Argument(help="Folder of another run.")],
    everything: Annotated[bool, typer.Option("--all", help="Print every result, layer by layer.")] = False,
    *,
    form: Form,
) -> None:
    """Print where two runs differ: headline results, largest changes.

    A result differs where it is significant; --all prints every result, layer by layer. JSON gives everything, angles
    in radians; CSV the results and their differences, without angles.
    """
    from armillary.printing import changes, comparison, differences
    from armillary.results.comparing import compare as compare_runs
    from armillary.results.store import open as open_run

    compared = compare_runs(open_run(one), open_run(other))
    form.show(
        lambda: comparison.printed(compared) if everything else changes.on_one_screen(compared),
        lambda: differences.as_json(compared),
        lambda: str(differences.difference_rows(compared).to_csv(index=False)),
    )


def report(
    run: RunFolder,
    other: Annotated[Path | None, typer.Argument(help="Folder of another run, to compare the two.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file. [default: RUN/report.html, RUN/comparison.html for two runs]", show_default=False),
    ] = None,
) -> None:
    """Write a page that shows a run, or compares two, for any browser.

    One file, which asks for nothing outside.
    """
    from armillary.reporting import report as write_report

    typer.echo(f"report: {write_report(run, out, other)}")


def explore(
    run: RunFolder,
    port: Annotated[int | None, typer.Option(help="Its port. [default: a free one]", show_default=False)] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
) -> None:
    """Browse a run and ask its model, on a page of this machine.

    Ctrl+C ends it.
    """
    from armillary.explorer import explore as serve

    serve(run, port=port, browser=not no_browser)


def figure(
    run: RunFolder,
    name: Annotated[str | None, typer.Argument(help="Which figure; without a name, they are listed.")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="The format of the file. [default: that of --out, else svg]", metavar="svg|pdf|png"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file. [default: NAME.FORMAT]", show_default=False)] = None,
) -> None:
    """Write one figure of a run as a file for a paper, or list them."""
    from armillary.figures import ERRORS, available
    from armillary.reporting.static import figure as write_figure
    from armillary.results.store import open as open_run

    opened = open_run(run)
    if name is not None:
        typer.echo(f"figure: {write_figure(opened, name, picture_path(name, format, out))}")
        return
    for offered in available(opened.results):
        typer.echo(listed(offered.name, offered.section, offered.finding(opened.results)))
    typer.echo(textwrap.fill(ERRORS, console().width))


def picture_path(name: str, format: str | None, out: Path | None) -> Path:
    """Where a figure is written: its ending is the format, and two that contradict each other are refused."""
    from armillary.reporting.static import FORMATS

    if format is not None and format not in FORMATS:
        raise RequestError(f"expected a format that figures have, got --format {format}: choose {', '.join(FORMATS)}")
    if out is None or not out.suffix:
        return (out or Path(name)).with_suffix(f".{format or FORMATS[0]}")
    if format is not None and out.suffix.lower() != f".{format}":
        raise RequestError(f"expected one format, got --out {out} and --format {format}: omit --format, or change one")
    return out


def listed(name: str, section: str, finding: str) -> str:
    """A figure in a list; what it shows goes on below itself where the terminal is narrow."""
    head = f"{name:22} {section:10} "
    # Where half of the line is taken by names, what is found goes on below the name.
    width = console().width
    below = " " * (len(head) if width >= 2 * len(head) else 4)
    return textwrap.fill(head + finding, width, subsequent_indent=below, break_on_hyphens=False)
