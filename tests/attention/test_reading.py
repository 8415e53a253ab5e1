"""What is summed of attention maps: against plain numpy and scipy, and in a whole survey."""

import numpy as np
import pytest
import scipy.stats
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import armillary as arm
from armillary.attention.mixing import MIXING, mixing
from armillary.attention.pattern_sums import SCALARS, pattern_sums, position_bins, span_of
from armillary.attention.reading import HeadReading, map_ranks, reading_heads
from armillary.errors import BrokenContract, RequestError
from armillary.models.attention import AttentionCall, probabilities
from armillary.probes.repeats import mass_at
from armillary.surveys.engines import local as engines

KINDS = ["causal", "full", "window", "additive", "infinite", "softcap", "bias", "sinks"]


def call_of(kind, length, batch=2, heads=4, kv_heads=2, seed=0, dtype=torch.float32):
    """An attention call as some family would make it."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, heads, length, 6, generator=generator, dtype=dtype) * 3
    key, value = torch.randn(2, batch, kv_heads, length, 6, generator=generator, dtype=dtype)
    at = torch.arange(length)
    near = (at <= at[:, None]) & (at > at[:, None] - 4)
    causal = torch.where(at <= at[:, None], 0.0, torch.finfo(dtype).min)
    more = {
        "window": {"mask": near[None, None]},
        "additive": {"mask": causal[None, None].to(dtype)},
        "infinite": {"mask": torch.where(near, 0.0, -torch.inf)[None, None].to(dtype)},
        "softcap": {"softcap": 2.0},
        "bias": {"bias": (torch.arange(heads)[:, None, None] * at * 0.1)[None].to(dtype)},
        "sinks": {"sinks": torch.linspace(-2, 3, heads, dtype=dtype)},
    }
    return AttentionCall(
        block=0, input=torch.zeros(batch, length, 5), query=query, key=key, value=value, scaling=0.4,
        causal=kind != "full", **more.get(kind, {}),
    )  # fmt: skip


def plain(call, kind):
    """Every statistic by its definition, from whole maps in float64."""
    pattern = probabilities(call).double().numpy()
    length = pattern.shape[-1]
    at = np.arange(length)
    distance = np.abs(at[:, None] - at)
    tokens = pattern / pattern.sum(-1, keepdims=True)
    entropy = scipy.stats.entropy(tokens, axis=-1)
    seen = np.full(length, length) if kind == "full" else at + 1
    if kind in ("window", "infinite"):
        seen = np.minimum(seen, 4)
    later = slice(1, None)
    scalars = {
        "entropy": entropy[..., later].mean(-1),
        "entropy_relative": (entropy[..., later] / np.log(seen[later])).mean(-1),
        "mass_first": pattern[..., later, 0].mean(-1),
        "mass_self": pattern[..., at[later], at[later]].mean(-1),
        "mass_previous": pattern[..., at[later], at[later] - 1].mean(-1),
        "distance": (pattern * distance).sum(-1)[..., later].mean(-1),
        "sink_rate": (pattern[..., later, 0].mean(-1) > 0.3).astype(float),
    }
    edges = [0, 1, 2, 3, *(2**power + 1 for power in range(2, 12))]
    low = [edge for edge in edges if edge < length]
    high = [*low[1:], length]
    profile = [
        (pattern * ((distance >= a) & (distance < b))).sum(-1)[..., later].mean(-1)
        for a, b in zip(low, high, strict=True)
    ]
    return pattern, scalars, np.stack(profile, -1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [2, 7, 40])
def test_statistics_are_those_of_whole_maps(kind, length, monkeypatch):
    monkeypatch.setattr("armillary.attention.patterns.BLOCK_BYTES", 1)
    call = call_of(kind, length)
    found = pattern_sums(call)
    pattern, scalars, profile = plain(call, kind)
    for name, expected in scalars.items():
        assert np.allclose(found.scalars[..., SCALARS.index(name)], expected, atol=2e-6 * length), name
    assert np.allclose(found.profile, profile, atol=1e-6)
    assert np.allclose(found.profile.sum(-1), pattern[..., 1:, :].sum(-1).mean(-1), atol=1e-5)
    bins = np.arange(length) * min(16, length) // length
    for row in range(bins[-1] + 1):
        for column in range(bins[-1] + 1):
            expected = pattern[:, :, bins == row][..., bins == column].sum(-1).mean(-1)
            assert np.allclose(found.map[..., row, column], expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["causal", "full", "window", "softcap", "bias"])
def test_signal_propagation_is_its_definition_over_the_keys_of_the_last_query(kind):
    call = call_of(kind, 24, seed=3)
    key = call.key.repeat_interleave(2, 1).double()
    scores = torch.einsum("bhd,bhkd->bhk", call.query[:, :, -1].double(), key).numpy() * call.scaling
    if kind == "softcap":
        scores = 2 * np.tanh(scores / 2)
    if kind == "bias":
        scores = scores + call.bias[..., 0, :].double().numpy()
    seen = slice(20, None) if kind == "window" else slice(None)
    omega = scores[..., seen]
    T = omega.shape[-1]
    propagated = 1 / T + (omega - omega.mean(-1, keepdims=True)) / T
    holds = ((propagated >= 0) & (propagated <= 1)).astype(float)
    found = pattern_sums(call)
    assert 0.05 < holds.mean() < 0.95
    assert np.allclose(found.scalars[..., SCALARS.index("signal_propagation")], holds.mean(-1), atol=1e-12)
    bins = (np.arange(24) * 16 // 24)[seen]
    for part in range(16):
        mine = found.signal[..., part].numpy()
        if (bins == part).any():
            assert np.allclose(mine, holds[..., bins == part].mean(-1), atol=1e-12)
        else:
            assert np.isnan(mine).all()


def test_uniform_attention_has_the_statistics_of_its_closed_form():
    call = call_of("causal", 50)
    call = AttentionCall(**{**vars(call), "query": torch.zeros_like(call.query)})
    found = dict(zip(SCALARS, pattern_sums(call).scalars[0, 0].tolist(), strict=True))
    t = np.arange(2, 51)
    assert found["entropy"] == pytest.approx(np.log(t).mean(), abs=1e-6)
    assert found["entropy_relative"] == pytest.approx(1, abs=1e-6)
    assert (found["mass_first"], found["mass_self"]) == pytest.approx(((1 / t).mean(),) * 2, abs=1e-6)
    assert found["distance"] == pytest.approx(((t - 1) / 2).mean(), abs=1e-5)
    assert found["signal_propagation"] == 1


def test_bins_of_distance_double():
    first = {int(span): distance for distance, span in reversed(list(enumerate(span_of(70))))}
    assert list(first.items())[::-1] == list(enumerate([0, 1, 2, 3, 5, 9, 17, 33, 65]))
    assert np.bincount(position_bins(40)).tolist() == [3, 2] * 8
    assert position_bins(5).tolist() == [0, 1, 2, 3, 4]


class Largest(TorchDispatchMode):
    """The largest tensor that anything gives while it is open."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        self.elements = max([self.elements, *sizes])
        return out


@pytest.mark.parametrize("kind", ["causal", "full"])
def test_memory_is_linear_in_the_length_of_the_window(kind, monkeypatch):
    monkeypatch.setattr("armillary.attention.patterns.BLOCK_BYTES", 2**14)
    largest = []
    for length in (128, 256, 512):
        call = call_of(kind, length, batch=1)
        with Largest() as mode:
            pattern_sums(call)
            map_ranks(call, (0,))
        largest.append(mode.elements)
    assert largest[2] < 4 * 512 * 512 / 3
    assert largest[1] / largest[0] < 2.2
    assert largest[2] / largest[1] < 2.2


@pytest.mark.parametrize("kind", ["causal", "full", "window", "sinks"])
def test_ranks_are_those_of_the_singular_values(kind):
    call = call_of(kind, 150, batch=3)
    found = map_ranks(call, (2, 0))
    for row, window in enumerate((2, 0)):
        for head in range(4):
            values = np.linalg.svd(probabilities(call)[window, head, :128].double().numpy(), compute_uv=False)
            effective, stable = np.exp(scipy.stats.entropy(values)), np.sum(values**2) / values[0] ** 2
            expected = effective, stable, values[0] - values[1]
            assert np.allclose(found[row, head], expected, rtol=1e-4)


def test_mass_at_an_offset_is_that_of_the_whole_map():
    call = call_of("window", 20)
    pattern = probabilities(call).double().numpy()
    found = mass_at(call, range(9, 20), (-1, -3, -9, 2))
    at = np.arange(9, 20)
    for place, offset in enumerate((-1, -3, -9)):
        assert np.allclose(found[place], pattern[..., at, at + offset].mean(-1).T, atol=1e-6)
    assert np.allclose(found[3], 0)


def test_token_measures_are_those_of_plain_loops():
    rng = np.random.default_rng(2)
    state, output = rng.normal(size=(2, 3, 12, 5)) + 0.4
    state[1, 7] *= 100
    tensors = torch.from_numpy(state), torch.from_numpy(output)
    for drop in (True, False):
        found = dict(zip(MIXING, mixing(*tensors, drop=drop).T, strict=True))
        for window in range(3):
            kept = [i for i in range(12) if not (drop and window == 1 and i == 7)]
            for name, x in (("residual", state[window, kept]), ("output", output[window, kept])):
                unit = x / np.linalg.norm(x, axis=1, keepdims=True)
                cosines = [unit[i] @ unit[j] for i in range(len(kept)) for j in range(len(kept)) if i != j]
                assert float(found[f"similarity_{name}"][window]) == pytest.approx(np.mean(cosines), abs=1e-5)
                apart = np.linalg.norm(x - x.mean(0)) / np.linalg.norm(x)
                assert float(found[f"collapse_{name}"][window]) == pytest.approx(apart, abs=1e-5)
            norms = np.linalg.norm(output[window, kept], axis=1) / np.linalg.norm(state[window, kept], axis=1)
            assert float(found["output_norm"][window]) == pytest.approx(norms.mean(), rel=1e-5)
    same = torch.ones(1, 6, 4)
    collapsed = dict(zip(MIXING, mixing(same, same, drop=True)[0].tolist(), strict=True))
    assert collapsed["similarity_residual"] == pytest.approx(1, abs=1e-6)
    assert collapsed["collapse_residual"] == pytest.approx(0, abs=1e-6)


@pytest.fixture(scope="module")
def view():
    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, max_position_embeddings=64,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(6 if weight.ndim > 1 else 1)
    return arm.load(model)


@pytest.fixture(scope="module")
def text():
    return np.random.default_rng(0).integers(3, 97, (300, 16))


def test_a_survey_with_heads_holds_what_eager_maps_say(view, text):
    run = arm.survey(view, text[:40], heads=True, progress=False)
    tokens = torch.from_numpy(run.results["corpus"].tokens.values.astype(np.int64))
    groups = run.results["corpus"].group.values
    view.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            maps = view.backbone(input_ids=tokens, output_attentions=True).attentions
    finally:
        view.model.set_attn_implementation("sdpa")
    heads = run.results["heads"].to_dataset()
    for block, pattern in enumerate(maps):
        pattern = pattern.double().numpy()
        entropy = scipy.stats.entropy(pattern, axis=-1)[..., 1:].mean(-1)
        assert np.allclose(heads.entropy[block], entropy.mean(0), atol=1e-5)
        assert np.allclose(heads.mass_first[block], pattern[:, :, 1:, 0].mean((0, 2)), atol=1e-5)
        assert np.allclose(heads["map"][block], pattern.mean(0), atol=1e-5)
        each = np.stack([entropy[groups == g].mean(0) for g in range(groups.max() + 1)], -1)
        assert np.allclose(run.results["head_groups"].entropy_groups[block], each, atol=1e-5)
    assert int(run.results["head_groups"].ranked.sum()) == 5
    assert bool((heads.entropy_se > 0).all())


def test_asking_for_heads_changes_no_other_result(view, text):
    alone = arm.survey(view, text[:40], progress=False)
    both = arm.survey(view, text[:40], heads=True, progress=False)
    for name, node in alone.results.children.items():
        for variable, values in node.data_vars.items():
            theirs = both.results[name][variable].values
            assert np.array_equal(values.values, theirs, equal_nan=values.dtype.kind == "f"), f"{name}/{variable}"
    assert set(both.results.children) - set(alone.results.children) == {"head_groups", "heads", "mixing"}


def test_a_stopped_survey_with_heads_is_resumed_to_the_same_bits(view, text, tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 16 * 10)
    monkeypatch.setattr("armillary.surveys.total.CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr("armillary.surveys.total.PART", 0)
    whole = arm.survey(view, text[:50], heads=True, progress=False)
    ran = engines.shard_state
    calls = iter(range(3))
    monkeypatch.setattr(engines, "shard_state", lambda *args: (next(calls), ran(*args))[1])
    with pytest.raises(StopIteration):
        arm.survey(view, text[:50], heads=True, out=tmp_path, progress=False)
    monkeypatch.setattr(engines, "shard_state", ran)
    resumed = arm.survey(view, text[:50], heads=True, out=tmp_path, resume=True, progress=False, report=False)
    assert (tmp_path / "heads.nc").exists()
    assert not (tmp_path / "checkpoint").exists()
    for name in ("head_groups", "heads", "mixing"):
        for variable, values in whole.results[name].data_vars.items():
            assert np.array_equal(values.values, resumed.results[name][variable].values, equal_nan=True), variable


def test_a_survey_that_is_resumed_with_heads_must_have_begun_with_them(view, text, tmp_path, monkeypatch):
    arm.survey(view, text[:20], out=tmp_path, progress=False, report=False)
    assert not (tmp_path / "heads.nc").exists()
    with pytest.raises(arm.StoreError, match="which already holds one: choose another --out"):
        arm.survey(view, text[:20], out=tmp_path, heads=True, resume=True, progress=False)


def test_heads_of_an_unknown_family_are_refused_before_the_pass(text):
    config = transformers.Starcoder2Config(
        vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48,
    )  # fmt: skip
    unknown = arm.load(transformers.Starcoder2Model(config))
    with pytest.raises(RequestError, match=r"expected a known family for heads, \w+ 'starcoder2'"):
        arm.survey(unknown, text[:20], heads=True, progress=False)


def test_a_model_that_skips_an_attention_is_refused(view, text):
    with torch.no_grad(), reading_heads(view, skipped=1, drop=True) as read:
        view.backbone(input_ids=torch.from_numpy(text[:2]))
        with pytest.raises(BrokenContract, match=r"expected 5 attentions to run in one pass, got 3 .*without heads"):
            read.take(5)
    assert isinstance(read, HeadReading)
