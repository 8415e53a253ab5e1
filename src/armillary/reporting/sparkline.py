"""A curve in a line of text: inline SVG, drawn when the page is made."""

from html import escape

import numpy as np
from jaxtyping import Float

from armillary.figures.kit.words import number
from armillary.reporting.kinds import Curve

WIDTH, HEIGHT, EDGE = 160, 34, 4
"""Size in pixels, and room around the curve for its dots."""


def sparkline(curve: Curve) -> str:
    """The values over layers, one of them marked, the null dashed; nothing where fewer than two are known."""
    values = np.asarray(curve.values, dtype=np.float64)
    if np.isfinite(values).sum() < 2:
        return ""
    null = None if curve.null is None else np.asarray(curve.null, dtype=np.float64)
    every = values if null is None else np.concatenate([values, null])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    x, y = places(values, low, high)
    drawn = "" if null is None else f'<path class="null" d="{path(*places(null, low, high))}"/>'
    dot = f'<circle cx="{x[curve.dot]:.1f}" cy="{y[curve.dot]:.1f}" r="3"/>' if np.isfinite(y[curve.dot]) else ""
    words = (
        f"over {values.size} {curve.axis}s: {number(float(np.nanmin(values)))} to {number(float(np.nanmax(values)))}"
    )
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">'
        f'<title>{escape(words)}</title>{drawn}<path d="{path(x, y)}"/>{dot}</svg>'
    )


def places(
    values: Float[np.ndarray, " layer"], low: float, high: float
) -> tuple[Float[np.ndarray, " layer"], Float[np.ndarray, " layer"]]:
    """Where the values stand in the picture."""
    across = np.linspace(EDGE, WIDTH - EDGE, values.size)
    reach = high - low or 1.0
    return across, HEIGHT - EDGE - (values - low) / reach * (HEIGHT - 2 * EDGE)


def path(x: Float[np.ndarray, " layer"], y: Float[np.ndarray, " layer"]) -> str:
    """A line through the known points, broken where one is not known."""
    steps, begun = [], False
    for across, up in zip(x, y, strict=True):
        if np.isfinite(up):
            steps.append(f"{'L' if begun else 'M'}{across:.1f} {up:.1f}")
        begun = bool(np.isfinite(up))
    return "".join(steps)
