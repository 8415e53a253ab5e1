"""Check the claims of the four documents; a run gives the answers of its model and keeps the verdicts."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from armillary.errors import RequestError
from armillary.printing.claims import Verdicts
from armillary.results.store import Run
from armillary.results.store import open as open_run
from armillary.runs.page import refreshed
from armillary.system.progress import progress_of
from armillary.system.threads import side_by_side
from armillary.verdicts.claim import Claim, Verdict
from armillary.verdicts.labelled import labelled_verdicts
from armillary.verdicts.registry import chosen, refuse_lacking, verdicts


def claims(
    document: str | None = None,
    ids: Iterable[str] | None = None,
    seed: int = 0,
    run: Run | str | Path | None = None,
    *,
    progress: bool = False,
) -> Verdicts:
    """A verdict on every quantitative statement of four documents, each checked by simulation or computation.

    `document` is BAO, SZ, TW or WE; `ids` are claims, "BAO-L1-VAR". With a `run`, or its folder, claims about trained
    models are answered for its model, and a run in a folder keeps all these verdicts in its group /claims. The list
    shows itself as a table in a notebook; `.frame()` gives a pandas DataFrame. `seed` draws the simulations; `progress`
    shows how many claims are checked.
    """
    asked = chosen(document, ids)
    if seed < 0:
        raise RequestError(f"expected a seed of at least 0, got {seed}: choose another")
    of_run = open_run(run) if isinstance(run, str | Path) else run
    results = None if of_run is None else of_run.results
    if ids is not None:
        refuse_lacking(asked, results)
    with progress_of("checking claims", len(asked), show=progress) as advance:

        def counted(check: Callable[[Claim], Verdict], items: Sequence[Claim]) -> list[Verdict]:
            def one(item: Claim) -> Verdict:
                found = check(item)
                advance(1)
                return found

            return side_by_side(one, items)

        found = verdicts(asked, seed, results, counted)
    if of_run is not None and of_run.folder is not None:
        from armillary.runs.keeping import joined  # which loads torch

        refreshed(joined(of_run, {"claims": labelled_verdicts(found, seed)}))
    return Verdicts(found)
