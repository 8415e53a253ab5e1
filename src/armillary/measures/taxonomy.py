"""Names for heads, by what they do: each score against the random-weight control, whose heads do nothing."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from armillary.measures.errors.groups import group_mean, means_without

LOCAL_SPANS = 4
"""How many bins of distance count as near: 0, 1, 2 and 3–4 tokens."""

SPECIAL = {"induction": 0.2, "duplicate": 0.2, "previous": 0.2}
"""What a head looks for, and how much of the mass beyond the control's reach it must put there."""

GENERAL = {"sink": 0.5, "local": 0.5}
"""Where a head looks when it looks for nothing in particular."""

UNIFORM = 0.9
"""Entropy over its maximum from which a head without another name is called uniform."""

PerHead = Float[np.ndarray, "block head"]
PerGroup = Float[np.ndarray, "block head group"]


class Taxonomy(NamedTuple):
    """A name for each head, empty where none fits, all names that fit, and the scores with their errors and nulls.

    What is measured on text is also given without each group of documents, for runs that share their documents.
    """

    kind: Shaped[np.ndarray, "block head"]
    labels: Shaped[np.ndarray, "block head"]
    induction: PerHead
    induction_se: PerHead
    induction_null: float
    duplicate: PerHead
    duplicate_se: PerHead
    duplicate_null: float
    previous: PerHead
    previous_se: PerHead
    previous_null: float
    sink: PerHead
    sink_se: PerHead
    sink_null: float
    sink_without: PerGroup
    local: PerHead
    local_se: PerHead
    local_null: float
    local_without: PerGroup


class Score(NamedTuple):
    """A score of every head, its standard error, and the highest that a head of the random-weight control reaches."""

    value: PerHead
    se: PerHead
    null: float


def taxonomy(
    induction_repeats: Float[np.ndarray, "block head repeat"],
    duplicate_repeats: Float[np.ndarray, "block head repeat"],
    previous_repeats: Float[np.ndarray, "block head repeat"],
    induction_twin: PerHead,
    duplicate_twin: PerHead,
    previous_twin: PerHead,
    mass_first_twin: PerHead,
    mass_local_twin: PerHead,
    mass_first_groups: PerGroup,
    entropy_relative: PerHead,
    distance_profile_groups: Float[np.ndarray, "block head group span"],
    windows: Int[np.ndarray, "group"],
) -> Taxonomy:
    """Scores are masses of attention, from 0 to 1. On repeated random tokens, from the second copy: induction on the
    token after the first occurrence, duplicate on the first occurrence, previous on the token before. On text: sink
    on position 0, local within 4 tokens.

    A head gets a name when its score exceeds null + share · (1 − null), null the highest score of any head of the
    control: one number per score, so that many heads are no excuse. Among induction, duplicate and previous the highest
    score names the head, else the higher of sink and local; uniform is a head without name whose entropy is 0.9 of its
    maximum. `labels` has every name whose threshold a head passes, the one that names it first: an induction head may
    rest on position 0 where there is nothing to copy. Thresholds are a choice; the scores are there to choose others.
    """
    on_text = {"sink": mass_first_groups, "local": distance_profile_groups[..., :LOCAL_SPANS].sum(-1)}
    scores = {
        "induction": over_repeats(induction_repeats, induction_twin),
        "duplicate": over_repeats(duplicate_repeats, duplicate_twin),
        "previous": over_repeats(previous_repeats, previous_twin),
        "sink": over_groups(on_text["sink"], windows, mass_first_twin),
        "local": over_groups(on_text["local"], windows, mass_local_twin),
    }
    kind = names(scores, entropy_relative)
    return Taxonomy(
        kind,
        all_names(scores, kind),
        *scores["induction"],
        *scores["duplicate"],
        *scores["previous"],
        *scores["sink"],
        without_each(on_text["sink"], windows),
        *scores["local"],
        without_each(on_text["local"], windows),
    )


def over_repeats(each: Float[np.ndarray, "block head repeat"], twin: PerHead) -> Score:
    """Mean over windows of random tokens, which are independent draws; NaN as error of a single window."""
    repeats = each.shape[-1]
    spread = each.std(-1, ddof=1) if repeats > 1 else np.full(each.shape[:-1], np.nan)
    return Score(each.mean(-1), spread / np.sqrt(repeats), float(twin.max()))


def over_groups(each: PerGroup, windows: Int[np.ndarray, "group"], twin: PerHead) -> Score:
    """Mean over windows of text, with its error over groups of documents."""
    found = group_mean(np.moveaxis(each, -1, 0), windows)
    return Score(found.mean, found.se, float(twin.max()))


def without_each(each: PerGroup, windows: Int[np.ndarray, "group"]) -> PerGroup:
    """The same mean without each group of documents."""
    return np.moveaxis(means_without(np.moveaxis(each, -1, 0), windows)[1], 0, -1)


def names(scores: dict[str, Score], entropy_relative: PerHead) -> Shaped[np.ndarray, "block head"]:
    """The name of each head; empty where none fits."""
    special, general = (named(scores, kinds) for kinds in (SPECIAL, GENERAL))
    found = np.where(special != "", special, general)
    return np.where((found == "") & (entropy_relative >= UNIFORM), "uniform", found)


def all_names(scores: dict[str, Score], kind: Shaped[np.ndarray, "block head"]) -> Shaped[np.ndarray, "block head"]:
    """Every name that fits a head, joined by commas, the one that it has first; empty where none does."""
    found = kind.astype(object)
    for name, share in (SPECIAL | GENERAL).items():
        found = np.where((passing(scores[name], share) >= 0) & (kind != name), found + f", {name}", found)
    return found.astype(str)


def named(scores: dict[str, Score], kinds: dict[str, float]) -> Shaped[np.ndarray, "block head"]:
    """The kind with the highest score among those that pass their threshold; empty where none does."""
    stacked = np.stack([passing(scores[kind], share) for kind, share in kinds.items()])
    return np.where(stacked.max(0) >= 0, np.array(list(kinds))[stacked.argmax(0)], "")


def passing(score: Score, share: float) -> PerHead:
    """The score where it exceeds null + share · (1 − null), else −1."""
    return np.where(score.value > score.null + share * (1 - score.null), score.value, -1.0)
