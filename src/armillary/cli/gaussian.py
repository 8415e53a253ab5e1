"""The command that holds the Gaussian lens over a run."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.arguments import Trust
from armillary.cli.flags import spread
from armillary.cli.output import Form


@spread
def gaussian(
    run: Annotated[Path, typer.Argument(help="Folder of a run of a model.")],
    directions: Annotated[int, typer.Option(help="Leading directions of the states that count.")] = 8,
    windows: Annotated[int, typer.Option(help="Windows of the run that are read once more.")] = 64,
    heads: Annotated[bool, typer.Option("--heads", help="Print every head instead.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the null and of the random stacks.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Read again what the run already holds.")] = False,
    *,
    form: Form,
    trust: Trust,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Print what a run's tokens would be as joint Gaussians, by layer.

    The first time, the model reads some of the run's windows once more, and the report of the run is refreshed. JSON
    and CSV give every distance, and with --heads every head.
    """
    from armillary.printing import gaussian as tables
    from armillary.probes.reloading import reloaded
    from armillary.results.reading import require
    from armillary.results.store import open as open_run
    from armillary.runs.gaussian import gaussian as look

    found = open_run(run)
    if again or "gaussian" not in found.results.children:
        require(found.results, "residual", "corpus")
        view = reloaded(found, **asdict(trust))
        found = look(view, found, directions=directions, windows=windows, seed=seed, progress=not quiet)
    if heads:
        form.show_rows(lambda: tables.printed_heads(found), tables.head_rows(found))
    else:
        form.show_rows(lambda: tables.printed(found), tables.layer_rows(found))
