"""Figures of the theory of localization, after figures 1 to 4 of Bao et al.: the published law beside the corrected."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import ESTIMATE, NULL, PUBLISHED, series
from armillary.figures.kit.fields import BAR, TITLES, heatmap, ruler, slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.words import NOT_ESTIMABLE, number
from armillary.figures.simulation.lines import Values, banded, line
from armillary.results.reading import array, estimate, label_of, numbers

GROUP = "localization_theory"
SOFTMAX, PIECES, DISTANCE = (f"{GROUP}/{name}" for name in ("softmax", "piecewise", "piecewise_distance"))
RHO, MANY, PUBLISHED_RHO = (f"{GROUP}/{name}" for name in ("rho", "rho_many", "rho_published"))
NARROWING, BOUND = (f"{GROUP}/{name}" for name in ("rho_narrowing", "bound"))
LARGEST = f"{GROUP}/entropy_largest"
FOCUS = 0.5
"""A position is reached where its ρ is at least this."""


def along(results: xr.DataTree, path: str, axis: str) -> Values:
    """What stands along an axis of a result."""
    return np.asarray(array(results, path)[axis].values, dtype=np.float64)


def places(results: xr.DataTree, path: str) -> Values:
    """Relative positions θ = i/T."""
    position = along(results, path, "position")
    return position / len(position)


def pieces(results: xr.DataTree) -> go.Figure:
    """Above softmax and its approximation for two keys; below their distance by the deviation of scores."""
    figure = panels(2, 1, ("two keys", "total variation, normal scores"), height=660)
    score, deviation = along(results, SOFTMAX, "score"), along(results, DISTANCE, "deviation")
    figure.add_trace(line(score, numbers(results, SOFTMAX), label_of(SOFTMAX), ESTIMATE), 1, 1)
    figure.add_trace(line(score, numbers(results, PIECES), label_of(PIECES), PUBLISHED, "dash"), 1, 1)
    counts = along(results, DISTANCE, "keys")
    for place, (count, colour) in enumerate(zip(counts, series(len(counts)), strict=True)):
        one, name = estimate(results, DISTANCE, keys=place), f"{count:.0f} keys"
        figure.add_traces(banded(deviation, one, name, colour), 2, 1)
    small = numbers(results, f"{DISTANCE}_small")
    figure.add_trace(line(deviation, small, label_of(f"{DISTANCE}_small"), NULL, "dot"), 2, 1)
    figure.update_xaxes(title_text="difference of the two scores", row=1, col=1)
    figure.update_yaxes(title_text="attention on the first key", row=1, col=1)
    figure.update_xaxes(title_text="standard deviation of scores", type="log", dtick=1, row=2, col=1)
    return figure.update_yaxes(title_text="total variation", type="log", dtick=1, row=2, col=1)


def pieces_finding(results: xr.DataTree) -> str:
    """The distance where scores have a deviation of about 1."""
    deviation, distance = along(results, DISTANCE, "deviation"), numbers(results, DISTANCE)
    place = int(np.abs(deviation - 1).argmin())
    if not np.isfinite(distance[:, place]).any():
        return f"How far the piecewise softmax is off is {NOT_ESTIMABLE}"
    worst = number(float(np.nanmax(distance[:, place])))
    return (
        f"At scores of deviation {number(deviation[place])} the piecewise softmax is off by {worst} in total variation"
    )


def plane(results: xr.DataTree) -> go.Figure:
    """ρ over ξ and θ as colours: corrected, in the limit of many tokens, and as published; the slider chooses η."""
    height, tokens = 360, array(results, RHO).sizes["position"]
    shown = {f"{tokens} tokens": RHO, "many tokens": MANY, "published": PUBLISHED_RHO}
    figure = panels(1, 3, tuple(shown), height=height + BAR, one_scale=True)
    xi, theta = along(results, RHO, "xi"), places(results, RHO)
    steps = []
    for place in range(array(results, RHO).sizes["eta"]):
        traces = []
        for panel, path in enumerate(shown.values(), 1):
            trace = heatmap(numbers(results, path, eta=place).T, "ρ", (0.0, 1.0), signed=False, x=xi, y=theta)
            ends = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"} if panel > 1 else {}
            bar = {"colorbar": ruler("ρ", height, TITLES), "showscale": panel == 1}
            hover = {"hovertemplate": "ξ %{x:.3g}, θ %{y:.3g}: %{z:.3g}<extra></extra>"}
            traces.append(trace.update(**ends, **bar, **hover))
        steps.append(traces)
    axes(figure, "ξ", "relative position θ", showgrid=False).update_layout(margin={"t": BAR + TITLES})
    figure.update_xaxes(tickvals=[xi.min(), 0, xi.max()], tickangle=0)
    slider(figure, steps, [f"η = {eta:g}" for eta in along(results, RHO, "eta")])
    figure.layout.sliders[0].currentvalue.prefix = ""
    return figure


def plane_finding(results: xr.DataTree) -> str:
    """The largest difference between the published law and the corrected one, in the limit that both speak of."""
    off = np.abs(numbers(results, MANY) - numbers(results, PUBLISHED_RHO))
    if not np.isfinite(off).any():
        return f"How far the published ρ is off is {NOT_ESTIMABLE}"
    return f"Even for many tokens the published ρ is off by up to {number(float(np.nanmax(off)))}"


def narrowing(results: xr.DataTree) -> go.Figure:
    """ρ over θ for growing ξ, a panel for each value of ξη; dotted as published."""
    products, growing = along(results, NARROWING, "product"), along(results, NARROWING, "xi_growing")
    theta = places(results, NARROWING)
    values, published = numbers(results, NARROWING), numbers(results, f"{NARROWING}_published")
    figure = panels(len(products), 1, tuple(f"ξη = {product:g}" for product in products), height=300 * len(products))
    for row in range(len(products)):
        for place, colour in enumerate(series(len(growing))):
            name = f"ξ = {growing[place]:g}"
            own = line(theta, values[row, place], name, colour).update(showlegend=row == 0)
            dotted = line(theta, published[row, place], f"{name}, published", colour, "dot")
            figure.add_trace(own, row + 1, 1)
            figure.add_trace(dotted.update(legendgroup=name, showlegend=False), row + 1, 1)
    return axes(figure, "relative position θ", "ρ", range=[-0.03, 1.03])


def narrowing_finding(results: xr.DataTree) -> str:
    """Which share of positions is reached at the largest ξ, for the smallest and the largest ξη."""
    values, products = numbers(results, NARROWING)[:, -1], along(results, NARROWING, "product")
    if not np.isfinite(values).all():
        return f"Whether ρ narrows is {NOT_ESTIMABLE}"
    first, *_, last = [100 * float(np.mean(row >= FOCUS)) for row in values]
    verdict = "ρ narrows as ξη grows" if last < first else "ρ does not narrow as ξη grows"
    reached = f"{number(first)} % of positions at {products[0]:g}, {number(last)} % at {products[-1]:g}"
    return f"{verdict}: {reached}"


def bounds(results: xr.DataTree) -> go.Figure:
    """The two lower bounds on the entropy over ν, and the largest entropy."""
    figure = panels(height=420)
    nu = along(results, f"{BOUND}_published", "nu")
    for name, colour, dash in (("published", PUBLISHED, "dash"), ("corrected", ESTIMATE, "solid")):
        path = f"{BOUND}_{name}"
        figure.add_trace(line(nu, numbers(results, path), label_of(path), colour, dash))
    largest = np.full(nu.shape, float(numbers(results, LARGEST)))
    figure.add_trace(line(nu, largest, f"{label_of(LARGEST)}, the largest", NULL, "dot"))
    return axes(figure, "norm ν of the scores", "entropy, nats", rangemode="tozero")


def bounds_finding(results: xr.DataTree) -> str:
    """By how much the published bound exceeds what it bounds."""
    over = numbers(results, f"{BOUND}_published") - float(numbers(results, LARGEST))
    if not np.isfinite(over).any():
        return f"The bound on the entropy is {NOT_ESTIMABLE}"
    most = float(np.nanmax(over))
    if most <= 0:
        return f"The published entropy bound stays {number(-most)} nats below the largest entropy"
    return f"The published entropy bound exceeds the largest entropy by up to {number(most)} nats"


BAO = "Bao, Hataya & Karakida (2024)"

FIGURES = (
    Figure(
        "piecewise-softmax",
        "localization",
        (SOFTMAX, PIECES, DISTANCE, f"{DISTANCE}_se", f"{DISTANCE}_small"),
        pieces_finding,
        pieces,
        "ρ speaks of a softmax made of straight pieces: its tangent at 0, clipped to [0, 1]. Above: both for two keys. "
        "Below: how far they are apart by the size of scores. Beyond a total variation of 1 the pieces hold far more "
        "than 100 % of attention. Band: 95 % interval over draws of scores.",
        "S̃_i = min(1, max(0, 1/T + (ω_i − mean ω)/T)); ½ Σ |softmax(ω) − S̃|, ω_i ~ N(0, s²); 0.242 s² for small s and "
        "many keys",
        f"{BAO}, figure 1",
    ),
    Figure(
        "rho-plane",
        "localization",
        (RHO, MANY, PUBLISHED_RHO),
        plane_finding,
        plane,
        "Signal propagation ρ by relative position θ = i/T and ξ; the slider chooses η. Left: Gaussian law with exact "
        "moments at the length of the walks; middle: the same for 100 000 tokens, the limit that the document means; "
        "right: as published. Near ξ = 0, ρ still depends on θ for η from about 0.5 to 5.",
        "ξ = tr W/√tr W², η = √tr W² (λ counted in W); ρ = P(0 ≤ g ≤ 1), g normal with the moments of simulated-rho",
        f"{BAO}, figure 2, with the variance and the mean of Lemma 1 corrected",
    ),
    Figure(
        "rho-narrowing",
        "localization",
        (NARROWING, f"{NARROWING}_published"),
        narrowing_finding,
        narrowing,
        "ρ as ξ grows while ξη = tr W is held fixed, for 100 000 tokens; dotted: as published. Up to ξη = 2 the later "
        "half of the tokens is reached, beyond it only θ from 1/2 to 1/2 + 1/(ξη). A ξ of 512 takes a width of "
        "ξ² = 262 144 or more.",
        "Gaussian ρ(θ) at η = (ξη)/ξ; limit: the mean (θ − 1/2) ξη lies in [0, 1]",
        f"{BAO}, figure 3 and Lemma 2",
    ),
    Figure(
        "entropy-bound",
        "localization",
        (f"{BOUND}_published", f"{BOUND}_corrected", LARGEST),
        bounds_finding,
        bounds,
        "Lower bounds on the entropy of attention over the norm ν of the scores. A bound above log T cannot hold. The "
        "corrected one is the least entropy there is, that of one score above all others; it falls with ν.",
        "published: log(1 + Te^{−ν}) + νe^{−ν/2}/(1/T + e^{−ν}); corrected: log(1 + (T−1)β) + "
        "ν√(T(T−1)) β/(1 + (T−1)β), β = exp(−ν√(T/(T−1)))",
        f"{BAO}, figure 4 and inequality (9), after Zhai and others (2023)",
    ),
)
