"""Figures of the context vectors: whether documents cluster, and whether context and position are orthogonal."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, labelled_curve, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import PALETTE, axes, panels
from armillary.figures.kit.words import at, contrast, counted, largest, number, span
from armillary.results.reading import Estimate, estimate, has, numbers

INCOHERENCE = {"mean": "mean |cosine|", "max": "largest |cosine|"}
NULLS = {"rotation": "null: random rotation", "covariance": "null: same covariance"}


def similarity(results: xr.DataTree) -> go.Figure:
    """Likeness of windows of one document and of different ones, with what random directions give."""
    paths = {"within a document": "context/similarity_within", "between documents": "context/similarity_between"}
    figure = labelled_curve(results, paths, "mean |cosine|", rangemode="tozero")
    if has(results, "context/similarity_null"):
        draw_null(figure, numbers(results, "context/similarity_null"))
    return figure


def similarity_finding(results: xr.DataTree) -> str:
    """Whether windows of one document are more alike than those of different ones."""
    within, between = (estimate(results, f"context/similarity_{name}") for name in ("within", "between"))
    compared = contrast(within, between)
    if not compared.known.any():
        return "Whether windows of one document are more alike is not determined: the run gives no error for it"
    best = largest(compared.difference, compared.above if compared.above.any() else None)
    values = f"mean |cosine| {at(within, best)} within, {at(between, best)} between ({within.axis} {best})"
    if compared.above.any():
        return f"Windows of one document are more alike, in {counted(compared.above, within.axis)}: {values}"
    if compared.possible < 0.02:
        return f"Windows of one document are no more alike: less than {number(compared.possible)} apart in every layer"
    return f"Whether windows of one document are more alike is not determined: {values}"


def clusters(results: xr.DataTree) -> go.Figure:
    """Silhouette and neighbour purity by document, each with its null."""
    shown = {"silhouette": "silhouette", "purity": "neighbour purity"}
    figure = panels(2, 1, tuple(shown.values()), height=540)
    for row, name in enumerate(shown, 1):
        one = estimate(results, f"context/{name}")
        draw_estimate(figure, one, "by document", PALETTE[0], row)
        if has(results, f"context/{name}_null"):
            draw_null(figure, numbers(results, f"context/{name}_null"), "null: shuffled documents", row)
        layer_axis(figure, one.value.size)
    figure.update_yaxes(title_text="−1 to 1", row=1, col=1)
    figure.update_yaxes(title_text="share of neighbours", rangemode="tozero", row=2, col=1)
    return figure.update_xaxes(title_text="layer", row=2, col=1)


def clusters_finding(results: xr.DataTree) -> str:
    """How often a window's nearest neighbour is of its own document, beside shuffled documents."""
    one = estimate(results, "context/purity")
    if not np.isfinite(one.value).any():
        return "Whether windows cluster by document is not determined: documents have too few windows"
    told = f"A window's nearest neighbour is of its own document in {span(one.value, '%')} of cases, over the layers"
    if not has(results, "context/purity_null"):
        return f"{told}; what chance gives is not determined"
    null = numbers(results, "context/purity_null")
    return f"{told}; of shuffled documents in {span(null, '%')}" + error_note(one, null)


def error_note(one: Estimate, null: np.ndarray) -> str:
    """What the error adds to a value beside its null; nothing where there is no error."""
    compared = contrast(one, null)
    return f", told apart in {counted(compared.above, one.axis)}" if compared.known.any() else ""


def incoherence(results: xr.DataTree) -> go.Figure:
    """Mean and largest |cosine| of a position and a context vector, each with both nulls."""
    shown = [name for name in INCOHERENCE if has(results, f"context/incoherence_{name}")]
    figure = panels(len(shown), 1, tuple(INCOHERENCE[name] for name in shown), height=120 + 210 * len(shown))
    for row, name in enumerate(shown, 1):
        one = estimate(results, f"context/incoherence_{name}")
        draw_estimate(figure, one, "position with context", PALETTE[0], row)
        for null, text in NULLS.items():
            path = f"context/incoherence_{name}_null_{null}"
            if has(results, path):
                draw_null(figure, numbers(results, path), text, row, dash="dash" if null == "rotation" else "dot")
        layer_axis(figure, one.value.size)
    axes(figure, "layer", "|cosine|", rangemode="tozero")
    return figure


def incoherence_finding(results: xr.DataTree) -> str:
    """Whether position and context are as orthogonal as chance makes them, by the mean."""
    one = estimate(results, "context/incoherence_mean")
    if not np.isfinite(one.value).any():
        return "How nearly orthogonal position and context are is not determined"
    best = largest(one.value)
    told = f"The mean |cosine| of position and context is {span(one.value)}, highest in layer {best}: {at(one, best)}"
    path = "context/incoherence_mean_null_covariance"
    path = path if has(results, path) else "context/incoherence_mean_null_rotation"
    if not has(results, path):
        return f"{told}; what chance gives is not determined"
    null = numbers(results, path)
    compared = contrast(one, null)
    kind = "of the same covariance" if path.endswith("covariance") else "turned at random"
    told = f"{told}; vectors {kind} give {span(null)}"
    if not compared.known.any():
        return told
    above, below = counted(compared.above), counted(compared.below)
    return f"{told}: above that in {above}, below it in {below}"


def kernel(results: xr.DataTree) -> go.Figure:
    """How far the kernel departs from factorising, below its bound."""
    one = estimate(results, "context/kernel_departure")
    figure = panels()
    draw_estimate(figure, one, "departure")
    draw_line(figure, numbers(results, "context/kernel_bound"), "bound of Theorem 2", PALETTE[1], "dash")
    axes(figure, one.axis, "|log ratio|, nats", type="log")
    layer_axis(figure, one.value.size)
    return figure


def kernel_finding(results: xr.DataTree) -> str:
    """Whether the departure stays below its bound, and how loose the bound is."""
    departure, bound = numbers(results, "context/kernel_departure"), numbers(results, "context/kernel_bound")
    known = np.isfinite(departure) & np.isfinite(bound)
    if not known.any():
        return "How far the kernel departs from factorising is not determined"
    told = f"The kernel departs from factorising by {span(departure)} nats"
    kept = departure <= bound
    if not kept[known].all():
        return f"{told}; the bound of Theorem 2 is kept in {counted(kept)}"
    ratio = np.divide(bound, departure, out=np.full_like(bound, np.nan), where=known & (departure > 0))
    return f"{told}; the bound of Theorem 2 holds, {span(ratio)} times as large"


FIGURES = (
    Figure(
        "context-similarity",
        "context",
        ("context/similarity_within", "context/similarity_between"),
        similarity_finding,
        similarity,
        "How alike the context vectors of two windows are, if both come from one document and if not. Where the "
        "bands (95 %) lie apart, documents cluster; independent vectors that crowd into the same directions give the "
        "null.",
        "mean |cos(ctx_c, ctx_c′)| over pairs of different windows of one document, and of different ones",
        "Song & Zhong (2023), Table 1 and Figure 2",
    ),
    Figure(
        "context-clusters",
        "context",
        ("context/silhouette", "context/purity"),
        clusters_finding,
        clusters,
        "Two ways to ask whether windows cluster by document: the silhouette (1: far from all other documents, 0: in "
        "between) and how often the nearest window is of the same document. Null: documents shuffled among windows.",
        "silhouette: mean of (b − a) / max(a, b), a the mean cosine distance within, b to the nearest other document; "
        "purity: share of nearest neighbours of the same document",
        "Rousseeuw (1987)",
    ),
    Figure(
        "incoherence",
        "context",
        ("context/incoherence_mean",),
        incoherence_finding,
        incoherence,
        "How nearly orthogonal position and context vectors are: 0 is orthogonal. Nulls: the same bases after a random "
        "rotation, and random vectors that crowd into the same few directions as the states do.",
        "mean and maximum over (t, c) of |cos(pos_t, ctx_c)|",
        "Song & Zhong (2023), Table 1 and section 5",
    ),
    Figure(
        "kernel-departure",
        "context",
        ("context/kernel_departure", "context/kernel_bound"),
        kernel_finding,
        kernel,
        "If position and context were orthogonal, the attention kernel would factor into parts of position and of "
        "context. The curve shows how far it does not, the dashed line how far it may at most.",
        "max |log K_W(x, x′) − Σ log K_{W_αβ}(x_α, x′_β)| ≤ 4s (2ι + ι²), s = 1, ι the largest "
        "|cosine|, over random sparse kernels",
        "Song & Zhong (2023), Theorem 2",
    ),
)
