"""Which paths have their token beside their end: as many as can be read from where the reader begins."""

from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

FIELD = 240.0
"""Pixels from top to bottom of the scene, as narrow screens have it: what is apart there is apart everywhere."""

FOCUS = FIELD / 2 / np.tan(np.pi / 8)
"""Pixels of a length of 1 at distance 1: plotly looks with an angle of 45°."""

LETTER, LINE, ABOVE = 8.0, 17.0, 12
"""Pixels: the width of a letter, the height of a label, and how far it stands above its dot."""


class End(NamedTuple):
    """Where a path ends, and how the label there reads."""

    place: Float[np.ndarray, " mode"]
    text: str
    colour: str


def add_labels(figure: go.Figure, ends: Sequence[End], centre: Float[np.ndarray, " mode"], unit: float) -> None:
    """Write the tokens at the ends of their paths, the last of the text first, but none that would cover another.

    Those are in the legend, and a reader finds them by pointing. `centre` is the middle of the scene, `unit` the
    length in it that is 1 for the camera.
    """
    known = [end for end in reversed(ends) if np.isfinite(end.place).all()]
    eye = figure.layout.scene.camera.eye
    seen_from = np.array([eye.x, eye.y, eye.z], dtype=np.float64)
    free: list[tuple[End, Float[np.ndarray, " side"]]] = []
    for end in known:
        at = on_screen((end.place - centre) / unit, seen_from)
        if not any(covers(end, at, other, there) for other, there in free):
            free.append((end, at))
    figure.layout.scene.annotations = [
        dict(zip("xyz", map(float, end.place), strict=True))
        | {"text": end.text, "showarrow": False, "yshift": ABOVE, "font": {"color": end.colour, "size": 12}}
        for end, _ in reversed(free)
    ]


def on_screen(place: Float[np.ndarray, " mode"], eye: Float[np.ndarray, " mode"]) -> Float[np.ndarray, " side"]:
    """Where a place is seen from the eye, which looks at the origin with z upwards: pixels to the right and up."""
    distance = float(np.linalg.norm(eye))
    towards = eye / distance
    right = np.array([-towards[1], towards[0], 0.0])
    flat = float(np.linalg.norm(right))
    right = right / flat if flat > 0 else np.array([1.0, 0.0, 0.0])
    up = np.cross(towards, right)
    return FOCUS * np.array([place @ right, place @ up]) / (distance - place @ towards)


def covers(one: End, at: Float[np.ndarray, " side"], other: End, there: Float[np.ndarray, " side"]) -> bool:
    """Whether two labels share some of the screen."""
    width = LETTER * (len(unescape(one.text)) + len(unescape(other.text))) / 2
    across, up = np.abs(at - there)
    return bool(across < width and up < LINE)
