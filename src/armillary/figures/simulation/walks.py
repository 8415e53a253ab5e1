"""Figures of simulated walks, after figure 5 of Bao et al.: ρ beside its laws, where the softmax attends, entropy."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, PUBLISHED, series
from armillary.figures.kit.fields import slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, number, span
from armillary.figures.simulation.lines import Values, banded, line
from armillary.measures.errors.jackknife import half_width
from armillary.results.reading import LEVEL, array, estimate, label_of, numbers

GROUP = "localization_simulation"
RHO, EXACT, GAUSSIAN, PUBLISHED_RHO = (
    f"{GROUP}/{name}" for name in ("rho", "rho_exact", "rho_gaussian", "rho_published")
)
ATTENTION, SLOPE, ENTROPY = (f"{GROUP}/{name}" for name in ("probability", "slope", "entropy"))
OFF, DEVIATION = (f"{GROUP}/{name}" for name in ("published_error", "exact_deviation"))
REGIME, CLIPPED = (f"{GROUP}/{name}" for name in ("regime", "clipped"))

SIMULATED, OTHER, _, _, _, GAUSS, _ = series(7)
"""Colours of what is simulated, of its slope, and of the Gaussian law."""

REGIMES = dict(zip(("late", "middle", "early", "uniform", "vanishing"), series(5), strict=True))
"""Colours of where ρ is in focus."""

LEGEND = 26
"""Height that a legend above the plot takes, in pixels."""


def setting_names(results: xr.DataTree, path: str) -> list[str]:
    """The settings, such as iso 0.1, 0.02: covariance, mean and scale of the eigenvalues of W_QK."""
    return [str(name) for name in array(results, path).setting.values]


def titles(results: xr.DataTree) -> list[str]:
    """The settings with their regimes, and whether clipping makes a focus."""
    regimes, clipped = array(results, REGIME).values, array(results, CLIPPED).values.astype(bool)
    rows = zip(setting_names(results, REGIME), regimes, clipped, strict=True)
    return [f"{name}: {regime}{', by clipping' if by_clipping else ''}" for name, regime, by_clipping in rows]


def positions(results: xr.DataTree, path: str) -> Values:
    """Positions of the walk, counted from 1."""
    return np.asarray(array(results, path).position.values, dtype=np.float64)


def by_setting(figure: go.Figure, steps: list[list[go.Scatter]], names: list[str]) -> go.Figure:
    """A slider through the settings below, the legend above."""
    slider(figure, steps, names)
    figure.layout.sliders[0].currentvalue.prefix = ""
    top = figure.layout.margin.t
    above = 1 + (top - 12) / (figure.layout.height - top - figure.layout.margin.b)
    figure.update_layout(legend={"y": above, "yanchor": "bottom"}, margin={"t": top + LEGEND})
    return figure.update_layout(height=figure.layout.height + LEGEND)


def rho(results: xr.DataTree) -> go.Figure:
    """Simulated ρ by position with its band, beside the exact, the Gaussian and the published law."""
    across = positions(results, RHO)
    laws = {EXACT: (ESTIMATE, "solid"), GAUSSIAN: (GAUSS, "dash"), PUBLISHED_RHO: (PUBLISHED, "dot")}
    steps = []
    for place in range(array(results, RHO).sizes["setting"]):
        traces = banded(across, estimate(results, RHO, setting=place), label_of(RHO), SIMULATED)
        traces[-1].update(mode="markers", marker={"size": 5, "color": SIMULATED})
        for path, (colour, dash) in laws.items():
            traces.append(line(across, numbers(results, path, setting=place), label_of(path), colour, dash))
        steps.append(traces)
    figure = axes(panels(height=420), "token, the query last", "signal propagation ρ", range=[-0.03, 1.03])
    return by_setting(figure, steps, setting_names(results, RHO))


def rho_finding(results: xr.DataTree) -> str:
    """How far the published and the exact law lie from the simulation, over all settings and positions."""
    off, deviation = (numbers(results, path) for path in (OFF, DEVIATION))
    if not (np.isfinite(off).any() and np.isfinite(deviation).any()):
        return f"How far ρ is off is {NOT_ESTIMABLE}"
    published, exact = float(np.nanmax(off)), float(np.nanmax(deviation))
    if exact <= joint_limit(array(results, RHO).size):
        return f"The published ρ is off by up to {number(published)}, the exact law within {number(exact)} SE"
    return f"The exact law is significantly off, by {number(exact)} SE; the published ρ by {number(published)}"


def joint_limit(comparisons: int) -> float:
    """How many standard errors chance reaches in this many comparisons, all at once (95 %, Bonferroni)."""
    return half_width(np.inf, 1 - (1 - LEVEL) / comparisons)


def attention(results: xr.DataTree) -> go.Figure:
    """Above the exact ρ, below what the softmax itself does: mean attention and its slope."""
    figure, across = (
        panels(2, 1, ("signal propagation ρ", "the softmax itself"), height=560),
        positions(results, ATTENTION),
    )
    steps = []
    for place in range(array(results, ATTENTION).sizes["setting"]):
        above = line(across, numbers(results, EXACT, setting=place), label_of(EXACT), ESTIMATE)
        below = banded(across, estimate(results, ATTENTION, setting=place), label_of(ATTENTION), SIMULATED)
        below += banded(across, estimate(results, SLOPE, setting=place), label_of(SLOPE), OTHER)
        steps.append([above, *(trace.update(xaxis="x2", yaxis="y2") for trace in below)])
    axes(figure, "token, the query last", "share", rangemode="tozero")
    figure.update_yaxes(title_text="ρ", range=[-0.03, 1.03], row=1, col=1)
    return by_setting(figure, steps, titles(results))


def attention_finding(results: xr.DataTree) -> str:
    """Whether attention or clipping makes the foci in the middle, and where the softmax attends there."""
    middle = array(results, REGIME).values.astype(str) == "middle"
    clipped = array(results, CLIPPED).values.astype(bool)
    if not middle.any():
        return f"In no setting of {middle.size} is ρ in focus in the middle"
    if not clipped.any():
        return f"Clipping makes no middle focus; ρ is in the middle in {middle.sum()} of {middle.size} settings"
    shares = numbers(results, ATTENTION)[clipped]
    if not np.isfinite(shares).any():
        return f"Where the softmax attends is {NOT_ESTIMABLE}"
    token = int(positions(results, ATTENTION)[np.nanargmax(np.nanmax(shares, axis=0))])
    every = f"all {middle.sum()}" if middle.sum() > 1 else "the one"
    count = every if clipped.sum() == middle.sum() else f"{clipped.sum()} of {middle.sum()}"
    foci = "middle foci" if middle.sum() > 1 else "middle focus"
    most = number(100 * float(np.nanmax(shares)))
    return f"Clipping makes {count} {foci}: the softmax gives token {token} up to {most} %"


def entropies(results: xr.DataTree) -> go.Figure:
    """Entropy of the last query's attention, settings by entropy, coloured by regime; the largest entropy as a line."""
    one, names = estimate(results, ENTROPY), setting_names(results, ENTROPY)
    regimes, order = array(results, REGIME).values.astype(str), np.argsort(numbers(results, ENTROPY), kind="stable")
    figure = panels(height=160 + 22 * len(names))
    for regime, colour in REGIMES.items():
        rows = np.flatnonzero(regimes[order] == regime)
        if rows.size:
            chosen = order[rows]
            bars = {"type": "data", "array": np.nan_to_num(one.margin()[chosen]), "color": colour, "width": 3}
            trace = go.Scatter(x=one.value[chosen], y=rows, mode="markers", name=regime, error_x=bars)
            trace.update(text=[names[place] for place in chosen], marker={"size": 8, "color": colour})
            figure.add_trace(trace.update(hovertemplate="%{text}: %{x:.3g} nats<extra></extra>"))
    ends, most = np.array([-0.5, len(names) - 0.5]), np.full(2, largest_entropy(results))
    figure.add_trace(line(most, ends, "log T, the largest", NULL, "dash"))
    figure.update_xaxes(range=[-0.02 * most[0], 1.04 * most[0]])
    ticks = {"tickvals": np.arange(len(names)), "ticktext": [names[place] for place in order]}
    return axes(figure, axis_label(ENTROPY), "setting", tickmode="array", range=ends, **ticks)


def largest_entropy(results: xr.DataTree) -> float:
    """Of attention that is the same on all tokens."""
    return float(np.log(array(results, RHO).sizes["position"]))


def entropies_finding(results: xr.DataTree) -> str:
    """From which to which entropy, where ρ is in the middle if it is anywhere."""
    values, middle = numbers(results, ENTROPY), array(results, REGIME).values.astype(str) == "middle"
    if not np.isfinite(values).any():
        return f"The entropy of attention is {NOT_ESTIMABLE}"
    most = f"nats (largest {number(largest_entropy(results))})"
    if not middle.any():
        return f"Attention has an entropy of {span(values)} {most}"
    return f"Where ρ is in the middle, entropy is {span(values[middle])} {most}"


SETTINGS = (
    "The slider chooses the setting: isotropic or anisotropic steps of the walk, mean and scale of the eigenvalues of "
    "W_QK."
)
WALK = "x₁ ~ N(0, Σ), x_{t+1} ~ N(x_t, Σ), scores ω_i = x_iᵀ W_QK x_T / √d"
BAO = "Bao, Hataya & Karakida (2024)"

FIGURES = (
    Figure(
        "simulated-rho",
        "localization",
        (RHO, f"{RHO}_se", EXACT, GAUSSIAN, PUBLISHED_RHO, OFF, DEVIATION),
        rho_finding,
        rho,
        f"How often the signal of each token passes the linearised softmax when tokens walk at random. {SETTINGS} "
        "Means over draws of W_QK, of the laws too. Band: 95 % interval over walks at these draws. SE: the largest "
        "deviation over all settings and tokens; chance alone reaches about 4 in 5 % of runs.",
        f"{WALK}; ρ_i = P(0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1). Exact: g_i is a weighted sum of squared normals. Gaussian: "
        "its mean (2i − T − 1)/(2T) tr W + 1/T and variance ((2i − T − 1)²/(2T²) + (T² − 1)/(12T²)) tr W². Published: "
        "(i/T − 1/2) tr W and (2i²/T² + 7/12) tr W²",
        f"{BAO}, figure 5 left, equation (6) and Lemma 1; docs/measures.md",
    ),
    Figure(
        "simulated-attention",
        "localization",
        (EXACT, ATTENTION, f"{ATTENTION}_se", SLOPE, f"{SLOPE}_se", REGIME, CLIPPED),
        attention_finding,
        attention,
        "Above: tokens whose signal passes the linearised softmax. Below: how the softmax itself attends, and its "
        "slope p(1 − p), which passes gradients. “By clipping”: ρ is low at an end because the linearised softmax is "
        f"cut at 1 there, not for want of attention. {SETTINGS} Band: {error_words(ATTENTION)}.",
        f"{WALK}; p = softmax(ω), mean over walks of p and of p(1 − p)",
        f"{BAO}, Lemma 2 and figure 5; docs/measures.md",
    ),
    Figure(
        "simulated-entropy",
        "localization",
        (RHO, ENTROPY, f"{ENTROPY}_se", REGIME),
        entropies_finding,
        entropies,
        "Entropy of the last query's attention in every setting, coloured by where the exact ρ is in focus. The "
        f"document expects high entropy where ρ localizes. Bars: {error_words(ENTROPY)}.",
        "−Σ p log p, p = softmax(ω), mean over walks and draws of W_QK",
        f"{BAO}, figure 5 right",
    ),
)
