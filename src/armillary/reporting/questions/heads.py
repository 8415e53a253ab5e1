"""Questions about attention heads."""

import numpy as np
import xarray as xr
from jaxtyping import Float

from armillary.figures.heads.panels import TERMS, held_kinds, less_row_means
from armillary.figures.kit.each_head import labels, per_head
from armillary.figures.kit.words import number, quoted
from armillary.reporting.kinds import NO, UNCLEAR, YES, Curve
from armillary.reporting.questions.asking import Question, Said
from armillary.results.kinds import UNIFORM, has_kind, kinds_of
from armillary.results.reading import has
from armillary.results.schema.naming import KINDS, SCORES

ASKED = ("induction", "previous", "duplicate", "sink")
"""The kinds that the first screen counts, as far as there are any."""


def kinds(results: xr.DataTree) -> Said:
    """How many heads have a kind, and the clearest of the kind that is asked for most."""
    kind = kinds_of(results)
    named = has_kind(kind)
    if not named.any():
        even = int((kind == UNIFORM).sum())
        others = f"; {even} are uniform, as untrained heads are" if even else ""
        return Said(NO, f"None of {kind.size} heads clearly exceeds the random-weight control{others}")
    counts = [(name, int((kind == name).sum())) for name in (*ASKED, *(set(SCORES) - set(ASKED)))]
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


def examples(results: xr.DataTree) -> Said | None:
    """Whether the clearest induction head attends by what tokens are, not by where they stand."""
    group = results["head_examples"].to_dataset()
    places = np.flatnonzero(group.kind.values.astype(str) == "induction")
    if not places.size or not np.isfinite(group.pattern.values[places[0]]).any():
        return None
    held = held_kinds(results)
    if held is not None and KINDS["induction"] not in held:
        return Said(UNCLEAR, "No head of this model is an induction head")
    place = int(places[0])
    energy = {name: variation(group[name].values[place].astype(np.float64)) for name in TERMS}
    total = sum(energy.values())
    if not total > 0:
        return None
    name = f"L{int(group.block.values[place])}H{int(group['head'].values[place])}"
    content = 100 * energy["residual_residual"] / total
    verdict = YES if content > 50 else NO if content < 10 else UNCLEAR
    return Said(verdict, f"{name}: residual → residual makes {number(content)} % of its terms' variation; one window")


def variation(scores: Float[np.ndarray, "query key"]) -> float:
    """How much a term varies over the keys of a query, added up over queries; the first token does not count."""
    values = less_row_means(scores)[1:, 1:]
    return float(np.nansum(values**2))


QUESTIONS = (
    Question("Do heads have known jobs?", ("head-names",), kinds, "taxonomy"),
    Question("Does induction match tokens, not positions?", ("head-examples",), examples),
)
