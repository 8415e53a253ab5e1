"""Cosines of position and context vectors with each other, as one matrix."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.context import sorted_contexts
from armillary.figures.kit.colours import NULL
from armillary.figures.kit.fields import MATRICES, heatmap, slider, squared
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import panels
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number, span
from armillary.figures.position.planes import first_positions
from armillary.measures.similarity import unit_vectors
from armillary.results.reading import array, chosen, numbers, optional, thinned

POSITIONS, CONTEXTS = 96, 64
"""The most rows of each kind that are shown; every n-th where there are more."""


def blocks(results: xr.DataTree) -> go.Figure:
    """Position and context vectors as one matrix of cosines, a layer at a time."""
    positions = first_positions(results)
    some = thinned(len(positions), POSITIONS)
    order, documents = sorted_contexts(results, CONTEXTS)
    names = [f"position {place}" for place in positions[some]]
    names += [f"window {window} {name}" for window, name in zip(order, documents, strict=True)]
    best = start_layer(results)
    layers = chosen(array(results, "residual/position_basis").sizes["layer"], MATRICES, best)
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
    titles = [blocks_title(results, int(layer)) for layer in layers]
    return slider(figure, steps, [str(layer) for layer in layers], int(np.searchsorted(layers, best)), titles)


def start_layer(results: xr.DataTree) -> int:
    """The layer with which the slider begins: where position and context are least orthogonal, else the middle one."""
    cosine = optional(results, "context/incoherence_mean")
    if cosine is None or not np.isfinite(cosine).any():
        return array(results, "residual/position_basis").sizes["layer"] // 2
    return largest(cosine)


def blocks_title(results: xr.DataTree, layer: int) -> str:
    """How nearly orthogonal position and context are in one layer."""
    cosine = optional(results, "context/incoherence_mean")
    if cosine is None or not np.isfinite(cosine[layer]):
        return f"The orthogonality of position and context vectors is {NOT_ESTIMABLE} (layer {layer})"
    return f"Position and context vectors have a mean |cosine| of {number(float(cosine[layer]))} (layer {layer})"


def blocks_finding(results: xr.DataTree) -> str:
    """The title of the layer with which the slider begins."""
    return blocks_title(results, start_layer(results))


def blocks_detail(results: xr.DataTree) -> str:
    """The mean |cosine| over the layers, beside random directions, where the run says so."""
    cosine, null = (optional(results, f"context/incoherence_mean{end}") for end in ("", "_null_rotation"))
    if cosine is None or not np.isfinite(cosine).any():
        return ""
    return f"{span(cosine)} over the layers" + ("" if null is None else f"; random-rotation null {span(null)}")


FIGURES = (
    Figure(
        "position-gram",
        "position",
        ("residual/position_basis", "residual/context_basis"),
        blocks_finding,
        blocks,
        "Cosines of all position and context vectors with each other. Top left: position with position, smooth if "
        "neighbours are similar; top right: position with context, pale if they are nearly orthogonal; bottom right: "
        "windows sorted by document, blocks if documents cluster. The slider chooses the layer.",
        "G_ij = ⟨v_i, v_j⟩ / (‖v_i‖ ‖v_j‖), v the position vectors and then the context vectors of the windows",
        "Song & Zhong (2023), Figure 2",
        blocks_detail,
    ),
)
