"""Figures of norms: how far gain makes an ellipsoid of the sphere, and whether outputs lie on it."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.figures.kit.colours import NULL, series
from armillary.figures.kit.curves import layer_axis
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, literal, panels
from armillary.figures.kit.words import NOT_ESTIMABLE, largest, number, quoted
from armillary.figures.sphere.angles import CONTROL
from armillary.measures.errors.jackknife import half_width
from armillary.results.reading import array, draws, label_of, numbers, optional

FINAL = "final"
PerNorm = Float[np.ndarray, " norm"]


def sites(results: xr.DataTree, path: str) -> tuple[list[str], list[str], Float[np.ndarray, " norm"]]:
    """The norms' names, their kinds (attention, mlp, final) and the blocks they stand at; the final one after all."""
    names = [str(name) for name in array(results, path)["norm"].values]
    parts = [name.rpartition(" ") for name in names]
    last = 1 + max((int(block) for kind, _, block in parts if kind), default=-1)
    kinds = [kind or FINAL for kind, _, _ in parts]
    return names, kinds, np.array([float(block) if kind else last for kind, _, block in parts])


def draw_sites(figure: go.Figure, results: xr.DataTree, path: str, row: int, spread: PerNorm | None = None) -> None:
    """One number of every norm over the blocks, a curve for each kind of norm."""
    values, (names, kinds, blocks) = numbers(results, path), sites(results, path)
    shown = {trace.name for trace in figure.data}
    for colour, kind in zip(series(7), dict.fromkeys(kinds), strict=False):
        some = np.array([each == kind for each in kinds]) & np.isfinite(values)
        if not some.any():
            continue
        bars = None if spread is None else {"type": "data", "array": np.nan_to_num(spread[some]), "thickness": 1}
        trace = go.Scatter(x=blocks[some], y=values[some], name=kind, legendgroup=kind, showlegend=kind not in shown)
        trace.update(mode="lines+markers", line={"color": colour}, marker={"size": 5}, error_y=bars)
        trace.update(text=[literal(name) for name, one in zip(names, some, strict=True) if one])
        figure.add_trace(trace.update(hovertemplate="%{text}: %{y:.4g}<extra></extra>"), row, 1)


def level(height: float, last: float, name: str) -> go.Scatter:
    """A reference over all blocks."""
    line = {"color": NULL, "dash": "dash", "width": 1.5}
    return go.Scatter(x=[0, last], y=[height, height], mode="lines", name=name, legendgroup=name, line=line)


def axis_ratios(results: xr.DataTree) -> go.Figure:
    """Longest and shortest axis of every norm's ellipsoid over its median axis."""
    paths = ("norm_geometry/gain_largest", "norm_geometry/gain_smallest")
    figure = panels(2, 1, tuple(map(label_of, paths)), height=620)
    last = float(sites(results, paths[0])[2].max())
    for row, path in enumerate(paths, 1):
        draw_sites(figure, results, path, row)
        figure.add_trace(level(1.0, last, CONTROL).update(showlegend=row == 1), row, 1)
    layer_axis(figure, int(last) + 1)
    return axes(figure, "block", "ratio", type="log")


def axis_ratios_finding(results: xr.DataTree) -> str:
    """The norm whose gain stretches the sphere most."""
    path = "norm_geometry/gain_largest"
    values = numbers(results, path)
    if not np.isfinite(values).any():
        return f"The axes of the norms are {NOT_ESTIMABLE}"
    most = largest(values)
    name = sites(results, path)[0][most]
    if values[most] < 1 + 1e-6:
        return "Gain leaves the sphere of every norm a sphere: all axes are equal"
    return f"Gain stretches the sphere up to {number(values[most])}-fold along one axis ({name})"


def known_radii(results: xr.DataTree) -> tuple[PerNorm, Bool[np.ndarray, " norm"]]:
    """Radii before gain and bias over √d_model, and where they are known."""
    ratio = numbers(results, "norm_geometry/radius_before") / numbers(results, "norm_geometry/radius")
    return ratio, np.isfinite(ratio)


def radii(results: xr.DataTree) -> go.Figure:
    """Norms of the norms' outputs over sampled tokens, before and after gain and bias."""
    before, after = "norm_geometry/radius_before", "norm_geometry/radius_after"
    figure = panels(2, 1, ("before gain and bias", "after gain and bias"), height=620)
    draw_sites(figure, results, before, 1, optional(results, f"{before}_sd"))
    draw_sites(figure, results, after, 2, optional(results, f"{after}_sd"))
    radius, last = float(numbers(results, "norm_geometry/radius")[0]), float(sites(results, before)[2].max())
    figure.add_trace(level(radius, last, label_of("norm_geometry/radius")), 1, 1)
    figure.update_yaxes(range=[0.9 * radius, 1.1 * radius], row=1, col=1)
    figure.update_yaxes(rangemode="tozero", row=2, col=1)
    layer_axis(figure, int(last) + 1)
    return axes(figure, "block", "radius")


def radii_finding(results: xr.DataTree) -> str:
    """Whether outputs before gain and bias lie on the sphere of radius √d_model."""
    ratio, known = known_radii(results)
    if not known.any():
        return f"The radii of norm outputs are {NOT_ESTIMABLE}"
    worst = largest(np.abs(ratio - 1), known)
    away = 100 * abs(ratio[worst] - 1)
    if away < 1:
        bound = "0.0001" if away < 1e-4 else number(away)
        return f"Norm outputs lie on the sphere: radii within {bound} % of √d_model"
    name = sites(results, "norm_geometry/radius_before")[0][worst]
    return f"Norm outputs leave the sphere by up to {number(away)} % of its radius ({name})"


def agreement(results: xr.DataTree) -> tuple[float, float]:
    """In how many states the likeliest token has the largest cosine, and half the 95 % interval; NaN: not known."""
    path = "norm_geometry/argmax_agreement"
    share, se = (optional(results, path + ending) for ending in ("", "_se"))
    margin = float("nan") if se is None else float(half_width(draws(results, path)) * se)
    return float("nan") if share is None else float(share), margin


def agreement_sentence(results: xr.DataTree) -> str:
    """The same in words; empty where it is not known."""
    share, margin = agreement(results)
    if not np.isfinite(share):
        return ""
    return f"In {quoted(share, margin, '%')} of states the likeliest token has the largest cosine"


FIGURES = (
    Figure(
        "norm-axes",
        "sphere",
        ("norm_geometry/gain_largest", "norm_geometry/gain_smallest"),
        axis_ratios_finding,
        axis_ratios,
        "A norm puts every state on a sphere; its gain makes an ellipsoid of it. Above: the longest axis over the "
        "median one, below: the median over the shortest that is not flat. A norm is named by what reads it: "
        "attention, mlp, or the head (final). In the random-weight control all gains are 1 and both ratios too.",
        "max |γ| / median |γ| and median |γ| / min |γ|; outputs z satisfy Σ ((z − β) / γ)² = d_model",
        "Molina (2023), corrected: a sphere only where γ is constant and β zero",
    ),
    Figure(
        "norm-radii",
        "sphere",
        ("norm_geometry/radius_before", "norm_geometry/radius_after", "norm_geometry/radius"),
        radii_finding,
        radii,
        "Norms of the outputs of norms, mean over sampled tokens; bars: standard deviation over tokens, not an error. "
        "Before gain and bias theory gives √d_model, less where a state is so small that eps counts. Norms whose "
        "states the sample does not hold, such as those before an MLP, are not shown.",
        "|√d x / √(|x|² + d · eps)|, x centred for a LayerNorm; in post-norm models |(z − β) / γ| of the states z",
        "Molina (2023); docs/measures.md",
        agreement_sentence,
    ),
)
