"""Figures of whole matrices: what stands above noise, their energy beside an initial one, tails of their spectra."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import series
from armillary.figures.kit.curves import draw_line, draw_null, layer_axis
from armillary.figures.kit.each_head import field_height
from armillary.figures.kit.fields import BAR, heatmap, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, median, number, span
from armillary.results.reading import array, has, numbers
from armillary.results.weight_answers import KINDS, of_kind, weight_answers

ENERGY, TAIL = "matrices/outlier_energy", "matrices/alpha"
INITIAL, CONTROL = "matrices/energy_initial", "matrices_twin/energy_initial"


def names(results: xr.DataTree, path: str) -> list[str]:
    """The matrices of a block."""
    return [str(name) for name in array(results, path).matrix.values]


def outliers(results: xr.DataTree) -> go.Figure:
    """The share of every matrix's energy above the noise, block by matrix."""
    values, shown = drawn(results, ENERGY), names(results, ENERGY)
    blocks = len(values)
    trace = heatmap(values, axis_label(ENERGY), (0.0, max(float(np.nanmax(values, initial=0.0)), 1.0)), signed=False)
    counts = numbers(results, "matrices/outliers")
    trace.update(
        x=shown,
        customdata=counts,
        colorbar=ruler(axis_label(ENERGY), field_height(blocks)),
        hovertemplate="block %{y}, %{x}: %{z:.3g} % in %{customdata:.0f} outliers<extra></extra>",
    )
    figure = panels(height=field_height(blocks) + BAR)
    figure.add_trace(trace)
    figure.update_layout(margin={"t": BAR})
    axes(figure, "matrix", "block")
    return figure.update_yaxes(autorange="reversed", dtick=-(-blocks // 12), showgrid=False).update_xaxes(
        showgrid=False
    )


def outliers_finding(results: xr.DataTree) -> str:
    """Whose energy above the noise is largest, and the control's largest."""
    values = numbers(results, ENERGY)
    if not np.isfinite(values).any():
        return f"Noise in the matrices is {NOT_ESTIMABLE}"
    block, matrix = np.unravel_index(np.nanargmax(values), values.shape)
    name = names(results, ENERGY)[matrix]
    said = f"Up to {number(100 * values[block, matrix])} % of a matrix's energy is above noise ({name}, block {block})"
    if has(results, "matrices_twin/outlier_energy"):
        said += f"; control {number(100 * float(np.nanmax(numbers(results, 'matrices_twin/outlier_energy'))))} %"
    return said


def initial(results: xr.DataTree) -> go.Figure:
    """The energy of every matrix over that of Glorot's initialisation; the control's dotted in the same colour."""
    figure, shown = panels(height=460), names(results, INITIAL)
    for colour, place in zip(series(len(shown)), range(len(shown)), strict=True):
        draw_line(figure, numbers(results, INITIAL)[:, place], shown[place], colour)
        if has(results, CONTROL):
            draw_line(figure, numbers(results, CONTROL)[:, place], f"{shown[place]}, control", colour, "dot")
    blocks = len(numbers(results, INITIAL))
    draw_null(figure, np.ones(blocks), "Glorot's initialisation")
    layer_axis(figure, blocks)
    figure.for_each_trace(lambda trace: trace.update(showlegend="control" not in trace.name))
    return axes(figure, "block", axis_label(INITIAL), type="log")


def initial_finding(results: xr.DataTree) -> str:
    """Whether spectra of queries and keys lie below their initialisation, with the median energy."""
    answer = weight_answers(results).get("query_below_glorot")
    if answer is None or not np.isfinite(median(numbers(results, INITIAL))):
        return f"The energy of the matrices is {NOT_ESTIMABLE}"
    verdict = {"holds": "are", "does not hold": "are not", "not determined": "may be"}[answer.numbers.verdict]
    times = number(energy_of(results, INITIAL))
    return f"Query and key spectra {verdict} below Glorot's initialisation: {times} times its energy"


def initial_detail(results: xr.DataTree) -> str:
    """The median energy of the random-weight control's queries and keys."""
    return f"Random-weight control: {number(energy_of(results, CONTROL))} times" if has(results, CONTROL) else ""


def energy_of(results: xr.DataTree, path: str) -> float:
    """The median energy of query and key matrices."""
    return median(of_kind(results, path, KINDS["query and key matrices"]))


def tails(results: xr.DataTree) -> go.Figure:
    """The exponent of every matrix's tail over the blocks; its interval where one points, for seven bands hide all."""
    figure, shown = panels(height=460), names(results, TAIL)
    value, low, high = (numbers(results, f"{TAIL}{ending}") for ending in ("", "_low", "_high"))
    for colour, place in zip(series(len(shown)), range(len(shown)), strict=True):
        interval = np.stack([low[:, place], high[:, place]], -1)
        draw_line(figure, value[:, place], shown[place], colour, interval=interval)
    layer_axis(figure, len(value))
    return axes(figure, "block", axis_label(TAIL), type="log")


def tails_finding(results: xr.DataTree) -> str:
    """The median exponent of the tails."""
    value = numbers(results, TAIL)
    known = value[np.isfinite(value)]
    if not known.size:
        return f"Power-law tails are {NOT_ESTIMABLE}: too few values"
    return f"Tails of matrix spectra have a median exponent of {number(median(known))}"


def tails_detail(results: xr.DataTree) -> str:
    """From which to which exponent the tails go."""
    value = numbers(results, TAIL).ravel()
    return f"Exponents {span(value)}" if np.isfinite(value).any() else ""


FIGURES = (
    Figure(
        "matrix-outliers",
        "weights",
        (ENERGY, "matrices/outliers"),
        outliers_finding,
        outliers,
        "How much of each whole matrix stands above noise: the share of its squared Frobenius norm in singular values "
        "beyond the edge of the Marchenko–Pastur law that fits its bulk. The p-value at the edge is Tracy–Widom's; "
        "noise alone has an outlier with probability 1 %. Empty: so much stands above that no noise is left to fit.",
        "edge √variance (√(rows − ½) + √(columns − ½)), variance from the lowest four fifths of the singular values",
        "Marchenko & Pastur (1967); Johnstone (2001); docs/measures.md",
    ),
    Figure(
        "matrix-initial",
        "weights",
        (INITIAL, "matrices/below_initial", "matrix_spectra/singular_value"),
        initial_finding,
        initial,
        "The energy of each whole matrix over that of Glorot's initialisation of its shape (dashed: 1). Dotted: the "
        "random-weight control, the model's own initialisation, which may lie below Glorot's from the start. Below: "
        "less energy and most singular values smaller, in more than half of the matrices (95 % interval).",
        "‖W‖² / (2 rows columns / (rows + columns))",
        "Wertich (2024), 7.2.2 and A.5; docs/measures.md",
        initial_detail,
    ),
    Figure(
        "matrix-tails",
        "weights",
        (TAIL, f"{TAIL}_low", f"{TAIL}_high"),
        tails_finding,
        tails,
        "Exponent of the power law that fits the largest squared singular values of each matrix. Where you point: "
        "its 95 % interval, by bootstrap of the whole fit. It describes a tail; it does not say how well a matrix "
        "was trained.",
        "α = 1 + n / Σ log(x / xmin), xmin where the Kolmogorov–Smirnov distance is smallest",
        "Clauset, Shalizi & Newman (2009)",
        tails_detail,
    ),
)
