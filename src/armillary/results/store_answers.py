"""What a run's stores say to the claims about early and late blocks: a verdict with its numbers for each."""

import warnings

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from armillary.measures.errors.shares import Share
from armillary.measures.stores.depth import Heads, Trend, legible, rising, specific_heads, unreadable
from armillary.results.answering import Answer
from armillary.results.reading import has, numbers

READABLE = "peak"
"""The measure of a reading that the claims are about; coherence stands beside it in the results."""


def store_answers(results: xr.DataTree) -> dict[str, Answer]:
    """The claims by name: early blocks unreadable, readability and specificity rising, specific heads at the end.

    A reading is readable where its top token stands out more than that of 99 % of random directions.
    """
    blocks = block_numbers(results)
    answers = {"early_unreadable": answered(f"Block {blocks[0]} is unreadable", unreadable(block_readable(results, 0)))}
    answers["readability_rises"] = answered(
        "Readability rises with depth", rising(block_medians(results, f"stores/{READABLE}_z"))
    )
    answers["late_readable"] = answered(f"Block {blocks[-1]} is readable", legible(block_readable(results, -1)))
    for what in ("keys", "values"):
        path = f"store_words/specificity_{what}_z"
        if has(results, path):
            answers[f"{what}_specificity_rises"] = answered(
                f"Specificity of {what} rises with depth", rising(block_medians(results, path))
            )
            answers[f"{what}_specific_late"] = answered(
                f"Block {blocks[-1]} has subject-specific {what}", specific_heads(numbers(results, path)[-1])
            )
    return answers


def answered(claim: str, found: Share | Trend | Heads) -> Answer:
    """A claim with the verdict of these numbers, and the numbers in words."""
    return Answer(claim, found, in_words(found))


def block_numbers(results: xr.DataTree) -> list[int]:
    """The blocks that were read."""
    group = results["stores"].to_dataset()
    return [int(block) for block in (group["block"].values if "block" in group.coords else range(group.sizes["block"]))]


def block_readable(results: xr.DataTree, block: int) -> Bool[np.ndarray, " case"]:
    """Whether each reading of a block is readable, all heads, sides and triplets."""
    values, points = (numbers(results, f"stores/{READABLE}{ending}", block=block) for ending in ("", "_null"))
    known = np.isfinite(values)
    return values[known] > points[known]


def readable_share(results: xr.DataTree, sides: slice) -> Float[np.ndarray, " block"]:
    """The share of readable triplets on some sides, by block; NaN where there are none."""
    values, points = (numbers(results, f"stores/{READABLE}{ending}")[:, :, sides] for ending in ("", "_null"))
    known = np.isfinite(values).sum(axis=(1, 2, 3))
    return np.where(known > 0, (values > points).sum(axis=(1, 2, 3)) / np.maximum(known, 1), np.nan)


def block_medians(results: xr.DataTree, path: str, **at: int) -> Float[np.ndarray, " block"]:
    """The median of a result over everything but the block; NaN where nothing is known."""
    values = numbers(results, path, **at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a block of which nothing is known
        return np.asarray(np.nanmedian(values.reshape(len(values), -1), axis=1))


def in_words(found: Share | Trend | Heads) -> str:
    """The numbers behind a verdict."""
    if isinstance(found, Share):
        low, high = (f"{100 * end:.0f}" for end in (found.low, found.high))
        return f"{100 * found.share:.0f} % of its triplets readable, 95 % interval {low} to {high}; null 1"
    if isinstance(found, Heads):
        return f"{found.significant} of {found.heads} heads significant, largest z {found.largest:.1f}"
    return f"Spearman correlation {found.correlation:.2f}, p {found.p:.2g}; {found.first:.1f} to {found.last:.1f}"
