"""How a verdict is reached: by five standard errors, to rounding, by a counterexample, by a rate."""

import numpy as np
import pytest

from armillary.verdicts import deciding
from armillary.verdicts.claim import APPROXIMATE, ASYMPTOTIC, BROKEN, EXACT, FALSE, VACUOUS, VERDICTS


def test_five_standard_errors_decide_between_two_formulas():
    assert deciding.simulated(1.0, 0.1, 1.4, 1.4).verdict == EXACT
    found = deciding.simulated(1.0, 0.1, 1.4, 1.6)
    assert found[:5] == (FALSE, 1.6, 1.4, 1.0, 0.1)
    assert deciding.simulated(1.0, 0.1, 1.6, 1.6).verdict == BROKEN
    assert deciding.simulated(1.0, 0.1, 1.6).verdict == FALSE


def test_one_value_of_many_is_enough_and_the_worst_is_shown():
    measured, error = np.array([1.0, 2.0, 3.0]), np.full(3, 0.01)
    found = deciding.simulated(measured, error, measured, np.array([1.0, 2.2, 3.1]))
    assert (found.verdict, found.published, found.measured) == (FALSE, 2.2, 2.0)


def test_a_value_that_is_not_a_number_never_passes():
    assert deciding.simulated(1.0, 0.1, 1.0, float("nan")).verdict == FALSE
    assert deciding.simulated(1.0, 0.1, float("nan")).verdict == FALSE


def test_identities_hold_to_rounding_of_their_size():
    assert deciding.computed(1e6, 1e6 * (1 + 1e-12)).verdict == EXACT
    assert deciding.computed(1e6, 1e6, 1e6 + 1).verdict == FALSE
    assert deciding.computed(0.0, 0.0).verdict == EXACT


def test_a_refuted_formula_hides_no_failure_of_its_correction():
    refuted, failing = deciding.computed(1.0, 1.0, 2.0), deciding.computed(1.0, 3.0)
    assert deciding.all_of(refuted, deciding.computed(2.0, 2.0)).verdict == FALSE
    assert deciding.all_of(refuted, failing)[:4] == (BROKEN, 3.0, 3.0, 1.0)
    assert deciding.all_of(deciding.computed(1.0, 1.0), failing).verdict == FALSE


def test_an_inequality_falls_with_one_case():
    assert deciding.inequality(np.array([0.3, 1.0])).verdict == EXACT
    assert deciding.inequality(1.0, np.array([0.5, 2.0])).verdict == FALSE
    assert deciding.inequality(1.2, 2.0).verdict == BROKEN


def test_an_approximation_counts_its_error():
    assert deciding.approximate(0.05, 0.1, 0.009).verdict == APPROXIMATE
    assert deciding.approximate(0.05, 0.1, 0.011).verdict == FALSE
    assert np.isnan(deciding.approximate(0.05, 0.1).se)


def test_a_limit_is_a_rate():
    sizes = [10, 100, 1000]
    assert deciding.vanishing(sizes, [0.1, 0.01, 0.001], -1.0).verdict == ASYMPTOTIC
    assert deciding.vanishing(sizes, [0.1, 0.1, 0.1], -1.0).verdict == FALSE


def test_directions_emptiness_and_several_findings():
    assert deciding.direction(0.3, 0.01).verdict == EXACT
    assert deciding.direction(-0.3, 0.01).verdict == FALSE
    assert deciding.direction(0.03, 0.01).verdict == BROKEN
    assert deciding.empty(True, 0.0).verdict == VACUOUS
    holds, fails = deciding.computed(1.0, 1.0), deciding.computed(1.0, 1.0, 2.0)
    assert deciding.all_of(holds, fails) == fails
    assert deciding.otherwise(holds, ASYMPTOTIC).verdict == ASYMPTOTIC
    assert deciding.otherwise(fails, ASYMPTOTIC) == fails
    assert {EXACT, FALSE, BROKEN} <= set(VERDICTS)


@pytest.mark.parametrize("draws", [200, 5000])
def test_means_and_variances_come_with_the_errors_that_they_have(draws):
    rng = np.random.default_rng(0)
    values = rng.exponential(size=(draws, 300))
    for made, truth in ((deciding.mean_and_error, 1.0), (deciding.variance_and_error, 1.0)):
        found, error = made(values)
        assert np.mean(np.abs(found - truth) < 2 * error) > 0.85
