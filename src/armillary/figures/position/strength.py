"""Figures of the position basis: how strong it is, in how many directions."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.curves import corrected_curve, draw_estimate, draw_line, draw_null, layer_axis
from armillary.figures.kit.fields import slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import NULL, PALETTE, axes, panels
from armillary.figures.kit.words import Phrases, at, counted, effect, largest, span
from armillary.results.reading import Estimate, chosen, estimate, has, numbers, optional

SHARE = Phrases(
    "The position share",
    "Position explains up to {value} of the variance ({layer}); it is told from 0 in {layers}",
    "No effect of position is seen: its share of the variance is below {possible} in every layer",
    "The position share is not determined: no layer is told from 0, and up to {possible} is possible",
)

MODES, FAINT = 60, 1e-6
"""So many modes are drawn, and no energy below this share of the largest."""


def share(results: xr.DataTree) -> go.Figure:
    """The corrected share with its band, in per cent, and the plain one beside its null."""
    one = estimate(results, "position/share_corrected")
    figure = panels()
    draw_estimate(figure, one.percent(), "without small-sample bias")
    if has(results, "variance/share"):
        draw_line(figure, 100 * numbers(results, "variance/share", component=0), "plain formula", PALETTE[1], "dot")
    if has(results, "position/share_null"):
        draw_null(figure, 100 * numbers(results, "position/share_null"), "null of the plain formula", dash="dot")
    draw_null(figure, np.zeros_like(one.value))
    axes(figure, one.axis, "share of the variance, %")
    layer_axis(figure, one.value.size)
    return figure


def share_finding(results: xr.DataTree) -> str:
    """How much of the variance position explains, as far as the intervals tell."""
    return effect(estimate(results, "position/share_corrected"), 0.0, SHARE, 0.01, "%")


def spectrum(results: xr.DataTree) -> go.Figure:
    """Energy of the modes, held out and plain, with the null of the held-out one; a slider through the layers."""
    energy = numbers(results, "position/energy_heldout")
    curves = [("held out", energy, PALETTE[0], "solid")]
    if has(results, "position/singular_value"):
        squared = numbers(results, "position/singular_value") ** 2
        curves.append(("plain formula, σ²", squared, PALETTE[1], "dot"))
    if has(results, "position/energy_heldout_null"):
        null = numbers(results, "position/energy_heldout_null").reshape(len(energy), -1)
        curves.append(("null of the held-out energy", np.broadcast_to(null, energy.shape), NULL, "dash"))
    layers = chosen(len(energy), 40)
    steps = [[mode_curve(name, one[layer], colour, dash) for name, one, colour, dash in curves] for layer in layers]
    figure = slider(panels(height=420), steps, [str(layer) for layer in layers])
    figure.update_layout(legend={"orientation": "v", "x": 1, "xanchor": "right", "y": 1, "yanchor": "top"})
    return axes(figure, "mode", "energy, units of the stream squared", type="log")


def mode_curve(name: str, energy: Float[np.ndarray, " mode"], colour: str, dash: str) -> go.Scatter:
    """One layer's leading energies; what is not positive or too faint has no place on the logarithmic scale."""
    energy = energy[:MODES]
    shown = np.where(energy > FAINT * np.nanmax(energy, initial=0.0), energy, np.nan)
    trace = go.Scatter(x=np.arange(1, energy.size + 1), y=shown, name=name, hovertemplate="%{x}: %{y:.4g}")
    return trace.update(mode="lines" if dash == "dash" else "lines+markers", line={"color": colour, "dash": dash})


def spectrum_finding(results: xr.DataTree) -> str:
    """How many modes stand out, where the run says so; else how the energy falls off."""
    if has(results, "position/rank_heldout"):
        return rank_heldout_sentence(estimate(results, "position/rank_heldout"))
    energy = numbers(results, "position/energy_heldout")
    total = np.where(energy > 0, energy, 0).sum(1)
    share = np.divide(energy[:, 0], total, out=np.full(len(energy), np.nan), where=total > 0)
    return (
        f"The first mode holds {span(share, '%')} of the leading modes' held-out energy, over the layers; "
        "how many modes are more than chance is not determined"
    )


def rank_heldout_sentence(one: Estimate) -> str:
    """How many modes are more than chance, and where most."""
    if not np.isfinite(one.value).any():
        return "How many modes of position are more than chance is not determined"
    best, some = largest(one.value), np.where(np.isfinite(one.low), one.low, one.value) > 0
    if not one.value[best] > 0:
        return "No mode of position is told from chance in any layer"
    told = f"Up to {at(one, best)} modes of position are more than chance ({one.axis} {best})"
    if not some.any():
        return f"The number of modes is not determined: {told[0].lower()}{told[1:]}, but in no layer always one"
    return f"{told}; at least one in {counted(some, one.axis)}"


def ranks(results: xr.DataTree) -> go.Figure:
    """Both counts of modes with the extremes as groups are left out, and the null of ScreeNOT."""
    figure, axis, count = panels(), "layer", 0
    for name, text, colour in (
        ("rank_heldout", "modes more than chance, held out", PALETTE[0]),
        ("rank_screenot", "ScreeNOT", PALETTE[1]),
    ):
        if has(results, f"position/{name}"):
            one = estimate(results, f"position/{name}")
            draw_estimate(figure, one, text, colour)
            axis, count = one.axis, one.value.size
    if has(results, "position/rank_screenot_null"):
        draw_null(figure, numbers(results, "position/rank_screenot_null"), "null: ScreeNOT of noise alone")
    axes(figure, axis, "number of modes", rangemode="tozero")
    layer_axis(figure, count)
    return figure


def ranks_finding(results: xr.DataTree) -> str:
    """The count of ScreeNOT beside what noise gives; no more than the two allow."""
    one, null = estimate(results, "position/rank_screenot"), optional(results, "position/rank_screenot_null")
    counts = f"ScreeNOT counts {span(one.value)} modes of position"
    if null is None:
        return f"{counts}; what noise alone would count is not determined"
    low = np.where(np.isfinite(one.low), one.low, one.value)
    above = low > null
    noise = f"noise alone gives {span(null)}"
    if not above.any():
        return f"The number of modes is not determined: {counts}, and {noise}"
    return f"{counts}, {noise}; above its noise in {counted(above)}"


def stable_rank_finding(results: xr.DataTree) -> str:
    """The corrected stable rank where it is determined."""
    return corrected_finding(results, "rank_stable", "stable rank")


def relative_norm_finding(results: xr.DataTree) -> str:
    """The corrected relative norm where it is determined."""
    return corrected_finding(results, "relative_norm", "relative norm")


def corrected_finding(results: xr.DataTree, name: str, what: str) -> str:
    """The span of a corrected estimate over the layers where it is determined, and its largest value with margin."""
    one = estimate(results, f"position/{name}_corrected")
    known = np.isfinite(one.value)
    if not known.any():
        return f"The {what} of position is not determined: position is too weak in every layer"
    best = largest(one.value)
    told = f"The {what} of position is {span(one.value)}, highest in {one.axis} {best}: {at(one, best)}"
    return told if known.all() else f"{told}; it is determined in {counted(known, one.axis)}"


def stable_rank(results: xr.DataTree) -> go.Figure:
    """Stable rank, corrected and plain, with the null of the plain one."""
    return corrected_curve(results, "position/rank_stable", "stable rank, directions", rangemode="tozero")


def relative_norm(results: xr.DataTree) -> go.Figure:
    """Relative norm, corrected and plain, with the null of the plain one."""
    return corrected_curve(results, "position/relative_norm", "relative norm", rangemode="tozero")


FIGURES = (
    Figure(
        "position-share",
        "position",
        ("position/share_corrected",),
        share_finding,
        share,
        "Share of the variance that the position in the window explains. The blue curve has no small-sample bias and "
        "may be negative; where its band (95 %) touches 0, no effect is seen. The dotted curve is the plain formula, "
        "to be compared with its own null: windows turned by random offsets.",
        "tr Ĝ / (T · variance), Ĝ = (S Sᵀ − Σ S_g S_gᵀ) / (C² − Σ n_g²) from pairs of different groups of documents",
        "Song & Zhong (2023), equations 3 and 4; correction and error: docs/statistics.md",
    ),
    Figure(
        "position-spectrum",
        "position",
        ("position/energy_heldout",),
        spectrum_finding,
        spectrum,
        "How the position basis spreads over its modes. A mode counts where its held-out energy lies above the null; "
        "energies that are not positive or below 10⁻⁶ of the largest are left out. The slider chooses the layer.",
        "energy_k = mean over folds f of uᵀ M_f P₋fᵀ u, u the k-th mode found without fold f; plain: σ_k² of "
        "position_basis",
        "Song & Zhong (2023), Figure 3 (left)",
    ),
    Figure(
        "position-rank",
        "position",
        ("position/rank_screenot",),
        ranks_finding,
        ranks,
        "How many modes the position basis has, counted in two ways. Bands: lowest and highest count as documents "
        "are left out. ScreeNOT's count grows with the number of windows, and noise alone gives the grey line.",
        "ScreeNOT: singular values above the optimal threshold for noise of unknown colour, k = 20; held out: leading "
        "modes whose energy exceeds the 95 % point of the turned windows",
        "Donoho, Gavish & Romanov (2023); Song & Zhong (2023), Tables 1 and 4",
    ),
    Figure(
        "position-stable-rank",
        "position",
        ("position/rank_stable_corrected",),
        stable_rank_finding,
        stable_rank,
        "In how many directions position moves, weighted by strength. Gaps: not determined, because position is "
        "within 3 standard errors of nothing.",
        "Σσ² / σ₁² of position_basis; corrected: tr Ĝ / energy_heldout₁; band: 95 %",
        "Song & Zhong (2023), Table 5",
    ),
    Figure(
        "position-relative-norm",
        "position",
        ("position/relative_norm_corrected",),
        relative_norm_finding,
        relative_norm,
        "How large position is in its strongest direction, against the strongest direction of all states: 0 to 1. "
        "Gaps: not determined.",
        "‖P‖op / ‖M‖op, M all centred states, P the position basis repeated over windows; corrected: √(C · "
        "energy_heldout₁) / ‖M‖op; band: 95 %",
        "Song & Zhong (2023), Table 6",
    ),
)
