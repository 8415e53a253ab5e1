"""Questions about hidden states: position, context, massive activations, tokens that dominate."""

import numpy as np
import xarray as xr

from armillary.figures.context import above_shuffled, counted_pairs, few_pairs, incoherence_null, pairs_within
from armillary.figures.kit.words import contrast, counted, largest, layer_ranges, number, quoted
from armillary.figures.position.smoothness import SMOOTH, low_share, smoother
from armillary.figures.position.strength import why_not
from armillary.figures.states.dominance import SHARE, TOKEN, dominated
from armillary.figures.states.outliers import massive_first, outlier_table
from armillary.measures.similarity import SHUFFLES
from armillary.reporting.kinds import NO, UNCLEAR, YES, Curve
from armillary.reporting.questions.asking import Question, Said, by_most
from armillary.results.reading import array, estimate, first_ratios, has, massive_times, numbers, optional
from armillary.system.texts import in_quotes

SMALL = 0.01
"""A share of the variance that is certainly below this is no effect."""

LOW, FEW = 0.1, 3
"""A basis is low-rank where its stable rank is certainly below this part of the largest possible one, or below this."""


def position(results: xr.DataTree) -> Said:
    """Whether position explains some of the variance."""
    share = estimate(results, "position/share_corrected")
    compared, curve = contrast(share), Curve(100 * share.value, np.zeros_like(share.value))
    if not np.isfinite(share.value).any():
        return Said(UNCLEAR, "The position share is not estimable in this run")
    best = largest(share.value)
    value = quoted(float(share.value[best]), float(share.margin(share.value.size)[best]), "%")
    if compared.above.any():
        where = f"significant in {counted(compared.above)}"
        return Said(YES, f"Position explains up to {value} of variance (layer {best}); {where}", curve)
    if not compared.known.any():
        return Said(UNCLEAR, f"Position explains up to {value} of variance (layer {best}); no interval", curve)
    possible = number(100 * compared.possible)
    if compared.possible < SMALL:
        return Said(NO, f"Position explains less than {possible} % of every layer's variance", curve)
    return Said(UNCLEAR, f"Not significant in any layer; up to {possible} % of variance is possible", curve)


def low_rank(results: xr.DataTree) -> Said:
    """Whether the stable rank is certainly a small part of the largest possible one."""
    rank = estimate(results, "position/rank_stable_corrected")
    known = np.isfinite(rank.value)
    if not known.any():
        return Said(UNCLEAR, f"The stable rank is not estimable: {why_not(results, 'rank_stable')}")
    best, margin = largest(rank.value), rank.margin(rank.value.size)
    value = quoted(float(rank.value[best]), float(margin[best]))
    curve = Curve(rank.value)
    if not has(results, "residual/position_basis"):
        return Said(UNCLEAR, f"The stable rank is at most {value} (layer {best}); of how many is not known", curve)
    sizes = array(results, "residual/position_basis").sizes
    most = min(sizes["position"] - 1, sizes["d_model"])
    high, low = (rank.value + sign * np.nan_to_num(margin) for sign in (1, -1))
    limit = max(LOW * most, FEW)
    verdict = YES if (high[known] < limit).all() else NO if (low[known] > limit).any() else UNCLEAR
    verdict = verdict if np.isfinite(margin[known]).all() else UNCLEAR
    return Said(verdict, f"Stable rank is at most {value} of {most} possible (layer {best})", curve)


def smooth(results: xr.DataTree) -> Said:
    """Whether low frequencies hold more of the positional Gram matrix than in shifted windows."""
    share, highest = low_share(results)
    if not np.isfinite(share.value).any():
        return Said(UNCLEAR, "The low-frequency share is not estimable in this run")
    above, best = smoother(results), largest(share.value)
    null = optional(results, "position/low_frequency_share_null", frequency=highest)
    low, high = 100 * share.low[best], 100 * share.high[best]
    # No interval: noise is rough, so with a fold of documents left out the share may always be lower than with all.
    fewer = f"; {number(low)} to {number(high)} % on fewer documents" if np.isfinite(low + high) else ""
    held = f"Low frequencies hold up to {number(100 * float(share.value[best]))} % (layer {best}{fewer})"
    curve = Curve(100 * share.value, None if null is None else 100 * null)
    if above is None:
        return Said(UNCLEAR, f"{held}; no null", curve)
    return Said(by_most(above & (share.value >= SMOOTH)), f"{held}; above null in {counted(above)}", curve)


def clusters(results: xr.DataTree) -> Said:
    """Whether windows of one document are more similar than after shuffles."""
    above = above_shuffled(results)
    within, between = (numbers(results, f"context/similarity_{name}") for name in ("within", "between"))
    if above is None or not np.isfinite(within - between).any():
        return Said(UNCLEAR, "Not estimable: this run has no shuffles of its documents")
    best, pairs = largest(within - between), pairs_within(results)
    values = f"|cosine| {number(float(within[best]))} within, {number(float(between[best]))} between (layer {best})"
    curve = Curve(within, numbers(results, "context/similarity_within_null"), at=best)
    verdict = UNCLEAR if few_pairs(results) else by_most(above)
    rests = "" if pairs is None else f"; {counted_pairs(pairs)}"
    return Said(verdict, f"Above all {SHUFFLES} shuffles in {counted(above)}: {values}{rests}", curve)


def orthogonal(results: xr.DataTree) -> Said:
    """Whether position and context are no more aligned than random vectors of the same covariance."""
    cosine, null = numbers(results, "context/incoherence_mean"), incoherence_null(results)
    if not np.isfinite(cosine).any():
        return Said(UNCLEAR, "The orthogonality of position and context is not estimable")
    best = largest(cosine)
    value = f"Mean |cosine| is at most {number(float(cosine[best]))} (layer {best}; no interval)"
    if null is None:
        return Said(UNCLEAR, f"{value}; this run has no null for it", Curve(cosine))
    known = np.isfinite(cosine) & np.isfinite(null[1])
    below = known & (cosine <= null[1])
    where = f"within the {null[0]} null in {counted(below)}"
    return Said(by_most(below, known), f"{value}; {where}", Curve(cosine, null[1]))


def massive(results: xr.DataTree) -> Said:
    """Whether the first token, or some other, is massive."""
    times, first, rows = massive_times(results), first_ratios(results), outlier_table(results)
    layers, mask = array(results, "outliers/ratio").sizes["layer"], massive_first(results)
    limit = np.full(layers, times)
    if first is not None and mask.any():
        rule = "left out" if has(results, "residual/first") else "kept"
        top = number(float(np.nanmax(first)))
        said = (
            f"The first token: up to {top} × the median norm, above {times:g} × in {layer_ranges(mask)}; {rule} below"
        )
        return Said(YES, said, Curve(first, limit))
    if not rows.empty:
        top = rows.iloc[0]
        rule = {"drop": "; left out below", "keep": "; kept below"}.get(str(results.attrs.get("outliers")), "")
        count = "1 token is" if len(rows) == 1 else f"{len(rows)} tokens are"
        most = f"up to {number(float(top.ratio))} × the median norm (layer {int(top.layer)})"
        return Said(
            YES,
            f"{count} massive, {most}: {in_quotes(str(top.text))}{rule}",
            Curve(numbers(results, "outliers/ratio").max(0), limit),
        )
    largest_norm = optional(results, "residual/norm_largest")
    if largest_norm is None or not has(results, "outliers/median_norm"):
        return Said(NO, f"No token exceeds {times:g} × the median norm of a layer")
    ratio = largest_norm.max(1) / numbers(results, "outliers/median_norm")
    top = number(float(np.nanmax(ratio)))
    return Said(NO, f"No token exceeds {times:g} × the median norm; the largest is {top} ×", Curve(ratio, limit))


def dominant(results: xr.DataTree) -> Said:
    """Whether tokens that are not massive hold much of a layer's variance."""
    share, tokens = numbers(results, SHARE), array(results, TOKEN).values.astype(bool)
    if not tokens.any():
        return Said(NO, "No sampled token holds ten times its even share of a layer's variance")
    if not np.isfinite(share).any():
        return Said(UNCLEAR, "What single tokens hold of a layer's variance is not estimable")
    best = largest(share)
    texts = (
        array(results, "sample/text").values.astype(str)[tokens] if has(results, "sample/text") else np.zeros(0, str)
    )
    found, counts = np.unique(texts, return_counts=True)
    names = ", ".join(in_quotes(found[place], 12) for place in np.argsort(-counts, kind="stable")[:2])
    who = f"{int(tokens.sum())} of {tokens.size} sampled tokens" + (f" ({names})" if names else "")
    held = f"{number(100 * float(share[best]))} % of layer {best}'s variance"
    return Said(YES, f"{who} hold {held}; much of {layer_ranges(dominated(results))}", Curve(100 * share))


QUESTIONS = (
    Question("Do hidden states carry position?", ("position-share",), position, "position"),
    Question("Is the positional basis low-rank?", ("position-stable-rank",), low_rank, "position"),
    Question("Is position smooth?", ("low-frequency-share",), smooth, "position"),
    Question("Do contexts cluster by document?", ("context-similarity",), clusters, "context"),
    Question("Are position and context orthogonal?", ("incoherence",), orthogonal, "context"),
    Question("Are there massive activations?", ("outlier-tokens",), massive, "outliers"),
    Question("Do a few tokens dominate a layer?", ("dominant-tokens",), dominant),
)
