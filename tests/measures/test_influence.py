"""Tokens that dominate a layer: planted ones are found, hidden ones too, and measures without them are those of the
cloud alone."""

import numpy as np
import pytest

from armillary.measures.influence import influence, participation_ratio, position_share_less_dominant, variance_shares
from armillary.measures.layers import cka, sample_gram
from armillary.measures.massive import first_ratio, position_share_with_first

TOKENS, WIDTH = 200, 40
PLANTED = [3, 50, 120]


@pytest.fixture
def cloud():
    """Two layers that are rotations of one Gaussian cloud."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    states = rng.standard_normal((TOKENS, WIDTH))
    return np.stack([states, states @ rotation])


@pytest.fixture
def dominated(cloud):
    """The same with three tokens of ten times the norm in the second layer, one of them far above the others."""
    states = cloud.copy()
    states[1, PLANTED] *= np.array([8.0, 8.0, 60.0])[:, None]
    return states


def found_in(states, massive=None):
    return influence(states, np.zeros(TOKENS, dtype=bool) if massive is None else massive, 0 if massive is None else 1)


def test_a_cloud_without_such_tokens_has_none_and_every_token_its_even_share(cloud):
    found = found_in(cloud)
    assert not found.dominant.any()
    assert found.dominant_share.tolist() == [0, 0]
    assert found.token_variance_share.sum(axis=1) == pytest.approx(1)
    assert found.token_variance_share.max() < 5 / TOKENS
    assert found.cka_debiased_less_dominant[0, 1] == pytest.approx(1)


def test_planted_tokens_are_found_also_those_that_a_larger_one_hides(dominated):
    assert np.flatnonzero(found_in(dominated).dominant).tolist() == PLANTED
    assert (variance_shares(dominated)[1, PLANTED[:2]] < 10 / TOKENS).all()


def test_without_them_layers_are_as_similar_as_the_cloud_and_as_wide(cloud, dominated):
    found, kept = found_in(dominated), np.delete(np.arange(TOKENS), PLANTED)
    expected = sample_gram(cloud[:, kept])
    assert cka(sample_gram(dominated)).cka_debiased[0, 1] < 0.3
    assert found.cka_debiased_less_dominant == pytest.approx(cka(expected).cka_debiased, abs=1e-9)
    assert found.participation_ratio[1] < 2
    assert found.participation_ratio_less_dominant == pytest.approx(participation_ratio(expected))


def test_the_participation_ratio_is_that_of_the_covariance(cloud):
    values = np.linalg.eigvalsh(np.cov(cloud[0].T))
    assert participation_ratio(sample_gram(cloud))[0] == pytest.approx(values.sum() ** 2 / (values**2).sum())


def test_massive_tokens_that_a_run_left_out_do_not_count(dominated):
    found = found_in(dominated, np.isin(np.arange(TOKENS), PLANTED))
    assert not found.dominant.any()
    assert np.isnan(found.token_variance_share[:, PLANTED]).all()


def test_the_position_share_without_them_is_of_what_is_left():
    assert position_share_less_dominant(0.02, 0.75) == pytest.approx(0.08)


def test_position_0_counts_as_one_more_position_with_its_mean():
    rng = np.random.default_rng(1)
    windows, positions = 12, 9
    states = rng.standard_normal((windows, positions + 1, 5))
    states[:, 0] = 30 * rng.standard_normal(5)  # no spread at position 0, so that the bound is exact
    later = states[:, 1:]
    mean, basis = later.mean((0, 1)), later.mean(0) - later.mean((0, 1))
    squares = np.array([((later - mean) ** 2).sum()])
    whole = states.mean((0, 1))
    expected = windows * ((states.mean(0) - whole) ** 2).sum() / ((states - whole) ** 2).sum()
    group = np.zeros(windows, dtype=np.int64)
    assert position_share_with_first(basis, mean, states[0, 0], squares, group) == pytest.approx(expected)
    assert first_ratio(states[0, 0], 2.0) == pytest.approx(np.linalg.norm(states[0, 0]) / 2)
