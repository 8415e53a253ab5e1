"""Tail probabilities of a weighted sum of squared normals, by an integral in the complex plane."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

ANGLE = np.radians(70)
"""Angle between the contour's arms and the real axis: steep enough that no factor grows, flat enough to decay."""

STEP, HALVINGS = 0.2, 6
"""The first step of the trapezoidal rule, and how often it may be halved."""

TOLERANCE = 1e-7
"""Change at which halving ends. The error falls to about its square with every halving, so some 1e-13 is left."""

SMALLEST = -40.0
"""Logarithm of a modulus that counts for nothing."""

BISECTIONS = 45
CELLS = 1 << 21
"""How many factors are in memory at a time."""

Rows = Float[np.ndarray, "row"]
Weights = Float[np.ndarray, "row mode"]


class Contour(NamedTuple):
    """A branch of a hyperbola in the right half-plane: where it crosses the real axis, its scale and its reach."""

    crossing: Rows
    scale: Rows
    reach: Rows


def upper_tail(weights: Weights, threshold: float) -> Rows:
    """P(½ Σ_k ν_k z_k² > threshold), z_k independent standard normal, for each row ν of weights; threshold > 0.

    Weights of both signs, to about 1e-12. P = (1/2πi) ∫ e^{K(θ) − θx}/θ dθ, K = −½ Σ log(1 − θν_k): Gil-Pelaez'
    integral, not along the imaginary axis, where it oscillates and ends slowly when few weights are large, but along a
    hyperbola through the saddle point and around the cut [1/ν_max, ∞), on which it falls faster than exponentially. The
    trapezoidal rule converges geometrically there; it is halved until nothing changes. NaN where it still does, and
    where a weight is NaN.
    """
    if not threshold > 0:
        raise ValueError(f"expected a threshold above 0, got {threshold}: for a lower tail turn the weights' signs")
    tail = np.where(np.isnan(weights).any(axis=1), np.nan, 0.0)
    # Chernoff's bound at θ = 1/(2 ν_max): the tail is at most 2^{modes/2} e^{−x/(2 ν_max)}, elsewhere below e⁻⁸⁰.
    reachable = np.flatnonzero(weights.max(axis=1, initial=0.0) * (160 + 0.7 * weights.shape[1]) > threshold)
    rows = max(1, CELLS // (64 * max(1, weights.shape[1])))
    for start in range(0, len(reachable), rows):
        chosen = reachable[start : start + rows]
        tail[chosen] = _integral(weights[chosen] / threshold)
    return tail


def _integral(weights: Weights) -> Rows:
    """The tail beyond 1."""
    contour = contour_of(weights)
    beyond_pole = (contour.crossing < 0).astype(np.float64)  # then the pole at 0, whose residue is 1, is enclosed
    nodes = np.arange(0, contour.reach.max() + STEP, STEP)
    values = _values(weights, contour, nodes)
    total = values.sum(axis=1) - values[:, 0] / 2
    estimate, step = STEP * total, STEP
    open_rows = np.ones(len(weights), dtype=bool)
    for _ in range(HALVINGS):
        between = np.arange(step / 2, contour.reach[open_rows].max() + step, step)
        step /= 2
        part = Contour(*(each[open_rows] for each in contour))
        total[open_rows] += _values(weights[open_rows], part, between).sum(axis=1)
        change = np.abs(step * total[open_rows] - estimate[open_rows])
        estimate[open_rows] = step * total[open_rows]
        open_rows = _still_open(open_rows, change)
        if not open_rows.any():
            break
    return np.where(open_rows, np.nan, np.clip(estimate + beyond_pole, 0, 1))


def _still_open(open_rows: Bool[np.ndarray, "row"], change: Float[np.ndarray, "part"]) -> Bool[np.ndarray, "row"]:
    still = open_rows.copy()
    still[open_rows] = ~(change < TOLERANCE)
    return still


def contour_of(weights: Weights) -> Contour:
    """A contour near the steepest descent from the saddle point, away from the pole at 0 and from the cuts.

    Its width there is that of the integrand, 1/standard deviation of the tilted sum, or less if a singularity is near:
    hyperbolas of all angles from 0 to 90 degrees, among which the rule's error is decided, must pass between them.
    """
    saddle, lowest, highest = saddle_point(weights)
    tilted = weights / (1 - saddle[:, None] * weights)
    width = 1 / np.sqrt(0.5 * np.sum(tilted**2, axis=1))
    apart = np.minimum(width, np.minimum(highest, -lowest)) / 2
    crossing = np.where(saddle >= 0, np.maximum(saddle, apart), np.minimum(saddle, -apart))
    right = np.where(crossing < 0, -crossing, highest - crossing)
    left = np.where(crossing < 0, crossing - lowest, crossing)
    scale = np.minimum(width, np.minimum(right / (1 - np.cos(ANGLE)), left / np.cos(ANGLE)))
    return Contour(crossing, scale, np.arccosh(1 + 40 / (scale * np.cos(ANGLE))))


def saddle_point(weights: Weights) -> tuple[Rows, Rows, Rows]:
    """The θ with K′(θ) = 1, where the tilted sum has mean 1, and the ends of the cuts beside it, 1/ν_min and 1/ν_max.

    K′ rises from below 1 to ∞ between −modes/2, or 1/ν_min if that is larger, and 1/ν_max.
    """
    smallest = weights.min(axis=1)
    negative = smallest < 0
    lowest = np.where(negative, 1 / np.where(negative, smallest, -1), -np.inf)
    highest = 1 / weights.max(axis=1)
    low, high = np.maximum(lowest, -weights.shape[1] / 2), highest
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = 0.5 * np.sum(weights / (1 - middle[:, None] * weights), axis=1) < 1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2, lowest, highest


def _values(weights: Weights, contour: Contour, nodes: Float[np.ndarray, "node"]) -> Float[np.ndarray, "row node"]:
    """Im[e^{K(θ) − θ} θ′/θ]/π at nodes of the upper arm; the lower arm is its mirror image.

    Moduli first, which are cheap; angles only where the modulus counts. Every logarithm in K is on its principal
    branch, for the contour never meets a cut.
    """
    scale = contour.scale[:, None]
    real = contour.crossing[:, None] + scale * np.cos(ANGLE) * (np.cosh(nodes) - 1)
    imaginary = scale * np.sin(ANGLE) * np.sinh(nodes)
    size = _log_moduli(weights, real, imaginary) - real
    rows, columns = np.nonzero(size > SMALLEST)
    x, y, chosen = real[rows, columns], imaginary[rows, columns], weights[rows]
    angle = 0.5 * np.arctan2(y[:, None] * chosen, 1 - x[:, None] * chosen).sum(axis=1) - y
    slope = contour.scale[rows] * np.sin(ANGLE - 1j * nodes[columns])
    values = np.zeros(size.shape)
    values[rows, columns] = (1j * np.exp(size[rows, columns] + 1j * angle) * slope / (x + 1j * y)).imag / np.pi
    return values


def _log_moduli(
    weights: Weights, real: Float[np.ndarray, "row node"], imaginary: Float[np.ndarray, "row node"]
) -> Float[np.ndarray, "row node"]:
    """Re K(θ) = −¼ Σ log |1 − θν|²."""
    squares = (1 - real[:, :, None] * weights[:, None, :]) ** 2 + (imaginary[:, :, None] * weights[:, None, :]) ** 2
    return np.asarray(-0.25 * np.log(squares).sum(axis=2))
