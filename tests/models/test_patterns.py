"""Attention read block by block of queries, against transformers' own eager maps; and the model left as it was."""

from dataclasses import replace

import pytest
import torch
import transformers

from armillary.attention.patterns import rows
from armillary.attention.reading import reading_heads
from armillary.errors import RequestError
from armillary.models import FAMILIES, load
from armillary.models.attention import attention_calls, probabilities
from armillary.models.view import View

LENGTH = 13


def batch(view, padding="none"):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 60, (2, LENGTH), generator=generator)
    real = torch.ones_like(ids, dtype=torch.bool)
    if padding != "none":
        real[1, slice(-3, None) if padding == "right" else slice(0, 3)] = False
        ids[~real] = getattr(view.config, "pad_token_id", None) or 0
    return ids, real


def whole_maps(view, ids, real, size):
    """The maps of every block, put together from blocks of queries."""
    maps = []

    def receive(call):
        whole = torch.zeros(*call.query.shape[:3], call.key.shape[2])
        for part in rows(call, size=size):
            assert part.logits.shape[2] <= size
            whole[:, :, part.queries, part.keys] = part.probabilities()
        maps.append(whole)

    with attention_calls(view, receive), torch.no_grad():
        view.backbone(input_ids=ids, attention_mask=real.long(), use_cache=False)
    return maps


def eager_maps(view, ids, real):
    view.model.set_attn_implementation("eager")
    with torch.no_grad():
        out = view.backbone(input_ids=ids, attention_mask=real.long(), output_attentions=True, use_cache=False)
    return out.attentions


def assert_parity(ours, theirs, real):
    assert len(ours) == len(theirs)
    for mine, own in zip(ours, theirs, strict=True):
        assert mine.shape == own.shape
        difference = (mine - own).abs().amax((1, 3))
        assert float(difference[real].max()) < 1e-5


def test_blocks_of_queries_put_together_are_the_eager_maps(tiny, name, padding):
    view = load(tiny(name))
    ids, real = batch(view, padding)
    ours = whole_maps(view, ids, real, size=4)
    theirs = eager_maps(view, ids, real)
    assert_parity(ours, theirs, real)
    assert_parity(whole_maps(view, ids, real, size=5), theirs, real)


def test_masked_keys_are_not_even_multiplied(tiny):
    view = load(tiny("mistral"))
    ids, real = batch(view)
    with torch.no_grad(), attention_calls(view, lambda call: seen.extend(rows(call, size=2))):
        seen = []
        view.backbone(input_ids=ids, attention_mask=real.long())
    assert {(part.queries.start, part.keys.start, part.keys.stop) for part in seen if part.queries.start in (0, 8)} == {
        (0, 0, 2),
        (8, 5, 10),
    }


def test_a_sink_takes_its_share_of_the_softmax_as_the_model_gives_it():
    config = transformers.GptOssConfig(
        vocab_size=67, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=16, num_local_experts=2, num_experts_per_tok=1, sliding_window=4, max_position_embeddings=64,
        layer_types=["sliding_attention", "full_attention"],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.GptOssModel._from_config(config, attn_implementation="eager").eval().requires_grad_(False)
        for block in model.layers:
            torch.nn.init.normal_(block.self_attn.sinks, 1.0)
    view = View("sinks", model, None, FAMILIES["qwen2"], {})
    ids, real = batch(view)
    ours, calls = whole_maps(view, ids, real, size=4), []
    theirs = eager_maps(view, ids, real)
    assert float(theirs[0].sum(-1).max()) < 0.95
    assert_parity(ours, theirs, real)
    with attention_calls(view, calls.append), torch.no_grad():
        view.backbone(input_ids=ids)
    assert_parity([probabilities(call) for call in calls], theirs, real)


def hooks(view):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in view.model.modules())


def test_measuring_heads_changes_nothing_the_model_gives(tiny, name):
    view = load(tiny(name))
    ids, real = batch(view, "right")
    before = view.config._attn_implementation
    with torch.no_grad():
        untouched = view.backbone(input_ids=ids, attention_mask=real.long(), use_cache=False).last_hidden_state
        hooked = hooks(view)
        with reading_heads(view, skipped=1, drop=True) as read:
            during = view.backbone(input_ids=ids, attention_mask=real.long(), use_cache=False).last_hidden_state
            found = read.take(view.n_blocks)
    assert torch.equal(during[real], untouched[real])
    assert found.scalars.shape[1:3] == (view.n_blocks, view.n_heads)
    assert view.config._attn_implementation == before
    assert hooks(view) == hooked
    with pytest.raises(ZeroDivisionError), reading_heads(view, skipped=1, drop=True):
        raise ZeroDivisionError
    assert view.config._attn_implementation == before
    assert hooks(view) == hooked


def test_an_unknown_family_has_no_heads_to_read(tiny):
    view = replace(load(tiny("gpt2")), family=None)
    with (
        pytest.raises(RequestError, match=r"expected a known family for heads, \w+ 'gpt2'"),
        reading_heads(view, skipped=1, drop=True),
    ):
        pass
