"""The corrected inequalities hold for random matrices; the published ones fail on stated counterexamples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from armillary.measures.localization.bounds import (
    entropy_bound,
    frobenius_bound,
    inverse_norm_bound,
    inverse_trace_bound,
    one_norm_bound,
    score_norm_bound,
    spectral_bound,
    trace_bound,
)

ROTATION = np.array([[0.0, -1.0], [1.0, 0.0]])
ROOM = 1 + 1e-9


def quantities(M, covariance):
    W, inverse = M @ covariance, np.linalg.inv(covariance)
    return {
        "trace": float(np.trace(W)),
        "trace_square": float(np.trace(W @ W)),
        "energy": float(np.trace(W @ M.T @ covariance)),
        "trace_W_QK": float(np.trace(M)),
        "covariance_norm": float(np.linalg.norm(covariance, 2)),
        "spectral_norm": float(np.linalg.norm(M, 2)),
        "frobenius_norm": float(np.linalg.norm(M)),
        "one_norm": float(np.linalg.norm(M, 1)),
        "inverse_frobenius_norm": float(np.linalg.norm(inverse)),
        "inverse_spectral_norm": float(np.linalg.norm(inverse, 2)),
        "d_model": len(M),
    }


BOUNDS = {
    trace_bound: ("trace", "trace_square", "energy", "d_model"),
    spectral_bound: ("trace", "covariance_norm", "spectral_norm", "d_model"),
    frobenius_bound: ("trace", "covariance_norm", "frobenius_norm", "d_model"),
    one_norm_bound: ("frobenius_norm", "one_norm", "d_model"),
    inverse_trace_bound: ("trace_square", "energy", "trace_W_QK", "inverse_frobenius_norm"),
    inverse_norm_bound: ("energy", "trace_W_QK", "spectral_norm", "inverse_spectral_norm"),
}
RANKED = (trace_bound, spectral_bound, frobenius_bound)


def bound_of(function, M, covariance, **options):
    values = quantities(M, covariance)
    return function(**{name: values[name] for name in BOUNDS[function]}, **options)


def drawn(seed, d_model, symmetric, rank):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((d_model, d_model + 1)) * np.exp(rng.standard_normal(d_model))[:, None]
    left, right = rng.standard_normal((2, d_model, rank)) + rng.choice([0.0, 2.0])
    M = left @ right.T
    return (M + M.T) / 2 if symmetric else M, factor @ factor.T


@pytest.mark.parametrize("function", BOUNDS)
@given(seed=st.integers(0, 100_000), d_model=st.integers(1, 9), symmetric=st.booleans())
@settings(max_examples=40)
def test_every_corrected_bound_holds(function, seed, d_model, symmetric):
    bound = bound_of(function, *drawn(seed, d_model, symmetric, d_model))
    assert bound.left_corrected <= bound.right_corrected * ROOM + 1e-12


@pytest.mark.parametrize("function", RANKED)
@given(seed=st.integers(0, 100_000), rank=st.integers(1, 4))
@settings(max_examples=40)
def test_the_rank_may_stand_for_the_dimension(function, seed, rank):
    bound = bound_of(function, *drawn(seed, 7, False, rank), rank=rank)
    assert bound.left_corrected <= bound.right_corrected * ROOM
    whole = bound_of(function, *drawn(seed, 7, False, rank))
    assert bound.right_corrected - bound.left_corrected <= whole.right_corrected - whole.left_corrected


@given(seed=st.integers(0, 100_000), d_model=st.integers(1, 9))
def test_for_symmetric_matrices_the_published_bounds_on_traces_hold(seed, d_model):
    M, covariance = drawn(seed, d_model, True, d_model)
    for function in (trace_bound, inverse_trace_bound):
        bound = bound_of(function, M, covariance)
        assert bound.left_published <= bound.right_published * ROOM
        assert bound.right_published == pytest.approx(bound.right_corrected)


def test_the_published_bound_5_does_not_exist_for_a_rotation_and_fails_near_one():
    assert np.isnan(bound_of(trace_bound, ROTATION, np.eye(2)).right_published)
    turned = np.cos(0.75) * np.eye(2) + np.sin(0.75) * ROTATION
    bound = bound_of(trace_bound, turned, np.eye(2))
    assert bound.left_published > bound.right_published * 2
    assert bound.left_corrected <= bound.right_corrected


@pytest.mark.parametrize("d_model", [4, 128])
def test_the_identity_breaks_both_ends_of_the_published_bound_7_by_the_root_of_d_and_meets_the_corrected_ones(d_model):
    for function in (spectral_bound, one_norm_bound):
        bound = bound_of(function, np.eye(d_model), np.eye(d_model))
        assert bound.left_published == pytest.approx(np.sqrt(d_model) * bound.right_published)
        assert bound.left_corrected == pytest.approx(bound.right_corrected)


@given(seed=st.integers(0, 10_000))
def test_the_published_end_of_bound_7_holds_for_the_sum_of_all_entries(seed):
    M = np.random.default_rng(seed).standard_normal((6, 6))
    bound = one_norm_bound(float(np.linalg.norm(M)), float(np.abs(M).sum()), 6)
    assert bound.left_published <= bound.right_published


def test_a_matrix_without_trace_breaks_the_published_bound_10():
    bound = bound_of(inverse_norm_bound, np.diag([1.0, -1.0]), np.eye(2))
    assert bound.left_published == 1
    assert bound.right_published == 0
    assert bound.left_corrected <= bound.right_corrected


@pytest.mark.parametrize("length", [4, 64, 1024])
def test_the_published_entropy_bound_exceeds_the_largest_entropy(length):
    nu = np.linspace(0.1, 5, 50)
    bound = entropy_bound(nu, length)
    assert (bound.left_published > bound.right_published).all()
    assert (bound.left_corrected <= bound.right_corrected).all()


def test_the_published_entropy_bound_has_a_peak_and_the_corrected_one_falls_throughout():
    nu = np.linspace(0, 30, 301)
    bound = entropy_bound(nu, 64)
    assert 0 < np.argmax(bound.left_published) < 300
    assert bound.left_published.max() == pytest.approx(18.72, abs=0.01)
    assert (np.diff(bound.left_corrected) < 0).all()
    assert bound.left_corrected[0] == pytest.approx(np.log(64))
    share = special.expit(nu * np.sqrt(64 / 63) - np.log(63))
    slope = np.gradient(bound.left_corrected, nu)[1:-1]
    np.testing.assert_allclose(slope, (-nu * share * (1 - share) * 64 / 63)[1:-1], atol=5e-3)


@given(seed=st.integers(0, 100_000), length=st.integers(2, 12), norm=st.floats(0.01, 20))
@settings(max_examples=100)
def test_no_scores_of_a_norm_have_less_entropy_than_the_corrected_bound(seed, length, norm):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(length) * np.exp(rng.choice([0, 2]) * rng.standard_normal(length))
    scores *= norm / np.linalg.norm(scores)
    assert stats.entropy(special.softmax(scores)) >= entropy_bound(norm, length).left_corrected - 1e-9


@pytest.mark.parametrize(("length", "norm"), [(2, 1.0), (5, 0.5), (12, 3.0), (8, 6.0)])
def test_the_corrected_entropy_bound_is_attained(length, norm):
    def entropy(free):
        return stats.entropy(special.softmax(norm * free / np.linalg.norm(free)))

    rng = np.random.default_rng(1)
    least = min(optimize.minimize(entropy, rng.standard_normal(length)).fun for _ in range(6))
    assert least == pytest.approx(entropy_bound(norm, length).left_corrected, abs=1e-5)
    assert least >= entropy_bound(norm, length).left_corrected - 1e-9


@given(seed=st.integers(0, 10_000), temperature=st.floats(0.5, 20))
def test_nu_is_at_least_the_norm_of_the_scores(seed, temperature):
    rng = np.random.default_rng(seed)
    M, states = rng.standard_normal((5, 5)), rng.standard_normal((9, 5))
    nu = score_norm_bound(float(np.linalg.norm(states.T @ states, 2)), float(np.linalg.norm(M, 2)), temperature)
    assert np.linalg.norm(states @ M @ states[-1] / temperature) <= nu * ROOM


def test_a_single_key_is_refused():
    with pytest.raises(ValueError, match="expected at least 2 keys, got 1: the entropy over a single key is 0"):
        entropy_bound(1.0, 1)


def test_bounds_of_many_heads_are_those_of_each():
    heads = [drawn(seed, 5, False, 5) for seed in range(4)]
    values = [quantities(*head) for head in heads]
    for function, names in BOUNDS.items():
        stacked = {name: np.array([value[name] for value in values]) for name in names if name != "d_model"}
        together = function(**stacked, **({"d_model": 5} if "d_model" in names else {}))
        for index, head in enumerate(heads):
            np.testing.assert_allclose([side[index] for side in together], bound_of(function, *head))
