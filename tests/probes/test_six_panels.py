"""One head as an example: its panels are the parts, the logits and the map of the model."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.probes import six_panels as example
from armillary.probes.constituents import shares


@pytest.mark.parametrize("kind", ["rotary", "learned"])
def test_six_panels_are_the_parts_the_logits_and_the_map_of_the_model(kind, view, run, learned, monkeypatch):
    view, run = (view, run) if kind == "rotary" else learned
    monkeypatch.setattr(example, "POSITIONS", 10)
    found = example.six_panels(view, run, shares(view, run, windows=4).share, context=3)
    block, head = int(found.block), int(found["head"])
    ids = run.results["corpus"].tokens.values[3]
    parts = arm.constituents(view, run, ids, block, head).isel(head=0, query=slice(10), key=slice(10))
    allowed = np.tri(10, dtype=bool) if kind == "rotary" else np.ones((10, 10), dtype=bool)
    for query, key in (
        ("position", "position"),
        ("position", "residual"),
        ("residual", "position"),
        ("residual", "residual"),
    ):
        expected = np.where(allowed, parts.sel(part_query=query, part_key=key), np.nan)
        assert np.allclose(found[f"{query}_{key}"], expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    for name, whole in (
        ("logits", parts.sum(("part_query", "part_key"))),
        ("pattern", eager_map(view, ids, block, head)[:10, :10]),
    ):
        assert np.allclose(found[name], np.where(allowed, whole, np.nan), rtol=1e-4, atol=1e-5, equal_nan=True)
    assert found.pattern.dtype == np.float32
    assert found.text.values.tolist() == [f"#{token}" for token in ids[:10]]
    assert int(found.context) == 3


def eager_map(view, ids, block, head):
    """The attention that transformers itself gives."""
    before = view.config._attn_implementation
    view.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            out = view.backbone(input_ids=torch.as_tensor(np.asarray(ids))[None], output_attentions=True)
    finally:
        view.model.set_attn_implementation(before)
    return out.attentions[block][0, head].numpy()


def test_the_example_is_the_head_that_position_drives_most(view, run):
    share = shares(view, run, windows=4).share
    positional = share.sel(part_query="position", part_key="position").values
    assert positional[example.most_positional(share)] == positional.max()
    share.values[example.most_positional(share)] = np.nan
    assert positional[example.most_positional(share)] == np.sort(positional.ravel())[-2]
