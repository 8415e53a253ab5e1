"""Heads from their inputs against the model's own attention."""

import numpy as np
import pytest
import torch

from armillary.models.attention import attention_calls, products
from armillary.models.attention import probabilities as own_probabilities
from armillary.probes.lens import heads, reading
from armillary.probes.lens.sample import sample_of


@pytest.fixture(scope="module")
def sample(lens_view, lens_run):
    return sample_of(lens_view, lens_run, 12, 2)


@pytest.fixture(scope="module")
def held(lens_view, sample):
    return reading.read_blocks(lens_view, sample, range(2), 8, lambda windows: None)


def heads_of(view, block, held):
    return heads.block_heads(view, block, held[block])


def own_calls(view, sample):
    calls = []
    with torch.inference_mode(), attention_calls(view, calls.append):
        view.run(sample.tokens)
    return calls


def test_outputs_are_those_of_the_models_own_attention_and_fixed_ones_of_its_mean(lens_view, sample, held):
    call = own_calls(lens_view, sample)[1]
    parts = heads_of(lens_view, 1, held)
    pattern = own_probabilities(call).numpy()
    values = call.value.repeat_interleave(2, dim=1).numpy() @ held[1].directions.numpy()
    np.testing.assert_allclose(parts.output.swapaxes(0, 1), pattern @ values, atol=1e-5)
    np.testing.assert_allclose(parts.fixed.swapaxes(0, 1), pattern.mean(0) @ values, atol=1e-5)


def test_forms_give_the_models_own_logits_at_every_distance(lens_view, sample, held):
    distances = heads.logit_distances(sample)
    parts, forms = heads_of(lens_view, 1, held), heads.distance_forms(lens_view, 1, 8**-0.5, distances)
    logits = products(own_calls(lens_view, sample)[1]).numpy()
    assert distances.tolist() == [0, 1, 8]
    for form, distance in zip(forms, distances, strict=True):
        query, key = parts.query[2][:, 8:], parts.key[2][:, 8 - distance : 20 - distance]
        expected = logits[:, 2][:, np.arange(8, 20), np.arange(8, 20) - distance]
        np.testing.assert_allclose(np.einsum("cti,ij,ctj->ct", query, form, key), expected, atol=1e-5)


def test_measured_logits_are_the_models_own(lens_view, sample, held):
    under, distances = heads.Under.of(sample), heads.logit_distances(sample)
    parts, forms = heads_of(lens_view, 0, held), heads.distance_forms(lens_view, 0, 8**-0.5, distances)
    found = heads.logits_of(parts, forms, distances, under)
    logits = products(own_calls(lens_view, sample)[0]).numpy()[:, 3]
    neighbours = logits[:, np.arange(2, 20), np.arange(1, 19)]
    assert found[3].mean[1] == pytest.approx(neighbours.mean(), abs=1e-5)
    assert found[3].variance[1] == pytest.approx(neighbours.var(axis=0, ddof=1).mean(), rel=1e-4)


def test_maps_keep_at_most_everything(lens_view, sample, held):
    under = heads.Under.of(sample)
    inputs, weights = held[0].inputs.numpy(), lens_view.heads(0)
    found = heads.kept_of(weights, inputs, under, heads.input_directions(lens_view, sample))
    assert found["kept"].shape == (4, 4)
    assert np.isfinite(found["kept"]).all()
    assert 0 < found["input_share"] <= 1
    whole = heads.kept_of(weights, inputs, under, 4)
    np.testing.assert_allclose(whole["kept"], 1, atol=1e-6)  # fewer directions than d_head: nothing is lost


def test_blocks_that_do_not_fit_are_read_in_chunks(lens_view, sample, monkeypatch):
    monkeypatch.setattr(reading, "HELD", 1)
    assert reading.block_chunks(lens_view, sample) == [range(1), range(1, 2), range(2, 3)]
