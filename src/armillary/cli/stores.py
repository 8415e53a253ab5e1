"""The command that reads heads as stores."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from armillary.cli.arguments import Loading, Model
from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.cli.output import loading as said_to_load


@spread
def stores(
    model: Model,
    block: Annotated[int | None, typer.Option(help="Print the triplets of this block's heads as tokens.")] = None,
    head: Annotated[int | None, typer.Option(help="Of this head alone; needs --block.")] = None,
    words: Annotated[
        str | None, typer.Option(help="Words instead of the built-in list: time,day,river.", show_default=False)
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Folder of a run of this model to add the results to.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the results and their report in.")] = None,
    triplets: Annotated[int, typer.Option(help="Triplets read of each product.")] = 5,
    folded: Annotated[
        bool, typer.Option("--folded/--no-folded", help="Fold the norms into the weights, or read them as stored.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Random seed of the nulls; tokens do not depend on it.")] = 0,
    *,
    loading: Loading,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Read every head's W_QK and W_VO as a store of keys and values.

    Singular triplets are read as tokens, with what they cover; words are sent through. Nothing runs through the
    model. JSON and CSV give every reading, and with --words every word.
    """
    with said_to_load(model, quiet=quiet):
        from armillary.printing import stores as tables
        from armillary.results.store import open as open_run
        from armillary.runs.stores import stores as read_stores
        from armillary.runs.writing import refuse_place

        tables.refuse_headless(head, block)
        joined = None if run is None else open_run(run)
        refuse_place(joined, out)
        view = loading.view(model, seed)
    listed = None if words is None else [word for word in words.split(",") if word.strip()]
    options: dict[str, Any] = {"block": block, "head": head, "words": listed, "triplets": triplets, "folded": folded}
    found = read_stores(view, joined, **options, out=out, seed=seed, progress=not quiet)

    def table() -> Group:
        if block is None:
            return Group(tables.by_block(found))
        of_words = [tables.of_words(found, block, head)] if listed and head is not None else []
        return Group(*tables.of_head(found, block, head), *of_words)

    form.show_rows(table, tables.rows(found) if listed is None else tables.word_rows(found))
