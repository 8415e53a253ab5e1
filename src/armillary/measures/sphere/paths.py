"""The paths of tokens across the sphere: how far a state turns from layer to layer, and how straight its way is."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armillary.measures.similarity import unit_vectors

States = Float[np.ndarray, "layer position d_model"]


class Paths(NamedTuple):
    """Angles in degrees: from the layer before, their sum, and from the first layer to the last; direct over sum."""

    angle: Float[np.ndarray, "layer position"]
    length: Float[np.ndarray, " position"]
    direct: Float[np.ndarray, " position"]
    straightness: Float[np.ndarray, " position"]


class MeanPath(NamedTuple):
    """The same as means over tokens."""

    angle_null: Float[np.ndarray, " layer"]
    length_null: float
    direct_null: float
    straightness_null: float


def paths(states: States) -> Paths:
    """The way of each token's state over the layers on the unit sphere, by its direction alone.

    The angle of layer 0 is NaN: nothing stands before it. The straightness is 1 on a great circle of at most 180°, and
    NaN for a state that never moves or has no direction.
    """
    points = unit_vectors(states)
    steps = angles_between(points[:-1], points[1:])
    length, direct = steps.sum(0), angles_between(points[0], points[-1])
    straightness = np.divide(direct, length, out=np.full_like(length, np.nan), where=length > 0)
    return Paths(np.concatenate([np.full_like(direct, np.nan)[None], steps]), length, direct, straightness)


def angles_between(
    one: Float[np.ndarray, "*batch d_model"], other: Float[np.ndarray, "*batch d_model"]
) -> Float[np.ndarray, "*batch"]:
    """Angles between unit vectors in degrees, 2 atan(|u − v| / |u + v|): accurate near 0° and 180° too (Kahan)."""
    apart, together = (np.linalg.norm(one + sign * other, axis=-1) for sign in (-1, 1))
    return np.asarray(np.degrees(2 * np.arctan2(apart, together)))


def mean_path(states: States, counted: Bool[np.ndarray, " position"]) -> MeanPath:
    """The path of the mean token, among those that count; of the random-weight control it is the null."""
    each = paths(states[:, counted])
    return MeanPath(
        each.angle.mean(1), float(each.length.mean()), float(each.direct.mean()), float(each.straightness.mean())
    )
