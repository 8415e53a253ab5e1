"""Every head's card: all that a run knows of it, from every result that stands along blocks and heads."""

import numpy as np
import xarray as xr

from armillary.figures.heads.maps import by_head
from armillary.figures.heads.names import every_kind, parts_of
from armillary.figures.heads.text import sinks
from armillary.figures.kit.words import number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.reporting.kinds import Heads
from armillary.reporting.numbers import table
from armillary.results.kinds import UNNAMED
from armillary.results.reading import ENDINGS, LEVEL, array, draws, has, kept, label_of, numbers, optional, row_of
from armillary.results.schema import GROUPS

SECTIONS = {
    "taxonomy": "scores",
    "heads": "on text",
    "constituents": "QK terms",
    "dissection": "weights along position",
    "qk_smoothness": "position in scores",
    "weights": "weights",
    "localization": "predicted localization",
    "stores": "tokens",
}
"""Groups in the order of a card, and how a card calls them; other groups come after these under their own name."""

SINK = "the mean query position: most attention is on the first token"
BESIDE = (*ENDINGS, "_null", "_without")
TABLE = (
    *(f"taxonomy/{name}" for name in ("induction", "previous", "duplicate", "sink", "local")),
    *("heads/entropy_relative", "heads/distance", "weights/trace_qk_z", "weights/symmetry", "localization/xi"),
)
COLUMNS = 8
"""What the table of heads shows at most, of these, besides name and kind."""


def heads_of(results: xr.DataTree) -> Heads | None:
    """What a run knows of its heads; None where it knows nothing of single heads."""
    shape = head_shape(results)
    if shape is None:
        return None
    lines = dict([*measured_lines(results, shape), *term_lines(results, shape)])
    order = {section: place for place, section in enumerate(SECTIONS.values())}
    rows = sorted(lines, key=lambda line: order.get(line[0], len(order)))
    names = [f"L{block}H{head}" for block in range(shape[0]) for head in range(shape[1])]
    maps, bins = map_bytes(results)
    values = [[lines[line][place] for line in rows] for place in range(len(names))]
    return Heads(names, kind_words(results, len(names)), rows, values, maps, bins)


def head_shape(results: xr.DataTree) -> tuple[int, int] | None:
    """How many blocks and heads there are, from the first result of every head of every block."""
    for group in GROUPS:
        for variable in results.children[group].data_vars.values() if group in results.children else ():
            if variable.dims[:2] == ("block", "head") and "block" not in variable.coords and group != "training_heads":
                return variable.sizes["block"], variable.sizes["head"]
    return None


def kind_words(results: xr.DataTree, count: int) -> list[str]:
    """Every head's kinds as the field calls them; heads that have none are of no kind."""
    if not has(results, "taxonomy/kind"):
        return [""] * count
    return [str(words) or UNNAMED for words in every_kind(results).ravel()]


def measured_lines(results: xr.DataTree, shape: tuple[int, int]) -> list[tuple[tuple[str, str], list[str]]]:
    """One line for every number or word of a head: with its 95 % interval and its null where there are such."""
    found = []
    for group, node in results.children.items():
        for name, variable in node.data_vars.items():
            path = f"{group}/{name}"
            if variable.dims != ("block", "head") or variable.shape != shape or str(name).endswith(BESIDE):
                continue
            if path in ("taxonomy/kind", "taxonomy/labels") or not kept(path):
                continue
            texts = words(results, path) if variable.dtype.kind in "OUS" else figures(results, path)
            if path == "heads/distance":
                texts = [f"{text} ({SINK})" if sink else text for text, sink in zip(texts, sinks(results), strict=True)]
            found.append(((SECTIONS.get(str(group), str(group).replace("_", " ")), label_of(path)), texts))
    return found


def words(results: xr.DataTree, path: str) -> list[str]:
    """A text of every head."""
    return [str(text) or "–" for text in array(results, path).values.ravel()]


def figures(results: xr.DataTree, path: str) -> list[str]:
    """A number of every head, ± its 95 % interval, and its null."""
    value, se = numbers(results, path).ravel(), optional(results, f"{path}_se")
    unit = "%" if row_of(path).share else ""
    margin = np.full_like(value, np.nan)
    if se is not None and kept(f"{path}_se"):
        margin = half_width(draws(results, path), LEVEL) * se.ravel()
    null = optional(results, f"{path}_null")
    nulls = np.full_like(value, np.nan) if null is None or null.size not in (1, value.size) else null.ravel()
    nulls = np.broadcast_to(nulls, value.shape)
    texts = []
    for one, error, chance in zip(value, margin, nulls, strict=True):
        text = quoted(float(one), float(error), unit) if np.isfinite(one) else "–"
        beside = number((100 if unit else 1) * float(chance)) if np.isfinite(chance) else ""
        texts.append(f"{text}; null {beside}{' %' if unit else ''}" if beside and text != "–" else text)
    return texts


def term_lines(results: xr.DataTree, shape: tuple[int, int]) -> list[tuple[tuple[str, str], list[str]]]:
    """The three largest QK terms of every head."""
    if not has(results, "constituents/share"):
        return []
    share = numbers(results, "constituents/share")
    if share.shape[:2] != shape:
        return []
    flat, pairs = share.reshape(shape[0] * shape[1], -1), parts_of(results)
    texts = []
    for row in flat:
        order = [place for place in np.argsort(-np.nan_to_num(row, nan=-np.inf)) if np.isfinite(row[place])][:3]
        texts.append(", ".join(f"{pairs[place]} {number(100 * float(row[place]))} %" for place in order) or "–")
    return [((SECTIONS["constituents"], "largest"), texts)]


def map_bytes(results: xr.DataTree) -> tuple[bytes, int]:
    """Mean maps of all heads as bytes, 255 where all attention is, by square root; nothing where there are none."""
    if not has(results, "heads/map"):
        return b"", 0
    maps = np.nan_to_num(by_head(numbers(results, "heads/map")))
    if maps.shape[1] != maps.shape[2]:
        return b"", 0
    scaled = np.sqrt(np.clip(maps, 0, 1)) * 255
    return scaled.round().astype(np.uint8).tobytes(), maps.shape[1]


def heads_table(heads: Heads) -> str:
    """A row for each head that cards are reached from: name, kind, and the numbers that are asked for most."""
    lines = [
        line for path in TABLE for line in [(SECTIONS[path.partition("/")[0]], label_of(path))] if line in heads.rows
    ]
    places = [list(heads.rows).index(line) for line in lines[:COLUMNS]]
    kinds = any(heads.kinds)
    columns = ["head", *(["kind"] if kinds else []), *(heads.rows[place][1] for place in places)]
    rows = [
        [name, *([kind] if kinds else []), *(values[place].partition(";")[0] for place in places)]
        for name, kind, values in zip(heads.names, heads.kinds, heads.values, strict=True)
    ]
    return table(columns, rows, heads.names)
