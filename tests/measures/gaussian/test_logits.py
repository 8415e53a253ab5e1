"""Logits of Gaussian queries and keys agree with the prediction; those of others do not."""

import numpy as np
import pytest

from armillary.measures.errors.jackknife import half_width
from armillary.measures.gaussian.bilinear import bilinear_moments
from armillary.measures.gaussian.gaussianity import detectable_effect
from armillary.measures.gaussian.information import Gaussian
from armillary.measures.gaussian.logits import logit_moments

CONTEXTS, LENGTH, WIDTH, GROUPS = 32, 24, 4, 16
GROUP = np.repeat(np.arange(GROUPS), CONTEXTS // GROUPS)
KEPT = np.ones((CONTEXTS, LENGTH), dtype=bool)
RNG = np.random.default_rng(0)
W_Q, W_K = RNG.standard_normal((2, WIDTH, WIDTH)) / 2
STEP = 0.7 * np.linalg.qr(RNG.standard_normal((WIDTH, WIDTH)))[0]
FORMS = np.stack([np.eye(WIDTH), RNG.standard_normal((WIDTH, WIDTH))])
DISTANCES = np.array([0, 3])


def inputs(rng):
    states = np.empty((CONTEXTS, LENGTH, WIDTH))
    states[:, 0] = rng.standard_normal((CONTEXTS, WIDTH))
    for place in range(1, LENGTH):
        states[:, place] = states[:, place - 1] @ STEP.T + np.sqrt(0.51) * rng.standard_normal((CONTEXTS, WIDTH))
    return states + 0.3 * rng.standard_normal((GROUPS, WIDTH))[GROUP][:, None] + np.sin(np.arange(LENGTH))[:, None]


def moments(states, kept=KEPT):
    return logit_moments(states @ W_Q.T, states @ W_K.T, kept, GROUP, FORMS, DISTANCES)


def test_for_gaussian_tokens_intervals_of_the_ratio_cover_1():
    found = [moments(inputs(np.random.default_rng(seed))) for seed in range(200)]
    ratios, errors = (np.array([getattr(one, name) for one in found]) for name in ("log_ratio", "log_ratio_se"))
    assert np.abs(ratios.mean(0)).max() < 0.02
    covered = np.mean(np.abs(ratios) < half_width(GROUPS) * errors, axis=0)
    assert ((covered >= 0.9) & (covered <= 0.99)).all()
    excess = np.array([one.excess_kurtosis - one.excess_predicted for one in found])
    assert ((excess.mean(0) > -0.8) & (excess.mean(0) < 0.05)).all()  # plug-in: too small where windows are few


def test_the_prediction_is_the_closed_form_of_the_law_behind_the_tokens():
    found = [moments(inputs(np.random.default_rng(seed))) for seed in range(60)]
    across = np.linalg.matrix_power(STEP, 3) + 0.09 * np.eye(WIDTH)  # Cov(x_{t+3}, x_t)
    own = 1.09 * np.eye(WIDTH)
    law = np.block([[W_Q @ own @ W_Q.T, W_Q @ across @ W_K.T], [W_K @ across.T @ W_Q.T, W_K @ own @ W_K.T]])
    means = np.sin(np.arange(LENGTH))[:, None] * np.ones(WIDTH)
    places = [
        bilinear_moments(FORMS[1], Gaussian(np.concatenate([W_Q @ means[t + 3], W_K @ means[t]]), law))
        for t in range(LENGTH - 3)
    ]
    expected_mean, expected = np.mean(places, axis=0)
    for name in ("variance", "variance_predicted"):
        values = np.array([getattr(one, name)[1] for one in found])
        assert values.mean() == pytest.approx(expected, abs=4 * values.std() / np.sqrt(60))
    values = np.array([one.mean_predicted[1] for one in found])
    assert values.mean() == pytest.approx(expected_mean, abs=4 * values.std() / np.sqrt(60))
    assert found[0].mean == pytest.approx(found[0].mean_predicted, abs=0.1)


def test_tokens_of_uneven_length_have_logits_that_no_gaussian_has():
    rng = np.random.default_rng(1)
    found = moments(rng.standard_normal((CONTEXTS, LENGTH, WIDTH)) * rng.exponential(size=(CONTEXTS, LENGTH, 1)))
    assert found.log_ratio[0] > 4 * found.log_ratio_se[0]
    assert found.excess_kurtosis_low[0] > found.excess_predicted[0]
    assert found.excess_kurtosis_low[0] <= found.excess_kurtosis[0] <= found.excess_kurtosis_high[0]
    assert found.log_ratio_detectable[0] == pytest.approx(detectable_effect(found.log_ratio_se[0], GROUPS - 1))


def test_tokens_left_out_do_not_count():
    states, kept = inputs(np.random.default_rng(2)), KEPT.copy()
    kept[3, 7] = False
    wild = states.copy()
    wild[3, 7] = 1e3
    for name, one in moments(states, kept)._asdict().items():
        np.testing.assert_allclose(one, getattr(moments(wild, kept), name), rtol=1e-6, atol=1e-9)
