"""The lens over a real model: what it says of MiniLM, and what it must say of any."""

import numpy as np
import pytest

import armillary as arm

pytestmark = [pytest.mark.real, pytest.mark.nightly]


@pytest.fixture(scope="module")
def run():
    view = arm.load("minilm")
    surveyed = arm.survey(view, "python-docs", contexts=48, length=64, progress=False)
    return arm.gaussian(view, surveyed, windows=48, progress=False)


def test_information_falls_with_distance_and_stands_above_the_null(run):
    found = run.results["gaussian"].to_dataset()
    near, far = found.information.values[:, 0], found.information.values[:, -1]
    assert (found.information_low.values[:, 0] > found.information_null_high.values[:, 0]).all()
    assert (near > far).all()
    assert np.abs(found.information_null.values).max() < near.min()


def test_predicted_and_measured_variances_of_logits_go_together(run):
    logits = run.results["gaussian_logits"].to_dataset().sel(distance=[1, 8])
    assert (logits.correlation.values > 0.8).all()
    assert (logits.factor_median.values < 1.5).all()


def test_maps_of_low_rank_lose_information_and_fixed_weights_entropy(run):
    kept = run.results["gaussian_kept"].to_dataset()
    assert 0.2 < float(kept.kept.median()) < 1
    assert (kept.kept.values < 1.02).all()
    assert float(run.results["gaussian_mixing"].entropy_gap.median()) < -1


def test_in_the_first_layers_tokens_are_less_similar_than_those_of_the_control(run):
    similarity = run.results["gaussian_depth"].similarity.isel(layer=slice(5))
    assert (similarity.sel(variant="model") < similarity.sel(variant="random weights")).all()
