"""The main numbers of a run as tables in HTML, for readers without scripts and for whoever copies a number."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import xarray as xr

from armillary.figures.kit.units import drawn
from armillary.figures.kit.words import number
from armillary.results.reading import array, has, numbers

LAYERS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("position, %", "position/share_corrected", {}),
    ("context, %", "variance/share", {"component": 1}),
    ("stable rank", "position/rank_stable_corrected", {}),
    ("low frequencies, %", "position/low_frequency_share", {"frequency": 10}),
    ("|cosine| within documents", "context/similarity_within", {}),
    ("residual norm", "norms/norm", {}),
    ("first token, × median", "influence/first_ratio", {}),
    ("dominant tokens, %", "influence/dominant_share", {}),
)
"""The columns of the table of layers: heading, result, and which entry of its other axes."""


def layers_table(results: xr.DataTree) -> str:
    """A row per layer with what the run holds of the main numbers; a standard error stands in a column headed SE."""
    columns: dict[str, list[str]] = {}
    for heading, path, at in LAYERS:
        if not has(results, path) or any(array(results, path).sizes[axis] <= place for axis, place in at.items()):
            continue
        columns[heading] = [cell(value) for value in drawn(results, path, **at)]
        if has(results, f"{path}_se"):
            columns[f"SE of {heading}"] = [cell(value, 2) for value in drawn(results, f"{path}_se", **at)]
    if not columns:
        return ""
    count = len(next(iter(columns.values())))
    heads = ["layer", *("SE" if name.startswith("SE of ") else name for name in columns)]
    return table(heads, zip(map(str, range(count)), *columns.values(), strict=True))


def cell(value: float, digits: int = 3) -> str:
    """A number with a few digits; – where it is unknown."""
    if not np.isfinite(value):
        return "–"
    return number(float(value)) if digits == 3 else number(float(f"{value:.{digits}g}"))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], ids: Sequence[str] = ()) -> str:
    """A table of texts, escaped; rows may have an id, and then the first cell links to it."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = []
    for place, row in enumerate(rows):
        name = f' id="{escape(ids[place])}"' if ids else ""
        cells = [escape(text) for text in row]
        if ids:
            cells[0] = f'<a href="#{escape(ids[place])}">{cells[0]}</a>'
        body.append(f"<tr{name}>{''.join(f'<td>{text}</td>' for text in cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def known(results: xr.DataTree, path: str) -> bool:
    """Whether a run holds some number of a result."""
    return has(results, path) and bool(np.isfinite(numbers(results, path)).any())
