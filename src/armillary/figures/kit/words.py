"""Numbers in sentences: rounded by their error, counted over layers, compared with nulls as far as intervals go."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from armillary.results.reading import Estimate, row_of

Layers = Float[np.ndarray, " layer"]
FINE = 1e-4
"""A margin below this part of a number is called small, not quoted."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

NOT_ESTIMABLE = "not estimable"
NO_ERROR = "this run gives no error for it"
NO_NULL = "this run has no null for it"
"""What a title says where a number, its error or its null is missing."""

OVER = {
    "documents": "95 % interval over documents",
    "repeats": "95 % interval over repeats of the random-token test",
    "blocks": "95 % interval over blocks",
    "simulated": "95 % interval over simulated draws",
    "stretches": "95 % interval over stretches of what was kept for validation",
    "seeds": "95 % interval over random seeds",
}
"""What a standard error is over, as the schema has it, in words."""


def error_words(path: str) -> str:
    """What the band or bar of a result is, from its row of the schema."""
    error = row_of(path).error
    if error != "none":
        return OVER[error]
    return "leave-one-group-out range" if row_of(f"{path}_low").axes else "no interval"


class Contrast(NamedTuple):
    """A value less what it is compared with, and the margin that holds for all layers at once."""

    difference: Layers
    margin: Layers

    @property
    def known(self) -> Bool[np.ndarray, " layer"]:
        """Where both the value and its margin are known."""
        return np.isfinite(self.difference + self.margin)

    @property
    def above(self) -> Bool[np.ndarray, " layer"]:
        """Where the value is significantly larger."""
        return self.difference - self.margin > 0

    @property
    def below(self) -> Bool[np.ndarray, " layer"]:
        """Where the value is significantly smaller."""
        return self.difference + self.margin < 0

    @property
    def possible(self) -> float:
        """The largest difference, of either sign, that no layer's interval rules out; NaN where one is not known."""
        return float(np.max(np.abs(self.difference) + self.margin))


def contrast(one: Estimate, other: Estimate | Layers | float = 0.0) -> Contrast:
    """Two estimates of one run compared in every layer, at 95 % for all layers together.

    The two may depend on each other, so their margins add up; a null without an error counts as known.
    """
    layers = one.value.size
    if isinstance(other, Estimate):
        return Contrast(one.value - other.value, one.margin(layers) + other.margin(layers))
    return Contrast(one.value - other, one.margin(layers))


def number(value: float) -> str:
    """A number with three digits that count."""
    if not np.isfinite(value):
        return NOT_ESTIMABLE
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{signed(mantissa)} × 10{str(int(exponent)).translate(RAISED)}"
    digits = 2 if value == 0 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return signed(f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}")


def median(values: Float[np.ndarray, "*shape"]) -> float:
    """The median of the values that are known; NaN where none is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def signed(text: str) -> str:
    """A number's text with a minus sign in place of a hyphen; what is rounded to zero has no sign."""
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", "−")


def quoted(value: float, margin: float, unit: str = "") -> str:
    """A number ± its 95 % margin, to two digits of the margin; shares are given in per cent with unit "%".

    A margin that is far smaller than the number is not worth its digits: that it is small is said.
    """
    if unit == "%":
        value, margin = 100 * value, 100 * margin
    after = f" {unit}" if unit else ""
    if not np.isfinite(margin) or margin <= 0:
        return number(value) + after
    digits = int(np.clip(1 - np.floor(np.log10(margin)), 0, 6))
    if margin < min(FINE * abs(value), 1):
        digits = int(np.clip(-np.ceil(np.log10(FINE * abs(value))), 0, digits))
        return signed(f"{value:.{digits}f}") + f" ± less than {10.0**-digits:.{digits}f}{after}"
    return signed(f"{value:.{digits}f}") + f" ± {margin:.{digits}f}{after}"


def span(values: Layers, unit: str = "") -> str:
    """From the smallest to the largest of the values that are known."""
    known = values[np.isfinite(values)] * (100 if unit == "%" else 1)
    if not known.size:
        return NOT_ESTIMABLE
    least, most = number(float(known.min())), number(float(known.max()))
    return (least if least == most else f"{least} to {most}") + (f" {unit}" if unit else "")


def counted(mask: Bool[np.ndarray, " layer"], axis: str = "layer") -> str:
    """How many layers: "all 31 layers", "27 of 31 layers", "layer 5 alone", "no layer"."""
    count = int(mask.sum())
    if count == 1 and mask.size > 1:
        return f"{axis} {int(mask.argmax())} alone"
    if count == mask.size:
        return f"all {count} {axis}s" if count > 1 else f"the one {axis}"
    return f"{count} of {mask.size} {axis}s" if count else f"no {axis}"


def layer_ranges(mask: Bool[np.ndarray, " layer"]) -> str:
    """Which layers: "layer 3", "layers 3–9", "layers 2, 5–7"; empty for none."""
    places = np.flatnonzero(mask)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if places.size else []
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return f"layer{'' if places.size == 1 else 's'} {', '.join(texts)}" if texts else ""


def largest(values: Layers, among: Bool[np.ndarray, " layer"] | None = None) -> int:
    """The layer of the largest known value, among some."""
    allowed = np.isfinite(values) if among is None else among & np.isfinite(values)
    return int(np.where(allowed, values, -np.inf).argmax())


def at(one: Estimate, layer: int, unit: str = "") -> str:
    """One layer's value with its margin, or with low and high where it has those instead.

    The layer is often the one that stands out, so the margin is the one that holds for all layers at once.
    """
    text = quoted(float(one.value[layer]), float(one.margin(one.value.size)[layer]), unit)
    low, high = one.low[layer], one.high[layer]
    return f"{text} (leave-one-group-out range {number(low)} to {number(high)})" if np.isfinite(low + high) else text


def significance(one: Estimate, null: Estimate | Layers | float) -> str:
    """In how many layers a value is significantly above its null; empty where there is no error."""
    compared = contrast(one, null)
    return f"Significant in {counted(compared.above, one.axis)}" if compared.known.any() else ""


class Phrases(NamedTuple):
    """What can be said of an effect: significant, none, not significant; and what it is called."""

    what: str
    seen: str
    none: str
    open: str


def effect(one: Estimate, null: Estimate | Layers | float, phrases: Phrases, small: float, unit: str = "") -> str:
    """The sentence that the intervals allow: an effect, none worth the name, or not significant.

    {layers} and {possible} are filled in, and {value}, {layer} and {null} of the layer that stands out most. "None" is
    said only if every layer's interval keeps within `small` of the null.
    """
    compared = contrast(one, null)
    if not compared.known.any():
        return f"{phrases.what} is {NOT_ESTIMABLE}: {NO_ERROR}"
    best = largest(compared.difference, compared.above if compared.above.any() else None)
    reference = null.value if isinstance(null, Estimate) else np.broadcast_to(null, one.value.shape)
    words = {
        "layers": counted(compared.above, one.axis),
        "layer": f"{one.axis} {best}",
        "value": at(one, best, unit),
        "null": span(reference[[best]], unit),
        "possible": number(compared.possible * (100 if unit == "%" else 1)) + (f" {unit}" if unit else ""),
    }
    if compared.above.any():
        return phrases.seen.format(**words)
    if not np.isfinite(compared.possible):
        return f"{phrases.what} is not significant, and some layers have no error"
    return (phrases.none if compared.possible < small else phrases.open).format(**words)
