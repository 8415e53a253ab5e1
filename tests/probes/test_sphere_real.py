"""The sphere of the real models: MiniLM's norms lie on it, and SmolLM2's last state decodes to what the model says."""

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.probes.norms import norm_groups
from armillary.prompts.ids import prompt_ids

pytestmark = pytest.mark.real
TEXT = "To kill two birds with one stone"


@pytest.fixture(scope="module")
def smollm2():
    torch.set_num_threads(1)
    return arm.load("smollm2", check=False)


@pytest.fixture(scope="module")
def minilm():
    torch.set_num_threads(1)
    return arm.load("minilm")


def test_the_layer_norms_of_minilm_lie_on_the_sphere_of_radius_root_d(minilm):
    run = arm.survey(minilm, "python-docs", contexts=8, length=64, progress=False)
    found = norm_groups(minilm, run)["norm_geometry"]
    known = np.isfinite(found.radius_before.values)
    assert found.norm.values[known].tolist() == [*(f"attention {block}" for block in range(6)), "final"]
    assert set(found.kind.values) == {"LayerNorm"}
    assert found.radius_before.values[known] == pytest.approx(np.full(7, np.sqrt(384)), rel=1e-4)
    assert (found.radius_before_sd.values[known] < 1e-4 * np.sqrt(384)).all()
    assert (found.along_ones.values[known] < 1e-4).all()
    assert (np.abs(found.radius_after.values[known] / np.sqrt(384) - 1) > 0.1).all(), "gain makes an ellipsoid of it"


def test_minilm_turns_more_than_its_control_and_decodes_nothing(minilm):
    found = arm.travel(minilm, TEXT, progress=False).results["travel"]
    mean = found.angle.values[1:, found.counted.values].mean(1)
    assert (mean > 1.5 * found.angle_null.values[1:]).all()
    assert "top_text" not in found
    assert found.text.values[~found.counted.values].tolist() == ["[CLS]", "[SEP]"]


def test_smollm2_decodes_its_last_state_as_it_continues_the_text(smollm2):
    ids = prompt_ids(smollm2, TEXT)
    found = arm.travel(smollm2, TEXT, progress=False).results["travel"]
    with torch.inference_mode():
        own = smollm2.run(ids[None], head=True).logits[0].softmax(-1)
    assert found.top_token.values[-1, :, 0].tolist() == own.argmax(-1).tolist()
    assert found.top_probability.values[-1, :, 0] == pytest.approx(own.max(-1).values.numpy(), rel=1e-3)
    # The idiom is known: after "To kill two" comes "birds", after "birds" "with", "one" and "stone".
    assert found.top_text.values[-1, 2:6, 0].tolist() == [" birds", " with", " one", " stone"]
    assert found.top_text.values[0, -1, 0] == " stone", "tied embeddings: layer 0 decodes to the token itself"


def test_the_likeliest_token_of_smollm2_is_often_not_the_nearest(smollm2):
    run = arm.survey(smollm2, "python-docs", contexts=8, length=64, progress=False)
    found = norm_groups(smollm2, run)["norm_geometry"]
    assert set(found.kind.values) == {"RMSNorm"}
    assert 0.1 < float(found.argmax_agreement) < 0.8
    known = np.isfinite(found.radius_before.values)
    assert found.radius_before.values[known] == pytest.approx(np.full(31, 24), rel=1e-3)
    assert (found.along_ones.values[known] > 1e-3).all(), "an RMSNorm projects on no hyperplane"
