"""Figures of the positional basis: how strong it is, in how many directions."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import ESTIMATE, NULL, POSITION, PUBLISHED
from armillary.figures.kit.curves import (
    CORRECTED,
    PLUG_IN,
    PLUG_IN_NULL,
    corrected_curve,
    draw_estimate,
    draw_line,
    draw_null,
    layer_axis,
)
from armillary.figures.kit.fields import slider
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import drawn, drawn_estimate
from armillary.figures.kit.words import (
    NO_NULL,
    NOT_ESTIMABLE,
    Phrases,
    at,
    counted,
    effect,
    error_words,
    largest,
    number,
    significance,
    span,
)
from armillary.measures.heldout import LEADING
from armillary.results.reading import chosen, estimate, has, numbers, optional

SHARE = Phrases(
    "The position share",
    "Position explains up to {value} of the variance ({layer})",
    "No effect of position: it explains less than {possible} of every layer's variance",
    "The position share is not significant in any layer; up to {possible} is possible",
)

MODES, FAINT = 60, 1e-6
"""The most modes that are drawn, and the share of the largest energy below which none is."""


def share(results: xr.DataTree) -> go.Figure:
    """The bias-corrected share with its band, in per cent, and the plug-in beside its null."""
    corrected = drawn_estimate(results, "position/share_corrected")
    figure = panels()
    draw_estimate(figure, corrected, CORRECTED, POSITION)
    if has(results, "variance/share"):
        draw_line(figure, drawn(results, "variance/share", component=0), PLUG_IN, PUBLISHED, "dot")
    if has(results, "position/share_null"):
        draw_null(figure, drawn(results, "position/share_null"), PLUG_IN_NULL, dash="dot")
    draw_null(figure, np.zeros_like(corrected.value), "null of the bias-corrected: 0")
    axes(figure, corrected.axis, "share of the variance, %")
    layer_axis(figure, corrected.value.size)
    return figure


def share_finding(results: xr.DataTree) -> str:
    """How much of the variance position explains, as far as the intervals go."""
    return effect(estimate(results, "position/share_corrected"), 0.0, SHARE, 0.01, "%")


def share_detail(results: xr.DataTree) -> str:
    """In how many layers the share is significant, and over which values it ranges."""
    share = estimate(results, "position/share_corrected")
    said = significance(share, 0.0)
    return f"{said}; {span(share.value, '%')} over the layers" if said else ""


def spectrum(results: xr.DataTree) -> go.Figure:
    """Energy of the modes, held out and plug-in, with the null of the held-out one; a slider through the layers."""
    energy = numbers(results, "position/energy_heldout")
    curves = [("held out", energy, POSITION, "solid")]
    if has(results, "position/singular_value"):
        squared = numbers(results, "position/singular_value") ** 2
        curves.append(("plug-in, σ²", squared, PUBLISHED, "dot"))
    if has(results, "position/energy_heldout_null"):
        null = numbers(results, "position/energy_heldout_null").reshape(len(energy), -1)
        curves.append(("circular-shift null of the held-out energy", np.broadcast_to(null, energy.shape), NULL, "dash"))
    best = spectrum_layer(results)
    layers = chosen(len(energy), 40, best)
    steps = [
        [mode_curve(name, values[layer], colour, dash) for name, values, colour, dash in curves] for layer in layers
    ]
    titles = [spectrum_title(results, int(layer)) for layer in layers]
    start = int(np.searchsorted(layers, best))
    figure = slider(panels(height=420), steps, [str(layer) for layer in layers], start, titles)
    return axes(figure, "mode", "energy, units of the stream squared", type="log")


def mode_curve(name: str, energy: Float[np.ndarray, " mode"], colour: str, dash: str) -> go.Scatter:
    """One layer's leading energies; what is not positive or too faint has no place on the logarithmic scale."""
    energy = energy[:MODES]
    shown = np.where(energy > FAINT * np.nanmax(energy, initial=0.0), energy, np.nan)
    trace = go.Scatter(x=np.arange(1, energy.size + 1), y=shown, name=name, hovertemplate="%{x}: %{y:.4g}")
    return trace.update(mode="lines" if dash == "dash" else "lines+markers", line={"color": colour, "dash": dash})


def spectrum_layer(results: xr.DataTree) -> int:
    """The layer with which the spectrum begins: the one of highest held-out rank, else of most energy."""
    rank = optional(results, "position/rank_heldout")
    if rank is not None and np.isfinite(rank).any():
        return largest(rank)
    energy = numbers(results, "position/energy_heldout")[:, 0]
    return largest(energy) if np.isfinite(energy).any() else len(energy) // 2


def spectrum_title(results: xr.DataTree, layer: int) -> str:
    """How many modes of a layer exceed the null, where the run says so; else what its first mode holds."""
    if has(results, "position/rank_heldout"):
        rank = float(numbers(results, "position/rank_heldout")[layer])
        if not np.isfinite(rank):
            return f"The held-out rank of the positional basis is {NOT_ESTIMABLE} (layer {layer})"
        modes = "1 mode exceeds" if rank == 1 else f"{counted_modes(rank)} exceed" if rank else "No mode exceeds"
        return f"{modes} the null in held-out documents (layer {layer})"
    energy = numbers(results, "position/energy_heldout", layer=layer)
    total = float(np.where(energy > 0, energy, 0).sum())
    if not total > 0:
        return f"The held-out energy of the positional basis is {NOT_ESTIMABLE} (layer {layer})"
    return f"The first mode holds {number(100 * float(energy[0]) / total)} % of held-out energy (layer {layer})"


def counted_modes(rank: float) -> str:
    """How many modes there are; where all that were looked at count, there may be more."""
    return f"{'At least ' if rank >= LEADING else ''}{number(rank)} modes"


def spectrum_finding(results: xr.DataTree) -> str:
    """The title of the layer with which the slider begins."""
    return spectrum_title(results, spectrum_layer(results))


def spectrum_detail(results: xr.DataTree) -> str:
    """The highest held-out rank with its range, and in how many layers any mode counts, all of them jointly."""
    if not has(results, "position/rank_heldout"):
        return ""
    rank, jointly = estimate(results, "position/rank_heldout"), optional(results, "position/rank_heldout_familywise")
    if not np.isfinite(rank.value).any():
        return ""
    some = np.where(np.isfinite(rank.low), rank.low, rank.value) > 0 if jointly is None else jointly > 0
    best = largest(rank.value)
    most = f"at least {number(float(rank.value[best]))}, all that are looked at," if rank.value[best] >= LEADING else ""
    said = f"Held-out rank {most or f'at most {at(rank, best)}'} in {rank.axis} {best}"
    return f"{said}; significantly at least 1 in {counted(some, rank.axis)}"


def ranks(results: xr.DataTree) -> go.Figure:
    """Both counts of modes with their leave-one-group-out ranges, and the null of ScreeNOT."""
    figure, axis, count = panels(), "layer", 0
    for name, text, colour in (
        ("rank_heldout", "held-out rank", POSITION),
        ("rank_screenot", "ScreeNOT rank", ESTIMATE),
    ):
        if has(results, f"position/{name}"):
            rank = estimate(results, f"position/{name}")
            draw_estimate(figure, rank, text, colour)
            axis, count = rank.axis, rank.value.size
    if has(results, "position/rank_screenot_null"):
        draw_null(figure, numbers(results, "position/rank_screenot_null"), "null: ScreeNOT rank of noise")
    axes(figure, axis, "number of modes", rangemode="tozero")
    layer_axis(figure, count)
    return figure


def ranks_finding(results: xr.DataTree) -> str:
    """The count of ScreeNOT beside that of noise; no more than the two allow."""
    rank, null = estimate(results, "position/rank_screenot"), optional(results, "position/rank_screenot_null")
    if not np.isfinite(rank.value).any():
        return f"The ScreeNOT rank of the positional basis is {NOT_ESTIMABLE}"
    best = largest(rank.value)
    finding = f"ScreeNOT counts up to {number(float(rank.value[best]))} modes of position (layer {best})"
    if null is None:
        return f"{finding}; {NO_NULL}"
    above = np.where(np.isfinite(rank.low), rank.low, rank.value) > null
    return finding if above.any() else "ScreeNOT counts no more modes of position than of noise in any layer"


def ranks_detail(results: xr.DataTree) -> str:
    """Both counts over the layers, and where the one of position is above that of noise."""
    rank, null = estimate(results, "position/rank_screenot"), optional(results, "position/rank_screenot_null")
    if null is None or not np.isfinite(rank.value).any():
        return ""
    above = np.where(np.isfinite(rank.low), rank.low, rank.value) > null
    return f"Position {span(rank.value)}, noise {span(null)}; above noise in {counted(above)}"


def stable_rank_finding(results: xr.DataTree) -> str:
    """The bias-corrected stable rank where it is estimable."""
    return corrected_finding(results, "rank_stable", "a stable rank")


def relative_norm_finding(results: xr.DataTree) -> str:
    """The bias-corrected relative norm where it is estimable."""
    return corrected_finding(results, "relative_norm", "a relative norm")


def corrected_finding(results: xr.DataTree, name: str, what: str) -> str:
    """The largest value of a bias-corrected estimate with its margin."""
    corrected = estimate(results, f"position/{name}_corrected")
    known = np.isfinite(corrected.value)
    if not known.any():
        return f"The {what.removeprefix('a ')} of the positional basis is {NOT_ESTIMABLE}: {why_not(results, name)}"
    best = largest(corrected.value)
    return f"The positional basis has {what} of at most {at(corrected, best)} ({corrected.axis} {best})"


def why_not(results: xr.DataTree, name: str) -> str:
    """Why no layer has a bias-corrected value: no other value either, or position is too weak for it."""
    single = not np.isfinite(numbers(results, f"position/{name}")).any()
    return "this run cannot separate position" if single else "position is too weak in every layer"


def corrected_detail(results: xr.DataTree, name: str) -> str:
    """The values over the layers, and in how many of them there are any."""
    corrected = estimate(results, f"position/{name}_corrected")
    known = np.isfinite(corrected.value)
    if not known.any():
        return ""
    return f"{span(corrected.value)} over the layers; estimable in {counted(known, corrected.axis)}"


def stable_rank(results: xr.DataTree) -> go.Figure:
    """Stable rank, bias-corrected and plug-in, with the null of the plug-in."""
    return corrected_curve(results, "position/rank_stable", "stable rank, directions", rangemode="tozero")


def relative_norm(results: xr.DataTree) -> go.Figure:
    """Relative norm, bias-corrected and plug-in, with the null of the plug-in."""
    return corrected_curve(results, "position/relative_norm", "relative norm", rangemode="tozero")


FIGURES = (
    Figure(
        "position-share",
        "position",
        ("position/share_corrected",),
        share_finding,
        share,
        "Share of the variance that the position in the window explains. The bias-corrected estimate may be negative. "
        f"Band: {error_words('position/share_corrected')}, each layer by itself; significant: all layers jointly. "
        "The plug-in estimate is to be compared with its own null: circularly shifted windows.",
        "tr Ĝ / (T · variance), Ĝ = (S Sᵀ − Σ S_g S_gᵀ) / (C² − Σ n_g²) from pairs of different groups of documents",
        "Song & Zhong (2023), equations 3 and 4; correction and error: docs/statistics.md",
        share_detail,
    ),
    Figure(
        "position-spectrum",
        "position",
        ("position/energy_heldout",),
        spectrum_finding,
        spectrum,
        "How the positional basis spreads over its modes. A mode counts where its held-out energy exceeds the null; "
        "energies that are not positive or below 10⁻⁶ of the largest are left out. The slider chooses the layer.",
        "energy_k = mean over folds f of uᵀ M_f P_{−f}ᵀ u, u the k-th mode found without fold f; plug-in: σ_k² of "
        "position_basis",
        "Song & Zhong (2023), Figure 3 (left)",
        spectrum_detail,
    ),
    Figure(
        "position-rank",
        "position",
        ("position/rank_screenot",),
        ranks_finding,
        ranks,
        "How many modes the positional basis has, counted in two ways. Bands: "
        f"{error_words('position/rank_screenot')}. ScreeNOT's count grows with the number of windows; grey: its count "
        "for noise, from differences of halves of the windows.",
        "ScreeNOT: singular values above the optimal threshold for noise of unknown colour, k = 20; held out: leading "
        "modes whose energy exceeds the 95 % point of the circular-shift null",
        "Donoho, Gavish & Romanov (2023); Song & Zhong (2023), Tables 1 and 4",
        ranks_detail,
    ),
    Figure(
        "position-stable-rank",
        "position",
        ("position/rank_stable_corrected",),
        stable_rank_finding,
        stable_rank,
        "In how many directions position moves the states, weighted by strength; 1 is a line, and the bias-corrected "
        "estimate may fall a little below. Gaps: not estimable, position is within 3 standard errors of 0. "
        f"Band: {error_words('position/rank_stable_corrected')}.",
        "Σσ² / σ₁² of position_basis; bias-corrected: tr Ĝ / energy_heldout₁",
        "Song & Zhong (2023), Table 5",
        partial(corrected_detail, name="rank_stable"),
    ),
    Figure(
        "position-relative-norm",
        "position",
        ("position/relative_norm_corrected",),
        relative_norm_finding,
        relative_norm,
        "How large position is in its strongest direction, against the strongest direction of all states: 0 to 1. "
        f"Gaps: not estimable. Band: {error_words('position/relative_norm_corrected')}.",
        "‖P‖op / ‖M‖op, M all centred states, P the positional basis repeated over windows; bias-corrected: √(C · "
        "energy_heldout₁) / ‖M‖op",
        "Song & Zhong (2023), Table 6",
        partial(corrected_detail, name="relative_norm"),
    ),
)
