"""Figures of a sweep over the strengths of LocAteR: trained models at their end, after figure 6 of Bao et al."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.colours import series
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels
from armillary.figures.kit.units import axis_label, drawn_estimate
from armillary.figures.kit.words import error_words
from armillary.figures.simulation.lines import banded
from armillary.results.reading import array
from armillary.results.schema.training import SWEEP

SHOWN = tuple(f"{SWEEP}/{name}" for name in ("scale_qk", "entropy", "signal_propagation", "perplexity"))
VERDICT = f"{SWEEP}/verdict"


def ends(results: xr.DataTree) -> go.Figure:
    """Four results against κ₂, a curve for each κ₁."""
    figure = panels(2, 2, tuple(map(axis_label, SHOWN)), height=620)
    traces, scales = (array(results, SHOWN[0])[axis].values for axis in ("kappa_trace", "kappa_scale"))
    across = np.arange(len(traces), dtype=np.float64)
    for place, path in enumerate(SHOWN):
        row, column = place // 2 + 1, place % 2 + 1
        for number, (scale, colour) in enumerate(zip(scales, series(len(scales)), strict=False)):
            one = drawn_estimate(results, path, kappa_scale=number)
            for trace in banded(across, one, f"κ₁ = {scale:g}", colour):
                shown = trace.showlegend is not False and place == 0
                figure.add_trace(trace.update(showlegend=shown), row=row, col=column)
        figure.update_xaxes(tickvals=across, ticktext=[f"{value:g}" for value in traces], row=row, col=column)
    return axes(figure, "κ₂", "")


def ends_finding(results: xr.DataTree) -> str:
    """How many of the document's claims hold, against the first baseline."""
    verdicts = array(results, VERDICT).values.astype(str)
    if not verdicts.size:
        return "No claim can be answered: the sweep has no baseline"
    held = int((verdicts[:, 0] == "holds").sum())
    return f"{held} of the document's {len(verdicts)} claims hold for a stronger κ₂"


FIGURES = (
    Figure(
        "locater-sweep",
        "training",
        (*SHOWN, *(f"{path}_se" for path in SHOWN), VERDICT),
        ends_finding,
        ends,
        "Trained models under LocAteR penalties: κ₁ on tr(W_QKᵀ W_QK), κ₂ on (tr W_QK − 1)². The "
        "document says that with a stronger κ₂ the scale shrinks, entropy rises and perplexity improves. Band: "
        f"{error_words(SHOWN[0])}.",
        "verdicts: 95 % interval of the change from κ₂ = 0 to the largest κ₂ at the largest κ₁, paired by seed",
        "Bao, Hataya & Karakida (2024), figure 6",
    ),
)
