"""The tables of heads: one row per head, as data and as they are printed."""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from armillary.errors import RequestError, did_you_mean
from armillary.printing.numbers import draws_of, factor, heading, number
from armillary.printing.panels import Column, Panels, estimates
from armillary.results.kinds import DECIDING, UNIFORM, counted_kinds, has_kind, kinds_of
from armillary.results.reading import array, draws, has, label_of, require
from armillary.results.schema.heads import PLAIN, SCALARS
from armillary.results.schema.naming import KINDS, REPEATED, SCORES
from armillary.results.store import Run, opened
from armillary.system.texts import numbered

DOMINANT = "dominant QK term"
FEW = 5
"""How many heads of each kind the summary prints."""

DIGITS = {"entropy": 2, "signal_propagation": 2, "distance": 1, "rank_effective": 1}
"""Digits of what is not a share; shares have one, in per cent."""

ON_TEXT = ("mass_self", "entropy", "entropy_relative", "distance", "signal_propagation", "rank_effective")
"""What of /heads is printed; the rest is the masses that the scores repeat, and another rank."""


def only_named(results: xr.DataTree) -> bool:
    """Whether a run holds the kinds of heads without what they were made of: nothing can be added to it."""
    return "taxonomy" in results.children and not {"heads", "head_groups"} <= set(results.children)


def heads_table(run: Run | str | Path, kind: str | None = None) -> pd.DataFrame:
    """One row per head, or per head of one kind: its kind, its scores and what it does on text, each with its error.

    A head is of a kind whose threshold it passes, be it the one that names it or another of its labels.

    A run may lack the kinds or what heads do on text; then it has fewer columns.
    """
    wanted = stored_kind(kind)
    run = opened(run)
    held = run.results.children
    require(run.results, "taxonomy" if wanted or "heads" not in held else "heads")
    named = [name for name in ("kind", "labels") if has(run.results, f"taxonomy/{name}")]
    columns = {name: array(run.results, f"taxonomy/{name}") for name in named}
    for group, names in (("taxonomy", SCORES), ("heads", SCALARS | PLAIN)):
        paths = {f"{name}{ending}": f"{group}/{name}{ending}" for name in names for ending in ("", "_se")}
        columns |= {name: array(run.results, path) for name, path in paths.items() if has(run.results, path)}
    shape = next(iter(columns.values())).shape
    if "constituents" in held:
        columns |= dominant(array(run.results, "constituents/share"))
    index = pd.MultiIndex.from_product([range(size) for size in shape], names=["block", "head"])
    frame = pd.DataFrame({name: values.values.ravel() for name, values in columns.items()}, index=index)
    return frame[of_kind(frame, wanted)] if wanted else frame


def of_kind(frame: pd.DataFrame, kind: str) -> pd.Series:
    """Which heads are of a kind, by their first or by another of their labels."""
    if "labels" not in frame:
        return frame.kind == kind
    return frame.labels.str.split(", ").apply(lambda labels: kind in labels)


def stored_kind(kind: str | None) -> str | None:
    """The word that a run stores for a kind of head, which may be asked for by the field's word too."""
    stored = {name: word for word, field in KINDS.items() for name in (word, field)}
    if kind is not None and kind not in stored:
        raise RequestError(f"expected a kind of head, got {kind!r}: {did_you_mean(kind, stored)}")
    return None if kind is None else stored[kind]


def dominant(share: xr.DataArray) -> dict[str, xr.DataArray]:
    """The constituent with the largest share in each head's logits, query → key, and that share."""
    flat = share.stack(pair=("part_query", "part_key")).fillna(-np.inf)
    best = flat.argmax("pair")
    names = np.array([f"{query} → {key}" for query, key in flat.pair.values])
    known = np.isfinite(flat.max("pair"))
    return {
        "dominant_qk_term": best.copy(data=np.where(known, names[best], "")),
        "dominant_qk_share": flat.max("pair").where(known),
    }


def summary(run: Run, frame: pd.DataFrame, kind: str | None = None) -> Panels:
    """The best heads of each kind for a terminal, five a kind unless one kind was asked for; all where there are none.

    The caption counts the others.
    """
    if "kind" not in frame:
        return printed(run, frame)
    wanted = stored_kind(kind)
    ranked = by_score(frame, wanted) if wanted else best_first(frame)
    few = ranked if wanted else ranked.groupby("kind", sort=False).head(FEW)
    left = ranked.drop(few.index)
    columns = [*names_of(few), *estimates("score %", 100 * few.deciding, 100 * few.deciding_se, 1)]
    none = "No head of this model has this kind.\n" if frame.empty else ""
    return Panels(title(run), columns + terms(few), none + caption(run, left))


def best_first(frame: pd.DataFrame) -> pd.DataFrame:
    """The heads that have a kind, in the order of the kinds, with the score that decides it, highest first."""
    return pd.concat([by_score(frame[frame.kind == kind], kind) for kind in KINDS])


def by_score(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Heads with the score that decides a kind, highest first."""
    name = DECIDING[kind].partition("/")[2]
    scores = [frame[each] if each in frame else pd.Series(np.nan, frame.index) for each in (name, f"{name}_se")]
    ranked = frame.assign(deciding=scores[0], deciding_se=scores[1])
    return ranked.sort_values("deciding", ascending=False, kind="stable")


def printed(run: Run, frame: pd.DataFrame) -> Panels:
    """Every row for a terminal, in the order of the heads."""
    columns = names_of(frame)
    for group, names in (("taxonomy", SCORES), ("heads", ON_TEXT)):
        columns += [column for name in names if name in frame for column in columns_of(frame, group, name)]
    return Panels(title(run), columns + terms(frame), caption(run))


def names_of(frame: pd.DataFrame) -> list[Column]:
    """The first columns: block 10, head 7 is L10H7, its kind, and what else it is where a head is several things."""
    columns = [Column("head", [f"L{block}H{head}" for block, head in frame.index], words=True)]
    if "kind" in frame:
        columns.append(Column("kind", [KINDS.get(kind, "") for kind in frame.kind], words=True))
    if "labels" in frame and frame.labels.str.contains(",").any():
        columns.append(Column("also", [also(labels) for labels in frame.labels], words=True))
    return columns


def also(labels: str) -> str:
    """The kinds of a head beyond the first."""
    return ", ".join(KINDS.get(kind, kind) for kind in labels.split(", ")[1:])


def columns_of(frame: pd.DataFrame, group: str, name: str) -> list[Column]:
    """A result of every head; scores with their errors."""
    path = f"{group}/{name}"
    values, digits = factor(path) * frame[name], DIGITS.get(name, 1)
    if group == "taxonomy":
        return estimates(heading(path), values, factor(path) * frame[f"{name}_se"], digits)
    return [Column(heading(path), [number(value, digits) for value in values])]


def terms(frame: pd.DataFrame) -> list[Column]:
    """The dominant constituent of every head's logits and its share, where the run knows it."""
    if "dominant_qk_term" not in frame:
        return []
    pairs = zip(frame.dominant_qk_term, frame.dominant_qk_share, strict=True)
    return [Column(DOMINANT, [f"{term} {100 * share:.0f} %" if term else "–" for term, share in pairs], words=True)]


def title(run: Run) -> str:
    """How many heads have a kind, in one line."""
    if "taxonomy" not in run.results.children:
        return f"Attention heads of {run.title}"
    kind = kinds_of(run.results)
    count, even = int(has_kind(kind).sum()), int((kind == UNIFORM).sum())
    named = f"{count} of {kind.size} heads have a kind ({counted_kinds(kind)})"
    some = named if count else f"None of {kind.size} heads has a kind"
    return f"{run.title}: {some}{f'; {even} are uniform' if even else ''}"


def caption(run: Run, left: pd.DataFrame | None = None) -> str:
    """How many heads were left out, and how to read the columns."""
    lines = []
    if left is not None and len(left):
        kind = left.kind.value_counts().index[0]
        lines.append(f"{numbered(len(left), 'more head')}: --kind {kind} prints one kind, --all every head.")
    lines += scores_explained(run) if "taxonomy" in run.results.children else []
    if "constituents" in run.results.children:
        lines.append(f"{DOMINANT}: query → key, the largest {label_of('constituents/share')}.")
    return "\n".join([*lines, "--json and --csv give every head, with all scores and errors."])


def scores_explained(run: Run) -> list[str]:
    """What the scores are, what their errors are over, and what the random-weight control reaches."""
    repeats = draws(run.results, "taxonomy/induction") or "some"
    over = draws_of(str(run.provenance.get("groups", "")))
    nulls = ", ".join(
        f"{KINDS[name]} {100 * float(array(run.results, f'taxonomy/{name}_null')):.1f}" for name in SCORES
    )
    repeated, on_text = (
        ", ".join(KINDS[name] for name in SCORES if (name in REPEATED) == asked) for asked in (True, False)
    )
    return [
        f"score %: the attention that decides the kind. {repeated}: repeated random tokens, standard error (SE) "
        f"over {repeats} windows; {on_text}: text, SE over {over}; uniform: relative entropy.",
        f"Highest score of any head of the random-weight control, in %: {nulls}. A kind needs clearly more.",
    ]
