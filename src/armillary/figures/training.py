"""Figures of a training run: losses, exact matches by length, geometry against step, and ρ as stripes (figure 7)."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Bool, Float

from armillary.figures.kit.colours import ALONG_DEPTH, ESTIMATE, NULL, RESIDUAL, series
from armillary.figures.kit.fields import BAR, heatmap, ruler, slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, error_words, number, quoted
from armillary.figures.simulation.lines import Values, banded, line
from armillary.results.reading import Estimate, array, chosen, estimate, has, label_of, numbers
from armillary.results.schema.training import OF_HEADS, OF_LAYERS, TRAINING

LOSS, KEPT, BIGRAMS = (f"{TRAINING}/{name}" for name in ("loss", "loss_validation", "bigram_entropy"))
ACCURACY, TRAINED = f"{TRAINING}/accuracy", f"{TRAINING}/trained"
SCALE, ENTROPY, RHO, SIGNAL = (
    f"{OF_HEADS}/{name}" for name in ("frobenius_qk", "entropy", "rho", "signal_propagation")
)
LOW, NORM, ALIKE = (f"{OF_LAYERS}/{name}" for name in ("low_frequency_share", "norm", "similarity"))
CURVES = (SCALE, ENTROPY, SIGNAL, LOW, NORM, ALIKE)
"""What the figure of the geometry draws, head by head or layer by layer."""

TERMS = tuple(f"{OF_HEADS}/gradient_{name}" for name in ("qk", "first", "second", "third"))
"""The QK gradient and its three terms."""

STEPS, HEADS = 40, 16
"""The most steps and heads that a slider has."""


def steps_of(results: xr.DataTree, path: str) -> Values:
    """The steps along which a result stands."""
    return np.asarray(array(results, path).step.values, dtype=np.float64)


def validated(results: xr.DataTree) -> tuple[Values, Estimate]:
    """The validations: their steps, and the loss with its error."""
    every = estimate(results, KEPT)
    at = np.isfinite(every.value)
    return steps_of(results, KEPT)[at], where(every, at)


def where(one: Estimate, at: Bool[np.ndarray, " step"]) -> Estimate:
    """An estimate at some of its steps."""
    return replace(one, value=one.value[at], se=one.se[at], low=one.low[at], high=one.high[at])


def losses(results: xr.DataTree) -> go.Figure:
    """Training and validation loss, and the bigram entropy of the text."""
    figure, across = panels(height=420), steps_of(results, LOSS)
    values = numbers(results, LOSS)
    known = np.isfinite(values)
    figure.add_trace(line(across[known], values[known], label_of(LOSS), RESIDUAL))
    steps, one = validated(results)
    figure.add_traces(banded(steps, one, label_of(KEPT), ESTIMATE))
    if has(results, BIGRAMS):
        ends = np.array([across.min(), across.max()])
        figure.add_trace(line(ends, np.full(2, float(numbers(results, BIGRAMS))), "bigram entropy", NULL, "dash"))
    return axes(figure, "step", "loss, nats", rangemode="tozero")


def losses_finding(results: xr.DataTree) -> str:
    """What the validation loss ends at, beside the bigram entropy."""
    steps, one = validated(results)
    if not steps.size:
        return f"The validation loss is {NOT_ESTIMABLE}"
    ended = f"Validation loss ends at {quoted(float(one.value[-1]), float(one.margin()[-1]), 'nats')}"
    if not has(results, BIGRAMS):
        return ended
    bigrams = float(numbers(results, BIGRAMS))
    side = "below" if one.value[-1] + np.nan_to_num(one.margin()[-1]) < bigrams else "not significantly below"
    return f"{ended}, {side} the bigram entropy, {number(bigrams)}"


def accuracies(results: xr.DataTree) -> go.Figure:
    """Exact matches against step, a curve for each number of digits; dashed where these were not trained."""
    figure = panels(height=420)
    digits, trained = array(results, ACCURACY).digits.values, array(results, TRAINED).values.astype(bool)
    across = steps_of(results, ACCURACY)
    colours = series(len(digits))
    for place, count in enumerate(digits):
        one = estimate(results, ACCURACY, digits=place).percent()
        at = np.isfinite(one.value)
        name = f"{count} digit{'' if count == 1 else 's'}{'' if trained[place] else ', not trained'}"
        traces = banded(across[at], where(one, at), name, colours[place % len(colours)])
        traces[-1].update(mode="lines+markers", line={"dash": "solid" if trained[place] else "dash"})
        figure.add_traces(traces)
    return axes(figure, "step", axis_label(ACCURACY), range=[-3, 103])


def accuracies_finding(results: xr.DataTree) -> str:
    """How many answers are right at the end, inside and outside the trained lengths."""
    values, trained = numbers(results, ACCURACY), array(results, TRAINED).values.astype(bool)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not known.size:
        return f"Exact match is {NOT_ESTIMABLE}"
    last = 100 * values[known[-1]]
    worst = float(last[trained].min())
    least = "" if worst == 100 else "at least "
    inside = f"Exact match is {least}{number(worst)} % inside the trained lengths"
    return f"{inside}, at most {number(last[~trained].max())} % outside" if (~trained).any() else inside


def curves(results: xr.DataTree) -> go.Figure:
    """Six measures against step, a thin line per head or layer, darker from the first to the last block."""
    figure = panels(3, 2, tuple(map(axis_label, CURVES)), height=760)
    for place, path in enumerate(CURVES):
        values = drawn(results, path).reshape(steps_of(results, path).size, -1)
        axis = "head" if path in (SCALE, ENTROPY, SIGNAL) else "layer"
        row, column = place // 2 + 1, place % 2 + 1
        for number_, up in enumerate(values.T):
            trace = line(steps_of(results, path), up, f"{axis} {number_}", NULL).update(showlegend=False, opacity=0.5)
            figure.add_trace(trace.update(line={"width": 1}), row=row, col=column)
        mean = line(steps_of(results, path), means(values), f"mean over {axis}s", ESTIMATE)
        figure.add_trace(mean.update(showlegend=place in (0, 3)), row=row, col=column)
    return axes(figure, "step", "").update_xaxes(nticks=4)


def means(values: Float[np.ndarray, "step part"]) -> Float[np.ndarray, " step"]:
    """The mean over heads or layers that are known at each step; NaN where none is."""
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    return np.asarray(np.where(known, values, 0).sum(axis=1) / np.where(counts > 0, counts, np.nan))


def curves_finding(results: xr.DataTree) -> str:
    """How far the scale of W_QK moved."""
    mean = means(numbers(results, SCALE).reshape(steps_of(results, SCALE).size, -1))
    if not np.isfinite(mean[[0, -1]]).all():
        return f"How W_QK grew is {NOT_ESTIMABLE}"
    moved = "grows" if mean[-1] > mean[0] else "shrinks"
    return f"The mean scale of W_QK {moved} from {number(float(mean[0]))} to {number(float(mean[-1]))}"


def snapshots(results: xr.DataTree) -> go.Figure:
    """Heads in the plane of scale and entropy, one step at a time."""
    scale, entropy = (numbers(results, path) for path in (SCALE, ENTROPY))
    count = scale.shape[0]
    blocks, heads = np.indices(scale.shape[1:]).reshape(2, -1)
    names = [f"L{block}H{head}" for block, head in zip(blocks, heads, strict=True)]
    figure, shown = panels(height=420 + BAR), chosen(count, STEPS)
    bar = ruler("block", 420 + BAR) | {"dtick": max(1, len(scale[0]) // 8)}
    figure.update_layout(margin={"t": BAR}, coloraxis={"colorscale": ALONG_DEPTH, "colorbar": bar})
    figure.update_layout(coloraxis_showscale=len(scale[0]) > 1)
    steps = []
    for place in shown:
        marker = {"size": 10, "color": blocks, "coloraxis": "coloraxis", "line": {"width": 1, "color": ESTIMATE}}
        trace = go.Scatter(x=scale[place].ravel(), y=entropy[place].ravel(), mode="markers", text=names, marker=marker)
        steps.append([trace.update(hovertemplate="%{text}: %{x:.3g}, %{y:.3g} nats<extra></extra>", showlegend=False)])
    largest = 1.05 * float(np.nanmax(scale, initial=0.1))
    figure.update_xaxes(range=[0, largest])
    axes(figure, axis_label(SCALE), axis_label(ENTROPY), range=[0, 1.05 * float(np.nanmax(entropy, initial=0.1))])
    slider(figure, steps, [f"{step:g}" for step in steps_of(results, SCALE)[shown]])
    figure.layout.sliders[0].update(active=len(steps) - 1, currentvalue={"prefix": "step "})
    for place, trace in enumerate(figure.data):  # the trained model to begin with
        trace.visible = place == len(steps) - 1
    return figure


def snapshots_finding(results: xr.DataTree) -> str:
    """How the heads' entropy changed."""
    mean = means(numbers(results, ENTROPY).reshape(steps_of(results, ENTROPY).size, -1))
    if not np.isfinite(mean[[0, -1]]).all():
        return f"How attention sharpened is {NOT_ESTIMABLE}"
    moved = "falls" if mean[-1] < mean[0] else "rises"
    return f"Mean attention entropy {moved} from {number(float(mean[0]))} to {number(float(mean[-1]))} nats"


def stripes(results: xr.DataTree) -> go.Figure:
    """ρ by key and step, a head at a time."""
    values, across = numbers(results, RHO), steps_of(results, RHO)
    heads = [(block, head) for block in range(values.shape[1]) for head in range(values.shape[2])]
    shown = [heads[place] for place in chosen(len(heads), HEADS)]
    steps = [
        [heatmap(values[:, block, head].T, label_of(RHO), (0.0, 1.0), signed=False, x=across)] for block, head in shown
    ]
    figure = panels(height=420)
    figure.update_layout(margin={"t": BAR}, height=figure.layout.height + BAR)
    slider(figure, steps, [f"L{block}H{head}" for block, head in shown])
    figure.layout.sliders[0].currentvalue.prefix = "head "
    return axes(figure, "step", "key", showgrid=False)


def stripes_finding(results: xr.DataTree) -> str:
    """How unevenly ρ is spread over keys at the end, in the head where it is most uneven."""
    last = numbers(results, RHO)[-1]
    if not np.isfinite(last).any():
        return f"ρ is {NOT_ESTIMABLE}"
    spread = np.nan_to_num(np.nanmax(last, axis=-1) - np.nanmin(last, axis=-1))
    block, head = np.unravel_index(int(spread.argmax()), spread.shape)
    return f"ρ differs by up to {number(float(spread.max()))} between keys at the end (L{block}H{head})"


def gradients(results: xr.DataTree) -> go.Figure:
    """The QK gradient and its three terms against step, mean over heads, on a logarithmic axis."""
    figure, across = panels(height=420), steps_of(results, TERMS[0])
    for path, colour in zip(TERMS, (NULL, *series(len(TERMS) - 1)), strict=True):
        values = means(numbers(results, path).reshape(across.size, -1))
        dash = "dash" if path == TERMS[0] else "solid"
        figure.add_trace(line(across, np.where(values > 0, values, np.nan), label_of(path), colour, dash))
    return axes(figure, "step", "norm, mean over heads", type="log")


def gradients_finding(results: xr.DataTree) -> str:
    """In how many heads the first term is the largest at the end."""
    last = np.stack([numbers(results, path)[-1].ravel() for path in TERMS[1:]])
    if not np.isfinite(last).all():
        return f"The largest term of the QK gradient is {NOT_ESTIMABLE}"
    leading = int((last.argmax(axis=0) == 0).sum())
    return f"The QK gradient's first term is largest in {leading} of {last.shape[1]} heads at the end"


BAO, SONG = "Bao, Hataya & Karakida (2024)", "Song & Zhong (2024)"
FIXED = "Measured on a few fixed windows, plug-in: compare steps, not runs of other lengths."

FIGURES = (
    Figure(
        "training-loss",
        "training",
        (LOSS, KEPT, f"{KEPT}_se"),
        losses_finding,
        losses,
        "Loss on what is learnt, mean over a few steps, and on what was kept for validation. Dashed, for a text: what "
        f"a model that knows pairs of tokens alone would have. Band: {error_words(KEPT)}.",
        "mean −log p(token | tokens before it), nats; bigram entropy H(x_t | x_{t−1}) of the whole text, plug-in",
        "the usual curves",
    ),
    Figure(
        "training-accuracy",
        "training",
        (ACCURACY, TRAINED),
        accuracies_finding,
        accuracies,
        "Share of problems whose whole answer is right, by digits of the numbers; dashed: lengths that were not "
        "trained. Problems of trained lengths were kept out of training. Band: 95 % interval (Clopper–Pearson).",
        "every digit the likeliest one: the answer written greedily equals the sum",
        f"{SONG}, sections 4.3 and D.3",
    ),
    Figure(
        "training-geometry",
        "training",
        CURVES,
        curves_finding,
        curves,
        f"The geometry while the model learns: grey a head or a layer, violet their mean. {FIXED}",
        "scale ‖W_QK‖; entropy −Σ p log p; signal propagation mean ρ_i; r_10 of the positional Gram matrix; mean norm; "
        "mean cosine of two tokens of a window",
        f"{BAO}, figure 6; {SONG}, table 3; docs/measures.md",
    ),
    Figure(
        "training-heads",
        "training",
        (SCALE, ENTROPY),
        snapshots_finding,
        snapshots,
        "Every head by the scale of its W_QK and the entropy of its attention; the slider goes through the steps. "
        f"{FIXED}",
        "‖W_QK‖ and −Σ p log p, mean over queries",
        f"{BAO}, figure 6",
    ),
    Figure(
        "training-stripes",
        "training",
        (RHO,),
        stripes_finding,
        stripes,
        "How often each key's signal passes the linearised softmax of the last query, by step: light stripes are keys "
        f"whose signal passes. The slider chooses the head. {FIXED}",
        "ρ_i: share of windows with 0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1, ω the scores of the last of T tokens",
        f"{BAO}, figure 7",
    ),
    Figure(
        "training-gradient",
        "training",
        TERMS,
        gradients_finding,
        gradients,
        "The gradient that the document's one-layer model gives each head's W_QK, and its three terms; the document "
        f"says that the first dominates. {FIXED}",
        "(3): mean of XΓPΓᵀω x_Tᵀ/λ, XΓPγ̃₀ x_Tᵀ/λ and XΓq x_Tᵀ/λ; X attention inputs, y the last of a window, W_V the "
        "head's W_V W_O, W_F = I + W_in W_out, I for a gated MLP",
        f"{BAO}, equation 3",
    ),
)
