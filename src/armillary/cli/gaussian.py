"""The command that holds the Gaussian lens over a run."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armillary.cli.arguments import Trust
from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.cli.output import loading as said_to_load
from armillary.errors import RequestError
from armillary.system.texts import numbered, short

if TYPE_CHECKING:
    from armillary.results.store import Run


@spread
def gaussian(
    run: Annotated[Path, typer.Argument(help="Folder of a run of a model.")],
    directions: Annotated[
        int | None, typer.Option(help="Leading directions of the states that count. [default: 8]", show_default=False)
    ] = None,
    windows: Annotated[
        int | None, typer.Option(help="Windows of the run that are read once more. [default: 64]", show_default=False)
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Print every head instead.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed of the null and of the random stacks. [default: 0]", show_default=False),
    ] = None,
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
    from armillary.results.reading import require
    from armillary.results.store import open as open_run

    found = open_run(run)
    asked = {"directions": directions, "windows": windows, "seed": seed}
    given = {name: value for name, value in asked.items() if value is not None}
    if again or "gaussian" not in found.results.children:
        require(found.results, "residual", "corpus")
        with said_to_load(short(str(found.provenance.get("model", "model"))), quiet=quiet):
            from armillary.probes.reloading import reloaded
            from armillary.runs.gaussian import gaussian as look

            view = reloaded(found, **asdict(trust))
        found = look(view, found, **given, progress=not quiet)
    else:
        refuse_other(found, given)
    if heads:
        form.show_rows(lambda: tables.printed_heads(found), tables.head_rows(found))
    else:
        form.show_rows(lambda: tables.printed(found), tables.layer_rows(found))


def refuse_other(run: "Run", given: dict[str, int]) -> None:
    """Refuse options that the lens which a run holds was not made with; which seed it had is not kept."""
    about = run.results["gaussian"].attrs
    held = {name: int(about[name]) for name in ("directions", "windows") if name in about}
    wanted = dict(given)
    if "windows" in wanted:
        wanted["windows"] = min(wanted["windows"], int(run.provenance.get("contexts", wanted["windows"])))
    if all(held.get(name) == value for name, value in wanted.items()):
        return
    holds = ", ".join(numbered(count, name.removesuffix("s")) for name, count in held.items())
    holds += ", of a seed that is not kept" if "seed" in given else ""
    got = " ".join(f"--{name} {value}" for name, value in given.items())
    raise RequestError(f"expected what this run holds, {holds}, got {got}: add --again")
