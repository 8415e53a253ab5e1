"""Figures of the likely tokens: what they and a Gaussian conditional explain, and the spectrum of one of them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, PUBLISHED, series
from armillary.figures.kit.curves import draw_estimate, draw_line, draw_null, layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn_estimate
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number
from armillary.results.reading import estimate, label_of, numbers

GROUP = "gaussian_tokens"
OWN, PREVIOUS, PREDICTED, STATE = (
    f"{GROUP}/{name}" for name in ("own_token", "previous_token", "previous_predicted", "previous_state")
)
DIRECTIONS, ORTHOGONAL, PRINTED = (
    f"{GROUP}/{name}" for name in ("directions", "directions_orthogonal", "directions_published")
)


def conditionals(results: xr.DataTree) -> go.Figure:
    """What the previous token and state explain of the next state, measured and predicted, layer by layer."""
    paths = (PREVIOUS, PREDICTED, STATE, OWN)
    colours = (ESTIMATE, *series(len(paths)))
    figure = panels(height=430)
    for path, colour in zip(paths, colours, strict=False):
        draw_estimate(figure, drawn_estimate(results, path), label_of(path), colour)
    layer_axis(figure, numbers(results, OWN).size)
    return axes(figure, "layer", "explained variance, %", rangemode="tozero")


def conditionals_finding(results: xr.DataTree) -> str:
    """What the previous token explains where it explains most, and what the Gaussian conditional predicts there."""
    measured, predicted = (100 * numbers(results, path) for path in (PREVIOUS, PREDICTED))
    if not np.isfinite(measured).any():
        return f"What a token says of the next state is {NOT_ESTIMABLE}"
    layer = largest(measured)
    said, rule = number(float(measured[layer])), number(float(predicted[layer]))
    return f"The previous token explains {said} % (layer {layer}); Gaussian conditionals predict {rule} %"


def marginal(results: xr.DataTree) -> go.Figure:
    """Effective directions of one of the likely tokens, beside orthogonal tokens and the printed formula."""
    figure = panels(height=430)
    draw_estimate(figure, estimate(results, DIRECTIONS), "by their angles")
    draw_line(figure, numbers(results, PRINTED), label_of(PRINTED), PUBLISHED, "dot")
    draw_null(figure, numbers(results, ORTHOGONAL), label_of(ORTHOGONAL))
    layer_axis(figure, numbers(results, DIRECTIONS).size)
    return axes(figure, "layer", axis_label(DIRECTIONS), rangemode="tozero")


def marginal_finding(results: xr.DataTree) -> str:
    """How many directions the likely tokens span where they span most, beside orthogonal ones."""
    values, apart = numbers(results, DIRECTIONS), numbers(results, ORTHOGONAL)
    if not np.isfinite(values).any():
        return f"The directions of likely tokens are {NOT_ESTIMABLE}"
    most, layer = number(float(np.nanmax(values))), int(np.nanargmax(values))
    tokens = int(numbers(results, f"{GROUP}/probability").size)
    alone = number(float(apart[0]))
    return f"The {tokens} likeliest tokens span {most} directions at most (layer {layer}); orthogonal ones {alone}"


FIGURES = (
    Figure(
        "gaussian-conditional",
        "gaussian",
        (OWN, PREVIOUS, PREDICTED, STATE),
        conditionals_finding,
        conditionals,
        "Share of a state's variance, mean over its leading directions, that the token before it explains, one of the "
        "likeliest of the text; the same as a Gaussian conditional predicts it, whose mean is linear in the state "
        "before; what that whole state explains through the conditional; and what the state's own token explains, all "
        "that a law of likely tokens can hold. Bands: leave-one-group-out range; of the own token the 95 % interval "
        "over documents.",
        "tr(Σ⁻¹B)/r, B between tokens, bias-corrected; predicted: B = Σ₂₁Σ₁₁⁻¹ B₁ Σ₁₁⁻¹Σ₁₂",
        "Wertich, sections 4.2.3 (bigram preconditioning) and 4.3, beside what the text does",
    ),
    Figure(
        "gaussian-marginal",
        "gaussian",
        (DIRECTIONS, ORTHOGONAL, PRINTED, f"{GROUP}/probability"),
        marginal_finding,
        marginal,
        "Effective number of directions of a token that is one of the likeliest of the text, from their probabilities "
        "and the angles of their mean states. At right angles the probabilities alone would give the dashed line: what "
        "lies below it is due to angles. The published formula squares the probabilities. Band: "
        "leave-one-group-out range.",
        "1/tr G², G = √(λ_i λ_j) α_ij, α the cosines",
        "Wertich, section 4.3, corrected",
    ),
)
