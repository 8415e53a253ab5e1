"""Heads of the real models: maps as transformers' own, and the heads that look back are found."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.attention.patterns import rows
from armillary.models.attention import attention_calls
from armillary.probes.repeats import repeat_scores, repeated_windows
from armillary.results.schema.naming import REPEATED

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def smollm2():
    torch.set_num_threads(1)
    return arm.load("smollm2", check=False)


@pytest.fixture(scope="module")
def minilm():
    torch.set_num_threads(1)
    return arm.load("minilm")


@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_maps_are_those_of_the_eager_model(name, request):
    view = request.getfixturevalue(name)
    ids = torch.from_numpy(np.random.default_rng(0).integers(1000, 20_000, (2, 24)))
    real = torch.ones_like(ids)
    real[1, 20:] = 0
    ours = []

    def receive(call):
        whole = torch.zeros(*call.query.shape[:3], ids.shape[1])
        for part in rows(call, size=16):
            whole[:, :, part.queries, part.keys] = part.probabilities()
        ours.append(whole)

    with torch.inference_mode():
        with attention_calls(view, receive):
            view.backbone(input_ids=ids, attention_mask=real, use_cache=False)
        view.model.set_attn_implementation("eager")
        try:
            out = view.backbone(input_ids=ids, attention_mask=real, output_attentions=True, use_cache=False)
        finally:
            view.model.set_attn_implementation("sdpa")
    assert len(ours) == view.n_blocks
    for mine, theirs in zip(ours, out.attentions, strict=True):
        difference = (mine - theirs).abs().amax((1, 3))
        assert float(difference[real.bool()].max()) < 1e-5


def test_smollm2_has_heads_that_look_back_where_its_control_has_none(smollm2):
    tokens = repeated_windows(smollm2, np.arange(2000)[None], windows=2, copy=32)
    found = dict(zip(REPEATED, repeat_scores(smollm2, tokens, 0).mean(-1), strict=True))
    control = arm.load(smollm2.model, random_weights=1, check=False)
    null = dict(zip(REPEATED, repeat_scores(control, tokens[:1], 0).mean(-1), strict=True))
    expected = {
        "induction": [(17, 3), (17, 4), (18, 6)],
        "duplicate": [(8, 0), (14, 3)],
        "previous": [(11, 1), (16, 0), (19, 3)],
    }
    for kind, heads in expected.items():
        assert float(null[kind].max()) < 0.1
        for block, head in heads:
            assert found[kind][block, head] > 0.5, (kind, block, head)
        strong = found[kind] > 0.5
        assert 2 <= strong.sum() <= 20
        # Induction needs a head before it that has copied the token before: none in the first block.
        assert not found["induction"][0].max() > 0.2
