"""Theorem 2: the constant is attained, the bound is never passed, the departure is that of the kernels written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures import kernels
from armillary.measures.incoherence import incoherence
from armillary.measures.kernels import excess_of, kernel_departure, largest_departure, theorem2, theorem2_bound


@pytest.mark.parametrize("iota", [0.01, 0.1, 0.3])
def test_theorem_2s_constant_is_attained(iota):
    context = np.array([[1.0, 0.0, 0.0]])
    position = np.array([[iota, np.sqrt(1 - iota**2), 0.0]])
    both = context + position
    result = theorem2(position, context, 3 * both.T @ both)
    assert theorem2_bound(3.0, iota) == pytest.approx(12 * (2 * iota + iota**2))
    assert result.bound == pytest.approx(theorem2_bound(3.0, iota))
    assert result.departure == pytest.approx(result.bound)


def test_orthogonal_bases_factorise_exactly():
    rng = np.random.default_rng(5)
    frame = np.linalg.qr(rng.standard_normal((20, 12)))[0].T
    position, context = rng.standard_normal((9, 7)) @ frame[:7], rng.standard_normal((6, 5)) @ frame[7:]
    result = theorem2(position, context, rng.standard_normal((20, 20)))
    assert result.departure < 1e-11
    assert result.bound < 1e-10


@given(seed=st.integers(0, 10_000), length=st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_the_departure_never_exceeds_theorem_2s_bound(seed, length):
    rng = np.random.default_rng(seed)
    position, context = rng.standard_normal((5, 16)) * length, rng.standard_normal((4, 16))
    result = theorem2(position, context, rng.standard_normal((16, 16)))
    assert 0 < result.departure <= result.bound


def test_the_departure_is_the_log_ratio_of_the_kernels_written_out():
    rng = np.random.default_rng(6)
    position, context, W = rng.standard_normal((3, 9)), rng.standard_normal((2, 9)), rng.standard_normal((9, 9))
    # The vectors are independent, so each part of W is fixed by the dual vectors of one half of the joint basis.
    basis = np.concatenate([context, position])
    dual = np.linalg.pinv(basis)
    halves = {"c": slice(0, 2), "t": slice(2, 5)}
    projection = {name: basis[half].T @ dual[:, half].T for name, half in halves.items()}
    parts = {a + b: projection[a] @ W @ projection[b].T for a in "ct" for b in "ct"}
    worst = 0.0
    for c in context:
        for t in position:
            for u in position:
                target = c @ parts["cc"] @ c + c @ parts["ct"] @ u + t @ parts["tc"] @ c + t @ parts["tt"] @ u
                worst = max(worst, abs((c + t) @ W @ (c + u) - target))
    assert theorem2(position, context, W).departure == pytest.approx(worst)


def run_of(seed, positions=7, contexts=6, d_model=12, common=0.0):
    """Two bases that share a direction more or less, and their largest cosine."""
    rng = np.random.default_rng(seed)
    position, context = rng.standard_normal((positions, d_model)), rng.standard_normal((contexts, d_model))
    position[:, 0] += common
    context[:, 0] += common
    return position, context, incoherence(position, context, np.arange(contexts)).incoherence_max


@given(seed=st.integers(0, 10_000), d_model=st.integers(1, 40), common=st.floats(0, 5), positions=st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_random_sparse_kernels_never_pass_theorem_2s_bound(seed, d_model, common, positions):
    result = kernel_departure(*run_of(seed, positions, 4, d_model, common))
    assert 0 <= result.kernel_departure <= result.kernel_bound * (1 + 1e-12)


def test_the_kernels_departure_is_that_of_kernels_built_from_unit_vectors_and_written_out(monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", 1)
    position, context, iota = run_of(3)
    result = kernel_departure(position, context, iota)
    c_unit, t_unit = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (context, position))
    # The same draws as in the measure: four contexts, four positions, four signs.
    rng = np.random.default_rng(0)
    of_context, of_position = rng.integers(6, size=(1, 4))[0], rng.integers(6, 13, size=(1, 4))[0] - 6
    signs = rng.choice([-1.0, 1.0], size=(1, 4))[0]
    left = [c_unit[of_context[0]], c_unit[of_context[1]], t_unit[of_position[0]], t_unit[of_position[1]]]
    right = [c_unit[of_context[2]], t_unit[of_position[2]], c_unit[of_context[3]], t_unit[of_position[3]]]
    cc, ct, tc, tt = (sign * np.outer(u, v) for sign, u, v in zip(signs, left, right, strict=True))
    worst = 0.0
    for c in c_unit:
        for t in t_unit:
            for u in t_unit:
                target = c @ cc @ c + c @ ct @ u + t @ tc @ c + t @ tt @ u
                worst = max(worst, abs((c + t) @ (cc + ct + tc + tt) @ (c + u) - target))
    assert result.kernel_departure == pytest.approx(worst)
    assert result.kernel_bound == pytest.approx(4 * (2 * iota + iota**2))


def test_orthogonal_bases_have_kernels_that_factorise_and_a_zero_vector_has_none():
    frame = np.linalg.qr(np.random.default_rng(7).standard_normal((20, 9)))[0].T
    result = kernel_departure(frame[:5], frame[5:], incoherence(frame[:5], frame[5:], np.arange(4)).incoherence_max)
    assert result.kernel_departure < 1e-13
    assert np.isnan(kernel_departure(frame[:5], 0 * frame[5:], float("nan"))).all()


@given(seed=st.integers(0, 10_000), contexts=st.integers(1, 6), positions=st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_the_search_for_the_largest_departure_misses_no_context(seed, contexts, positions):
    excess = np.random.default_rng(seed).standard_normal((contexts + positions, contexts + positions))
    worst = max(
        abs(excess[c, c] + excess[t, c] + excess[c, u] + excess[t, u])
        for c in range(contexts)
        for t in range(contexts, contexts + positions)
        for u in range(contexts, contexts + positions)
    )
    assert largest_departure(excess, contexts) == pytest.approx(worst)


def test_a_term_adds_nothing_beyond_its_own_block_where_the_other_kind_is_orthogonal_to_it():
    inner = np.zeros((2, 8))
    inner[0, [0, 1, 4, 6]] = inner[1, [2, 3, 5, 7]] = 1  # one context, one position, orthogonal
    assert not excess_of(inner, 1).any()
    inner[0, 2] = 0.1  # the context leans towards the position of the block tc
    np.testing.assert_allclose(excess_of(inner, 1), [[0.1, 0], [0, 0]])
