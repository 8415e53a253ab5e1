"""The command that checks the claims of four documents."""

from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.errors import RequestError


@spread
def claims(
    document: Annotated[
        str | None, typer.Option(help="Claims of one document: BAO, SZ, TW or WE.", show_default=False)
    ] = None,
    id: Annotated[
        list[str] | None, typer.Option(help="One claim, in full: BAO-L1-VAR. May be given again.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the simulations.")] = 0,
    run: Annotated[
        Path | None,
        typer.Option(help="Folder of a run: answers claims about models and keeps the verdicts.", show_default=False),
    ] = None,
    *,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Check every quantitative statement of the four documents.

    Each has a published, a corrected and a measured value, and a verdict. Needs no model. With --run, claims about
    trained models are answered for the model of that run.
    """
    from armillary.printing.claims import printed
    from armillary.runs.claims import claims as check
    from armillary.verdicts.registry import CLAIMS, near

    for asked in id or []:
        if asked.upper() not in CLAIMS:
            raise RequestError(f"expected the id of a claim, got {asked!r}: {near(asked.upper())}")
    found = check(document, id or None, seed, run, progress=not quiet)
    form.show_rows(lambda: printed(found, reasons=bool(id)), found.frame())
