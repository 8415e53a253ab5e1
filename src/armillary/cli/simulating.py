"""The command that needs no model: simulations."""

from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.flags import spread
from armillary.cli.output import Form


@spread
def simulate(
    name: Annotated[str, typer.Argument(help="What is simulated: localization.")],
    walks: Annotated[int, typer.Option(help="Random walks for each draw of W_QK.")] = 300,
    length: Annotated[int, typer.Option(help="Tokens of a walk.")] = 40,
    width: Annotated[int, typer.Option(help="Coordinates of a token.")] = 128,
    draws: Annotated[int, typer.Option(help="Draws of W_QK in each setting.")] = 10,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the results and their report in.")] = None,
    *,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Simulate attention localization on random walks.

    Beside it stand its exact, Gaussian and published law. Neither model nor torch is needed. The table has a row per
    setting. JSON and CSV give every position of every setting.
    """
    from armillary.printing import simulation as tables
    from armillary.runs.simulate import simulate as make_run

    run = make_run(name, walks=walks, length=length, width=width, draws=draws, seed=seed, out=out, progress=not quiet)
    form.show_rows(lambda: tables.printed(run), tables.rows(run))
