"""The commands that train small models: one per preset, and a sweep over the strengths of LocAteR."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from armillary.cli.arguments import Config
from armillary.cli.flags import spread
from armillary.cli.output import console
from armillary.cli.usage import Commands
from armillary.errors import RequestError
from armillary.training.presets import PRESETS, QUICK
from armillary.training.settings import Overrides, SweepOverrides, given

Out = Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME-PRESET]", show_default=False)]
Size = Annotated[str, typer.Option("--preset", metavar="quick|paper", help="Minutes on two cores, or the document's.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


class Presets(Commands):
    """What can be trained."""

    what = "something to train"


app = typer.Typer(
    name="train",
    cls=Presets,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train a small model and keep its curves, geometry and weights.",
)


def command_of(name: str) -> Callable[..., None]:
    """The command that trains a preset."""

    @spread
    def train(
        out: Out = None,
        preset: Size = QUICK,
        *,
        settings: Overrides,
        resume: Resume = False,
        quiet: Quiet = False,
        config: Config = None,
    ) -> None:
        from armillary.runs.train import train as make_run

        folder = out or Path("runs") / f"{name}-{preset}"
        run = make_run(name, out=folder, preset=preset, resume=resume, progress=not quiet, **given(settings))
        if not quiet:
            from armillary.printing import training as tables

            console().print(tables.printed(run))
            typer.echo(f"results: {folder}  (armillary show {folder}; the model: {folder / 'model'})")

    train.__doc__ = PRESETS[name].about
    return train


for _name in PRESETS:
    app.command(_name, help=PRESETS[_name].about)(command_of(_name))


@app.command("sweep")
@spread
def sweep(
    name: Annotated[str, typer.Argument(help="What is trained: locater.")],
    kappa_scale: Annotated[str, typer.Option(help="Strengths κ₁, with commas between.")] = "0,100",
    kappa_trace: Annotated[str, typer.Option(help="Strengths κ₂, with commas between.")] = "0,0.01,0.1,1",
    seeds: Annotated[int, typer.Option(help="Random seeds for each pair of strengths.")] = 3,
    out: Out = None,
    preset: Size = QUICK,
    *,
    settings: SweepOverrides,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Train with LocAteR penalties of several strengths.

    Each strength with several seeds; then the document's claims about them are answered.
    """
    from armillary.runs.sweep import sweep as make_run

    folder = out or Path("runs") / f"{name}-sweep-{preset}"
    strengths: Any = {
        "kappa_scale": numbers("--kappa-scale", kappa_scale),
        "kappa_trace": numbers("--kappa-trace", kappa_trace),
    }
    run = make_run(name, out=folder, preset=preset, seeds=seeds, progress=not quiet, **strengths, **given(settings))
    if not quiet:
        from armillary.printing import sweep as tables

        console().print(tables.printed(run))
        typer.echo(f"results: {folder}  (armillary show {folder})")


def numbers(flag: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise RequestError(f"expected numbers with commas between them for {flag}, got {text!r}: as in 0,1") from error
