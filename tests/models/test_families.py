"""Every family against its own model: states, attention, norms, embeddings, with and without padding."""

import pytest
import torch

from armillary.models import FAMILIES, load
from armillary.models.attention import attention_calls, attention_output, query_key_value, rotate, scores
from armillary.models.contract import run
from armillary.models.families import family_of


def batch(view, padding="none"):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 60, (2, 9), generator=generator)
    real = torch.ones_like(ids, dtype=torch.bool)
    if padding != "none":
        real[1, slice(-3, None) if padding == "right" else slice(0, 3)] = False
        ids[~real] = getattr(view.config, "pad_token_id", None) or 0
    return ids, real


def hidden_states(view, ids, real):
    with torch.no_grad():
        out = view.backbone(input_ids=ids, attention_mask=real.long(), output_hidden_states=True, use_cache=False)
    return out.hidden_states, out.last_hidden_state


def hooks(view):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in view.model.modules())


def test_every_row_of_the_table_has_a_tiny_model(tiny, tiny_names):
    assert {tiny(name).config.model_type for name in tiny_names} == set(FAMILIES)


def test_the_contract_holds_for_every_family(tiny, name):
    view = load(tiny(name))
    assert view.n_blocks == len(view.blocks) == len(view.attentions) == 3
    assert view.family is not None


def test_hooked_states_are_the_hidden_states_of_transformers(tiny, error, name, padding):
    view = load(tiny(name))
    ids, real = batch(view, padding)
    passed = run(view, ids, real)
    theirs, last = hidden_states(view, ids, real)
    for block in range(view.n_blocks):
        assert torch.equal(passed.states[block][real], theirs[block][real])
    final = passed.after[-1] if view.final_norm is None else view.final_norm(passed.after[-1])
    if final.shape == last.shape:
        assert error(final[real], last[real]) < 1e-5
        assert error(final[real], theirs[-1][real]) < 1e-5


def test_attention_from_our_weights_is_the_models_own(tiny, error, name, padding):
    view = load(tiny(name))
    ids, real = batch(view, padding)
    passed = run(view, ids, real)
    assert [call.block for call in passed.calls] == [0, 1, 2]
    for call, output in zip(passed.calls, passed.outputs, strict=True):
        query, key, value = query_key_value(view, call.block, call.input, call.rotation)
        heads = view.heads(call.block)
        group = view.n_heads // view.n_kv_heads
        flat = [tensor.transpose(1, 2)[real] for tensor in (query, key[:, ::group], value[:, ::group])]
        assert error(flat[0] * heads.scale, call.query.transpose(1, 2)[real] * call.scaling) < 1e-5
        assert error(flat[1], call.key.transpose(1, 2)[real]) < 1e-5
        assert error(flat[2], call.value.transpose(1, 2)[real]) < 1e-5
        assert error(attention_output(view, call)[real], output[real]) < 1e-5


def test_reading_attention_changes_nothing_the_model_gives(tiny, name, padding):
    view = load(tiny(name))
    ids, real = batch(view, padding)
    before = view.config._attn_implementation
    _, untouched = hidden_states(view, ids, real)
    hooks_of_transformers = hooks(view)
    last = run(view, ids, real).last
    assert torch.equal(last[real], untouched[real])
    assert view.config._attn_implementation == before
    assert hooks(view) == hooks_of_transformers


def test_scores_leave_out_padding(tiny, name):
    view = load(tiny(name))
    ids, real = batch(view, "right")
    for call in run(view, ids, real).calls:
        pattern = torch.softmax(scores(call), dim=-1)[1][:, real[1]]
        assert float(pattern[..., ~real[1]].max()) == 0.0
        torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]))


def test_the_views_own_rotation_is_the_one_the_model_used(tiny, name):
    view = load(tiny(name))
    ids, real = batch(view)
    for call in run(view, ids, real).calls:
        rotation = view.rotation(call.block, torch.arange(ids.shape[1])[None])
        assert (rotation is None) == (call.rotation is None)
        if rotation is not None:
            assert torch.equal(rotation[0], call.rotation[0])
            assert torch.equal(rotation[1], call.rotation[1])


def test_rotation_is_linear_so_parts_of_a_query_may_be_turned_one_by_one(tiny, error):
    view = load(tiny("gpt_neox"))
    rotation = view.rotation(0, torch.arange(9)[None])
    parts = torch.randn(2, 1, 4, 9, 8, generator=torch.Generator().manual_seed(0))
    turned = [rotate(view.attentions[0], part, rotation) for part in parts]
    assert error(sum(turned), rotate(view.attentions[0], parts.sum(0), rotation)) < 1e-6
    assert torch.equal(turned[0][..., 2:], parts[0][..., 2:])


def test_norms_as_numbers_are_the_models_norms(tiny, error, name):
    view = load(tiny(name))
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0)) * 3 + 1
    for site, path in view.family.norms.items():
        assert error(view.norm(1, site)(x), view.blocks[1].get_submodule(path)(x)) < 1e-5
    if view.final_norm is not None:
        assert error(view.norm_final()(x), view.final_norm(x)) < 1e-5
    absent = {"before_attention", "after_attention", "before_mlp", "after_mlp"} - set(view.family.norms)
    assert all(view.norm(1, site) is None for site in absent)


def test_embeddings_times_their_scale_are_what_the_model_looks_up(tiny, error, name):
    view = load(tiny(name))
    ids, _ = batch(view)
    assert error(view.W_E[ids] * view.embedding_scale, view.backbone.get_input_embeddings()(ids)) < 1e-6
    assert view.W_U is not None
    assert view.W_U.shape == tuple(reversed(view.W_E.shape))


def test_the_longest_window_runs_and_one_more_does_not_fit_learned_positions(tiny, name):
    view = load(tiny(name))
    if view.family.position == "alibi":
        assert view.max_length is None
        return
    ids = torch.full((1, view.max_length), 5)
    view.backbone(input_ids=ids, attention_mask=torch.ones_like(ids))
    if view.family.position == "learned":
        ids = torch.full((1, view.max_length + 1), 5)
        with pytest.raises((IndexError, RuntimeError)):
            view.backbone(input_ids=ids, attention_mask=torch.ones_like(ids))


def test_heads_share_keys_under_grouped_queries(tiny):
    heads = load(tiny("qwen3")).heads(0)
    assert heads.kv_head == (0, 0, 1, 1)
    assert torch.equal(heads.W_K[0], heads.W_K[1])
    assert not torch.equal(heads.W_K[1], heads.W_K[2])
    assert heads.W_Q.shape == (4, 32, 12)
    assert heads.W_O.shape == (4, 12, 32)
    assert not heads.bilinear
    assert load(tiny("qwen2")).heads(0).bilinear


def test_albert_repeats_one_module_and_groups_come_in_order(tiny):
    assert len(set(load(tiny("albert")).blocks)) == 1
    blocks = load(tiny("albert-groups")).blocks
    assert blocks[0] is blocks[1]
    assert blocks[1] is not blocks[2]


def test_opt_350m_counts_as_post_norm(tiny):
    view = load(tiny("opt-post-norm"))
    assert view.norm_place == "post"
    assert view.norm(0, "before_attention") is None
    assert view.norm(0, "after_attention") is not None
    assert family_of(view.config).final_norm is None


def test_attention_calls_count_blocks_anew_in_every_pass(tiny):
    view = load(tiny("albert"))
    ids, real = batch(view)
    seen = []
    with attention_calls(view, lambda call: seen.append(call.block)), torch.no_grad():
        for _ in range(2):
            view.model(input_ids=ids, attention_mask=real.long())
    assert seen == [0, 1, 2, 0, 1, 2]
