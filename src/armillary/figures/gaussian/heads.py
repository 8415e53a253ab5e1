"""Figures of heads: what their maps keep of mutual information, and what fixed attention weights miss."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import series
from armillary.figures.kit.curves import draw_line, draw_null, layer_axis
from armillary.figures.kit.each_head import dots_by_block, per_head
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, contrast, median, number
from armillary.results.reading import array, label_of, numbers

KEPT, RANDOM = "gaussian_kept/kept", "gaussian_kept/kept_random"
ENTROPY_GAP, INFORMATION_GAP = "gaussian_mixing/entropy_gap", "gaussian_mixing/information_gap"


def kept(results: xr.DataTree) -> go.Figure:
    """Information kept by each of a head's maps, mean over the heads of a block, beside random maps of its rank."""
    values = drawn(results, KEPT).mean(axis=1)
    figure = panels(height=430)
    names = [str(name) for name in array(results, KEPT)["projection"].values]
    for colour, name, curve in zip(series(len(names)), names, values.T, strict=False):
        draw_line(figure, curve, name, colour)
    draw_null(figure, drawn(results, RANDOM), label_of(RANDOM))
    layer_axis(figure, len(values))
    return axes(figure, "block", axis_label(KEPT))


def kept_finding(results: xr.DataTree) -> str:
    """What queries and keys keep together, beside random maps."""
    pair = int(np.argmax(array(results, KEPT)["projection"].values == "query–key"))
    share, chance = median(numbers(results, KEPT, projection=pair)), median(numbers(results, RANDOM))
    if not np.isfinite(share):
        return f"What queries and keys keep of mutual information is {NOT_ESTIMABLE}"
    beside = f"; random maps {number(100 * chance)} %" if np.isfinite(chance) else ""
    return f"Queries and keys keep {number(100 * share)} % of neighbours' mutual information{beside}"


def mixing(results: xr.DataTree) -> go.Figure:
    """What fixed weights miss of entropy and of mutual information, head by head."""
    paths = {label_of(path): path for path in (ENTROPY_GAP, INFORMATION_GAP)}
    return axes(dots_by_block(results, paths, 620), "block", "nats")


def mixing_finding(results: xr.DataTree) -> str:
    """How many heads the formulas with fixed weights are wrong for."""
    one = per_head(results, ENTROPY_GAP)
    compared = contrast(one)
    if not compared.known.any():
        return f"What fixed weights miss is {NOT_ESTIMABLE}"
    wrong = int((compared.above | compared.below).sum())
    typical = number(median(one.value))
    return (
        f"Fixed weights change entropy by {typical} nats (median), significantly in {wrong} of {one.value.size} heads"
    )


FIGURES = (
    Figure(
        "gaussian-kept",
        "gaussian",
        (KEPT, RANDOM),
        kept_finding,
        kept,
        "An invertible map keeps all mutual information of two tokens; the maps of a head have rank d_head and keep "
        "part. Share of the information of neighbouring attention inputs that is left after W_Q, W_K or W_V on both "
        "tokens, and after W_Q on the later and W_K on the earlier one; mean over heads. Rotation changes none of it. "
        "No interval covers: other documents have other leading directions.",
        "I(Lx; My) / I(x; y) ≤ 1, the data-processing inequality; x in twice d_head leading directions",
        "Wertich, section 4.2.2, corrected: linear maps keep mutual information only where they are invertible",
    ),
    Figure(
        "gaussian-mixing",
        "gaussian",
        (ENTROPY_GAP, INFORMATION_GAP),
        mixing_finding,
        mixing,
        "With fixed attention weights outputs are linear in the values, and entropy and mutual information follow from "
        "their covariances. Real weights depend on the tokens. Dots: outputs with the mean attention over windows held "
        "fixed, less outputs as they are; 0 where the formulas hold. Bars: 95 % interval over documents, for entropy "
        "alone; none covers for mutual information.",
        "Cov(Σ A_ki x_i, Σ A_lj x_j) = Σ_ij A_ki A_lj Σ_ij for fixed A",
        "Wertich, section 7.1, beside what the layer does",
    ),
)
