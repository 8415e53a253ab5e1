"""Maps, marginals and conditionals of joint Gaussians against simulation and the chain rule."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.gaussian.information import Gaussian, gaussian_entropy, mutual_information
from armillary.measures.gaussian.joint import (
    conditional,
    each_token,
    ellipsoid_volume,
    entropy_change,
    kept_information,
    mapped,
    marginal,
    row_space,
)

RNG = np.random.default_rng(0)
ROOT = RNG.standard_normal((6, 9))
LAW = Gaussian(RNG.standard_normal(6), ROOT @ ROOT.T / 6)


def test_a_mapped_law_is_that_of_mapped_draws():
    map, offset = RNG.standard_normal((2, 6)), RNG.standard_normal(2)
    draws = stats.multivariate_normal(LAW.mean, LAW.covariance).rvs(100_000, random_state=0) @ map.T + offset
    found = mapped(LAW, map, offset)
    np.testing.assert_allclose(draws.mean(0), found.mean, atol=0.1)
    np.testing.assert_allclose(np.cov(draws.T), found.covariance, rtol=0.05, atol=0.1)


def test_a_map_of_every_token_keeps_mutual_information_and_adds_log_det_to_each_entropy():
    map = RNG.standard_normal((3, 3))
    moved = mapped(LAW, each_token(map, 2))
    assert mutual_information(moved.covariance, 3) == pytest.approx(mutual_information(LAW.covariance, 3))
    first = marginal(moved, np.arange(3)).covariance
    before = gaussian_entropy(LAW.covariance[:3, :3])
    assert gaussian_entropy(first) - before == pytest.approx(entropy_change(map))
    assert entropy_change(np.zeros((2, 2))) == -np.inf


def test_the_conditional_is_the_ratio_of_densities():
    known, values = np.array([1, 4]), np.array([0.3, -0.7])
    rest = np.array([0, 2, 3, 5])
    given = conditional(LAW, known, values)
    point = np.zeros(6)
    point[known], point[rest] = values, [0.1, 0.2, 0.3, 0.4]
    joint = stats.multivariate_normal(LAW.mean, LAW.covariance).logpdf(point)
    alone = stats.multivariate_normal(*marginal(LAW, known)).logpdf(values)
    expected = stats.multivariate_normal(*given).logpdf(point[rest])
    assert joint - alone == pytest.approx(expected)


def test_knowing_the_previous_token_lowers_the_entropy_by_the_mutual_information():
    given = conditional(LAW, np.arange(3), np.zeros(3))
    drop = gaussian_entropy(LAW.covariance[3:, 3:]) - gaussian_entropy(given.covariance)
    assert drop == pytest.approx(mutual_information(LAW.covariance, 3))


def test_low_rank_maps_lose_mutual_information_and_wider_ones_lose_less():
    map = RNG.standard_normal((3, 3))
    kept = [kept_information(LAW.covariance, 3, map[:rank], map[:rank]) for rank in (1, 2, 3)]
    assert kept[0].after < kept[1].after < kept[2].after
    assert kept[2].after == pytest.approx(kept[2].before)


def test_a_map_with_more_outputs_than_rank_keeps_what_its_rows_keep():
    map = RNG.standard_normal((5, 2)) @ RNG.standard_normal((2, 3))
    assert row_space(map).shape == (2, 3)
    wide, thin = (kept_information(LAW.covariance, 3, part, part) for part in (map, row_space(map)))
    assert wide.after == pytest.approx(thin.after)


def test_the_volume_of_an_ellipsoid_grows_with_the_determinant():
    assert ellipsoid_volume(np.diag([1.0, 4.0])) == pytest.approx(2 * np.pi)
    assert ellipsoid_volume(np.eye(3), radius=2) == pytest.approx(4 / 3 * np.pi * 8)
