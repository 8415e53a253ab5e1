"""Mutual information by distance of texts whose truth is known: no bias, intervals that cover, a null at 0."""

import numpy as np
import pytest

from armillary.measures.errors.jackknife import half_width
from armillary.measures.errors.leave_out import debiased
from armillary.measures.gaussian.distance import (
    entropy_of,
    information_by_distance,
    information_of,
    information_sets,
    leading_frames,
    needed_windows,
    other_windows,
    pair_scatter,
)
from armillary.measures.gaussian.estimates import information_estimate
from armillary.measures.gaussian.information import gaussian_entropy, mutual_information

CONTEXTS, LENGTH, MODES, GROUPS = 32, 48, 3, 16
GROUP = np.repeat(np.arange(GROUPS), CONTEXTS // GROUPS)
STEP = 0.9 * np.linalg.qr(np.random.default_rng(0).standard_normal((MODES, MODES)))[0]
DOCUMENT = 0.5
"""Standard deviation of what a document adds to all of its tokens."""


def text(rng):
    """Autocorrelated windows, alike within a document, with a mean at each position."""
    states = np.empty((CONTEXTS, LENGTH, MODES))
    states[:, 0] = rng.standard_normal((CONTEXTS, MODES))
    for place in range(1, LENGTH):
        noise = np.sqrt(1 - 0.81) * rng.standard_normal((CONTEXTS, MODES))
        states[:, place] = states[:, place - 1] @ STEP.T + noise
    return states + DOCUMENT * rng.standard_normal((GROUPS, MODES))[GROUP][:, None] + np.arange(LENGTH)[:, None] / 10


def covariance(distance):
    own = (1 + DOCUMENT**2) * np.eye(MODES)
    across = np.linalg.matrix_power(STEP, distance) + DOCUMENT**2 * np.eye(MODES)
    return np.block([[own, across.T], [across, own]])


KEPT = np.ones((CONTEXTS, LENGTH), dtype=bool)


@pytest.mark.parametrize("distance", [1, 8])
def test_intervals_cover_the_truth_in_nine_of_ten_texts_and_plug_in_ones_are_biased(distance):
    truth, reach = mutual_information(covariance(distance), MODES), half_width(GROUPS)
    errors, covered = [], []
    for seed in range(200):
        found = debiased(information_sets(*[text(np.random.default_rng(seed))] * 2, KEPT, GROUP, distance))
        errors.append(float(found.value) - truth)
        covered.append(abs(errors[-1]) < reach * found.se)
    assert 0.9 <= np.mean(covered) <= 0.99
    assert abs(np.mean(errors)) < 0.02


def test_directions_are_found_anew_in_every_set_and_hold_all_information_where_only_they_vary():
    states = text(np.random.default_rng(5))
    wide = np.concatenate([states, 1e-3 * np.random.default_rng(6).standard_normal((CONTEXTS, LENGTH, 4))], axis=2)
    turned = wide @ np.linalg.qr(np.random.default_rng(7).standard_normal((7, 7)))[0]
    distances = np.array([1, 8])
    plain, found = (information_by_distance(each, KEPT, GROUP, distances, MODES) for each in (states, turned))
    np.testing.assert_allclose(found.information, plain.information, atol=1e-3)
    np.testing.assert_allclose(found.information_low, plain.information_low, atol=1e-2)
    np.testing.assert_allclose(found.information_high, plain.information_high, atol=1e-2)
    frames = leading_frames(turned, KEPT, GROUP, 2)
    left = turned[GROUP != 4].reshape(-1, 7)
    own = np.linalg.eigh(np.cov(left.T))[1][:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(np.sum(frames[5] * own, axis=0)), 1, atol=1e-9)


def test_the_null_lies_at_0_and_the_plug_in_above_the_corrected_estimate():
    found = information_by_distance(text(np.random.default_rng(3)), KEPT, GROUP, np.array([1, 4, 16]), 3)
    assert np.abs(found.information_null).max() < 0.1
    assert (found.information_null_high >= found.information_null).all()
    assert found.information[0] > 5 * found.information_null_high[0]
    assert found.information_plug_in[-1] > found.information_null[-1]
    assert (found.information_low < found.information_high).all()


def test_independent_tokens_give_the_estimate_of_independent_samples():
    rng = np.random.default_rng(4)
    first = rng.standard_normal((40, 2, 3))
    first[:, 1] += first[:, 0]
    group = np.repeat(np.arange(8), 5)
    found = information_sets(first, first, np.ones((40, 2), bool), group, 1)
    assert found[0] == pytest.approx(information_estimate(first[:, 0], first[:, 1]).value)
    without = group != 2
    assert found[3] == pytest.approx(information_estimate(first[without, 0], first[without, 1]).value)


def test_tokens_left_out_do_not_count_whatever_they_hold():
    states, kept = text(np.random.default_rng(5)), KEPT.copy()
    kept[3, 7] = kept[20, :5] = False
    wild = np.where(kept[..., None], states, 1e6)
    found = [pair_scatter(values, values, kept, GROUP, 2) for values in (states, wild)]
    np.testing.assert_allclose(found[0].covariance, found[1].covariance)
    assert found[0].degrees[0] == (CONTEXTS - 1) * (LENGTH - 2) - 7
    np.testing.assert_allclose(information_of(found[0], MODES), information_of(found[1], MODES))


def test_the_entropy_is_that_of_one_token():
    sets = [
        entropy_of(pair_scatter(*[text(np.random.default_rng(seed))] * 2, KEPT, GROUP, 1), MODES) for seed in range(40)
    ]
    values = [float(debiased(each).value) for each in sets]
    expected = gaussian_entropy((1 + DOCUMENT**2) * np.eye(MODES))
    assert np.mean(values) == pytest.approx(expected, abs=4 * np.std(values) / np.sqrt(40))


def test_a_window_is_paired_with_one_of_another_document():
    partner = other_windows(GROUP, [0, 0])
    assert sorted(partner) == list(range(CONTEXTS))
    assert (GROUP[partner] != GROUP).all()
    assert set(other_windows(np.array([0, 0, 0, 1]), [0])) <= {-1, 0, 1, 2, 3}


def test_a_singular_covariance_gives_nan():
    states = np.tile(text(np.random.default_rng(6))[..., :1], 2)
    states[..., 1] = 0
    assert np.isnan(information_sets(states, states, KEPT, GROUP, 1)).all()


def test_the_number_of_windows_that_are_needed():
    assert needed_windows(100, 50, 16) == 2
    assert needed_windows(10, 5, 16) == 5
