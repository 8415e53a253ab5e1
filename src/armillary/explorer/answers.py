"""What was read off a model, as the page gets it: numbers in plain lists, maps in plotly's own form of arrays."""

import base64
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Shaped

from armillary.explorer import pictures
from armillary.figures.sphere.paths import drawing
from armillary.measures.constituents import less_key_mean
from armillary.measures.maps import row_entropy, strongest_pairs
from armillary.measures.words import word_attention
from armillary.results.schema.naming import PARTS

Pattern = Float[np.ndarray, "query key"]
Patterns = Float[np.ndarray, "head query key"]
Seen = Bool[np.ndarray, "query key"]

PAIRS = 3
"""How many pairs of tokens an example shows."""


def packed(values: np.ndarray) -> dict[str, str]:
    """An array of float32 or of bytes as plotly.js reads it: a hundred maps are a few megabytes and soon there."""
    kind, name = (np.uint8, "u1") if values.dtype == bool else (np.dtype("<f4"), "f4")
    data = base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
    return {"dtype": name, "bdata": data, "shape": ", ".join(map(str, values.shape))}


def look(both: list[xr.Dataset]) -> dict[str, Any]:
    """What does not depend on the block: tokens, words, shares by layer, entropies of all heads."""
    before = both[0]
    entropy = [entropies(maps.pattern.values) for maps in both]
    figures = {"entropy": pictures.entropies([each.mean(1) for each in entropy])}
    if "share" in before and before.sizes["counted"] > 1:
        figures["shares"] = pictures.share_curves(before.share.values, 1 / before.sizes["counted"])
    return {
        "tokens": [str(text) for text in before.text.values],
        "counted": before.counted.values.tolist(),
        "split": "share" in before,
        "words": [str(text) for text in before.word_text.values] if "word_text" in before else [],
        "word_index": before.word_index.values.tolist() if "word_index" in before else [],
        "entropy": [each.tolist() for each in entropy],
        "figures": {name: figure.to_dict() for name, figure in figures.items()},
        "note": both[-1].attrs["note"],
    }


def entropies(pattern: Float[np.ndarray, "block head query key"]) -> Float[np.ndarray, "block head"]:
    """The mean entropy of every head's map, in nats."""
    return np.stack([[row_entropy(each).mean() for each in block] for block in pattern])


def maps(both: list[xr.Dataset], block: int) -> dict[str, Any]:
    """The maps of every head of a block between tokens and between words, and which keys a query may attend to."""
    patterns = [each.pattern.values[block].astype(np.float64) for each in both]
    allowed = both[0].allowed.values[block]
    found = {"block": block, "tokens": level(patterns, allowed), "words": None}
    if "word_index" in both[0]:
        index = both[0].word_index.values
        words = [np.stack([word_attention(each, index) for each in pattern]) for pattern in patterns]
        found["words"] = level(words, word_attention(allowed.astype(np.float64), index) > 0)
    return found


def level(patterns: list[Patterns], allowed: Seen) -> dict[str, Any]:
    """Maps before and after a change, and where they may be other than zero."""
    return {"patterns": [packed(pattern) for pattern in patterns], "allowed": packed(allowed)}


def parts(scores: Float[np.ndarray, "part_query part_key query key"], seen: Seen) -> dict[str, Any]:
    """The QK terms of one head as six panels, centred over the keys seen, with their shares of the logits' variance."""
    panels = six(scores)
    centred = [np.where(seen, less_key_mean(term, seen), np.nan) for term in panels.values()]
    shares = variance_shares(centred, seen)
    return {
        "panels": [
            {"name": name, "share": share, "scores": packed(term)}
            for name, share, term in zip(panels, shares, centred, strict=True)
        ],
        "limit": max(float(np.nanmax(np.abs(term))) for term in centred),
        "seen": packed(seen),
    }


def six(scores: Float[np.ndarray, "part_query part_key query key"]) -> dict[str, Pattern]:
    """Four QK terms of position and residual, the five with the mean together, and their sum, the logits."""
    terms = {f"{PARTS[query]} → {PARTS[key]}": scores[query, key] for query in (1, 2) for key in (1, 2)}
    total = scores.sum((0, 1))
    return terms | {"terms with the mean": total - sum(terms.values()), "sum: the logits": total}


def variance_shares(centred: list[Pattern], seen: Seen) -> list[float]:
    """Share of each term in the variance of the last, their sum, over keys, summed over queries."""
    weight = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    total = np.nansum(weight * centred[-1] ** 2)
    return [float(np.nansum(weight * term * centred[-1]) / total) if total > 0 else float("nan") for term in centred]


def ranked(
    texts: Shaped[np.ndarray, "layer choice"], probability: Float[np.ndarray, "layer choice"]
) -> list[list[dict[str, Any]]]:
    """What each layer decodes to, the likeliest token first."""
    return [
        [{"text": str(text), "probability": float(share)} for text, share in zip(row, shares, strict=True)]
        for row, shares in zip(texts, probability, strict=True)
    ]


def travel(places: xr.Dataset) -> dict[str, Any]:
    """The paths of tokens over the sphere, along directions of their own and along those of the embeddings."""
    tree = xr.DataTree.from_dict({"/travel": places})
    sets = {"coordinate_own": "path_share_own", "coordinate": "path_share"}
    return {
        "figures": [
            {"figure": drawing(name)(tree).to_dict(), "held": float(places[share].sum())}
            for name, share in sets.items()
        ]
    }


def strongest(window: int, found: xr.Dataset, block: int, head: int) -> dict[str, Any]:
    """The pairs of tokens of one window between which a head has most attention."""
    best = strongest_pairs(found.pattern.values[block, head].astype(np.float64), PAIRS)
    pairs = [
        {"query": int(query), "key": int(key), "mass": float(mass)}
        for query, key, mass in zip(best.query, best.key, best.mass, strict=True)
    ]
    return {"window": window, "tokens": [str(text) for text in found.text.values], "pairs": pairs}
