"""What the maps of one prompt show, as tables: a row per layer, or a row per token or word of one layer."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from armillary.errors import RequestError
from armillary.measures.maps import angle_correlation, head_mean, row_entropy, strongest_pairs
from armillary.measures.words import word_attention
from armillary.system.texts import escaped


def layers(
    prompt: xr.Dataset, *, head: int | None = None, mean: str = "plain", words: bool = False, pairs: int = 3
) -> pd.DataFrame:
    """One row per block: entropy (nats), mass on position 0 and on itself, angle correlation, strongest pairs.

    Over one head, or over all: entropy and masses as means over heads and queries, pairs and correlation of the mean
    map. `mean="output"` weights each head, query by query, by the norm of what it adds through W_O. Mass on position 0
    leaves its own row out. With `words` maps are between words; the angles stay those of tokens.
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
    told = {"model": prompt.attrs["model"], "tokens": prompt.text.values.tolist(), "rows": rows}
    return json.dumps(told | {"continuation": None if continuation is None else escaped(continuation)}, indent=1)


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV, pairs as words."""
    return str(table.assign(strongest=table.strongest.map(_told)).to_csv())


def printed(prompt: xr.Dataset, table: pd.DataFrame, continuation: str | None) -> Group:
    """The table for a terminal; texts of tokens are escaped, and no markup in them is obeyed."""
    out = Table(box=None, pad_edge=False, title_justify="left", title=Text(_title(prompt)), caption_justify="left")
    for name in [str(table.index.name), *map(str, table.columns)]:
        wide = name in ("strongest", "text")
        out.add_column(name.replace("_", " "), justify="left" if wide else "right", overflow="fold")
    for number, row in table.iterrows():
        out.add_row(str(number), *(Text(_cell(name, value)) for name, value in row.items()))
    if continuation is None:
        return Group(out)
    return Group(out, Text(f"goes on: {escaped(continuation)}"))


def answers(found: xr.Dataset) -> Group:
    """The built-in task's answers and masses for a terminal."""
    lines = Table(box=None, pad_edge=False, title=Text(f"{found.attrs['model']}: clues"), title_justify="left")
    lines.add_column("word")
    for shots in found.shots.values:
        lines.add_column(f"{shots} shots", overflow="fold")
    for word in found.word.values:
        lines.add_row(Text(str(word)), *(Text(str(text)) for text in found.continuation.sel(word=word).values))
    looks = Table(
        box=None,
        pad_edge=False,
        title=Text("where the tokens of examples look, % of their attention (in brackets: random weights)"),
        title_justify="left",
    )
    for name in ("shots", "block", "themselves", "own example", "other examples", "elsewhere"):
        looks.add_column(name, justify="right")
    for shots in found.shots.values:
        for block in range(found.sizes["block"]):
            at = found.sel(shots=shots).isel(block=block)
            looks.add_row(str(shots), str(block), *(_share(at, name) for name in _LOOKS))
    return Group(lines, Text(""), looks)


def answers_json(found: xr.Dataset) -> str:
    """Answers and masses of the built-in task as one JSON object."""
    lines = {
        str(shots): dict(zip(found.word.values.tolist(), row.values.tolist(), strict=True))
        for shots, row in zip(found.shots.values, found.continuation, strict=True)
    }
    rows = json.loads(answers_frame(found).to_json(orient="records"))
    return json.dumps({"model": found.attrs["model"], "clues": lines, "rows": rows}, indent=1)


def answers_frame(found: xr.Dataset) -> pd.DataFrame:
    """The masses of the built-in task, a row per number of shots and block."""
    return found.drop_vars("continuation").drop_vars("word").to_dataframe().reset_index()


_LOOKS = ("diagonal", "within", "across", "outside")


def _layer(prompt: xr.Dataset, block: int, head: int | None, mean: str, words: bool, pairs: int) -> dict[str, Any]:
    maps, weight = _maps(prompt, block, head, mean, words)
    entropy = np.stack([row_entropy(one) for one in maps])
    pattern, texts = head_mean(maps, weight), _texts(prompt, words)
    best = strongest_pairs(pattern, pairs)
    plain = head_mean(*_maps(prompt, block, head, mean, False))
    return {
        "entropy": float(head_mean(entropy[:, :, None], weight).mean()),
        "mass_first": float(pattern[1:, 0].mean()) if len(pattern) > 1 else float("nan"),
        "mass_self": float(np.diagonal(pattern).mean()),
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
    means = np.stack([np.bincount(index, one) / np.bincount(index) for one in weight])
    return np.stack([word_attention(one, index) for one in maps]), means


def _check(prompt: xr.Dataset, block: int, head: int | None, mean: str, words: bool) -> None:
    blocks, heads = prompt.sizes["block"], prompt.sizes["head"]
    if not 0 <= block < blocks:
        raise RequestError(f"expected a layer from 0 to {blocks - 1}, came {block}")
    if head is not None and not 0 <= head < heads:
        raise RequestError(f"expected a head from 0 to {heads - 1}, came {head}")
    if mean not in ("plain", "output"):
        raise RequestError(f"expected mean plain or output, came {mean!r}")
    if words and "word_index" not in prompt:
        raise RequestError("expected a tokenizer to know words by, came token ids alone; leave words out")


def _texts(prompt: xr.Dataset, words: bool) -> list[str]:
    return [str(text) for text in (prompt.word_text if words else prompt.text).values]


def _title(prompt: xr.Dataset) -> str:
    return f"{prompt.attrs['model']}: {prompt.sizes['position']} tokens"


def _cell(name: Any, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _told(value)
    return "–" if np.isnan(value) else f"{value:.3f}"


def _told(pairs: list[dict[str, Any]]) -> str:
    return ", ".join(
        (f"{one['query']}→" if "query" in one else "") + f"{one['key']} {one['mass']:.2f}" for one in pairs
    )


def _share(at: xr.Dataset, name: str) -> str:
    value, error, null = (100 * float(at[f"mass_{name}{ending}"]) for ending in ("", "_se", "_null"))
    return f"{value:.1f}" + ("" if np.isnan(error) else f" ±{error:.1f}") + f" ({null:.1f})"
