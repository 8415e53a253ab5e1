"""What a norm makes of states: a sphere of radius √d_model before gain and bias, an ellipsoid off the origin after."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

FLAT = float(np.finfo(np.float32).eps)
"""A gain below this part of the median makes a flat axis."""

LOST = 1e4 * FLAT
"""A gain below this part of the bias is known to less than four digits from an output in float32."""

Points = Float[np.ndarray, "sample d_model"]


class NormShape(NamedTuple):
    """The ellipsoid's axes over its median axis, their spread, how far it is shifted in radii, the sphere's radius."""

    gain_largest: float
    gain_smallest: float
    gain_variation: float
    flat_axes: int
    shift: float
    radius: float


class Radii(NamedTuple):
    """Norms of a norm's outputs over sampled tokens, mean and standard deviation, before and after gain and bias.

    `along_ones` is the mean |cosine| with the vector of ones before gain and bias: 0 for a LayerNorm.
    """

    radius_before: float
    radius_before_sd: float
    radius_after: float
    radius_after_sd: float
    along_ones: float


def norm_shape(gain: Float[np.ndarray, " d_model"], bias: Float[np.ndarray, " d_model"]) -> NormShape:
    """Largest over median and median over smallest |gain|, their coefficient of variation, |bias| / √d_model, √d_model.

    Outputs z of a norm satisfy Σ ((z − bias) / gain)² = d_model: an ellipsoid with half-axes √d_model · |gain| about
    the bias, cut by a hyperplane for a LayerNorm. An axis is flat where its gain is zero beside the median, to float32:
    flat axes are counted and are not the smallest. A ratio is NaN where most axes are flat.
    """
    sizes, radius = np.abs(gain.astype(np.float64)), float(np.sqrt(len(gain)))
    median, mean = float(np.median(sizes)), float(sizes.mean())
    upright = sizes > FLAT * median
    return NormShape(
        gain_largest=float(sizes.max()) / median if median > 0 else float("nan"),
        gain_smallest=median / float(sizes[upright].min()) if median > 0 else float("nan"),
        gain_variation=float(sizes.std()) / mean if mean > 0 else float("nan"),
        flat_axes=int((~upright).sum()),
        shift=float(np.linalg.norm(bias.astype(np.float64))) / radius,
        radius=radius,
    )


def sphere_points(states: Points, centring: bool, eps: float) -> Points:
    """States as a norm has them before its gain and bias, float64: √d_model x / √(|x|² + d_model · eps).

    With `centring`, as in a LayerNorm, x is first projected on the hyperplane orthogonal to the vector of ones.
    """
    wide = states.astype(np.float64)
    if centring:
        wide = wide - wide.mean(-1, keepdims=True)
    return wide / np.sqrt(np.mean(wide**2, -1, keepdims=True) + eps)


def lost_axes(gain: Float[np.ndarray, " d_model"], bias: Float[np.ndarray, " d_model"]) -> Bool[np.ndarray, " d_model"]:
    """Where a float32 output no longer says what it was before gain and bias: the gain is lost beside the bias."""
    return np.abs(gain) <= LOST * np.abs(bias)


def without_gain(
    outputs: Points, gain: Float[np.ndarray, " d_model"], bias: Float[np.ndarray, " d_model"], centring: bool
) -> Points:
    """A norm's outputs before its gain and bias, (z − bias) / gain, float64.

    One lost coordinate of a LayerNorm is what makes their sum zero; with more, or without centring, all are NaN.
    """
    lost = lost_axes(gain, bias)
    if lost.sum() > centring:
        return np.full(outputs.shape, np.nan)
    points = (outputs.astype(np.float64) - bias) / np.where(lost, 1.0, gain)
    others = points[:, ~lost].sum(-1, keepdims=True)
    return np.where(lost, -others, points)


def norm_radii(points: Points, gain: Float[np.ndarray, " d_model"], bias: Float[np.ndarray, " d_model"]) -> Radii:
    """Norms of points before gain and bias, and after them; NaN without points."""
    if not len(points):
        return Radii(*[float("nan")] * 5)
    before, after = (np.linalg.norm(each, axis=-1) for each in (points, points * gain + bias))
    along = np.abs(points.sum(-1)) / np.sqrt(points.shape[-1])
    cosine = np.divide(along, before, out=np.full_like(along, np.nan), where=before > 0)
    return Radii(
        radius_before=float(before.mean()),
        radius_before_sd=float(before.std()),
        radius_after=float(after.mean()),
        radius_after_sd=float(after.std()),
        along_ones=float(cosine.mean()),
    )
