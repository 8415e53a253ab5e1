"""Spectra of every family against numpy's answer for the full d_model × d_model matrices."""

import numpy as np
import pytest
import torch
import xarray as xr

from armillary.errors import NonFiniteError
from armillary.models import load
from armillary.models.attention import attention_calls, products
from armillary.models.sources.twins import twin_blocks
from armillary.probes.weights import DISTANCES, head_arrays, head_measures, joined, rotations, weight_groups
from families import TINY, tiny_model

ROTARY = ("llama", "gpt_neox", "qwen2", "gemma2", "gemma3_text", "phi", "smollm3", "mistral")


def measured(view, covariance=None):
    return weight_groups(view, 0, lambda done: None, covariance=covariance)


def full_products(view, block, folded=False):
    """W_QK and W_VO of a block's heads, d_model × d_model, folded as its norm acts on a state."""
    heads, norm = view.heads(block), view.attention_norm(block)
    found = []
    for head in range(view.n_heads):
        W_Q, W_K, W_V, W_O = (getattr(heads, name)[head].double().numpy() for name in ("W_Q", "W_K", "W_V", "W_O"))
        if folded:
            d_model = len(W_Q)
            project = np.eye(d_model) - (norm.kind == "layer") * np.ones((d_model, d_model)) / d_model
            W_Q, W_K, W_V = (project @ np.diag(norm.gain.double().numpy()) @ W for W in (W_Q, W_K, W_V))
        found.append((heads.scale * W_Q @ W_K.T, W_V @ W_O))
    return found


def close_spectrum(found, eigenvalues, size):
    """The same eigenvalues whatever their order; those of the full matrix beyond d_head are zero."""
    remaining = list(eigenvalues)
    for value in found:
        nearest = min(remaining, key=lambda other: abs(other - value))
        assert abs(nearest - value) < 1e-8 * size
        remaining.remove(nearest)
    assert np.abs(remaining).max(initial=0) < 1e-4 * size


@pytest.mark.parametrize("family", TINY)
def test_spectra_and_traces_equal_those_of_the_full_products(family):
    view = load(tiny_model(family), check=False)
    weights = measured(view)["weights"]
    for block in range(view.n_blocks):
        for ending in ("", "_folded"):
            if ending and view.attention_norm(block) is None:
                continue
            for head, both in enumerate(full_products(view, block, folded=bool(ending))):
                for name, W in zip(("qk", "vo"), both, strict=True):
                    of = weights.isel(block=block, head=head)
                    size = np.linalg.norm(W, 2)
                    singular = np.linalg.svd(W, compute_uv=False)
                    values = of[f"singular_value_{name}{ending}"].values
                    padded = np.pad(singular, (0, max(0, len(values) - len(singular))))
                    assert values == pytest.approx(padded[: len(values)], abs=1e-8 * size)
                    complex_values = of[f"eigenvalue_{name}{ending}_real"] + 1j * of[f"eigenvalue_{name}{ending}_imag"]
                    if len(values) <= len(W):
                        close_spectrum(complex_values.values, np.linalg.eigvals(W), size)
                    assert of[f"trace_{name}{ending}"] == pytest.approx(np.trace(W), abs=1e-8 * size)
                    assert of[f"trace_square_{name}{ending}"] == pytest.approx(np.trace(W @ W), abs=1e-8 * size**2)
                    assert of[f"frobenius_{name}{ending}"] == pytest.approx(np.linalg.norm(W), rel=1e-8)
                    eigenvalues = np.linalg.eigvals(W)
                    assert of[f"eigenvalue_mean_{name}{ending}"] == pytest.approx(
                        eigenvalues.mean().real, abs=1e-8 * size
                    )
                    variance = np.mean(eigenvalues**2).real - eigenvalues.mean().real ** 2
                    assert of[f"eigenvalue_variance_{name}{ending}"] == pytest.approx(variance, abs=1e-8 * size**2)


@pytest.mark.parametrize("family", TINY)
def test_the_data_weighted_spectrum_is_that_of_the_product_with_the_covariance(family):
    view = load(tiny_model(family), check=False)
    roots = np.random.default_rng(0).standard_normal((view.n_blocks, view.d_model, view.d_model))
    covariance = xr.DataArray(roots @ roots.swapaxes(1, 2), dims=("block", "d_model", "d_model_"))
    weights = measured(view, covariance)["weights"]
    for block in range(view.n_blocks):
        for head, (W, _) in enumerate(full_products(view, block)):
            of, product = weights.isel(block=block, head=head), W @ covariance[block].values
            size = np.linalg.norm(product, 2)
            found = (of.eigenvalue_qk_data_real + 1j * of.eigenvalue_qk_data_imag).values
            close_spectrum(found, np.linalg.eigvals(product), size)
            assert of.trace_qk_data == pytest.approx(np.trace(product), abs=1e-8 * size)
            assert of.trace_square_qk_data == pytest.approx(np.trace(product @ product), abs=1e-8 * size**2)


@pytest.mark.parametrize("family", ROTARY)
def test_at_distance_0_the_spectrum_is_the_plain_one_and_at_others_numpys(family):
    view = load(tiny_model(family), check=False)
    weights = measured(view)["weights"]
    assert weights.distance.values.tolist() == [distance for distance in DISTANCES if distance < view.max_length]
    at_zero = weights.isel(distance=0)
    assert at_zero.singular_value_qk_distance.values == pytest.approx(weights.singular_value_qk.values, abs=1e-8)
    assert at_zero.trace_qk_distance.values == pytest.approx(weights.trace_qk.values, abs=1e-8)
    turns, heads = rotations(view, 1)["turns"].values, view.heads(1)
    for place in range(len(turns)):
        W = heads.scale * heads.W_Q[2].double().numpy() @ turns[place] @ heads.W_K[2].double().numpy().T
        of = weights.isel(block=1, head=2, distance=place)
        expected = np.linalg.svd(W, compute_uv=False)[: view.d_head]
        assert of.singular_value_qk_distance.values[: len(expected)] == pytest.approx(expected, abs=1e-8)
        assert of.trace_qk_distance == pytest.approx(np.trace(W), abs=1e-8)
        assert of.trace_square_qk_distance == pytest.approx(np.trace(W @ W), abs=1e-8)


@pytest.mark.parametrize("family", [family for family in ROTARY if family != "gemma3_text"])  # it normalises q and k
def test_scores_rebuilt_from_the_weights_at_a_distance_are_the_models_own(family):
    model = tiny_model(family)
    view = load(model, check=False)
    calls = []
    with attention_calls(view, calls.append):
        view.run(torch.randint(5, 60, (1, 20), generator=torch.Generator().manual_seed(1)))
    for call in calls:
        turns, heads = rotations(view, call.block)["turns"].values, view.heads(call.block)
        inputs, logits = call.input[0].double().numpy(), products(call)[0].double().numpy()
        for place, distance in enumerate(DISTANCES[:6]):
            for head in range(view.n_heads):
                query, key = (
                    inputs @ getattr(heads, f"W_{name}")[head].double().numpy()
                    + getattr(heads, f"b_{name}")[head].double().numpy()
                    for name in ("Q", "K")
                )
                later = range(distance, len(inputs))
                rebuilt = [heads.scale * query[at] @ turns[place] @ key[at - distance] for at in later]
                own = [logits[head, at, at - distance] for at in later]
                assert rebuilt == pytest.approx(own, abs=2e-4 * np.abs(logits).max())


@pytest.mark.parametrize("family", TINY)
def test_fresh_blocks_have_the_spread_of_the_whole_random_control(family):
    view = load(tiny_model(family), check=False)
    whole = load(view.model, random_weights=3, check=False)
    for block, twin in twin_blocks(view, 3):
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            ours, theirs = (getattr(each.heads(block), name) for each in (twin, whole))
            assert float(ours.std()) == pytest.approx(float(theirs.std()), rel=0.12)
        norm = twin.attention_norm(block)
        assert norm is None or torch.equal(norm.gain, whole.attention_norm(block).gain)


def test_an_entry_that_is_not_finite_is_refused_by_name():
    model = tiny_model("gpt2")
    model.transformer.h[1].attn.c_proj.weight[3, 2] = float("nan")
    view = load(model, check=False)
    expected = "got 1 of 1024 that are NaN or infinite in W_O of block 1: the checkpoint is damaged, fetch it again"
    with pytest.raises(NonFiniteError, match=expected):
        measured(view)


def test_a_head_of_rank_zero_has_a_zero_spectrum_and_no_z_scores():
    model = tiny_model("bert")
    attention = model.bert.encoder.layer[0].attention.self
    attention.query.weight[:8] = 0
    head = head_measures(head_arrays(load(model, check=False), 0)).isel(head=0)
    assert not head.singular_value_qk.values.any()
    for name in ("trace_qk_z", "top_qk_z", "overlap_qk", "overlap_qk_z", "symmetry", "directionality"):
        assert np.isnan(head[name])
    assert np.isfinite(head.trace_vo_z)


def test_what_some_blocks_lack_is_not_a_number_there():
    view = load(tiny_model("opt-post-norm"), check=False)
    assert view.attention_norm(0) is None
    whole = joined([head_measures(head_arrays(view, block)) for block in range(3)], "weights")
    assert np.isnan(whole.trace_qk_folded.values[0]).all()
    assert np.isfinite(whole.trace_qk_folded.values[1:]).all()
