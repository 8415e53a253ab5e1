"""Results in a cell and over a column: numbers with their errors, shares in per cent, the schema's labels, tokens."""

import numpy as np

from armillary.results.reading import label_of, row_of


def number(value: float, digits: int) -> str:
    """A number; a dash where it is not estimable."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def significant(value: float, digits: int) -> str:
    """A number to some digits that count, where powers of ten lie between the numbers; a dash for no number."""
    return "–" if np.isnan(value) else f"{value:.{digits}g}"


def heading(path: str) -> str:
    """What a column of group/variable is called: its label, with % where it is a share."""
    return label_of(path) + (" %" if row_of(path).share else "")


def factor(path: str) -> int:
    """What a value of group/variable is multiplied with to be shown: shares are in per cent."""
    return 100 if row_of(path).share else 1


def draws_of(groups: str) -> str:
    """What errors over documents rest on, as a run's provenance says it: 16 groups of whole documents."""
    return groups.replace(", ", " of ", 1) or "groups of documents"
