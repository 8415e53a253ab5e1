"""Numbers in a cell."""

import numpy as np


def number(value: float, digits: int) -> str:
    """A number; a dash where it is not determined."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def with_error(value: float, error: float, digits: int) -> str:
    """A number and its standard error; a dash where it is not determined."""
    return number(value, digits) + ("" if np.isnan(value) or np.isnan(error) else f" ±{error:.{digits}f}")
