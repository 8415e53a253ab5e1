"""A sweep as a table: means and errors over seeds, and claims answered by their intervals."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.errors.seeds import claimed_change, seed_mean
from armillary.results.sweeping import WITHOUT, WITHOUT_TRACE, swept


def cells(effect):
    rng = np.random.default_rng(0)
    return {
        (scale, trace, seed): {
            "scale_qk": 1 + effect * trace + 0.01 * rng.normal(),
            "trace_qk": trace,
            "entropy": 2 + 0.5 * rng.normal(),
            "signal_propagation": 0.5,
            "perplexity": 30 + trace * effect + 0.01 * rng.normal(),
        }
        for scale in (0.0, 100.0)
        for trace in (0.0, 1.0)
        for seed in range(3)
    }


def test_the_error_is_that_of_a_mean_of_independent_draws():
    values = np.random.default_rng(1).normal(size=(2, 5))
    found = seed_mean(values)
    np.testing.assert_allclose(found.se, stats.sem(values, axis=1))
    assert np.isnan(seed_mean(values[:, :1]).se).all()


def test_a_verdict_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(2)
    for _ in range(200):
        differences = rng.normal(0.8, 1, 4)
        significant = stats.ttest_1samp(differences, 0).pvalue < 0.05
        verdict = claimed_change(differences, 1)
        assert (verdict == "does not hold here") == (not significant)
        assert (verdict == "holds") == (significant and differences.mean() > 0)
    assert claimed_change(np.array([1.0]), 1) == "not determined"


def test_claims_are_answered_against_both_baselines():
    found = swept(cells(-0.5), (0.0, 100.0), (0.0, 1.0), 3)
    assert found.verdict.sel(baseline=WITHOUT_TRACE).values.tolist() == ["holds", "does not hold here", "holds"]
    assert found.verdict.sel(claim="scale shrinks", baseline=WITHOUT).item() == "holds"
    assert found.change.sel(claim="scale shrinks", baseline=WITHOUT_TRACE).item() == pytest.approx(-0.5, abs=0.05)
    opposite = swept(cells(0.5), (0.0, 100.0), (0.0, 1.0), 3)
    assert opposite.verdict.sel(claim="scale shrinks", baseline=WITHOUT_TRACE).item() == (
        "does not hold here: the opposite"
    )


def test_without_a_baseline_no_claim_is_answered():
    found = swept({key: value for key, value in cells(0.1).items() if key[1] == 1.0}, (0.0, 100.0), (1.0,), 3)
    assert found.sizes["baseline"] == 0
