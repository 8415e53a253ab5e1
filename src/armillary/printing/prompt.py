"""What the maps of one prompt show, as tables: a row per layer, or a row per token or word of one layer."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.text import Text

from armillary.errors import RequestError, did_you_mean, refuse_outside
from armillary.measures.maps import angle_correlation, head_mean, row_entropy, strongest_pairs
from armillary.measures.words import word_attention
from armillary.printing.numbers import number
from armillary.printing.panels import Column, Panels
from armillary.system.texts import escaped, in_quotes, numbered

MEANS = ("plain", "output")
"""How heads are averaged: all equal, or weighted by the norm of what they add through W_O."""

HEADINGS = {
    "entropy": "entropy (nats)",
    "mass_first": "attention on position 0",
    "mass_self": "attention on itself",
    "angle_correlation": "angle correlation",
}
"""What the columns of a block are called."""

LAYERS_CAPTION = (
    "strongest pair: query → key and attention, without position 0 and the token itself; --json and --csv give three. "
    "angle correlation: of attention with the cosine of the states."
)

SEEN = 0.005
"""Attention that is printed as more than 0.00."""

PAIR_WIDTH, KEYS_WIDTH = 29, 44
"""Letters of a pair, and of the keys of one token, before they go on in the next line: a narrow terminal holds them."""


def layers(
    prompt: xr.Dataset, *, head: int | None = None, mean: str = "plain", words: bool = False, pairs: int = 3
) -> pd.DataFrame:
    """One row per block: entropy (nats), mass on position 0 and on itself, angle correlation, strongest pairs.

    Over one head, or over all: entropy and masses as means over heads and queries, pairs and correlation of the mean
    map. `mean="output"` weights each head, query by query, by the norm of what it adds through W_O. The masses
    leave query 0 out, which has no choice. With `words` maps are between words; the angles stay those of tokens.
    """
    rows = [_layer(prompt, block, head, mean, words, pairs) for block in range(prompt.sizes["block"])]
    return pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="block"))


def tokens(
    prompt: xr.Dataset, block: int, *, head: int | None = None, mean: str = "plain", words: bool = False
) -> pd.DataFrame:
    """One row per query of one block: text, entropy of its row in nats, and the keys that it attends to most."""
    pattern = head_mean(*_maps(prompt, block, head, mean, words))
    texts = _texts(prompt, words)
    rows = []
    for query, row in enumerate(pattern):
        best = [int(key) for key in np.argsort(-row, kind="stable")[:4] if row[key] > 0]
        seen = [{"key": texts[key], "position": key, "mass": float(row[key])} for key in best]
        rows.append({"text": texts[query], "entropy": float(row_entropy(row[None])[0]), "strongest": seen})
    return pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="word" if words else "position"))


def as_json(prompt: xr.Dataset, table: pd.DataFrame, continuation: str | None) -> str:
    """The table with the tokens and the continuation, as one JSON object."""
    rows = json.loads(table.reset_index().to_json(orient="records"))
    read = {"model": prompt.attrs["model"], "tokens": prompt.text.values.tolist(), "rows": rows}
    return json.dumps(read | {"continuation": None if continuation is None else escaped(continuation)}, indent=1)


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV, pairs as words."""
    return str(table.assign(strongest=table.strongest.map(_pairs)).to_csv())


def printed(prompt: xr.Dataset, table: pd.DataFrame, continuation: str | None) -> Group:
    """The table for a terminal, and the continuation; texts of tokens are escaped, and no markup in them is obeyed."""
    said = [] if continuation is None else [Text(f"continuation: {escaped(continuation)}")]
    return Group((_tokens_panels if "text" in table else _layers_panels)(prompt, table), *said)


def _layers_panels(prompt: xr.Dataset, table: pd.DataFrame) -> Panels:
    """A row per block, with its strongest pair."""
    columns = [Column("block", [str(block) for block in table.index])]
    columns += [Column(words, [number(value, 2) for value in table[name]]) for name, words in HEADINGS.items()]
    pairs = [_pair(pairs[0]) if pairs else "–" for pairs in table.strongest]
    columns.append(Column("strongest pair", pairs, words=True, limit=PAIR_WIDTH))
    return Panels(_title(prompt), columns, LAYERS_CAPTION)


def _tokens_panels(prompt: xr.Dataset, table: pd.DataFrame) -> Panels:
    """A row per token or word, with the keys that it attends to most."""
    shown = [[key for key in row if key is row[0] or key["mass"] >= SEEN] for row in table.strongest]
    keys = [", ".join(f"{in_quotes(key['key'])} {number(key['mass'], 2)}" for key in row) for row in shown]
    columns = [
        Column(str(table.index.name), [str(place) for place in table.index]),
        Column("text", [in_quotes(text) for text in table.text], words=True),
        Column("entropy (nats)", [number(value, 2) for value in table.entropy]),
        Column("attends most to", keys, words=True, limit=KEYS_WIDTH),
    ]
    return Panels(_title(prompt), columns, f"At most four keys, with {SEEN:g} of the attention or more.")


def _layer(prompt: xr.Dataset, block: int, head: int | None, mean: str, words: bool, pairs: int) -> dict[str, Any]:
    maps, weight = _maps(prompt, block, head, mean, words)
    entropy = np.stack([row_entropy(each) for each in maps])
    pattern, texts = head_mean(maps, weight), _texts(prompt, words)
    best = strongest_pairs(pattern, pairs)
    plain = head_mean(*_maps(prompt, block, head, mean, False))
    return {
        "entropy": float(head_mean(entropy[:, :, None], weight).mean()),
        "mass_first": float(pattern[1:, 0].mean()) if len(pattern) > 1 else float("nan"),
        "mass_self": float(np.diagonal(pattern)[1:].mean()) if len(pattern) > 1 else float("nan"),
        "angle_correlation": angle_correlation(
            prompt.states.values[block].astype(np.float64), plain, prompt.allowed.values[block]
        ),
        "strongest": [
            {"query": texts[query], "key": texts[key], "mass": float(mass)}
            for query, key, mass in zip(best.query, best.key, best.mass, strict=True)
        ],
    }


def _maps(prompt: xr.Dataset, block: int, head: int | None, mean: str, words: bool) -> tuple[np.ndarray, np.ndarray]:
    """The chosen heads' maps [head query key] and their weights [head query]."""
    _check(prompt, block, head, mean, words)
    chosen = slice(None) if head is None else slice(head, head + 1)
    maps = prompt.pattern.values[block, chosen].astype(np.float64)
    weight = prompt.output_norm.values[block, chosen].astype(np.float64)
    if mean == "plain":
        weight = np.ones_like(weight)
    if not words:
        return maps, weight
    index = prompt.word_index.values
    means = np.stack([np.bincount(index, each) / np.bincount(index) for each in weight])
    return np.stack([word_attention(each, index) for each in maps]), means


def _check(prompt: xr.Dataset, block: int, head: int | None, mean: str, words: bool) -> None:
    blocks, heads = prompt.sizes["block"], prompt.sizes["head"]
    refuse_outside("a layer", block, 0, blocks - 1)
    if head is not None:
        refuse_outside("a head", head, 0, heads - 1)
    if mean not in MEANS:
        raise RequestError(f"expected {' or '.join(MEANS)} for mean, got {mean!r}: {did_you_mean(mean, MEANS)}")
    if words and "word_index" not in prompt:
        raise RequestError("expected a tokenizer, which knows words, got token ids alone: leave words out")


def _texts(prompt: xr.Dataset, words: bool) -> list[str]:
    return [str(text) for text in (prompt.word_text if words else prompt.text).values]


def _title(prompt: xr.Dataset) -> str:
    return f"{prompt.attrs['model']}: {numbered(prompt.sizes['position'], 'token')}"


def _pair(pair: dict[str, Any]) -> str:
    return f"{in_quotes(pair['query'])} → {in_quotes(pair['key'])} {number(pair['mass'], 2)}"


def _pairs(pairs: list[dict[str, Any]]) -> str:
    return ", ".join(
        (f"{pair['query']}→" if "query" in pair else "") + f"{pair['key']} {pair['mass']:.2f}" for pair in pairs
    )
