"""A text's states on the sphere: against the model's own norm and logits, with its control, for every family."""

import sys
import types

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import armillary as arm
from armillary.errors import NonFiniteError, RequestError
from armillary.measures.sphere.paths import paths
from armillary.probes import travel
from armillary.probes.control import CONTROL_SEED
from armillary.probes.travel import counted_tokens, on_sphere, refuse_unfit, sampled_embeddings, stream_states
from families import TINY, tiny_model

IDS = np.array([5, 60, 7, 33, 12, 8, 41])


def view_of(family, **changes):
    return arm.load(tiny_model(family, **changes), check=False)


def travelled(view, ids=IDS, lens=None, umap=False, seed=0):
    return travel.travel_groups(view, ids, seed=seed, lens=lens, umap=umap)["travel"]


def headless():
    shape = {"vocab_size": 67, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.BertConfig(**shape, intermediate_size=48, max_position_embeddings=40)
    return arm.load(transformers.BertModel(config).eval().requires_grad_(False), check=False)


@pytest.mark.parametrize("family", TINY)
def test_every_family_travels_and_decodes_its_last_state_as_the_model_does(family):
    view = view_of(family)
    found = travelled(view)
    assert found.sizes["layer"] == view.n_blocks + 1
    with torch.inference_mode():
        own = view.run(IDS[None], head=True).logits[0].float().softmax(-1).topk(5)
    assert found.top_token.values[-1].tolist() == own.indices.tolist()
    assert found.top_probability.values[-1] == pytest.approx(own.values.numpy(), rel=1e-4)
    assert np.isnan(found.angle.values[0]).all()
    for name in ("angle", "angle_null", "length", "direct", "straightness", "coordinate", "path_share"):
        assert np.isfinite(found[name].values[1:] if name.startswith("angle") else found[name].values).all(), name


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert", "olmo2", "opt-post-norm"])
def test_angles_are_those_of_transformers_states_through_the_models_own_final_norm(family):
    view = view_of(family)
    with torch.inference_mode():
        states = list(view.backbone(torch.tensor(IDS[None]), output_hidden_states=True).hidden_states)
        if view.final_norm is not None:  # transformers gives the last state after it
            states = [view.final_norm(state) for state in states[:-1]] + states[-1:]
        if family == "opt-post-norm":  # and there projected to another width
            states[-1] = stream_states(view, IDS)[-1][None]
    expected = paths(np.stack([state[0].numpy() for state in states]))
    found = travelled(view)
    for name in ("angle", "length", "direct", "straightness"):
        assert found[name].values == pytest.approx(getattr(expected, name), rel=1e-3, nan_ok=True), name


def test_the_null_is_the_mean_path_of_the_random_weight_control():
    view = view_of("llama")
    control = arm.load(view.model, random_weights=3 + CONTROL_SEED, check=False)
    each = paths(on_sphere(control, stream_states(control, IDS)))
    found = travelled(view, seed=3)
    assert found.angle_null.values == pytest.approx(each.angle[:, 1:].mean(1), nan_ok=True)
    assert float(found.length_null) == pytest.approx(each.length[1:].mean())
    assert float(found.straightness_null) == pytest.approx(each.straightness[1:].mean())


def test_a_model_without_a_head_is_followed_and_not_decoded():
    found = travelled(headless())
    assert "top_text" not in found
    assert found.attrs["lens"] == "nothing is decoded: BertModel has no language head"
    assert found.attrs["states"] == "every layer as the model gives it: it has no final norm"
    left_out = travelled(view_of("gpt2"), lens=False)
    assert "top_text" not in left_out
    assert left_out.attrs["lens"] == "nothing is decoded: the lens was left out"
    assert travelled(view_of("gpt2")).attrs["lens"] == "the model's own final norm and head"
    assert travelled(view_of("bert")).attrs["lens"] == "the model's own head"


def test_asking_for_the_lens_of_a_model_without_a_head_is_refused():
    with pytest.raises(RequestError, match=r"^expected a model with a language head to decode states, got BertModel: "):
        refuse_unfit(headless(), lens=True, umap=False)
    refuse_unfit(view_of("bert"), lens=True, umap=False)


def test_without_umap_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(travel, "find_spec", lambda name: None)
    message = r"^expected umap-learn for umap, got no such package: pip install 'armillary\[umap\]'$"
    with pytest.raises(RequestError, match=message):
        refuse_unfit(view_of("gpt2"), lens=None, umap=True)


class FirstThree:
    """What is asked of UMAP: fitted on the embeddings with a seed, it places them and other points."""

    def __init__(self, **options):
        self.options = options

    def fit(self, cloud):
        self.embedding_ = cloud[:, :3]
        assert self.options == {"n_components": 3, "metric": "cosine", "random_state": 7}
        return self

    def transform(self, points):
        return points[:, :3]


def test_umap_is_fitted_on_the_embeddings_and_places_the_states(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=FirstThree))
    view = view_of("gpt2")
    found = travelled(view, umap=True, seed=7)
    states = on_sphere(view, stream_states(view, IDS))
    unit = states / np.linalg.norm(states, axis=-1, keepdims=True)
    assert found.umap.values == pytest.approx(unit[..., :3], abs=1e-6)
    assert found.cloud_umap.values == pytest.approx(sampled_embeddings(view, 7).points[:, :3])


def test_the_directions_are_those_of_the_embeddings_through_the_final_norm():
    view = view_of("llama")
    found = travelled(view)
    assert found.attrs["fitted_on"] == "67 of 67 token embeddings through the final norm"
    with torch.inference_mode():
        cloud = view.final_norm(view.W_E).numpy()
    cloud = cloud / np.maximum(np.linalg.norm(cloud, axis=1, keepdims=True), 1e-30)  # the padding token's is zero
    sizes = np.linalg.svd(cloud - cloud.mean(0), compute_uv=False)
    assert found.variance_share.values == pytest.approx(sizes[:3] ** 2 / np.sum(sizes**2), rel=1e-4)
    assert 0 < float(found.path_share.sum()) <= float(found.path_share_own.sum()) <= 1
    assert found.sizes["embedding"] == 67


def test_layer_0_of_a_rotary_model_stands_where_its_embeddings_stand():
    view = view_of("gemma2")
    embeddings = sampled_embeddings(view, 0)
    states = on_sphere(view, stream_states(view, IDS))[0]
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    place = {int(token): row for row, token in enumerate(embeddings.token)}
    assert unit == pytest.approx(embeddings.points[[place[int(token)] for token in IDS]], abs=1e-5)


def test_embeddings_of_an_encoder_go_through_their_own_norm_and_of_another_width_are_not_used():
    assert travelled(view_of("bert")).attrs["fitted_on"].endswith("through the embedding's norm")
    assert travelled(view_of("opt-post-norm")).attrs["fitted_on"] == "the states themselves"
    albert = travelled(view_of("albert"))
    assert albert.attrs["fitted_on"] == "the states themselves"
    assert albert.sizes["embedding"] == 0
    assert albert.coordinate.values == pytest.approx(albert.coordinate_own.values)


def test_position_0_and_special_tokens_do_not_count_unless_nothing_else_is_left():
    vocabulary = {word: index for index, word in enumerate(["[CLS]", "[SEP]", "a", "b"])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="a"))
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    view = arm.load(tiny_model("bert"), tokenizer=tokenizer, check=False)
    assert counted_tokens(view, np.array([0, 2, 3, 1])).tolist() == [False, True, True, False]
    assert counted_tokens(view, np.array([2, 3])).tolist() == [False, True]
    assert counted_tokens(view, np.array([0, 1])).tolist() == [True, True]
    assert counted_tokens(view_of("gpt2"), np.array([3])).tolist() == [True]


def test_states_that_are_not_finite_are_refused_by_layer():
    model = tiny_model("gpt2")
    model.transformer.h[1].mlp.c_proj.bias[0] = float("inf")
    view = arm.load(model, check=False)
    message = "^expected finite hidden states, got NaN or infinite ones in layer 2 of .*: load it with dtype float32$"
    with pytest.raises(NonFiniteError, match=message):
        travelled(view)


def test_one_token_travels_too():
    found = travelled(view_of("llama"), np.array([9]))
    assert found.sizes["position"] == 1
    assert np.isfinite(found.length.values).all()


def test_the_same_seed_gives_the_same_numbers_and_another_another_control():
    view = view_of("gpt2")
    one, same, other = (travelled(view, seed=seed) for seed in (1, 1, 2))
    assert one.identical(same)
    assert not np.array_equal(one.angle_null.values[1:], other.angle_null.values[1:])
    assert np.array_equal(one.angle.values[1:], other.angle.values[1:])
