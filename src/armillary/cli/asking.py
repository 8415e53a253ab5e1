"""The commands that ask a model: what its heads do, what its weights say, where its states go."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.arguments import Loading, Model, Trust
from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.cli.output import loading as said_to_load
from armillary.errors import refuse_outside
from armillary.system.progress import waiting


@spread
def heads(
    run: Annotated[Path, typer.Argument(help="Folder of a run that was surveyed with --heads.")],
    kind: Annotated[str | None, typer.Option(help="Only heads of this kind: induction, sink, ...")] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every head, with all scores.")] = False,
    *,
    form: Form,
    trust: Trust,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing about the passes.")] = False,
) -> None:
    """Print the attention heads that have a kind, best first.

    The others are counted. The first time, the model and its random-weight control read random tokens, each sequence
    twice, and the report of the run is refreshed. JSON and CSV give every head.
    """
    from armillary.printing import heads as head_tables
    from armillary.results.reading import require
    from armillary.results.store import open as open_run
    from armillary.runs.heads import heads as named

    opened = open_run(run)
    if "taxonomy" not in opened.results.children:
        require(opened.results, "heads", "corpus")
    if not head_tables.only_named(opened.results):
        opened = named(opened, progress=not quiet, **asdict(trust))
    frame = head_tables.heads_table(opened, kind)
    form.show_rows(
        lambda: head_tables.printed(opened, frame) if every else head_tables.summary(opened, frame, kind), frame
    )


@spread
def weights(
    model: Model,
    run: Annotated[
        Path | None, typer.Option(help="Folder of a run of this model to add the spectra to.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the results and their report in.")] = None,
    block: Annotated[int | None, typer.Option(help="Print every head of this block.")] = None,
    norms: Annotated[bool, typer.Option("--norms", help="Print every norm instead.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the control.")] = 0,
    *,
    loading: Loading,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Print what the spectra of a model's weights say, block by block.

    Beside them stands the random-weight control. No text runs through the model. Blocks are read one at a time from
    the file, which may be larger than memory. JSON and CSV give every head.
    """
    with said_to_load(model, quiet=quiet):
        from armillary.printing import norms as norm_tables
        from armillary.printing import weights as tables
        from armillary.results.store import open as open_run
        from armillary.runs.weights import weights as read_weights
        from armillary.runs.writing import refuse_place

        joined = None if run is None else open_run(run)
        refuse_place(joined, out)
        view = replace(loading, dtype=loading.dtype or "stored").view(model, seed)  # pages of the file, not a copy
    if block is not None:
        refuse_outside("a block", block, 0, view.n_blocks - 1)
    found = read_weights(view, joined, out=out, seed=seed, progress=not quiet)
    if norms:
        form.show_rows(lambda: norm_tables.printed(found), norm_tables.norm_rows(found))
        return
    form.show_rows(
        lambda: tables.by_block(found) if block is None else tables.of_block(found, block), tables.head_rows(found)
    )


@spread
def travel(
    model: Model,
    text: Annotated[str, typer.Argument(help="The text.")],
    run: Annotated[
        Path | None, typer.Option(help="Folder of a run of this model: the paths are added to it.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the results and their report in.")] = None,
    position: Annotated[int | None, typer.Option(help="Print this token. [default: the last one]")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Print one row per token.")] = False,
    lens: Annotated[
        bool | None,
        typer.Option("--lens/--no-lens", help="Decode states by the model's own head. [default: where it has one]"),
    ] = None,
    umap: Annotated[
        bool, typer.Option("--umap", help="Add UMAP in three dimensions (extra `umap`; takes minutes).")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed, of the control and of sampled embeddings.")] = 0,
    *,
    loading: Loading,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing about the passes.")] = False,
) -> None:
    """Follow one text on the sphere: how its states turn and decode.

    Every state goes through the model's own final norm. The random-weight control reads the same text.
    """
    with waiting(f"{model}: loading", show=not quiet):
        from armillary.printing import travel as tables
        from armillary.results.store import open as open_run
        from armillary.runs.travel import travel as follow
        from armillary.runs.writing import refuse_place

        joined = None if run is None else open_run(run)
        refuse_place(joined, out)
        view = loading.view(model, seed)
    found = follow(view, text, joined, out=out, seed=seed, lens=lens, umap=umap, progress=not quiet)
    form.show_rows(lambda: tables.by_token(found) if tokens else tables.by_layer(found, position), tables.rows(found))
