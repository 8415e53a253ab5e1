"""Three directions of a space of hundreds: in which a cloud varies most, how much of it they show, and shadows."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from armillary.measures.similarity import unit_vectors
from armillary.measures.sphere.paths import angles_between

MODES = 3
"""How many directions a picture can show."""

OPPOSITE = 1e-9
"""Radians from 180° within which two directions have no shorter arc."""


class Directions(NamedTuple):
    """Orthonormal directions of largest variance, largest first, and the share of the cloud's variance along each."""

    directions: Float[np.ndarray, "mode d_model"]
    variance_share: Float[np.ndarray, " mode"]


def principal_directions(cloud: Float[np.ndarray, "token d_model"]) -> Directions:
    """The three leading eigenvectors of a cloud's covariance; the largest entry of each is positive.

    Zero vectors stand for directions beyond those that the cloud has.
    """
    centred = cloud - cloud.mean(0)
    covariance = centred.T @ centred / len(cloud)
    size = len(covariance)
    count = min(MODES, size)
    values, vectors = eigh(covariance, subset_by_index=(size - count, size - 1))
    total = float(np.trace(covariance))
    known = values[::-1] > total * np.finfo(np.float64).eps
    leading = np.where(known, vectors[:, ::-1], 0.0).T
    largest = np.take_along_axis(leading, np.abs(leading).argmax(1)[:, None], 1)
    leading = leading * np.where(largest < 0, -1.0, 1.0)
    share = np.where(known, values[::-1], 0.0) / total if total > 0 else np.zeros(count)
    missing = MODES - count
    return Directions(np.pad(leading, ((0, missing), (0, 0))), np.pad(share, (0, missing)))


def share_along(
    cloud: Float[np.ndarray, "token d_model"], directions: Float[np.ndarray, "mode d_model"]
) -> Float[np.ndarray, " mode"]:
    """The share of a cloud's variance that lies along each of some orthonormal directions; NaN without variance."""
    centred = cloud - cloud.mean(0)
    total = float(np.sum(centred**2))
    return np.asarray(np.sum((centred @ directions.T) ** 2, 0) / (total if total > 0 else np.nan))


def great_circles(corners: Float[np.ndarray, "layer mode"], between: int) -> Float[np.ndarray, "point mode"]:
    """A path over the unit sphere through the directions of these points: `between` equal parts of every shorter arc.

    Where two neighbours are opposite or one is zero there is no such arc, and its points are NaN.
    """
    unit = unit_vectors(corners)
    first, second = unit[:-1, None], unit[1:, None]
    angle = np.radians(angles_between(first, second))[..., None]
    parts = (np.arange(between) / between)[:, None]
    width = np.where(np.pi - angle > OPPOSITE, np.sin(angle), np.nan)
    near = np.where(width > 0, np.sin((1 - parts) * angle) / np.where(width > 0, width, 1), 1 - parts)
    far = np.where(width > 0, np.sin(parts * angle) / np.where(width > 0, width, 1), parts)
    arcs = np.where(np.isnan(width), np.nan, near * first + far * second)
    return np.concatenate([arcs.reshape(-1, corners.shape[-1]), unit[-1:]])
