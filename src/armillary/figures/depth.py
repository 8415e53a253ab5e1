"""Figures from layer to layer: similarity of layers, anisotropy, dimension, and what the token explains."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import ESTIMATE, series
from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, labelled_curve, layer_axis
from armillary.figures.kit.fields import field, heatmap
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn, drawn_estimate
from armillary.figures.kit.words import (
    NO_NULL,
    NOT_ESTIMABLE,
    Phrases,
    at,
    effect,
    error_words,
    largest,
    number,
    quoted,
    significance,
    span,
)
from armillary.results.reading import array, estimate, has, numbers, optional

FEWER = (64, 256)
"""The sizes of parts of the sample whose dimension is drawn beside that of all of it."""

TOKEN = Phrases(
    "What the token explains",
    "The token explains up to {value} of the residual ({layer})",
    "The token explains no more than the null: within {possible} of it everywhere",
    "What the token explains is not significant in any layer; up to {possible} is possible",
)


def layer_field(results: xr.DataTree, name: str, bar: str) -> go.Figure:
    """A matrix of layers by layers."""
    return field(heatmap(numbers(results, f"depth/{name}"), bar, (-1.0, 1.0)), "layer", "layer")


def layer_field_finding(results: xr.DataTree, name: str, what: str) -> str:
    """The least similarity of neighbouring layers."""
    values = numbers(results, f"depth/{name}")
    steps = np.diagonal(values, 1)
    if not np.isfinite(steps).any():
        return f"The {what} of neighbouring layers is {NOT_ESTIMABLE}"
    low = largest(-steps)
    return f"Neighbouring layers have a {what} of at least {number(float(steps[low]))} (layers {low}–{low + 1})"


def layer_field_detail(results: xr.DataTree, name: str) -> str:
    """Similarity of neighbouring layers, of the first with the last, and without the tokens that dominate layers."""
    values = numbers(results, f"depth/{name}")
    steps, last = np.diagonal(values, 1), len(values) - 1
    if not np.isfinite(steps).any():
        return ""
    said = f"{span(steps)} from layer to layer, {number(float(values[0, last]))} from layer 0 to {last}"
    path = f"influence/{name}_less_dominant"
    if not has(results, path) or not array(results, "influence/dominant").values.any():
        return said
    gap = np.abs(numbers(results, path) - values)
    one, other = np.unravel_index(int(np.nan_to_num(gap).argmax()), gap.shape)
    low, high = sorted((int(one), int(other)))
    pair = f"{number(float(values[low, high]))} → {number(float(numbers(results, path)[low, high]))}"
    return f"{said}. Without the tokens that dominate layers (see dominant-tokens), layers {low} and {high}: {pair}"


def anisotropy(results: xr.DataTree) -> go.Figure:
    """Mean cosine of two states, not centred and mean-centred."""
    paths = {"not centred": ("depth/anisotropy", ESTIMATE), "mean-centred": ("depth/anisotropy_centred", series(1)[0])}
    shown = {name: place for name, place in paths.items() if has(results, place[0])}
    return labelled_curve(results, shown, "mean cosine of two states")


def anisotropy_finding(results: xr.DataTree) -> str:
    """How aligned states are at most."""
    cosine = estimate(results, "depth/anisotropy")
    if not np.isfinite(cosine.value).any():
        return f"Anisotropy is {NOT_ESTIMABLE}"
    best = largest(cosine.value)
    return f"Two tokens' states have a mean cosine of up to {at(cosine, best)} (layer {best})"


def anisotropy_detail(results: xr.DataTree) -> str:
    """The cosine over the layers, and when mean-centred."""
    cosine, centred = (optional(results, f"depth/anisotropy{end}") for end in ("", "_centred"))
    if cosine is None or not np.isfinite(cosine).any():
        return ""
    return f"{span(cosine)} over the layers" + ("" if centred is None else f"; mean-centred {span(centred)}")


def dimension(results: xr.DataTree) -> go.Figure:
    """The TwoNN dimension, its null, and how it grows with the number of tokens."""
    path = "depth/dimension_twonn"
    figure = with_null(results, path, "TwoNN, all sampled tokens", "Gaussian null of the same covariance")
    for size, colour in zip(FEWER, series(len(FEWER)), strict=True):
        if has(results, f"{path}_by_size"):
            draw_line(figure, at_size(results, size), f"TwoNN, parts of {size} tokens", colour, "dot")
    return figure


def at_size(results: xr.DataTree, size: int) -> Float[np.ndarray, " layer"]:
    """The dimension of parts of the sample of this size."""
    return np.asarray(array(results, "depth/dimension_twonn_by_size").sel(size=size).values, dtype=np.float64)


def dimension_finding(results: xr.DataTree) -> str:
    """The largest dimension."""
    twonn = estimate(results, "depth/dimension_twonn")
    if not np.isfinite(twonn.value).any():
        return f"The intrinsic dimension is {NOT_ESTIMABLE} in any layer"
    best = largest(twonn.value)
    return f"The intrinsic dimension (TwoNN) is at most {number(float(twonn.value[best]))} (layer {best})"


def dimension_detail(results: xr.DataTree) -> str:
    """The dimension over the layers, for fewer tokens, and the null."""
    twonn, null = numbers(results, "depth/dimension_twonn"), optional(results, "depth/dimension_twonn_null")
    if not np.isfinite(twonn).any():
        return ""
    detail = f"{span(twonn)} over the layers"
    if has(results, "depth/dimension_twonn_by_size"):
        fewer = at_size(results, FEWER[0])
        detail += f", {span(fewer)} at {FEWER[0]} tokens" if np.isfinite(fewer).any() else ""
    return detail if null is None else f"{detail}; Gaussian null {span(null)}"


def with_null(results: xr.DataTree, path: str, name: str, null: str) -> go.Figure:
    """One curve with its band and its null."""
    curve = drawn_estimate(results, path)
    figure = panels()
    draw_estimate(figure, curve, name)
    if has(results, f"{path}_null"):
        draw_null(figure, drawn(results, f"{path}_null"), null)
    axes(figure, curve.axis, axis_label(path), rangemode="tozero")
    layer_axis(figure, curve.value.size)
    return figure


def outlier_dimensions(results: xr.DataTree) -> go.Figure:
    """Share of the variance in all outlier dimensions, and in the largest single ones, in per cent."""
    common = drawn(results, "depth/outlier_dimension_share")
    figure = panels()
    draw_line(figure, common, "all outlier dimensions", ESTIMATE)
    if has(results, "depth/dimension_share"):
        single = drawn(results, "depth/dimension_share").T
        for values, name, colour in zip(single, ("largest", "second", "third"), series(3), strict=False):
            draw_line(figure, values, f"{name} dimension", colour, "dot")
    axes(figure, "layer", "share of the variance, %", rangemode="tozero")
    layer_axis(figure, common.size)
    return figure


def outlier_dimensions_finding(results: xr.DataTree) -> str:
    """How much of the variance lies in few coordinates."""
    values = numbers(results, "depth/outlier_dimension_share")
    if not np.isfinite(values).any():
        return f"The share of outlier dimensions is {NOT_ESTIMABLE}"
    if not np.nanmax(values) > 0:
        return "No coordinate holds more than five times the average variance in any layer"
    best = largest(values)
    return f"Outlier dimensions hold up to {quoted(float(values[best]), np.nan, '%')} of the variance (layer {best})"


def token_share(results: xr.DataTree) -> go.Figure:
    """What the token's identity explains of the residual, in per cent, with error and null."""
    figure = with_null(
        results, "depth/token_share", "explained by the token", "permutation null: highest of 19 shuffles"
    )
    return figure.update_yaxes(title_text="share of the residual, %")


def token_share_finding(results: xr.DataTree) -> str:
    """How much the token explains, beyond its null."""
    null = optional(results, "depth/token_share_null")
    share = estimate(results, "depth/token_share")
    if null is not None:
        return effect(share, null, TOKEN, 0.01, "%")
    if not np.isfinite(share.value).any():
        return f"What the token explains is {NOT_ESTIMABLE}"
    best = largest(share.value)
    return f"The token explains up to {at(share, best, '%')} of the residual (layer {best}); {NO_NULL}"


def token_share_detail(results: xr.DataTree) -> str:
    """The share over the layers, its null, and where it is significant."""
    share, null = estimate(results, "depth/token_share"), optional(results, "depth/token_share_null")
    if null is None or not np.isfinite(share.value).any():
        return ""
    return f"{span(share.value, '%')} over the layers, null {span(null, '%')}. {significance(share, null)}".rstrip(". ")


FIGURES = (
    Figure(
        "layer-cosine",
        "depth",
        ("depth/layer_cosine",),
        partial(layer_field_finding, name="layer_cosine", what="mean cosine"),
        partial(layer_field, name="layer_cosine", bar="mean cosine"),
        "Similarity of the same token's hidden states in two layers. A mean that layers share counts as similarity.",
        "mean over sampled tokens of cos(h_ℓ, h_ℓ′)",
        "Song & Zhong (2023), Figure 8 (right)",
        partial(layer_field_detail, name="layer_cosine"),
    ),
    Figure(
        "layer-cka",
        "depth",
        ("depth/cka_debiased",),
        partial(layer_field_finding, name="cka_debiased", what="CKA"),
        partial(layer_field, name="cka_debiased", bar="CKA, bias-corrected"),
        "Similarity of the sampled tokens' geometry in two layers: 1 if equal up to rotation and scale, 0 on average "
        "if unrelated.",
        "HSIC(K, L) / √(HSIC(K, K) · HSIC(L, L)), K and L the inner products in two layers, HSIC the unbiased one",
        "Kornblith et al. (2019); Song et al. (2012)",
        partial(layer_field_detail, name="cka_debiased"),
    ),
    Figure(
        "anisotropy",
        "depth",
        ("depth/anisotropy",),
        anisotropy_finding,
        anisotropy,
        "How much all states point the same way. If little is left when mean-centred, the common direction is the mean "
        f"itself. Band: {error_words('depth/anisotropy')}.",
        "mean of cos(h, h′) over pairs of different sampled tokens; mean-centred: of h − mean",
        "Ethayarajh (2019)",
        anisotropy_detail,
    ),
    Figure(
        "dimension",
        "depth",
        ("depth/dimension_twonn",),
        dimension_finding,
        dimension,
        "How many dimensions the cloud of states has at the scale of nearest neighbours. Above about 10 TwoNN is "
        "biased low: compare with its null, Gaussian clouds of as many points and the same covariance. No interval: it "
        "depends on the number of tokens, as the dotted curves show, and no resampling of documents covers that.",
        "log(r₂ / r₁) ~ Exponential(D), r₁ and r₂ the distances to the two nearest neighbours, upper tail censored",
        "Facco et al. (2017)",
        dimension_detail,
    ),
    Figure(
        "outlier-dimensions",
        "depth",
        ("depth/outlier_dimension_share",),
        outlier_dimensions_finding,
        outlier_dimensions,
        "Share of the variance in the few coordinates whose variance exceeds five times the average, and in the "
        "largest single ones. No interval.",
        "Σ var_i over i with var_i > 5 · mean var, over Σ var_i",
        "Rudman, Chen & Eickhoff (2023)",
    ),
    Figure(
        "token-share",
        "depth",
        ("depth/token_share",),
        token_share_finding,
        token_share,
        "How much of the residual component is explained by which token it is, from tokens that the sample holds at "
        "least twice. Permutation null: states shuffled among the tokens, the highest of 19. Band: "
        f"{error_words('depth/token_share')}.",
        "between-token share of the residual's sum of squares, corrected for degrees of freedom",
        "docs/measures.md",
        token_share_detail,
    ),
)
