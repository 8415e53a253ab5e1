"""Curves that a slider can show and hide: traces by themselves, not yet in a figure."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from armillary.figures.kit.colours import transparent
from armillary.figures.kit.curves import band_outline
from armillary.results.reading import Estimate

Values = Float[np.ndarray, " point"]


def line(across: Values, up: Values, name: str, colour: str, dash: str = "solid") -> go.Scatter:
    """One curve."""
    style = {"color": colour, "dash": dash, "width": 2 if dash == "solid" else 1.5}
    trace = go.Scatter(x=across, y=up, mode="lines", name=name, legendgroup=name, line=style)
    return trace.update(hovertemplate=f"{name}, %{{x:.3g}}: %{{y:.3g}}<extra></extra>")


def banded(across: Values, one: Estimate, name: str, colour: str) -> list[go.Scatter]:
    """What was simulated, after the band of its error."""
    corners = band_outline(across, *one.band())
    band = go.Scatter(x=corners[0], y=corners[1], mode="lines", fill="toself", fillcolor=transparent(colour, 0.3))
    band.update(line={"width": 0}, hoverinfo="skip", showlegend=False, legendgroup=name)
    return [band, line(across, one.value, name, colour)]
