"""The commands that make a run, or measure it again."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.arguments import Config, Corpus, Loading, Model, RunFolder
from armillary.cli.flags import spread
from armillary.cli.output import console
from armillary.surveys.settings import Settings
from armillary.system.progress import waiting

Out = Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/MODEL-CORPUS]", show_default=False)]


@spread
def survey(
    model: Model,
    corpus: Corpus = "python-docs",
    out: Out = None,
    *,
    settings: Settings,
    loading: Loading,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    config: Config = None,
) -> None:
    """Split the hidden states of a text into position and context.

    The text is read in one pass. With --heads, attention heads are measured in the same pass and then named, as
    `armillary heads` does.
    """
    from armillary.results.store import refuse_surveyed

    folder = out or default_folder(model, corpus, random_weights=loading.random_weights)
    if settings.shard is not None and out is None:
        folder = folder.with_name(f"{folder.name}-{settings.shard.replace('/', '-of-')}")
    if settings.shard is None and not resume:
        refuse_surveyed(folder)
    with waiting(f"{model}: loading", show=not quiet):
        from armillary.runs.heads import heads as named
        from armillary.runs.page import with_page
        from armillary.runs.survey import survey as make_run

        view = loading.view(model, settings.seed)
    run = make_run(view, corpus, out=folder, resume=resume, progress=not quiet, report=False, **asdict(settings))
    if settings.shard is not None:
        if not quiet:
            typer.echo(f"part {settings.shard}: {folder}  (armillary merge joins all parts)")
        return
    if settings.heads:
        run = named(run, view, progress=not quiet)
    with_page(run)
    if not quiet:
        from armillary.printing.layers import printed
        from armillary.reporting import PAGE

        console().print(printed(run))
        if settings.heads:
            from armillary.printing.heads import title

            typer.echo(title(run))
        typer.echo(f"results: {folder}  (armillary show {folder}; in Python: armillary.open({str(folder)!r}))")
        if (folder / PAGE).exists():
            typer.echo(f"report: {folder / PAGE}")


def default_folder(model: str, corpus: str, *, random_weights: bool) -> Path:
    """runs/MODEL-CORPUS, with only letters that any file system takes."""
    name = f"{model}{'-random' if random_weights else ''}-{corpus}"
    return Path("runs") / "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name).strip("-.")


def measure(run: RunFolder) -> None:
    """Measure a run again from what its pass kept, without the model.

    As after an upgrade: newer measures and figures are added, nothing is read again.
    """
    from armillary.runs.measure import measure as measure_again

    measure_again(run)
    typer.echo(f"measured again: {run}")
