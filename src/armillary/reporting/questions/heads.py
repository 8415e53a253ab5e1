"""Questions about attention heads."""

import numpy as np
import xarray as xr

from armillary.figures.heads.names import kinds_of
from armillary.figures.kit.each_head import labels, per_head
from armillary.figures.kit.words import quoted
from armillary.reporting.kinds import NO, YES, Curve
from armillary.reporting.questions.asking import Question, Said
from armillary.results.reading import has
from armillary.results.schema.naming import KINDS

ASKED = ("induction", "previous", "duplicate", "sink")
"""The kinds that the first screen counts, as far as there are any."""


def kinds(results: xr.DataTree) -> Said:
    """How many heads have a kind, and the clearest of the kind that is asked for most."""
    kind = kinds_of(results)
    named = kind != ""
    if not named.any():
        return Said(NO, f"None of {kind.size} heads clearly exceeds the random-weight control")
    counts = [(name, int((kind == name).sum())) for name in (*ASKED, *(set(KINDS) - set(ASKED)))]
    shown = [(name, count) for name, count in counts if count][: len(ASKED)]
    texts = [f"{count} {KINDS[name].removeprefix('attention ')}" for name, count in shown]
    texts[0] += clearest(results, shown[0][0])
    return Said(
        YES, f"{int(named.sum())} of {kind.size}: {', '.join(texts)}", Curve(named.sum(1).astype(float), axis="block")
    )


def clearest(results: xr.DataTree, name: str) -> str:
    """The clearest head of a kind with its score and the margin that holds for all heads jointly."""
    path = f"taxonomy/{name}"
    if not has(results, path):
        return ""
    score, mine = per_head(results, path), kinds_of(results).ravel() == name
    best = int(np.where(mine & np.isfinite(score.value), score.value, -np.inf).argmax())
    value = quoted(float(score.value[best]), float(score.margin(score.value.size)[best]), "%")
    return f" (clearest {labels(results, path)[best]}, {value})"


QUESTIONS = (Question("Do heads have known jobs?", ("head-names",), kinds, "taxonomy"),)
