"""Surveys of the real models of the package index."""

import numpy as np
import pytest
import torch
from torch import nn

import armillary as arm

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def shallow():
    """smollm2 with its first block alone: what layer 0 and 1 are does not depend on the others."""
    view = arm.load("smollm2", check=False)
    view.model.model.layers = nn.ModuleList(view.model.model.layers[:1])
    view.model.config.num_hidden_layers = 1
    return arm.load(view.model, tokenizer=view.tokenizer)


@pytest.mark.parametrize("seed", range(5))
def test_layer_zero_of_a_rotary_model_knows_no_position(shallow, seed):
    run = arm.survey(shallow, "python-docs", seed=seed, progress=False)
    position = run.results["position"].isel(layer=0)
    assert abs(float(position.share_corrected)) < 3 * float(position.share_corrected_se)
    assert np.isnan(float(position.rank_stable_corrected))
    floor = float(run.results["variance"].share_floor.isel(layer=0, component=0))
    plain = float(run.results["variance"].share.isel(layer=0, component=0))
    assert plain == pytest.approx(floor, rel=0.5)


def test_a_learned_position_is_found_with_its_error():
    run = arm.survey(arm.load("minilm"), "python-docs", contexts=48, length=64, progress=False)
    position = run.results["position"].isel(layer=0)
    assert float(position.share_corrected) > 20 * float(position.share_corrected_se)
    assert float(position.share_corrected) > 3 * float(position.share_null)
    assert 1 < float(position.rank_stable_corrected) < float(position.rank_stable)


def test_the_survey_of_a_real_model_is_that_of_its_own_hidden_states():
    view = arm.load("minilm")
    run = arm.survey(view, "python-docs", contexts=16, length=48, progress=False)
    tokens = torch.from_numpy(run.results["corpus"].tokens.values.astype(np.int64))
    assert view.tokenizer.decode(tokens[0, :1]) == "[CLS]"
    with torch.inference_mode():
        hidden = view.backbone(input_ids=tokens, output_hidden_states=True).hidden_states
    residual = run.results["residual"].to_dataset()
    for layer, states in enumerate(hidden):
        kept = states[:, 1:].double().numpy()
        scale = np.abs(kept).max()
        assert np.allclose(residual["mean"][layer], kept.mean((0, 1)), atol=1e-5 * scale)
        assert np.allclose(residual.position_basis[layer], kept.mean(0) - kept.mean((0, 1)), atol=1e-5 * scale)
        assert np.allclose(residual["first"][layer], states[:, 0].double().mean(0), atol=1e-5 * scale)
