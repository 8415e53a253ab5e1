"""Figures of the context basis: whether documents cluster, and whether context and position are orthogonal."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float, Int

from armillary.figures.kit.colours import CONTEXT, ESTIMATE, PUBLISHED, series
from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, labelled_curve, layer_axis
from armillary.figures.kit.fields import MATRICES, heatmap, slider, squared
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.units import drawn, drawn_estimate
from armillary.figures.kit.words import (
    NO_NULL,
    NOT_ESTIMABLE,
    at,
    counted,
    error_words,
    largest,
    number,
    significance,
    span,
)
from armillary.measures.similarity import SHUFFLES, unit_vectors
from armillary.results.reading import array, chosen, estimate, has, numbers, optional, thinned

INCOHERENCE = {"mean": "mean |cosine|", "max": "largest |cosine|"}
NULLS = {"rotation": "null: random rotation", "covariance": "null: same covariance"}
SHUFFLED = "permutation null: documents shuffled, within"
SHOWN = 128
"""The most windows that the matrix of cosines shows; every n-th where there are more."""

FEW_PAIRS = 10
"""Fewer pairs of windows of one document say whether these are similar, not whether documents cluster."""


def sorted_contexts(results: xr.DataTree, at_most: int) -> tuple[Int[np.ndarray, " chosen"], list[str]]:
    """Windows by document, thinned, and the name of each window's document as plotly may show it."""
    count = array(results, "residual/context_basis").sizes["context"]
    if not has(results, "corpus/document_index"):
        return thinned(count, at_most), [""] * len(thinned(count, at_most))
    document = array(results, "corpus/document_index").values
    order = np.argsort(document, kind="stable")[thinned(count, at_most)]
    names = [f"document {index}" for index in document[order]]
    if has(results, "corpus/document_name"):
        known = array(results, "corpus/document_name").values.astype(str)
        names = [literal(known[index], 24) if index < len(known) else f"document {index}" for index in document[order]]
    return order, names


def cosines(results: xr.DataTree) -> go.Figure:
    """Cosines of the windows' context vectors, sorted by document, a layer at a time."""
    order, documents = sorted_contexts(results, SHOWN)
    names = [f"window {window} {name}" for window, name in zip(order, documents, strict=True)]
    best = most_alike(results)
    layers = chosen(array(results, "residual/context_basis").sizes["layer"], MATRICES, best)
    steps = []
    for layer in layers:
        unit = unit_vectors(numbers(results, "residual/context_basis", layer=int(layer))[order])
        steps.append([heatmap(unit @ unit.T, "cosine", (-1.0, 1.0), x=names, y=names)])
    figure = squared(panels(height=420), "windows, by document", "")
    starts = document_starts(documents)
    ticks = {"tickmode": "array", "tickvals": starts, "ticktext": [documents[start] for start in starts]}
    figure.update_yaxes(**ticks, tickfont={"size": 10}).update_xaxes(tickmode="array", tickvals=[], ticktext=[])
    titles = [cosines_title(results, int(layer)) for layer in layers]
    return slider(figure, steps, [str(layer) for layer in layers], int(np.searchsorted(layers, best)), titles)


def document_starts(documents: Sequence[str], apart: int = 4) -> list[int]:
    """Where a document begins, without those whose names would run into each other."""
    starts: list[int] = []
    for place, name in enumerate(documents):
        new = place == 0 or name != documents[place - 1]
        if new and (not starts or place - starts[-1] >= max(apart, len(documents) // 24)):
            starts.append(place)
    return starts


def most_alike(results: xr.DataTree) -> int:
    """The layer with which the slider begins: where windows of one document stand out most, else the middle one."""
    within, between = (optional(results, f"context/similarity_{name}") for name in ("within", "between"))
    if within is None or between is None or not np.isfinite(within - between).any():
        return array(results, "residual/context_basis").sizes["layer"] // 2
    return largest(within - between)


def cosines_title(results: xr.DataTree, layer: int) -> str:
    """How similar windows of one document are in one layer."""
    within = optional(results, "context/similarity_within")
    if within is None or not np.isfinite(within[layer]):
        return f"The similarity of windows of one document is {NOT_ESTIMABLE} (layer {layer})"
    return f"Windows of one document have a mean |cosine| of {number(float(within[layer]))} (layer {layer})"


def cosines_finding(results: xr.DataTree) -> str:
    """The title of the layer with which the slider begins."""
    return cosines_title(results, most_alike(results))


def cosines_detail(results: xr.DataTree) -> str:
    """The similarities of that layer within and between documents."""
    within, between = (optional(results, f"context/similarity_{name}") for name in ("within", "between"))
    layer, count = most_alike(results), array(results, "residual/context_basis").sizes["context"]
    if within is None or between is None or not np.isfinite(within[layer] - between[layer]):
        return f"{count} windows"
    pair = f"{number(float(within[layer]))} within, {number(float(between[layer]))} between documents"
    return f"{count} windows; mean |cosine| in layer {layer}: {pair}"


def above_shuffled(results: xr.DataTree) -> Bool[np.ndarray, " layer"] | None:
    """Where windows of one document are more similar than after any of 19 shuffles; None where that is not known."""
    null = optional(results, "context/similarity_within_null")
    if null is None or not np.isfinite(null).any():
        return None
    return numbers(results, "context/similarity_within") > null


def pairs_within(results: xr.DataTree) -> int | None:
    """How many pairs of windows share a document; None where the run does not say."""
    if not has(results, "corpus/document_index"):
        return None
    windows = np.unique(array(results, "corpus/document_index").values, return_counts=True)[1].astype(int)
    return int((windows * (windows - 1) // 2).sum())


def few_pairs(results: xr.DataTree) -> bool:
    """Whether the windows of one document are too few to say that documents cluster."""
    pairs = pairs_within(results)
    return pairs is not None and pairs < FEW_PAIRS


def counted_pairs(pairs: int) -> str:
    """How many pairs of windows the similarity within documents rests on."""
    return f"{pairs} pair{'' if pairs == 1 else 's'} of one document"


def similarity(results: xr.DataTree) -> go.Figure:
    """Similarity of windows of one document and of different ones, with its null."""
    paths = {
        "within a document": ("context/similarity_within", CONTEXT),
        "between documents": ("context/similarity_between", series(1)[0]),
    }
    figure = labelled_curve(results, paths, "mean |cosine|", rangemode="tozero")
    if has(results, "context/similarity_within_null"):
        draw_null(figure, numbers(results, "context/similarity_within_null"), SHUFFLED)
    if has(results, "context/similarity_null"):
        draw_null(figure, numbers(results, "context/similarity_null"), NULLS["covariance"], dash="dot")
    return figure


def similarity_finding(results: xr.DataTree) -> str:
    """Whether windows of one document are more similar than those of different ones."""
    above = above_shuffled(results)
    if above is None:
        return f"Whether contexts cluster by document is {NOT_ESTIMABLE}: {NO_NULL}"
    if few_pairs(results):
        where = f"more alike in {counted(above)}" if above.any() else "no more alike than shuffled ones"
        return f"Windows of one document are {where}"
    if above.any():
        return f"Contexts cluster by document in {counted(above)}"
    return f"Contexts do not cluster by document: no layer is above {SHUFFLES} shuffles"


def similarity_detail(results: xr.DataTree) -> str:
    """The similarities where they differ most, and how the null is to be read."""
    within, between = (numbers(results, f"context/similarity_{name}") for name in ("within", "between"))
    if not np.isfinite(within - between).any():
        return ""
    best = largest(within - between)
    values = f"{number(float(within[best]))} within, {number(float(between[best]))} between documents (layer {best})"
    pairs = pairs_within(results)
    rests = "" if pairs is None else f"; {counted_pairs(pairs)}"
    said = "more alike" if few_pairs(results) else "clusters"
    return f"Mean |cosine| {values}{rests}; {said}: above all {SHUFFLES} shuffles of the documents"


def clusters(results: xr.DataTree) -> go.Figure:
    """Silhouette and nearest-neighbour purity by document, each with its null."""
    shown = {"silhouette": "silhouette", "purity": "nearest-neighbour purity"}
    figure = panels(2, 1, tuple(shown.values()), height=540)
    for row, name in enumerate(shown, 1):
        curve = drawn_estimate(results, f"context/{name}")
        draw_estimate(figure, curve, "by document", CONTEXT, row)
        if has(results, f"context/{name}_null"):
            draw_null(figure, drawn(results, f"context/{name}_null"), "permutation null: documents shuffled", row)
        layer_axis(figure, curve.value.size)
    figure.update_yaxes(title_text="−1 to 1", row=1, col=1)
    figure.update_yaxes(title_text="neighbours, %", rangemode="tozero", row=2, col=1)
    return figure.update_xaxes(title_text="layer", row=2, col=1)


def clusters_finding(results: xr.DataTree) -> str:
    """How often a window's nearest neighbour is of its own document, beside shuffled documents."""
    purity = estimate(results, "context/purity")
    if not np.isfinite(purity.value).any():
        return f"Clustering by document is {NOT_ESTIMABLE}: documents have too few windows"
    best = largest(purity.value)
    return f"A window's nearest neighbour shares its document in up to {at(purity, best, '%')} (layer {best})"


def clusters_detail(results: xr.DataTree) -> str:
    """The null of the purity, and in how many layers it is significantly exceeded."""
    purity, null = estimate(results, "context/purity"), optional(results, "context/purity_null")
    if null is None or not np.isfinite(purity.value).any():
        return ""
    said = significance(purity, null)
    return f"Permutation null {span(null, '%')}" + (f". {said}" if said else "")


def incoherence(results: xr.DataTree) -> go.Figure:
    """Mean and largest |cosine| of a position and a context vector, each with both nulls."""
    shown = [name for name in INCOHERENCE if has(results, f"context/incoherence_{name}")]
    figure = panels(len(shown), 1, tuple(INCOHERENCE[name] for name in shown), height=120 + 210 * len(shown))
    for row, name in enumerate(shown, 1):
        curve = estimate(results, f"context/incoherence_{name}")
        draw_estimate(figure, curve, "position with context", ESTIMATE, row)
        for null, text in NULLS.items():
            path = f"context/incoherence_{name}_null_{null}"
            if has(results, path):
                draw_null(figure, numbers(results, path), text, row, dash="dash" if null == "rotation" else "dot")
        layer_axis(figure, curve.value.size)
    axes(figure, "layer", "|cosine|", rangemode="tozero")
    return figure


def incoherence_finding(results: xr.DataTree) -> str:
    """How orthogonal position and context are by the mean, beside the null; no test is made."""
    cosine = numbers(results, "context/incoherence_mean")
    if not np.isfinite(cosine).any():
        return f"The orthogonality of position and context is {NOT_ESTIMABLE}"
    best = largest(cosine)
    return f"Position and context have a mean |cosine| of at most {number(float(cosine[best]))} (layer {best})"


def incoherence_null(results: xr.DataTree) -> tuple[str, Float[np.ndarray, " layer"]] | None:
    """What the mean |cosine| is compared with: same covariance, else random rotation; None: neither is there."""
    for name in ("covariance", "rotation"):
        null = optional(results, f"context/incoherence_mean_null_{name}")
        if null is not None and np.isfinite(null).any():
            return ("same-covariance" if name == "covariance" else "random-rotation"), null
    return None


def incoherence_detail(results: xr.DataTree) -> str:
    """The mean |cosine| over the layers, beside its null; no test is made."""
    cosine, null = numbers(results, "context/incoherence_mean"), incoherence_null(results)
    if not np.isfinite(cosine).any():
        return ""
    return f"{span(cosine)} over the layers; " + (NO_NULL if null is None else f"{null[0]} null {span(null[1])}")


def kernel(results: xr.DataTree) -> go.Figure:
    """How far the kernel departs from factorisation, below its bound."""
    departure = estimate(results, "context/kernel_departure")
    figure = panels()
    draw_estimate(figure, departure, "departure")
    draw_line(figure, numbers(results, "context/kernel_bound"), "bound of Theorem 2", PUBLISHED, "dash")
    axes(figure, departure.axis, "|log ratio|, nats", type="log")
    layer_axis(figure, departure.value.size)
    return figure


def kernel_finding(results: xr.DataTree) -> str:
    """Whether the departure stays below its bound, and how loose the bound is."""
    departure, bound = numbers(results, "context/kernel_departure"), numbers(results, "context/kernel_bound")
    known = np.isfinite(departure) & np.isfinite(bound)
    if not known.any():
        return f"The kernel's departure from factorisation is {NOT_ESTIMABLE}"
    best = largest(departure)
    return f"The kernel departs from factorisation by up to {number(float(departure[best]))} nats (layer {best})"


def kernel_detail(results: xr.DataTree) -> str:
    """The departure over the layers, and how loose the bound of Theorem 2 is, or where it fails."""
    departure, bound = numbers(results, "context/kernel_departure"), numbers(results, "context/kernel_bound")
    known = np.isfinite(departure) & np.isfinite(bound)
    if not known.any():
        return ""
    detail, kept = f"{span(departure)} nats over the layers", departure <= bound
    if not kept[known].all():
        return f"{detail}; the bound of Theorem 2 holds in {counted(kept)}"
    ratio = np.divide(bound, departure, out=np.full_like(bound, np.nan), where=known & (departure > 0))
    return f"{detail}; the bound of Theorem 2 holds, {span(ratio)} times as large"


FIGURES = (
    Figure(
        "context-gram",
        "context",
        ("residual/context_basis",),
        cosines_finding,
        cosines,
        "Cosines of the windows' context vectors, windows of one document next to each other: blocks along the "
        "diagonal are documents whose windows are similar. The slider chooses the layer.",
        "⟨ctx_c, ctx_c′⟩ / (‖ctx_c‖ ‖ctx_c′‖)",
        "Song & Zhong (2023), Figure 2 (bottom right)",
        cosines_detail,
    ),
    Figure(
        "context-similarity",
        "context",
        ("context/similarity_within", "context/similarity_between"),
        similarity_finding,
        similarity,
        "Similarity of the context vectors of two windows, of one document and of different ones. Above the "
        "permutation null, documents cluster: chance passes the highest of 19 shuffles once in 20 times, in each "
        "layer by itself. Other null: independent vectors of the same covariance. No interval: where documents are few "
        "or unequal none covers.",
        "mean |cos(ctx_c, ctx_c′)| over pairs of different windows of one document, and of different ones",
        "Song & Zhong (2023), Table 1 and Figure 2",
        similarity_detail,
    ),
    Figure(
        "context-clusters",
        "context",
        ("context/silhouette", "context/purity"),
        clusters_finding,
        clusters,
        "Two ways to ask whether windows cluster by document: the silhouette (1: far from all other documents, 0: in "
        "between) and how often the nearest window is of the same document. Permutation null: documents shuffled "
        f"among windows. Band: {error_words('context/silhouette')}.",
        "silhouette: mean of (b − a) / max(a, b), a the mean cosine distance within, b to the nearest other document; "
        "purity: share of nearest neighbours of the same document",
        "Rousseeuw (1987)",
        clusters_detail,
    ),
    Figure(
        "incoherence",
        "context",
        ("context/incoherence_mean",),
        incoherence_finding,
        incoherence,
        "How nearly orthogonal the positional and the context basis are: 0 is orthogonal. Nulls: the same bases after "
        "a random rotation, and random vectors with the covariance of the hidden states. The mean has no interval: it "
        f"falls as windows are added. Band of the largest: {error_words('context/incoherence_max')}.",
        "mean and maximum over (t, c) of |cos(pos_t, ctx_c)|",
        "Song & Zhong (2023), Table 1 and section 5",
        incoherence_detail,
    ),
    Figure(
        "kernel-departure",
        "context",
        ("context/kernel_departure", "context/kernel_bound"),
        kernel_finding,
        kernel,
        "If position and context were orthogonal, the attention kernel would factorise into parts of position and of "
        "context. The curve shows how far it does not, the dashed line how far it may at most. No interval.",
        "max |log K_W(x, x′) − Σ log K_{W_αβ}(x_α, x′_β)| ≤ 4s (2ι + ι²), s = 1, ι the largest "
        "|cosine|, over random sparse kernels",
        "Song & Zhong (2023), Theorem 2",
        kernel_detail,
    ),
)
