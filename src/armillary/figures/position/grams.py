"""Cosines of position and context vectors with each other, and their frequencies: Figures 2 and 3."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float, Int

from armillary.figures.context import similarity_finding
from armillary.figures.kit.fields import MATRICES, heatmap, slider, squared
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import NULL, literal, panels
from armillary.figures.kit.words import at, counted, largest, number, span
from armillary.figures.position.planes import first_positions
from armillary.measures.similarity import unit_vectors
from armillary.measures.smoothness import spectrum_2d
from armillary.results.reading import array, chosen, estimate, has, numbers, thinned

POSITIONS, CONTEXTS, FREQUENCIES = 96, 64, 16
"""So many rows of each kind are shown; every n-th where there are more."""


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
        names = [literal(known[index], 14) if index < len(known) else f"document {index}" for index in document[order]]
    return order, names


def blocks(results: xr.DataTree) -> go.Figure:
    """Position and context vectors as one matrix of cosines, a layer at a time."""
    positions = first_positions(results)
    some = thinned(len(positions), POSITIONS)
    order, documents = sorted_contexts(results, CONTEXTS)
    names = [f"position {place}" for place in positions[some]]
    names += [f"window {window} {name}" for window, name in zip(order, documents, strict=True)]
    layers = chosen(array(results, "residual/position_basis").sizes["layer"], MATRICES)
    steps = []
    for layer in layers:
        basis = numbers(results, "residual/position_basis", layer=int(layer))[some]
        windows = numbers(results, "residual/context_basis", layer=int(layer))[order]
        unit = np.concatenate([unit_vectors(basis), unit_vectors(windows)])
        steps.append([heatmap(unit @ unit.T, "cosine", (-1.0, 1.0), x=names, y=names)])
    figure = squared(panels(height=420), "", "")
    centres = [len(some) / 2, len(some) + len(order) / 2]
    ticks = {"tickmode": "array", "tickvals": centres, "ticktext": ["position", "context"], "tickangle": 0, "ticks": ""}
    figure.update_xaxes(**ticks).update_yaxes(**(ticks | {"tickangle": -90}))
    for line in (figure.add_hline, figure.add_vline):
        line(len(some) - 0.5, line={"color": NULL, "width": 1})
    return slider(figure, steps, [str(layer) for layer in layers])


def blocks_finding(results: xr.DataTree) -> str:
    """How nearly orthogonal position and context are, against chance, where the run says so."""
    if not has(results, "context/incoherence_mean"):
        return "Cosines of position and context vectors; whether they are more than chance is not determined"
    one = estimate(results, "context/incoherence_mean")
    best = largest(one.value)
    told = f"Position and context vectors have a mean |cosine| of up to {at(one, best)} ({one.axis} {best})"
    if not has(results, "context/incoherence_mean_null_rotation"):
        return told
    return f"{told}; random directions have {span(numbers(results, 'context/incoherence_mean_null_rotation'))}"


def frequencies(results: xr.DataTree) -> go.Figure:
    """The lowest frequencies of the Gram matrix, log of the absolute coefficient, a layer at a time."""
    matrices = array(results, "position/gram")
    layers = chosen(matrices.sizes["layer"], MATRICES)
    steps, size = [], min(FREQUENCIES, matrices.sizes["position"])
    for layer in layers:
        matrix = numbers(results, "position/gram", layer=int(layer))
        steps.append([heatmap(log_frequencies(matrix)[:size, :size], "log₁₀ |Ĝ|", (-3.0, 2.0), signed=False)])
    return slider(squared(panels(height=400), "frequency", "frequency"), steps, [str(layer) for layer in layers])


def log_frequencies(matrix: Float[np.ndarray, "position position_"]) -> Float[np.ndarray, "frequency frequency_"]:
    """Decimal logarithm of the 2-D cosine transform's absolute coefficients; NaN where there is none."""
    size = np.abs(spectrum_2d(matrix))
    return np.log10(size, out=np.full_like(size, np.nan), where=size > 0)


def low_share_sentence(results: xr.DataTree, highest: int = 10) -> str:
    """The share of frequencies 0..K, against its null, no further than low and null allow."""
    highest = min(highest, array(results, "position/low_frequency_share").sizes["frequency"] - 1)
    one = estimate(results, "position/low_frequency_share", frequency=highest)
    told = f"Frequencies 0 to {highest} hold {span(one.value, '%')} of the energy of the position vectors' cosines"
    if not has(results, "position/low_frequency_share_null"):
        return f"{told}; what chance gives is not determined"
    null = numbers(results, "position/low_frequency_share_null", frequency=highest)
    low = np.where(np.isfinite(one.low), one.low, one.value)
    chance = f"turned windows {span(null, '%')}"
    if not (low > null).any():
        return f"That position is smooth is not determined: {told[0].lower()}{told[1:]}, {chance}"
    return f"{told}, {chance}; more than these in {counted(low > null, one.axis)}"


def frequencies_finding(results: xr.DataTree) -> str:
    """The share of low frequencies where the run holds it; else that it is not determined."""
    if has(results, "position/low_frequency_share"):
        return low_share_sentence(results, 3)
    matrix = numbers(results, "position/gram", layer=-1)
    first = float(log_frequencies(matrix)[0, 0])
    return f"The constant part of the last layer's Gram matrix is {number(10**first)}; its null is not determined"


def context_gram(results: xr.DataTree) -> go.Figure:
    """Cosines of the windows' context vectors, sorted by document, a layer at a time."""
    order, documents = sorted_contexts(results, 128)
    names = [f"window {window} {name}" for window, name in zip(order, documents, strict=True)]
    layers = chosen(array(results, "residual/context_basis").sizes["layer"], MATRICES)
    steps = []
    for layer in layers:
        unit = unit_vectors(numbers(results, "residual/context_basis", layer=int(layer))[order])
        steps.append([heatmap(unit @ unit.T, "cosine", (-1.0, 1.0), x=names, y=names)])
    figure = squared(panels(height=420), "windows, by document", "")
    starts = document_starts(documents)
    ticks = {"tickmode": "array", "tickvals": starts, "ticktext": [documents[start] for start in starts]}
    figure.update_yaxes(**ticks, tickfont={"size": 10}).update_xaxes(tickmode="array", tickvals=[], ticktext=[])
    return slider(figure, steps, [str(layer) for layer in layers])


def document_starts(documents: Sequence[str], apart: int = 4) -> list[int]:
    """Where a document begins, without those whose names would run into each other."""
    starts: list[int] = []
    for place, name in enumerate(documents):
        new = place == 0 or name != documents[place - 1]
        if new and (not starts or place - starts[-1] >= max(apart, len(documents) // 24)):
            starts.append(place)
    return starts


def context_gram_finding(results: xr.DataTree) -> str:
    """Whether windows of one document are more alike, where the run says so."""
    count = array(results, "residual/context_basis").sizes["context"]
    if not (has(results, "context/similarity_within") and has(results, "context/similarity_between")):
        return f"Cosines of {count} windows; whether documents cluster is not determined"
    return similarity_finding(results)


FIGURES = (
    Figure(
        "position-gram",
        "position",
        ("residual/position_basis", "residual/context_basis"),
        blocks_finding,
        blocks,
        "Cosines of all position and context vectors with each other. Top left: position with position, smooth if "
        "neighbours are alike; top right: position with context, pale if they are nearly orthogonal; bottom right: "
        "windows sorted by document, blocks if documents cluster. The slider chooses the layer.",
        "G_ij = ⟨v_i, v_j⟩ / (‖v_i‖ ‖v_j‖), v the position vectors and then the context vectors of the windows",
        "Song & Zhong (2023), Figure 2",
    ),
    Figure(
        "position-frequencies",
        "position",
        ("position/gram",),
        frequencies_finding,
        frequencies,
        "The lowest frequencies of the position vectors' cosines. A smooth matrix has its large coefficients in the "
        "upper left corner. The slider chooses the layer.",
        "Ĝ = F G Fᵀ, F the orthonormal DCT-II, G the cosines of position vectors",
        "Song & Zhong (2023), Figure 3 (right)",
    ),
    Figure(
        "context-gram",
        "context",
        ("residual/context_basis",),
        context_gram_finding,
        context_gram,
        "Cosines of the windows' context vectors, windows of one document next to each other: blocks along the "
        "diagonal are documents whose windows resemble each other.",
        "⟨ctx_c, ctx_c′⟩ / (‖ctx_c‖ ‖ctx_c′‖)",
        "Song & Zhong (2023), Figure 2 (bottom right)",
    ),
)
