"""Figures of logits: what Gaussian queries and keys predict, and what is there."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import ESTIMATE, NULL
from armillary.figures.kit.curves import layer_axis
from armillary.figures.kit.each_head import dots, labels, per_head, spread
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, log_axis, panels
from armillary.figures.kit.units import axis_label
from armillary.figures.kit.words import NOT_ESTIMABLE, contrast, number
from armillary.results.reading import array, label_of, numbers

GROUP = "gaussian_logits"
VARIANCE, PREDICTED, RATIO = f"{GROUP}/variance", f"{GROUP}/variance_predicted", f"{GROUP}/log_ratio"
EXCESS, EXCESS_PREDICTED = f"{GROUP}/excess_kurtosis", f"{GROUP}/excess_predicted"
CORRELATION, FACTOR = f"{GROUP}/correlation", f"{GROUP}/factor_median"


def neighbour(results: xr.DataTree, path: str) -> int:
    """The index of distance 1 along the distances of a result; the first where it is missing."""
    return int(np.argmax(array(results, path)["distance"].values == 1))


def diagonal(values: Float[np.ndarray, "..."]) -> go.Scatter:
    """Where prediction and measurement agree."""
    known = values[np.isfinite(values)]
    ends = [float(known.min()), float(known.max())] if known.size else [0.0, 1.0]
    return go.Scatter(x=ends, y=ends, mode="lines", name="equal", line={"color": NULL, "dash": "dash"})


def agreement(results: xr.DataTree, paths: tuple[str, str], *, log: bool) -> go.Figure:
    """Every head as a dot: predicted across, measured upward, at distance 1."""
    place = neighbour(results, paths[0])
    predicted, measured = (numbers(results, path, distance=place).ravel() for path in paths)
    figure = panels(height=430)
    figure.add_trace(diagonal(predicted))
    trace = go.Scatter(x=predicted, y=measured, mode="markers", text=labels(results, paths[0]), showlegend=False)
    trace.update(marker={"color": ESTIMATE, "size": 6})
    trace.update(hovertemplate="%{text}: predicted %{x:.3g}, measured %{y:.3g}<extra></extra>")
    figure.add_trace(trace)
    axes(figure, f"{label_of(paths[0])}, distance 1", axis_label(paths[1]), **({"type": "log"} if log else {}))
    return figure.update_xaxes(**log_axis(predicted)) if log else figure


def variances(results: xr.DataTree) -> go.Figure:
    """Predicted and measured variance of every head."""
    return agreement(results, (PREDICTED, VARIANCE), log=True)


def variances_finding(results: xr.DataTree) -> str:
    """By what factor the median head's variance differs from the prediction."""
    factor = float(numbers(results, FACTOR, distance=neighbour(results, FACTOR)))
    if not np.isfinite(factor):
        return f"The variance of logits is {NOT_ESTIMABLE}"
    return f"Gaussian queries and keys misjudge the median head's logit variance by {number(100 * (factor - 1))} %"


def ratios(results: xr.DataTree) -> go.Figure:
    """Measured over predicted variance of every head, with intervals."""
    one = per_head(results, RATIO, distance=neighbour(results, RATIO))
    sizes = array(results, RATIO).sizes
    figure = panels(height=430)
    across = spread(sizes["block"], sizes["head"])
    figure.add_trace(dots(one, across, labels(results, RATIO), np.arange(one.value.size), ESTIMATE))
    line = {"color": NULL, "dash": "dash"}
    figure.add_trace(go.Scatter(x=[-0.5, sizes["block"] - 0.5], y=[0, 0], mode="lines", name="Gaussian", line=line))
    layer_axis(figure, sizes["block"])
    return axes(figure, "block", axis_label(RATIO))


def ratios_finding(results: xr.DataTree) -> str:
    """How many heads differ from the prediction for sure."""
    compared = contrast(per_head(results, RATIO, distance=neighbour(results, RATIO)))
    if not compared.known.any():
        return f"Whether logits are those of Gaussians is {NOT_ESTIMABLE}"
    above, below, total = int(compared.above.sum()), int(compared.below.sum()), compared.difference.size
    return f"Of {total} heads {above} vary significantly more than Gaussian ones, {below} less"


def tails(results: xr.DataTree) -> go.Figure:
    """Predicted and measured excess kurtosis of every head."""
    return agreement(results, (EXCESS_PREDICTED, EXCESS), log=False)


def tails_finding(results: xr.DataTree) -> str:
    """How many heads have heavier tails than Gaussian queries and keys give, whatever documents are left out."""
    place = neighbour(results, EXCESS)
    low, predicted = (numbers(results, path, distance=place).ravel() for path in (f"{EXCESS}_low", EXCESS_PREDICTED))
    if not np.isfinite(low).any():
        return f"The excess kurtosis of logits is {NOT_ESTIMABLE}"
    return f"Logits of {int(np.sum(low > predicted))} of {low.size} heads have heavier tails than Gaussian ones would"


FIGURES = (
    Figure(
        "gaussian-logits",
        "gaussian",
        (VARIANCE, PREDICTED, FACTOR, CORRELATION),
        variances_finding,
        variances,
        "Variance of every head's logits between neighbouring tokens, over windows at given positions: measured, and "
        "predicted from means and covariances of its queries and keys as if they were jointly Gaussian. The mean would "
        "be right for any law; the variance holds products of four numbers, so what is off here is the assumption.",
        "Var qᵀCk = tr(C Σ_k CᵀΣ_q) + tr((C Σ_kq)²) + terms of the means; C the scale and the rotation",
        "Wertich, equations 6.2 and 6.3, corrected and completed",
    ),
    Figure(
        "gaussian-ratio",
        "gaussian",
        (RATIO,),
        ratios_finding,
        ratios,
        "Log of measured over predicted variance of neighbours' logits, head by head, with its 95 % interval over "
        "documents. Above 0 the logits vary more than those of Gaussian queries and keys with the same covariances.",
        "log(measured / predicted), bias-corrected by the jackknife over documents",
        "docs/measures.md",
    ),
    Figure(
        "gaussian-tails",
        "gaussian",
        (EXCESS, EXCESS_PREDICTED, f"{EXCESS}_low"),
        tails_finding,
        tails,
        "Excess kurtosis of every head's logits between neighbouring tokens, measured and as Gaussian queries and keys "
        "would have it. Their product is not normal itself: the fewer directions count, the heavier its tails. A head "
        "counts in the title where its leave-one-group-out range lies above the prediction; no interval covers.",
        "κ₄/κ₂² of zᵀHz, z = (q, k), from tr (HΣ)⁴",
        "Wertich, section 6.4, corrected",
    ),
)
