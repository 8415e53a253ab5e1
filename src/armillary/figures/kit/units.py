"""Results in the units in which they are drawn, and how an axis names them, both from the schema."""

import numpy as np
import xarray as xr
from jaxtyping import Float

from armillary.results.reading import Estimate, estimate, label_of, numbers, row_of


def scale_of(path: str) -> int:
    """100 for a share, which is drawn in per cent; 1 for everything else."""
    return 100 if row_of(path).share else 1


def drawn(results: xr.DataTree, path: str, **at: int) -> Float[np.ndarray, "..."]:
    """A variable in the unit in which it is drawn."""
    return np.asarray(scale_of(path) * numbers(results, path, **at))


def drawn_estimate(results: xr.DataTree, path: str, **at: int) -> Estimate:
    """An estimate with its error in the unit in which it is drawn."""
    return in_unit(path, estimate(results, path, **at))


def in_unit(path: str, values: Estimate) -> Estimate:
    """An estimate of this result in the unit in which it is drawn; one value per layer, head or bin."""
    return values.percent() if row_of(path).share else values


def unit_of(path: str) -> str:
    """The unit in which a result is drawn; empty for a pure number."""
    row = row_of(path)
    return "%" if row.share else "" if row.unit == "1" else row.unit


def axis_label(path: str) -> str:
    """A result's label and unit, as an axis or a colour bar has them."""
    label, unit = label_of(path), unit_of(path)
    return f"{label}, {unit}" if unit and unit.removesuffix("s") not in label else label
