"""Figures from layer to layer: likeness of layers, anisotropy, dimension, and what the token alone explains."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, labelled_curve, layer_axis
from armillary.figures.kit.fields import field, heatmap
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import PALETTE, axes, panels
from armillary.figures.kit.words import Phrases, at, effect, largest, number, quoted, span
from armillary.results.reading import estimate, has, numbers, optional

TOKEN = Phrases(
    "What the token alone explains",
    "The token alone explains up to {value} of the residual ({layer}; chance {null}); more than chance in {layers}",
    "The token alone explains no more than chance: within {possible} of it in every layer",
    "What the token alone explains is not determined: no layer is told from chance, up to {possible} is possible",
)


def layer_field(results: xr.DataTree, name: str, bar: str) -> go.Figure:
    """A matrix of layers by layers."""
    return field(heatmap(numbers(results, f"depth/{name}"), bar, (-1.0, 1.0)), "layer", "layer")


def layer_field_finding(results: xr.DataTree, name: str, what: str) -> str:
    """Likeness of neighbouring layers, and of the first with the last."""
    values = numbers(results, f"depth/{name}")
    steps = np.diagonal(values, 1)
    if not np.isfinite(steps).any():
        return f"The {what} of layers is not determined"
    last = len(values) - 1
    ends = number(float(values[0, last]))
    return f"From one layer to the next the {what} is {span(steps)}; between layers 0 and {last} it is {ends}"


def anisotropy(results: xr.DataTree) -> go.Figure:
    """Mean cosine of two states, as they are and centred."""
    paths = {"as they are": "depth/anisotropy", "mean taken off": "depth/anisotropy_centred"}
    return labelled_curve(results, {n: p for n, p in paths.items() if has(results, p)}, "mean cosine of two states")


def anisotropy_finding(results: xr.DataTree) -> str:
    """How aligned states are, and what is left once their mean is taken off."""
    one = estimate(results, "depth/anisotropy")
    if not np.isfinite(one.value).any():
        return "Anisotropy is not determined"
    best = largest(one.value)
    told = f"Two states of different tokens have a mean cosine of up to {at(one, best)} (layer {best})"
    centred = optional(results, "depth/anisotropy_centred")
    return told if centred is None else f"{told}; with the mean taken off {number(float(centred[best]))}"


def dimension(results: xr.DataTree) -> go.Figure:
    """The TwoNN dimension with its error and its null."""
    return with_null(results, "dimension_twonn", "dimensions", "TwoNN dimension")


def dimension_finding(results: xr.DataTree) -> str:
    """The largest dimension with its margin; where it differs from the null."""
    one, null = estimate(results, "depth/dimension_twonn"), optional(results, "depth/dimension_twonn_null")
    if not np.isfinite(one.value).any():
        return "The intrinsic dimension is not determined in any layer"
    best = largest(one.value)
    told = f"The cloud of states has {span(one.value)} dimensions, most in layer {best}: {at(one, best)}"
    return told if null is None else f"{told}; a Gaussian cloud of the same covariance reads as {span(null)}"


def with_null(results: xr.DataTree, name: str, up: str, text: str) -> go.Figure:
    """One curve of the group with its band and its null."""
    one = estimate(results, f"depth/{name}")
    figure = panels()
    draw_estimate(figure, one, text)
    if has(results, f"depth/{name}_null"):
        draw_null(figure, numbers(results, f"depth/{name}_null"))
    axes(figure, one.axis, up, rangemode="tozero")
    layer_axis(figure, one.value.size)
    return figure


def outlier_dimensions(results: xr.DataTree) -> go.Figure:
    """Share of the variance in all outlier dimensions, and in the largest single ones, in per cent."""
    common = 100 * numbers(results, "depth/outlier_dimension_share")
    figure = panels()
    draw_line(figure, common, "all outlier dimensions", PALETTE[0])
    if has(results, "depth/dimension_share"):
        single = 100 * numbers(results, "depth/dimension_share")
        for place, name in enumerate(("largest", "second", "third")[: single.shape[1]]):
            draw_line(figure, single[:, place], f"{name} dimension", PALETTE[place + 1], "dot")
    axes(figure, "layer", "share of the variance, %", rangemode="tozero")
    layer_axis(figure, common.size)
    return figure


def outlier_dimensions_finding(results: xr.DataTree) -> str:
    """How much of the variance lies in few coordinates."""
    values = numbers(results, "depth/outlier_dimension_share")
    if not np.isfinite(values).any():
        return "The share of outlier dimensions is not determined"
    if not np.nanmax(values) > 0:
        return "No coordinate holds more than five times the average variance in any layer"
    best = largest(values)
    return f"Outlier dimensions hold up to {quoted(float(values[best]), np.nan, '%')} of the variance (layer {best})"


def token_share(results: xr.DataTree) -> go.Figure:
    """What the token's identity explains of the residual, in per cent, with error and null."""
    one, null = estimate(results, "depth/token_share"), optional(results, "depth/token_share_null")
    figure = panels()
    draw_estimate(figure, one.percent(), "explained by the token")
    if null is not None:
        draw_null(figure, 100 * null)
    axes(figure, one.axis, "share of the residual, %", rangemode="tozero")
    layer_axis(figure, one.value.size)
    return figure


def token_share_finding(results: xr.DataTree) -> str:
    """How much the token alone explains, beyond chance."""
    null = optional(results, "depth/token_share_null")
    one = estimate(results, "depth/token_share")
    if null is None:
        return f"The token alone explains {span(one.value, '%')} of the residual; what chance gives is not determined"
    return effect(one, null, TOKEN, 0.01, "%")


FIGURES = (
    Figure(
        "layer-cosine",
        "depth",
        ("depth/layer_cosine",),
        partial(layer_field_finding, name="layer_cosine", what="mean cosine of a token's states"),
        partial(layer_field, name="layer_cosine", bar="mean cosine"),
        "How alike the states of the same token are in two layers. A mean that layers share counts as likeness.",
        "mean over sampled tokens of cos(h_ℓ, h_ℓ′)",
        "Song & Zhong (2023), Figure 8 (right)",
    ),
    Figure(
        "layer-cka",
        "depth",
        ("depth/cka_debiased",),
        partial(layer_field_finding, name="cka_debiased", what="CKA"),
        partial(layer_field, name="cka_debiased", bar="CKA, debiased"),
        "How alike the geometry of the sampled tokens is in two layers: 1 if equal up to rotation and scale, 0 on "
        "average if unrelated.",
        "HSIC(K, L) / √(HSIC(K, K) · HSIC(L, L)), K and L the inner products in two layers, HSIC the unbiased one",
        "Kornblith et al. (2019); Song et al. (2012)",
    ),
    Figure(
        "anisotropy",
        "depth",
        ("depth/anisotropy",),
        anisotropy_finding,
        anisotropy,
        "How much all states point the same way. If little is left once the mean is taken off, the common direction "
        "is the mean itself.",
        "mean of cos(h, h′) over pairs of different sampled tokens; centred: of h − mean",
        "Ethayarajh (2019)",
    ),
    Figure(
        "dimension",
        "depth",
        ("depth/dimension_twonn",),
        dimension_finding,
        dimension,
        "How many dimensions the cloud of states has at the scale of nearest neighbours, with its null beside it. "
        "From about 10 on it reads too low. Its error comes from the likelihood, not from documents.",
        "log(r₂ / r₁) ~ Exponential(D), r₁ and r₂ the distances to the two nearest neighbours, upper tail censored",
        "Facco et al. (2017)",
    ),
    Figure(
        "outlier-dimensions",
        "depth",
        ("depth/outlier_dimension_share",),
        outlier_dimensions_finding,
        outlier_dimensions,
        "Share of the variance in the few coordinates whose variance exceeds five times the average, and in the "
        "largest single ones. No error is known for it.",
        "Σ var_i over i with var_i > 5 · mean var, over Σ var_i",
        "Rudman, Chen & Eickhoff (2023)",
    ),
    Figure(
        "token-share",
        "depth",
        ("depth/token_share",),
        token_share_finding,
        token_share,
        "How much of what position and context leave is explained by which token it is, from the commonest tokens. "
        "The null deals the states out among the tokens anew.",
        "between-token share of the residual's sum of squares over the commonest tokens",
        "docs/measures.md",
    ),
)
