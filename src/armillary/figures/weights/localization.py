"""Figures of localization: heads on the (ξ, η) plane, ρ by place, and what text says of the prediction."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, PUBLISHED, REGIMES, RESIDUAL
from armillary.figures.kit.each_head import labels, starts_of
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, log_axis, panels
from armillary.figures.kit.words import NO_ERROR, NOT_ESTIMABLE, median, number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.results.reading import array, draws, has, label_of, numbers, optional


def ending(results: xr.DataTree) -> str:
    """Which covariance the figures take: the measured one where the run has it."""
    return "_data" if has(results, "localization/xi_data") else ""


def plane(results: xr.DataTree) -> go.Figure:
    """Every head by ξ and η, coloured by regime; heads of tr W² ≤ 0 have no place there."""
    with_data = ending(results)
    xi, eta = (numbers(results, f"localization/{name}{with_data}").ravel() for name in ("xi", "eta"))
    regime, names = kinds(results), labels(results, "localization/xi")
    figure = panels(height=460)
    for name, colour in REGIMES.items():
        some = np.flatnonzero((regime == name) & np.isfinite(xi))
        trace = go.Scatter(x=xi[some], y=eta[some], mode="markers", name=name, text=[names[head] for head in some])
        trace.update(
            marker={"color": colour, "size": 7}, hovertemplate="%{text}: ξ %{x:.3g}, η %{y:.3g}<extra></extra>"
        )
        figure.add_trace(trace)
    return axes(figure, "ξ = tr W / √tr W²", "η = √tr W²", type="log")


def kinds(results: xr.DataTree) -> np.ndarray:
    """The regime of every head, block after block."""
    return array(results, f"localization/regime{ending(results)}").values.astype(str).ravel()


def plane_finding(results: xr.DataTree) -> str:
    """The most frequent regime."""
    regime = kinds(results)
    counts = {name: int(np.sum(regime == name)) for name in REGIMES}
    most = max(counts, key=lambda name: counts[name])
    if not counts[most]:
        return f"The regimes of heads are {NOT_ESTIMABLE}"
    return f"Predicted focus is {most} in {counts[most]} of {regime.size} heads"


def plane_detail(results: xr.DataTree) -> str:
    """How many heads are of each regime, and how many have no ξ."""
    regime = kinds(results)
    counts = {name: int(np.sum(regime == name)) for name in REGIMES}
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    without = int(np.sum(~np.isfinite(numbers(results, f"localization/xi{ending(results)}"))))
    return f"Heads by focus: {said or 'none'}" + (f"; {without} have no ξ (tr W² ≤ 0)" if without else "")


def profiles(results: xr.DataTree) -> go.Figure:
    """ρ by place, mean over heads: exact law, Gaussian, as published, and measured on text where the run has it."""
    with_data, figure = ending(results), panels(height=430)
    place = array(results, "localization/rho").place.values
    length = place[-1]
    ways = {"": ("exact law", ESTIMATE, "solid"), "_gaussian": ("Gaussian, exact moments", NULL, "dash")}
    ways["_published"] = ("as published", PUBLISHED, "dot")
    for way, (name, colour, dash) in ways.items():
        values = np.nanmean(numbers(results, f"localization/rho{with_data}{way}"), axis=(0, 1))
        figure.add_trace(curve(place / length, values, name, colour, dash))
    measured = optional(results, "heads/signal_propagation_profile")
    if measured is not None and with_data and np.isfinite(measured).any():
        starts = starts_of(results, "heads/signal_propagation_profile", "key_bin")
        middles = (starts + np.append(starts[1:], length)) / 2
        figure.add_trace(
            curve(middles / length, np.nanmean(measured, axis=(0, 1)), "measured on text", RESIDUAL, "solid")
        )
    return axes(figure, "place of the key, share of the window", "ρ, mean over heads", range=[-0.03, 1.03])


def curve(across: np.ndarray, up: np.ndarray, name: str, colour: str, dash: str) -> go.Scatter:
    """One way to know ρ."""
    trace = go.Scatter(x=across, y=up, mode="lines+markers", name=name, line={"color": colour, "dash": dash})
    return trace.update(hovertemplate=f"{name}, %{{x:.2f}}: %{{y:.3g}}<extra></extra>")


def profiles_finding(results: xr.DataTree) -> str:
    """How far the published ρ is from the exact law."""
    exact, published = (numbers(results, f"localization/rho{ending(results)}{way}") for way in ("", "_published"))
    off = np.abs(published - exact).max(axis=-1)
    if not np.isfinite(off).any():
        return f"The published ρ is {NOT_ESTIMABLE}: tr W² ≤ 0 in every head"
    most, usual = number(float(np.nanmax(off))), number(median(off))
    return f"The published ρ is off by up to {most}, {usual} in the median head"


def predicted(results: xr.DataTree) -> go.Figure:
    """Predicted and measured signal propagation of every head; below, η and relative entropy."""
    rho = numbers(results, "localization/rho_data").mean(axis=-1).ravel()
    pairs = (
        (rho, numbers(results, "heads/signal_propagation").ravel()),
        (numbers(results, "localization/eta_data").ravel(), numbers(results, "heads/entropy_relative").ravel()),
    )
    names = labels(results, "localization/xi")
    figure = panels(2, 1, ("signal propagation", "relative entropy and η"), height=720)
    for row, (x, y) in enumerate(pairs, 1):
        trace = go.Scatter(
            x=x, y=y, mode="markers", text=names, showlegend=False, marker={"color": ESTIMATE, "size": 6}
        )
        figure.add_trace(trace.update(hovertemplate="%{text}: %{x:.3g}, %{y:.3g}<extra></extra>"), row, 1)
    axes(figure, "predicted", "measured")
    figure.update_xaxes(title_text="predicted, mean ρ", row=1, col=1)
    return figure.update_xaxes(title_text="η = √tr (W_QK Σ)²", **log_axis(pairs[1][0]), row=2, col=1)


def predicted_finding(results: xr.DataTree) -> str:
    """The rank correlation of predicted and measured signal propagation, and whether it is significant."""
    path = "localization_agreement/rho_agreement"
    value, error = float(numbers(results, path)), optional(results, f"{path}_se")
    margin = float("nan") if error is None else half_width(draws(results, path)) * float(error)
    if not np.isfinite(value):
        return f"The {label_of(path)} is {NOT_ESTIMABLE}"
    said = f"rank correlation of predicted and measured ρ over heads: {quoted(value, margin)}"
    if not np.isfinite(margin):
        return f"{said[0].upper()}{said[1:]}; {NO_ERROR}"
    if abs(value) <= margin:
        return f"Not significant: {said}"
    return f"Heads rank {'as' if value > 0 else 'opposite to what is'} predicted: {said}"


FIGURES = (
    Figure(
        "localization-plane",
        "weights",
        ("localization/xi", "localization/eta", "localization/regime"),
        plane_finding,
        plane,
        "Every head by the two numbers of the theory: ξ says which keys pass, η how noisy scores are. Colour: where "
        "the exact law has its focus. A middle focus is made by clipping the linearised softmax at 1: the softmax "
        "itself then attends to an end of the window. W = W_QK, or W_QK Σ where the run has the input's covariance Σ.",
        "ξ = tr W/√tr W², η = √tr W², scale of the scores counted; focus where ρ is at least half its largest value",
        "Bao, Hataya & Karakida (2024), corrected; docs/measures.md",
        plane_detail,
    ),
    Figure(
        "localization-profiles",
        "weights",
        ("localization/rho", "localization/rho_gaussian", "localization/rho_published"),
        profiles_finding,
        profiles,
        "Probability that a linearised softmax lets a key pass, if tokens walk at random: by the exact law, by its "
        "Gaussian approximation, and by the published formula, whose variance is wrong; measured on text where the run "
        "has heads and the covariance of their input.",
        "ρ_i = P(0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1), ω the scores of the last query on its T keys",
        "Bao, Hataya & Karakida (2024), equation 6, corrected; docs/measures.md",
    ),
    Figure(
        "localization-agreement",
        "weights",
        (
            *("localization_agreement/rho_agreement", "localization/rho_data", "localization/eta_data"),
            *("heads/signal_propagation", "heads/entropy_relative", "localization/xi"),
        ),
        predicted_finding,
        predicted,
        "What weights and covariance predict of each head against what it does on text. ±: 95 % interval of the rank "
        "correlation, blocks left out one by one. The document also predicts a high entropy where η is small.",
        "Spearman's correlation over heads",
        "Bao, Hataya & Karakida (2024), section 5; docs/measures.md",
    ),
)
