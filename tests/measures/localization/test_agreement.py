"""Rank correlation over heads against scipy's, and an error that sees that heads of a block are alike."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.errors.jackknife import half_width
from armillary.measures.localization.agreement import agreement, entropy_agreement, rank_correlation, rho_agreement


def test_the_correlation_is_spearmans():
    one, other = np.random.default_rng(0).integers(0, 9, (2, 40)).astype(float)
    assert rank_correlation(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)


def test_heads_that_are_not_known_do_not_count():
    one, other = np.random.default_rng(1).standard_normal((2, 6, 4))
    one[2, 1] = other[4] = np.nan
    known = np.isfinite(one + other)
    assert agreement(one, other)[0] == pytest.approx(stats.spearmanr(one[known], other[known]).statistic)


def test_intervals_cover_where_heads_of_a_block_are_alike():
    rng, covered = np.random.default_rng(2), []
    for _ in range(300):
        shared = rng.standard_normal((2, 20, 1))
        one, other = shared + 0.7 * rng.standard_normal((2, 20, 8))
        value, error = agreement(one, other)
        covered.append(abs(value) < half_width(20) * error)
    assert 0.90 < np.mean(covered) < 0.99


def test_without_variation_or_blocks_there_is_no_correlation_or_error():
    constant, varying = np.ones((5, 3)), np.arange(15.0).reshape(5, 3)
    assert np.isnan(agreement(constant, varying)[0])
    assert np.isnan(agreement(varying[:3], varying[:3])[1])
    assert np.isnan(rank_correlation(np.ones(2), np.ones(2)))


def test_predictions_are_the_mean_over_places_and_eta():
    rng = np.random.default_rng(3)
    rho, measured = rng.random((6, 4, 9)), rng.random((6, 4))
    assert rho_agreement(rho, measured) == agreement(rho.mean(-1), measured)
    assert entropy_agreement(rho[..., 0], measured) == agreement(rho[..., 0], measured)
