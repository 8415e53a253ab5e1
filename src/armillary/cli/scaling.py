"""The commands for surveys that one process does not make alone: what they cost, and how their parts are joined."""

from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.arguments import Config, Corpus, Loading, Model
from armillary.cli.flags import spread
from armillary.cli.output import Form, console
from armillary.cli.output import loading as said_to_load
from armillary.surveys.settings import Settings

DEFAULTS = Settings()


@spread
def plan(
    model: Model,
    corpus: Corpus = "python-docs",
    contexts: Annotated[int, typer.Option(help="Number of windows to read.")] = DEFAULTS.contexts,
    length: Annotated[int, typer.Option(help="Tokens per window, including BOS or CLS.")] = DEFAULTS.length,
    workers: Annotated[int, typer.Option(help="Machines like this one that share the work.")] = 1,
    until_se: Annotated[
        float | None, typer.Option(help="Say how many windows this standard error needs, as a share: 0.001 is 0.1 %.")
    ] = None,
    shard_tokens: Annotated[int | None, typer.Option(help="Tokens per shard. [default: 4096]")] = None,
    *,
    loading: Loading,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    config: Config = None,
) -> None:
    """Say what a survey will take: time, memory, disk, standard error.

    The estimate comes from a short calibration on this machine; --workers gives it for many.
    """
    with said_to_load(model, quiet=quiet):
        from armillary.printing import plan as printing
        from armillary.runs.plan import plan as cost_of_survey

        view = loading.view(model, DEFAULTS.seed)
    given = {"contexts": contexts, "length": length, "until_se": until_se, "shard_tokens": shard_tokens}
    cost = cost_of_survey(view, corpus, workers=workers, **given)
    form.show(lambda: "\n".join(printing.lines(cost)), lambda: printing.as_json(cost), lambda: printing.as_csv(cost))


def merge(
    parts: Annotated[list[Path], typer.Argument(metavar="PART", help="Folders of survey --shard i/N, all of them.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Join the parts of a survey that several processes ran.

    They give the same bits as one pass. The model is not needed.
    """
    from armillary.runs.merge import merge as join

    run = join(parts, out=out, progress=not quiet)
    if not quiet:
        from armillary.printing.layers import printed

        console().print(printed(run))
        typer.echo(f"results: {out}  (armillary show {out}; in Python: armillary.open({str(out)!r}))")
