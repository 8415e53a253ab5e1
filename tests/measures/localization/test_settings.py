"""One line of figure 5: means over draws, errors of those means, and deviations that chance explains."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.localization.settings import averaged, simulated_setting
from armillary.measures.localization.simulation import simulated_walks

SMALL = {"draws": 3, "walks": 200, "length": 8, "d_model": 12}


def of(mean=0.1, scale=0.1, isotropic=True, stream=0, **more):
    return simulated_setting(mean, scale, isotropic, stream, **(SMALL | more))


def test_a_setting_is_the_mean_over_its_draws_of_the_matrix():
    each = [simulated_walks(0.1, 0.05, False, 200, 8, 12, seed=seed) for seed in range(3)]
    found = averaged(each, 200)
    for name in ("rho", "rho_exact", "rho_gaussian", "rho_published", "probability", "slope", "entropy", "xi", "eta"):
        np.testing.assert_allclose(getattr(found, name), np.mean([getattr(one, name) for one in each], axis=0))
    assert found.xi_sd == pytest.approx(np.std([one.xi for one in each], ddof=1))
    assert found.trace == pytest.approx(np.mean([one.xi * one.eta for one in each]))
    assert found.published_error == pytest.approx(np.abs(found.rho_published - found.rho).max())
    assert found.probability.sum() == pytest.approx(1)


def test_standard_errors_are_the_scatter_of_repeated_simulations():
    # With scale 0 every draw of W_QK is the same multiple of I, so that walks are all that differs.
    runs = [of(0.03, 0.0, seed=seed, draws=2, walks=60) for seed in range(150)]
    for name in ("entropy", "probability", "slope", "distance", "rho"):
        values = np.array([getattr(run, name) for run in runs])
        errors = np.array([getattr(run, f"{name}_se") for run in runs])
        ratio = values.std(axis=0, ddof=1) / np.sqrt(np.mean(errors**2, axis=0))
        certain = values.mean(axis=0) > 0.98 if name == "rho" else np.zeros(np.shape(ratio), dtype=bool)
        assert np.all((np.abs(ratio - 1) < 0.3) | certain), name


def test_deviations_of_the_exact_law_are_those_of_chance():
    found = [
        of(mean, 0.1, isotropic, stream)
        for stream, mean in enumerate((-0.2, 0.0, 0.1, 0.5))
        for isotropic in (True, False)
    ]
    limit = stats.norm.isf(0.001 / 2 / (8 * len(found)))
    assert max(each.exact_deviation for each in found) < limit
    assert max(each.published_error for each in found) > 0.3
    assert all(each.exact_error < 0.1 for each in found)


def test_a_deviation_counts_in_the_exact_laws_error_where_all_walks_agree():
    one = simulated_walks(0.1, 0.1, True, 100, 4, 6, seed=0)
    agreed = one._replace(rho=np.ones(4), rho_se=np.full(4, 1e-3), rho_exact=np.full(4, 0.98))
    assert averaged([agreed], 100).exact_deviation == pytest.approx(0.02 / np.sqrt(0.98 * 0.02 / 100))


def test_a_large_trace_makes_a_middle_focus_by_clipping_that_the_softmax_does_not_have():
    found = simulated_setting(0.5, 0.1, True, 0, draws=2, walks=50)
    assert (found.regime, found.clipped) == ("middle", True)
    assert found.probability.argmax() == 39
    assert found.probability[39] > 0.8


def test_streams_share_no_walk_and_a_seed_gives_the_same_again():
    first, again, stream, seed = of(), of(), of(stream=1), of(seed=1)
    np.testing.assert_array_equal(first.rho, again.rho)
    assert len({first.entropy, stream.entropy, seed.entropy}) == 3


def test_a_single_draw_has_no_scatter():
    found = of(draws=1)
    assert np.isnan(found.xi_sd)
    assert np.isnan(found.eta_sd)
    assert np.isfinite(found.exact_deviation)
