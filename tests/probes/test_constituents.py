"""Constituents, their shares, smoothness and dissection on surveys of tiny models and of the real ones."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import RequestError
from armillary.measures.constituents import argmax_share
from armillary.measures.smoothness import low_frequency_share
from armillary.models.attention import attention_calls, products
from armillary.probes import six_panels as example
from armillary.probes.constituents import PARTS, known_parts, part_scores, shares

TEXT = "The armillary sphere shows where the stars stand, and how they move over the year."


def tiny(kind="Llama", seed=0, **changes):
    options = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    } | changes
    config = getattr(transformers, f"{kind}Config")(**options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, f"{kind}Model")(config)
        for weight in model.parameters():
            # Biases and gains are drawn too: one that is dropped or counted twice must be seen.
            weight.data.mul_(3) if weight.ndim > 1 else weight.data.add_(torch.randn_like(weight) * 0.3)
    return arm.load(model)


@pytest.fixture(scope="module")
def windows():
    return np.random.default_rng(0).integers(3, 97, (24, 16))


@pytest.fixture(scope="module")
def view():
    torch.set_num_threads(1)
    return tiny(num_key_value_heads=2)


@pytest.fixture(scope="module")
def run(view, windows):
    return arm.survey(view, windows, progress=False)


@pytest.fixture(scope="module")
def learned(windows):
    """A model that knows positions by a table, and its run."""
    view = tiny("Bert")
    return view, arm.survey(view, windows, progress=False)


def calls_of(view, ids):
    calls = []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.backbone(input_ids=torch.as_tensor(np.asarray(ids))[None])
    return calls


def test_the_parts_are_what_the_run_found(view, run, windows):
    known = known_parts(view, run, 1, 10)
    node = run.results["attention"].to_dataset().isel(block=1)
    assert np.array_equal(known.mean, node["mean"])
    assert np.array_equal(known.position[1:], node.position_basis[:9])
    assert np.allclose(known.position[0], node["first"] - node["mean"])
    assert known.measured.tolist() == list(range(1, 10))
    assert known.apart


def test_one_head_is_that_row_of_all_heads(view, run, windows):
    whole = arm.constituents(view, run, windows[0], block=1)
    one = arm.constituents(view, run, windows[0], block=1, head=2)
    assert one.sizes["head"] == 1
    assert np.array_equal(one.sel(head=2), whole.sel(head=2))
    assert list(whole.part_query.values) == list(PARTS)


def test_without_the_mean_the_other_four_parts_stay(view, run, windows):
    whole = arm.constituents(view, run, windows[0], block=0)
    without = arm.constituents(view, run, windows[0], block=0, mean=False)
    assert list(without.part_key.values) == ["position", "rest"]
    assert np.allclose(without, whole.sel(part_query=["position", "rest"], part_key=["position", "rest"]))


def test_without_rotation_the_mean_of_keys_changes_no_attention_and_with_it_does(view, run, learned, windows):
    for one, its_run, constant in ((*learned, True), (view, run, False)):
        parts = arm.constituents(one, its_run, windows[0], block=1).sel(part_key="mean").sum("part_query")
        assert (float(parts.std("key").max()) < 1e-6 * float(abs(parts).max())) == constant


def test_the_turned_mean_of_a_rotary_model_knows_distance_alone(view, run, windows):
    """The mean is the same everywhere, so its own scores depend on t − t' only."""
    parts = arm.constituents(view, run, windows[0], block=1).sel(part_query="mean", part_key="mean").values
    for distance in range(-5, 6):
        diagonal = np.diagonal(parts, distance, 1, 2)
        assert np.ptp(diagonal, axis=1).max() < 1e-4 * np.abs(parts).max()


def test_shares_are_those_of_the_parts_written_out(view, run, windows):
    found = shares(view, run, windows=4)
    chosen = np.linspace(0, 23, 4).round().astype(int)
    tokens = run.results["corpus"].tokens.values[chosen]
    sums = np.zeros((3, 3))
    for ids in tokens:
        parts = arm.constituents(view, run, ids, block=1).sel(head=3).values
        total = parts.sum((0, 1))
        for t in range(2, 16):
            for a, b in np.ndindex(3, 3):
                sums[a, b] += np.cov(parts[a, b, t, 1 : t + 1], total[t, 1 : t + 1], ddof=0)[0, 1]
    assert np.allclose(found.share.isel(block=1, head=3), sums / sums.sum())
    assert np.allclose(found.share.sum(("part_query", "part_key")), 1)
    assert (found.share_se > 0).all()


def test_position_zero_counts_in_shares_where_the_run_kept_it(view, windows):
    kept = arm.survey(view, windows, first="keep", progress=False)
    dropped = arm.survey(view, windows, progress=False)
    assert not np.allclose(shares(view, kept, windows=3).share, shares(view, dropped, windows=3).share)


def test_smoothness_is_that_of_the_matrices_written_out(learned):
    view, run = learned
    found = arm.qk_smoothness(view, run, windows=3)
    node = run.results["attention"].to_dataset().isel(block=1)
    heads, position = view.heads(1), node.position_basis.values
    W = (heads.scale * heads.W_Q[2].double() @ heads.W_K[2].double().T).numpy()
    expected = low_frequency_share(position @ W @ position.T)
    assert np.allclose(found.low_frequency_share_weighted.isel(block=1, head=2), expected)
    with_mean = position + node["mean"].values
    query = with_mean @ heads.W_Q[2].double().numpy() + heads.b_Q[2].double().numpy()
    key = with_mean @ heads.W_K[2].double().numpy() + heads.b_K[2].double().numpy()
    assert float(found.argmax_share.isel(block=1, head=2)) == argmax_share(query @ key.T)
    tokens = run.results["corpus"].tokens.values[[0, 12, 23]]
    logits = [low_frequency_share(products(calls_of(view, ids)[1])[0, 2, 1:, 1:].double().numpy()) for ids in tokens]
    assert np.allclose(found.low_frequency_share_logits.isel(block=1, head=2), np.mean(logits, 0), atol=1e-6)
    assert np.allclose(found.low_frequency_share_gram.isel(frequency=15), 1)
    assert float(found.low_frequency_share_logits_se.max()) > 0


def test_smoothness_under_rotation_is_that_of_the_turned_position_part(view, run, windows):
    found = arm.qk_smoothness(view, run, windows=2)
    parts = arm.constituents(view, run, windows[0], block=1).values[:, :, :, 1:, 1:]
    for head in range(4):
        expected = low_frequency_share(parts[head, 1, 1])
        assert np.allclose(found.low_frequency_share_weighted.isel(block=1, head=head), expected)
        with_mean = parts[head, :2, :2].sum((0, 1))
        assert float(found.argmax_share.isel(block=1, head=head)) == argmax_share(with_mean)


def test_every_head_is_dissected(learned):
    view, run = learned
    found = arm.weight_dissection(view, run, rank=5)
    total = found.energy_position + found.energy_diagonal + found.energy_residual
    assert total.dims == ("block", "head")
    assert np.allclose(total, 1)
    heads = view.heads(1)
    W = (heads.scale * heads.W_Q[3].double() @ heads.W_K[3].double().T).numpy()
    assert float(found.energy_diagonal[1, 3]) == pytest.approx(np.sum(np.diag(W) ** 2) / np.sum(W**2))
    directions = np.linalg.svd(run.results["attention"].position_basis.values[1])[2][:5]
    block = directions @ (W - np.diag(np.diag(W))) @ directions.T
    assert float(found.energy_position[1, 3]) == pytest.approx(np.sum(block**2) / np.sum(W**2))


@pytest.mark.parametrize("kind", ["rotary", "learned"])
def test_six_panels_are_the_parts_the_logits_and_the_map_of_the_model(kind, view, run, learned, monkeypatch):
    view, run = (view, run) if kind == "rotary" else learned
    monkeypatch.setattr(example, "POSITIONS", 10)
    found = example.six_panels(view, run, shares(view, run, windows=4).share, context=3)
    block, head = int(found.block), int(found["head"])
    ids = run.results["corpus"].tokens.values[3]
    parts = arm.constituents(view, run, ids, block, head).isel(head=0, query=slice(10), key=slice(10))
    allowed = np.tri(10, dtype=bool) if kind == "rotary" else np.ones((10, 10), dtype=bool)
    for query, key in (("position", "position"), ("position", "rest"), ("rest", "position"), ("rest", "rest")):
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v, r, w: arm.constituents(v, r, w[0], block=2), "expected a block from 0 to 1, came 2"),
        (lambda v, r, w: arm.constituents(v, r, w[0], block=0, head=4), "expected a head from 0 to 3, came 4"),
        (lambda v, r, w: arm.constituents(v, r, np.tile(w[0], 2), block=0), "at most 16 tokens, as many as the run"),
        (lambda v, r, w: arm.constituents(v, r, [], block=0), "empty prompt"),
        (lambda v, r, w: arm.constituents(v, r, "a text", block=0), "has no tokenizer"),
        (lambda v, r, w: shares(v, r, "a text"), "expected a list of texts"),
        (lambda v, r, w: shares(v, r, windows=0), "expected at least 1 window, came 0"),
        (lambda v, r, w: arm.weight_dissection(v, r, rank=99), "expected a rank from 1 to 32, came 99"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(view, run, windows, call, message):
    with pytest.raises(RequestError, match=message):
        call(view, run, windows)


def test_a_run_of_another_model_is_refused(view, learned, windows):
    other = learned[1]
    for ask in (
        lambda: arm.constituents(view, other, windows[0], block=0),
        lambda: shares(view, other),
        lambda: arm.qk_smoothness(view, other),
        lambda: arm.weight_dissection(view, other),
    ):
        with pytest.raises(RequestError, match=r"expected a run of \w+ itself, came one of 'BertModel' with other"):
            ask()


def test_a_run_without_attention_inputs_is_refused(view, windows):
    narrow = arm.survey(view, windows, sites="residual", progress=False)
    with pytest.raises(RequestError, match="--sites all"):
        arm.constituents(view, narrow, windows[0], block=0)


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_real_constituents_add_up_to_the_logits_on_every_head(name):
    view = arm.load(name)
    run = arm.survey(view, "python-docs", contexts=6, length=24, progress=False)
    for call in calls_of(view, view.tokenizer(TEXT)["input_ids"]):
        own = products(call)[0].double().numpy()
        found = part_scores(view, call, known_parts(view, run, call.block, own.shape[-1]))
        error = np.abs(found.sum((1, 2)) - own).max((1, 2)) / np.abs(own).max((1, 2))
        assert (error < 1e-5).all()
        if call.block in (0, 3, view.n_blocks - 1):
            assert np.array_equal(arm.constituents(view, run, TEXT, block=call.block), found)
