import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import ortho_group

from armillary.measures.incoherence import (
    incoherence,
    incoherence_null_covariance,
    incoherence_null_rotation,
    mean_absolute_cosine,
    theorem2,
    theorem2_bound,
)


def test_incoherence_is_the_mean_and_the_maximum_of_absolute_cosines_over_all_pairs():
    rng = np.random.default_rng(0)
    position, context = rng.standard_normal((6, 9)), rng.standard_normal((4, 9))
    loops = [abs(p @ c) / np.sqrt((p @ p) * (c @ c)) for p in position for c in context]
    result = incoherence(position, context)
    assert result.incoherence_mean == pytest.approx(np.mean(loops))
    assert result.incoherence_max == pytest.approx(np.max(loops))


def test_a_zero_vector_has_no_incoherence_and_no_null():
    zero, context = np.zeros((2, 3)), np.eye(3)
    assert np.isnan(incoherence(zero, context)).all()
    assert np.isnan(incoherence_null_rotation(zero[None], context[None])).all()
    assert np.isnan(incoherence_null_covariance(np.zeros((1, 3, 3)), 2, 3)).all()
    assert np.isnan(theorem2(zero, context, np.eye(3))).all()


@pytest.mark.parametrize("d_model", [3, 10, 768])
def test_the_mean_absolute_cosine_is_the_integral_over_the_sphere(d_model):
    weight = quad(lambda x: (1 - x**2) ** ((d_model - 3) / 2), 0, 1, points=[0.1])[0]
    integral = quad(lambda x: x * (1 - x**2) ** ((d_model - 3) / 2), 0, 1, points=[0.1])[0]
    assert mean_absolute_cosine(d_model) == pytest.approx(integral / weight)
    assert mean_absolute_cosine(d_model) == pytest.approx(np.sqrt(2 / (np.pi * d_model)), rel=0.3 / d_model)


@pytest.mark.parametrize("contexts", [8, 40])
def test_the_rotation_null_is_the_incoherence_after_haar_rotations(contexts):
    rng = np.random.default_rng(1)
    position = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 30))
    context = rng.standard_normal((contexts, 30)) * np.linspace(3, 0.1, 30)
    context -= context.mean(axis=0)
    turned = [
        incoherence(position, context @ ortho_group.rvs(30, random_state=seed)).incoherence_max for seed in range(400)
    ]
    null = incoherence_null_rotation(position[None], context[None], draws=400)
    error = np.std(turned) * np.sqrt(2 / 400)
    assert null.incoherence_max_null[0] == pytest.approx(np.mean(turned), abs=4 * error)
    assert null.incoherence_mean_null[0] == mean_absolute_cosine(30)


def test_layers_of_the_rotation_null_are_those_of_each_layer_alone():
    rng = np.random.default_rng(2)
    position, context = rng.standard_normal((3, 10, 20)), rng.standard_normal((3, 6, 20))
    together = incoherence_null_rotation(position, context).incoherence_max_null
    alone = [
        incoherence_null_rotation(p[None], c[None]).incoherence_max_null[0]
        for p, c in zip(position, context, strict=True)
    ]
    np.testing.assert_allclose(together, alone)


def test_the_random_baseline_of_the_maximum_at_gpt2s_width_is_above_the_published_tenth():
    rng = np.random.default_rng(3)
    drawn = [incoherence(*rng.standard_normal((2, 128, 768))).incoherence_max for _ in range(40)]
    null = incoherence_null_rotation(rng.standard_normal((1, 128, 768)), rng.standard_normal((1, 128, 768)), draws=40)
    assert null.incoherence_max_null[0] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) * np.sqrt(2 / 40))
    assert min(drawn) > 0.12


def test_the_covariance_null_is_the_incoherence_of_gaussian_vectors_with_that_covariance():
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((12, 12)) * np.exp(-np.arange(12) / 3)
    direct = np.array(
        [
            incoherence(rng.standard_normal((15, 12)) @ factor.T, rng.standard_normal((10, 12)) @ factor.T)
            for _ in range(400)
        ]
    )
    null = incoherence_null_covariance((factor @ factor.T)[None], 15, 10, draws=400)
    error = direct.std(axis=0) * np.sqrt(2 / 400)
    assert null.incoherence_mean_null[0] == pytest.approx(direct[:, 0].mean(), abs=4 * error[0])
    assert null.incoherence_max_null[0] == pytest.approx(direct[:, 1].mean(), abs=4 * error[1])


def test_an_isotropic_covariance_gives_the_rotations_mean_and_an_anisotropic_one_more():
    flat, steep = np.eye(200), np.diag(np.exp(-np.arange(200) / 10))
    null = incoherence_null_covariance(np.stack([flat, steep]), 60, 40)
    assert null.incoherence_mean_null[0] == pytest.approx(mean_absolute_cosine(200), rel=0.05)
    assert null.incoherence_mean_null[1] > 2 * null.incoherence_mean_null[0]


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
