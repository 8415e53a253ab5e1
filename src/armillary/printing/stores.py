"""The tables of stores: one row per block, or the triplets of one head as tokens, as data and as they are printed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float
from rich.console import Console, ConsoleOptions

from armillary.errors import RequestError
from armillary.measures.stores.depth import Trend
from armillary.measures.stores.specificity import FEWEST
from armillary.printing.numbers import heading, number
from armillary.printing.panels import GAP, Column, Panels, pieces, wide
from armillary.results.answering import Answer
from armillary.results.reading import has, numbers, require
from armillary.results.schema.stores import PRODUCT_NAMES, SIDE_NAMES
from armillary.results.store import Run
from armillary.results.store_answers import block_medians, block_numbers, readable_share, store_answers

LETTERS, MOST_LETTERS = 11, 32
"""Letters of a token that are printed anyhow, and where there is room."""

SIGNS = ("+", "−")


def rows(run: Run) -> pd.DataFrame:
    """One row per reading: block, head, side and triplet; singular value, plane, clarity, tokens at both ends."""
    require(run.results, "stores")
    dataset = run.results["stores"].to_dataset()
    index = pd.MultiIndex.from_product(
        [dataset[axis].values for axis in ("block", "head", "side", "triplet")],
        names=["block", "head", "side", "triplet"],
    )
    store = np.repeat(np.arange(2), 2)
    columns: dict[str, Any] = {name: dataset[name].values[:, :, store].ravel() for name in ("singular_value", "plane")}
    share = dataset["coverage"].values
    share = np.diff(share, axis=-1, prepend=0)[..., : dataset.sizes["triplet"]]
    columns["share"] = share[:, :, store].ravel()
    columns |= {
        f"{name}{ending}": dataset[f"{name}{ending}"].values.ravel()
        for name in ("peak", "coherence")
        for ending in ("", "_null", "_z")
    }
    texts = dataset["text"].values.reshape(len(index), 2, -1)
    for place, end in enumerate(dataset["end"].values):
        columns |= ranked(str(end), texts[:, place])
    return pd.DataFrame(columns, index)


def ranked(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """A column for each place of a ranking: name_1, name_2, ..."""
    return {f"{name}_{place}": column for place, column in enumerate(values.T, 1)}


def word_rows(run: Run) -> pd.DataFrame:
    """One row per head and word: its top keys, the words nearest to its value, and tokens where these were read."""
    require(run.results, "store_words")
    dataset = run.results["store_words"].to_dataset()
    words = dataset["word"].values
    shape = [dataset.sizes[axis] for axis in ("block", "head", "word")]
    index = pd.MultiIndex.from_product(
        [dataset[axis].values for axis in ("block", "head", "word")], names=["block", "head", "word"]
    )
    near = np.broadcast_to(dataset["neighbour"].values, (*shape, dataset.sizes["rank"]))
    found = {"neighbour": near, "key": dataset["key_word"].values, "value": dataset["value_word"].values}
    columns: dict[str, Any] = {}
    for name, places in found.items():
        columns |= ranked(name, np.append(words, "")[places].reshape(len(index), -1))
    if "value_text" in dataset:
        columns |= ranked("value_token", dataset["value_text"].values.reshape(len(index), -1))
    return pd.DataFrame(columns, index)


def by_block(run: Run) -> Panels:
    """One row per block: how readable its triplets are, how many cover a head, how specific words are."""
    results = run.results
    columns = [Column("block", [str(block) for block in block_numbers(results)])]
    for place, name in enumerate(PRODUCT_NAMES):
        columns.append(Column(f"readable %, {name}", cells(100 * readable_share(results, sides_of(place)), 0)))
    for name in ("peak", "coherence"):
        for place, product in enumerate(PRODUCT_NAMES):
            scores = numbers(results, f"stores/{name}_z")[:, :, sides_of(place)]
            columns.append(Column(f"{heading(f'stores/{name}_z')}, {product}", cells(medians(scores), 1)))
    for place, product in enumerate(PRODUCT_NAMES):
        needed = block_medians(results, "stores/triplets_90", store=place)
        columns.append(Column(f"triplets for 90 %, {product}", cells(needed, 0)))
    columns += [
        Column(heading(path), cells(block_medians(results, path), 1))
        for path in ("store_words/specificity_keys_z", "store_words/specificity_values_z")
        if has(results, path)
    ]
    return Panels(title(run), columns + on_text(results), caption(run))


def sides_of(place: int) -> slice:
    """The two sides of a product."""
    return slice(2 * place, 2 * place + 2)


def medians(values: Float[np.ndarray, "block ..."]) -> Float[np.ndarray, " block"]:
    """The median of each block; NaN where nothing is known."""
    return pd.DataFrame(values.reshape(len(values), -1)).median(axis=1).to_numpy()


def on_text(results: xr.DataTree) -> list[Column]:
    """What the weights of each block cannot see of its inputs on text, where the run knows."""
    if not has(results, "stores/null_share"):
        return []
    return [
        Column(f"null space %, {side}", cells(100 * block_medians(results, "stores/null_share", side=place), 0))
        for place, side in enumerate(SIDE_NAMES[:3])
    ] + [Column("null", cells(100 * block_medians(results, "stores/null_share_null", side=2), 0), quiet=True)]


@dataclass(frozen=True)
class Fitted:
    """A table of tokens as the width of a terminal allows: longer tokens where they fit, rows that go on where not.

    `made` gives it for a number of letters per token.
    """

    made: Callable[[int], Panels]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Panels]:
        width, least = options.max_width, self.made(LETTERS)
        room = width - least.columns[0].width - GAP
        if any(column.width > room for column in least.columns[1:]):
            narrow = [least.columns[0], *(column._replace(limit=max(room, 1)) for column in least.columns[1:])]
            yield Panels(least.title, narrow, least.caption)
            return
        count = len(pieces(least.columns, width))
        tables = (self.made(letters) for letters in range(MOST_LETTERS, LETTERS, -1))
        yield next((table for table in tables if fits(table, width, count)), least)


def fits(table: Panels, width: int, count: int) -> bool:
    """Whether a table fits a width in no more than some pieces."""
    found = pieces(table.columns, width)
    return len(found) <= count and max(map(wide, found)) <= width


def of_head(run: Run, block: int, head: int | None = None) -> list[Fitted]:
    """The triplets of one head, or of each head of a block, as tokens: W_QK, then W_VO, both ends of each."""
    dataset = run.results["stores"].to_dataset().sel(block=block)
    heads = dataset["head"].values if head is None else [head]
    return [
        Fitted(partial(product_table, run, dataset.sel(head=int(each)), f"L{block}H{each}", place))
        for each in heads
        for place in range(len(PRODUCT_NAMES))
    ]


def product_table(run: Run, dataset: xr.Dataset, name: str, place: int, letters: int = LETTERS) -> Panels:
    """One product of one head: a row for each end of each triplet."""
    values, planes = (dataset[each].values[place] for each in ("singular_value", "plane"))
    share, z = 100 * np.diff(dataset["coverage"].values[place], prepend=0), dataset["peak_z"].values[sides_of(place)]
    known = [(triplet, end) for triplet in np.flatnonzero(planes) for end in range(1 if planes[triplet] > 1 else 2)]
    first = [f"{triplet + 1} {'plane' if planes[triplet] > 1 else SIGNS[end]}" for triplet, end in known]
    columns = [
        Column("triplet", first, words=True),
        Column("σ", [number(float(values[triplet]), 2) if end == 0 else "" for triplet, end in known]),
        Column("share %", [number(float(share[triplet]), 1) if end == 0 else "" for triplet, end in known]),
        Column("peak, z", [both(z[:, triplet]) if end == 0 else "" for triplet, end in known]),
    ]
    for side in range(2 * place, 2 * place + 2):
        texts = dataset["text"].values[side]
        columns.append(Column(HEADINGS[side], [tokens(texts[at], letters) for at in known], words=True))
    last = place == len(PRODUCT_NAMES) - 1
    text = f"{title(run)}: {PRODUCT_NAMES[place]} of {name}, {standing_out(dataset, place)}"
    return Panels(text, columns, how_read(run) if last else "")


def standing_out(dataset: xr.Dataset, place: int) -> str:
    """How many readings of a product are readable, in words; that it is zero where it has none."""
    value, point = (dataset[name].values[sides_of(place)] for name in ("peak", "peak_null"))
    known = np.isfinite(value)
    if not known.any():
        return "which is zero: no triplets"
    count = f"{int(np.sum(value[known] > point[known]))} of {int(known.sum())} readings"
    return f"{count} stand out from 99 % of random directions"


def both(z: Float[np.ndarray, " side"]) -> str:
    """The z-scores of both sides."""
    return " / ".join(number(float(each), 1) for each in z)


HEADINGS = ("tokens that ask", "tokens that are found", "tokens read in", "tokens written")
"""What the four sides of a head's triplets are, by tokens."""


def tokens(texts: np.ndarray, letters: int) -> str:
    """Tokens in a row, a blank shown as ·; long ones cut."""
    shown = [text.replace(" ", "·") for text in texts if text]
    return "  ".join(text if len(text) <= letters else text[: letters - 1] + "…" for text in shown)


RANKINGS = {"neighbour": "nearest words", "key_word": "top keys", "value_word": "nearest to the value"}
"""Rankings of the words of a list, and what their columns are called."""


def of_words(run: Run, block: int, head: int) -> Fitted:
    """One head asked for every word: nearest words, top keys, and what is written."""
    return Fitted(partial(word_table, run, block, head))


def word_table(run: Run, block: int, head: int, letters: int) -> Panels:
    """A row for every word."""
    dataset = run.results["store_words"].to_dataset().sel(block=block, head=head)
    names = np.append(dataset["word"].values, "")
    columns = [Column("word", list(dataset["word"].values), words=True)]
    columns += [
        Column(text, [tokens(names[row], letters) for row in dataset[variable].values], words=True)
        for variable, text in RANKINGS.items()
    ]
    if "value_text" in dataset:
        columns.append(
            Column("value as tokens", [tokens(row, letters) for row in dataset["value_text"].values], words=True)
        )
    return Panels(f"{title(run)}: words in L{block}H{head}", columns, how_read(run, "store_words"))


def cells(values: Float[np.ndarray, " block"], digits: int) -> list[str]:
    """Numbers of one column."""
    return [number(float(value), digits) for value in values]


def title(run: Run) -> str:
    """Whose stores."""
    return f"Stores of {run.provenance.get('model', 'a model')}"


def caption(run: Run) -> str:
    """How to read the table, and what the run says to the claims."""
    lines = answers(run.results)
    lines += [
        "readable: the top token stands out more than for 99 % of random directions (null: 1 %). z: peak of the top "
        "token and mean cosine between top tokens, against random directions; medians.",
        "specificity: cosine of a word with its top keys or values, against permuted words and random heads; medians.",
    ]
    if has(run.results, "stores/null_share"):
        lines.append(
            "null space: energy of attention inputs on text that the weights cannot see; null: 1 − rank / d_model."
        )
    lines.append(how_read(run))
    lines.append("--block and --head print triplets as tokens; --json and --csv give all.")
    return "\n".join(lines)


def answers(results: xr.DataTree) -> list[str]:
    """What the run says to the claims; of a list of few words, that they say nothing about specificity."""
    words = results["store_words"].sizes["word"] if "store_words" in results.children else FEWEST
    found = store_answers(results)
    if words >= FEWEST:
        return list(map(in_words, found.values()))
    said = [in_words(answer) for name, answer in found.items() if not name.startswith(("keys_", "values_"))]
    return [*said, f"Specificity of keys and values: not determined; it needs at least {FEWEST} words, got {words}"]


def in_words(answer: Answer) -> str:
    """A claim with its verdict and numbers; where there is no number, what it would need."""
    trend = answer.numbers
    if isinstance(trend, Trend) and np.isnan(trend.correlation):
        return f"{answer.claim}: {trend.verdict}; a trend needs at least 4 blocks of different values"
    return str(answer)


def how_read(run: Run, group: str = "stores") -> str:
    """How directions were read, and what is to be known of this model."""
    about = run.results[group].attrs
    words = f"Read: {about.get('reading', 'as stored')}. Sign: {about.get('sign', 'arbitrary')}. · is a blank."
    note = str(about.get("note", ""))
    return words + (f"\nNote: {note}." if note else "")


def refuse_headless(head: int | None, block: int | None) -> None:
    """Refuse a head without its block."""
    if head is not None and block is None:
        raise RequestError(f"expected a block beside head {head}, got none: give --block as well")
