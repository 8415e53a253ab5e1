"""Every norm of every family by name, against the model's own module; radii of a run's sample; and the last norm."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import NonFiniteError
from armillary.models import load
from armillary.probes.norms import group_of_sample, nearest_tokens, norm_groups, norm_sites
from families import TINY, tiny_model

PRE = [f"{kind} {block}" for block in range(3) for kind in ("attention", "mlp")] + ["final"]
SANDWICH = [
    f"{kind} {block}" for block in range(3) for kind in ("attention", "after attention", "mlp", "after mlp")
] + ["final"]
NAMES = {
    "gpt2": PRE,
    "bert": PRE,
    "llama": PRE,
    "albert": PRE[1:],
    "opt-post-norm": PRE[1:],
    "phi": ["attention 0", "attention 1", "attention 2", "final"],
    "gemma2": SANDWICH,
    "olmo2": [name for name in SANDWICH if name.startswith(("after", "final"))],
}
WINDOWS = np.random.default_rng(0).integers(5, 60, (24, 12))


def geometry(family, run=None):
    return norm_groups(load(tiny_model(family), check=False), run)["norm_geometry"]


@pytest.mark.parametrize("family", NAMES)
def test_norms_are_named_by_what_reads_them_in_the_order_of_the_pass(family):
    assert [site.name for site in norm_sites(load(tiny_model(family), check=False))] == NAMES[family]


@pytest.mark.parametrize("family", TINY)
def test_no_norm_over_the_width_of_the_stream_is_forgotten_but_the_embeddings(family):
    view = load(tiny_model(family), check=False)
    norms = [
        module
        for name, module in view.backbone.named_modules()
        if "norm" in type(module).__name__.lower()
        and not any(part in name for part in ("q_norm", "k_norm", "layernorm.q", "q_layernorm", "k_layernorm"))
    ]
    known = {tuple(site.norm.gain.tolist()) for site in norm_sites(view)}
    inside = [n for n in norms if tuple(norm_gain(n, view).tolist()) in known]
    assert len(known) == len(inside)
    assert len(norms) - len(inside) <= 1  # a norm of embeddings that block 0 does not receive as it is


def norm_gain(module, view):
    return module.weight.float() + 1 if view.family.gain_plus_one else module.weight


@pytest.mark.parametrize("family", ["gpt2", "bert", "llama", "gemma2", "olmo2", "opt-post-norm", "albert"])
def test_radii_before_gain_and_bias_are_those_of_the_sphere_wherever_the_sample_holds_the_states(family):
    view = load(tiny_model(family), check=False)
    run = arm.survey(view, WINDOWS, progress=False, first="keep")
    found = norm_groups(view, run)["norm_geometry"]
    known = np.isfinite(found.radius_before.values)
    held = [site.layer is not None for site in norm_sites(view)]
    assert known.tolist() == held
    # A state of a tiny model may be so small that eps counts: never more than the radius.
    assert (found.radius_before.values[known] <= found.radius.values[known] * (1 + 1e-5)).all()
    assert (found.radius_before.values[known] > 0.9 * found.radius.values[known]).all()
    centred = (found.kind.values == "LayerNorm") & known
    assert (found.along_ones.values[centred] < 1e-4).all()


def test_a_layer_norm_lies_in_a_hyperplane_and_an_rms_norm_does_not():
    for family, kind in (("gpt2", "LayerNorm"), ("llama", "RMSNorm")):
        view = load(tiny_model(family), check=False)
        found = norm_groups(view, arm.survey(view, WINDOWS, progress=False))["norm_geometry"]
        assert set(found.kind.values) == {kind}
        assert bool(np.nanmax(found.along_ones) < 1e-6) is (kind == "LayerNorm")


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_radii_after_gain_and_bias_are_those_of_the_models_own_norm(family):
    view = load(tiny_model(family), check=False)
    run = arm.survey(view, WINDOWS, progress=False)
    states = torch.tensor(run.results["sample"].states.values)
    own = view.blocks[1].ln_1(states[1]) if family == "gpt2" else states[1]
    found = norm_groups(view, run)["norm_geometry"].sel(norm="attention 1")
    assert float(found.radius_after) == pytest.approx(float(own.norm(dim=-1).mean()), rel=1e-5)
    assert float(found.radius_after_sd) == pytest.approx(float(own.norm(dim=-1).std(correction=0)), rel=1e-3)


def test_massive_tokens_are_left_out_of_radii():
    view = load(tiny_model("bert"), check=False)
    run = arm.survey(view, WINDOWS, progress=False)
    plain = norm_groups(view, run)["norm_geometry"]
    sample = run.results["sample"].to_dataset()
    sample["massive"][:] = np.arange(sample.sizes["sample"]) > 3
    groups = {name: node.to_dataset() for name, node in run.results.children.items()} | {"sample": sample}
    changed = arm.Run(type(run.results).from_dict({f"/{name}": each for name, each in groups.items()}))
    four = np.linalg.norm(sample.states.values[2, :4], axis=-1).mean()
    found = norm_groups(view, changed)["norm_geometry"].sel(norm="attention 2")
    assert float(found.radius_after) == pytest.approx(four, rel=1e-6)
    assert float(plain.sel(norm="attention 2").radius_after) != pytest.approx(four, rel=1e-6)


def test_without_a_run_shapes_are_known_and_radii_are_not_there():
    found = geometry("gpt2")
    assert "radius_before" not in found
    assert "argmax_agreement" not in found
    assert np.isfinite(found.gain_largest.values).all()
    assert found.radius.values == pytest.approx(np.full(7, np.sqrt(32)))


def test_the_control_has_spheres_and_no_shift():
    view = load(tiny_model("gpt2"), random_weights=0, check=False)
    found = norm_groups(view)["norm_geometry"]
    assert (found.gain_largest.values == 1).all()
    assert not found.gain_variation.values.any()
    assert not found["shift"].values.any()


@pytest.mark.parametrize("family", ["gpt2", "bert", "distilbert", "gemma2"])
def test_nearest_tokens_are_those_of_the_heads_own_logits_and_of_cosines(family):
    view = load(tiny_model(family), check=False)
    run = arm.survey(view, WINDOWS, progress=False)
    states = torch.tensor(run.results["sample"].states.values[-1])
    by_logit, by_cosine = nearest_tokens(view, states)
    if family == "gpt2":
        read = view.model.transformer.ln_f(states)
        assert by_logit.tolist() == view.model.lm_head(read).argmax(-1).tolist()
        cosines = torch.nn.functional.cosine_similarity(read[:, None], view.W_U.T[None], dim=-1)
        assert by_cosine.tolist() == cosines.argmax(-1).tolist()
    found = norm_groups(view, run)["norm_geometry"]
    assert float(found.argmax_agreement) == pytest.approx(np.mean(by_logit == by_cosine), abs=0.02)
    assert np.isfinite(found.argmax_agreement_se)
    assert float(found.row_variation) > 0


def test_without_a_head_nothing_is_said_of_logits():
    shape = {"vocab_size": 67, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.BertConfig(**shape, intermediate_size=48, max_position_embeddings=40)
    view = load(transformers.BertModel(config).eval().requires_grad_(False))
    found = norm_groups(view, arm.survey(view, WINDOWS, progress=False))["norm_geometry"]
    for name in ("argmax_agreement", "argmax_agreement_se", "row_variation"):
        assert np.isnan(found[name])
    assert np.isfinite(found.radius_before.values[0])


def test_a_run_without_groups_counts_as_one():
    view = load(tiny_model("bert"), check=False)
    run = arm.survey(view, WINDOWS, progress=False)
    sample = run.results["sample"].to_dataset()
    bare = arm.Run(type(run.results).from_dict({"/sample": sample}))
    assert not group_of_sample(bare).any()
    assert np.isnan(norm_groups(view, bare)["norm_geometry"].argmax_agreement_se)


def test_a_gain_that_is_not_finite_is_refused_by_name():
    model = tiny_model("gpt2")
    model.transformer.h[1].ln_2.weight[3] = float("nan")
    expected = "got 1 of 32 that are NaN or infinite in the gain of the norm 'mlp 1': the checkpoint is damaged"
    with pytest.raises(NonFiniteError, match=expected):
        norm_groups(load(model, check=False))
