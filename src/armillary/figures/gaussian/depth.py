"""Figures of token similarity through depth: the model, changed models, and random stacks."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, series
from armillary.figures.kit.curves import draw_estimate, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, number
from armillary.results.reading import array, estimate, numbers

DEPTH, STACKS = "gaussian_depth/similarity", "gaussian_stacks/similarity"


def names_along(results: xr.DataTree, path: str) -> list[str]:
    """What stands along the first axis."""
    variable = array(results, path)
    return [str(name) for name in variable[variable.dims[0]].values]


def depth(results: xr.DataTree) -> go.Figure:
    """Token similarity over layers, one curve for the model and one for each change."""
    figure = panels(height=430)
    names = names_along(results, DEPTH)
    colours = (ESTIMATE, NULL, *series(len(names)))
    for place, (name, colour) in enumerate(zip(names, colours, strict=False)):
        draw_estimate(figure, estimate(results, DEPTH, variant=place), name, colour)
    layer_axis(figure, array(results, DEPTH).sizes["layer"])
    return axes(figure, "layer", axis_label(DEPTH))


def depth_finding(results: xr.DataTree) -> str:
    """The similarity after the last layer, of the model and of its random-weight control."""
    own, control = (float(numbers(results, DEPTH, variant=place)[-1]) for place in (0, 1))
    if not np.isfinite(own):
        return f"The similarity of tokens through depth is {NOT_ESTIMABLE}"
    return f"After the last layer tokens have cosine {number(own)}; with random weights {number(control)}"


def stacks(results: xr.DataTree) -> go.Figure:
    """Token similarity over random layers, one curve for each kind of stack."""
    figure = panels(height=430)
    names = names_along(results, STACKS)
    for place, (name, colour) in enumerate(zip(names, series(len(names)), strict=False)):
        draw_estimate(figure, estimate(results, STACKS, stack=place), name, colour)
    layer_axis(figure, array(results, STACKS).sizes["depth"])
    return axes(figure, "random layers", axis_label(STACKS))


def stacks_finding(results: xr.DataTree) -> str:
    """How many random layers without a skip make tokens one vector."""
    bare = numbers(results, STACKS, stack=0)
    if not np.isfinite(bare).all():
        return f"The similarity of tokens in random stacks is {NOT_ESTIMABLE}"
    same = bare > 0.99
    if not same.any():
        return f"After {bare.size - 1} random layers without a skip tokens have cosine {number(float(bare[-1]))}"
    layers = int(same.argmax())
    made = "one random layer gives" if layers == 1 else f"{layers} random layers give"
    return f"Without a skip {made} tokens a cosine above 0.99"


FIGURES = (
    Figure(
        "gaussian-depth",
        "gaussian",
        (DEPTH,),
        depth_finding,
        depth,
        "Mean cosine of two tokens of a window, layer by layer: the model, its random-weight control, and the model "
        "with W_Q and W_K multiplied by α, which multiplies every logit by α². Bands: leave-one-group-out range; "
        "random weights are one draw and have none. A cosine of 1 would be the uniform embedding mixture.",
        "(‖Σ x/‖x‖‖² − n) / (n(n − 1)) over the counted tokens of a window",
        "Wertich, section 7.2.3, and 8.5 for α",
    ),
    Figure(
        "gaussian-stacks",
        "gaussian",
        (STACKS,),
        stacks_finding,
        stacks,
        "The same for random tokens in stacks of one random attention head, simulated: 32 tokens of width 64, weights "
        "of variance 1/d. β is the share of attention beside the skip; with a norm every token keeps length √d. "
        "Bands: 95 % interval over simulated draws.",
        "X ← β softmax(X W_Q W_Kᵀ Xᵀ/√d) X W_V + (1 − β) X",
        "Wertich, section 7.2.3: true without a skip for random weights, slow with one",
    ),
)
