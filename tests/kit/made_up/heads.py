"""Heads of a run: how they attend, what they are called, and what position does in them."""

import numpy as np
import xarray as xr

from made_up.shapes import GROUPS, over

SPLIT = ("position", "residual")
SIDES = {"residual": 0.3, "output": 0.5}


def attention(rng, blocks, heads=4, bins=4, repeats=8):
    """Heads from near to far, their names, and what attention does to a window."""
    at = ("block", "head")
    rising = np.linspace(0.05, 0.9, blocks * heads).reshape(blocks, heads)
    falls = rising[..., None] ** np.arange(6)
    maps = rising[..., None, None] * np.eye(bins) + (1 - rising[..., None, None]) / bins
    values = dict.fromkeys(("entropy_relative", "mass_first", "mass_previous", "mass_self"), (at, rising))
    values |= {"distance": (at, 20 * rising), "signal_propagation": (at, rising)}
    values |= {"rank_effective": (at, 10 * rising), "rank_stable": (at, 5 * rising)}
    values |= {"distance_profile": ((*at, "span"), falls / falls.sum(-1, keepdims=True))}
    values |= {"map": ((*at, "query_bin", "key_bin"), maps)}
    values |= {"signal_propagation_profile": ((*at, "key_bin"), np.repeat(rising[..., None], bins, -1))}
    values |= {f"{name}_se": (dims, np.full(value.shape, 0.01)) for name, (dims, value) in values.items()}
    starts = 6 * np.arange(bins)
    kinds = np.array(["", "induction", "duplicate", "previous", "sink", "local", "uniform", ""])
    scores = dict.fromkeys(kinds[1:6], (at, rising)) | {f"{name}_se": (at, 0 * rising + 0.01) for name in kinds[1:6]}
    nulls = {f"{name}_null": ((), 0.02) for name in kinds[1:6]}
    parts = ["mean", "position", "residual"]
    share = np.zeros((blocks, heads, 3, 3)) + 0.05
    share[..., 2, 2] = 0.6
    shares = {
        name: ((*at, "part_query", "part_key"), value) for name, value in (("share", share), ("share_se", share / 50))
    }
    sides = {f"{name}_{side}": value for name in ("similarity", "collapse") for side, value in SIDES.items()}
    return {
        "heads": xr.Dataset(values, coords={"span": [0, 1, 2, 3, 5, 9], "query_bin": starts, "key_bin": starts}),
        "mixing": over(blocks, "block", output_norm=0.4, similarity_output_se=0.01, **sides),
        "head_groups": xr.Dataset(
            {f"{name}_groups": (("block", "group"), np.full((blocks, GROUPS), value)) for name, value in sides.items()}
            | {"windows": ("group", np.full(GROUPS, 2))}
        ),
        "taxonomy": xr.Dataset({"kind": (at, np.resize(kinds, (blocks, heads)))} | scores | nulls),
        "repeats": xr.Dataset({"induction_repeats": ((*at, "repeat"), rng.uniform(size=(blocks, heads, repeats)))}),
        "constituents": xr.Dataset(shares, {"part_query": parts, "part_key": parts}, {"groups": 7}),
    }


def heads_and_position(rng, blocks, positions, heads=4):
    """Weights along position directions, smoothness and peaks, and one head in one window, masked as a causal model."""
    at = ("block", "head")
    rising = np.linspace(0.05, 0.9, blocks * heads).reshape(blocks, heads)
    low = 1 - 0.9 ** (1 + np.arange(21))
    smooth = {
        "gram": np.tile(low, (blocks, 1)),
        "weighted": rising[..., None] * low,
        "logits": rising[..., None] * low / 2,
    }
    shares = {f"low_frequency_share_{name}": value for name, value in smooth.items()}
    shares |= {f"low_frequency_share_{name}_null": smooth[name] / 3 for name in ("gram", "weighted")}
    shares |= {"low_frequency_share_logits_se": 0 * smooth["logits"] + 0.01}
    peaks = {"argmax_share": (at, rising), "argmax_share_null": (at, 0 * rising + 0.1)}
    masked = np.where(np.tri(positions, dtype=bool), 0.0, np.nan)
    panels = {f"{one}_{other}": rng.normal(size=masked.shape) for one in SPLIT for other in SPLIT}
    panels["logits"] = sum(panels.values()) + 3
    panels["pattern"] = np.tri(positions) / (1 + np.arange(positions))[:, None]
    texts = np.resize(np.array([" the", "<b>bold</b>", "&lt;b&gt;", "$x$ $y$", "\\n"]), positions)
    return {
        "dissection": xr.Dataset(
            {"energy_position": (at, rising), "energy_position_null": (at, 0 * rising + 0.1)}, attrs={"rank": 20}
        ),
        "qk_smoothness": xr.Dataset(
            {name: ((*at[: value.ndim - 1], "frequency"), value) for name, value in shares.items()} | peaks,
            attrs={"groups": 7},
        ),
        "six_panels": xr.Dataset(
            {name: (("query", "key"), (masked + value).astype(np.float32)) for name, value in panels.items()}
            | {"text": ("query", texts), "block": ((), 1), "head": ((), 2), "context": ((), 0)}
        ),
        "head_examples": xr.Dataset(
            {
                name: (("example", "query", "key"), np.stack(3 * [masked + value]).astype(np.float32))
                for name, value in panels.items()
            }
            | {"text": ("query", texts), "kind": ("example", np.array(["induction", "previous", "duplicate"]))}
            | {"block": ("example", np.arange(3) % 2), "head": ("example", np.arange(3) % 2)}
        ),
    }
