"""Incoherence against plain loops, its nulls against rotations and Gaussian draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import ortho_group

from armillary.measures.incoherence import (
    incoherence,
    incoherence_null,
    largest_cosine,
    mean_absolute_cosine,
    null_covariance,
    null_rotation,
)
from armillary.measures.similarity import unit_vectors


def by_loops(position, context):
    return [[abs(p @ c) / np.sqrt((p @ p) * (c @ c)) for p in position] for c in context]


def of(position, context):
    return incoherence(position, context, np.arange(len(context)))


def test_incoherence_is_the_mean_and_the_maximum_of_absolute_cosines_over_all_pairs():
    rng = np.random.default_rng(0)
    position, context = rng.standard_normal((6, 9)), rng.standard_normal((4, 9))
    loops = by_loops(position, context)
    result = of(position, context)
    assert result.incoherence_mean == pytest.approx(np.mean(loops))
    assert result.incoherence_max == pytest.approx(np.max(loops))


def test_the_range_is_that_of_maxima_recomputed_without_each_group():
    rng = np.random.default_rng(1)
    position, context, group = rng.standard_normal((5, 7)), rng.standard_normal((12, 7)), np.arange(12) % 5
    left = [by_loops(position, context[group != name]) for name in range(5)]
    result = incoherence(position, context, group)
    assert result.incoherence_max_low == pytest.approx(min(np.max(loops) for loops in left))
    assert result.incoherence_max_high == pytest.approx(max(np.max(loops) for loops in left))
    assert result.incoherence_max_low < result.incoherence_max_high


def test_one_group_gives_no_range():
    rng = np.random.default_rng(2)
    result = incoherence(rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), np.zeros(5, dtype=int))
    assert np.isfinite([result.incoherence_mean, result.incoherence_max]).all()
    assert np.isnan([result.incoherence_max_low, result.incoherence_max_high]).all()


def test_a_zero_vector_has_no_incoherence_and_no_null():
    zero, context = np.zeros((2, 3)), np.eye(3)
    assert np.isnan(of(zero, context)).all()
    assert np.isnan(incoherence_null(zero, context, np.zeros((3, 3)))).all()


def test_the_measure_gives_both_nulls_by_name():
    rng = np.random.default_rng(3)
    position, context, covariance = rng.standard_normal((6, 8)), rng.standard_normal((5, 8)), np.diag(np.arange(8.0))
    result = incoherence_null(position, context, covariance)
    assert result[:2] == null_rotation(position, context)
    assert result[2:] == null_covariance(covariance, 6, 5)


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
    turned = [of(position, context @ ortho_group.rvs(30, random_state=seed)).incoherence_max for seed in range(400)]
    null = null_rotation(position, context, draws=400)
    error = np.std(turned) * np.sqrt(2 / 400)
    assert null.maximum == pytest.approx(np.mean(turned), abs=4 * error)
    assert null.mean == mean_absolute_cosine(30)


def test_the_random_baseline_of_the_maximum_at_gpt2s_width_is_above_the_published_tenth():
    rng = np.random.default_rng(3)
    drawn = [of(*rng.standard_normal((2, 128, 768))).incoherence_max for _ in range(40)]
    null = null_rotation(*rng.standard_normal((2, 128, 768)), draws=40)
    assert null.maximum == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) * np.sqrt(2 / 40))
    assert min(drawn) > 0.12


def test_the_covariance_null_is_the_incoherence_of_gaussian_vectors_with_that_covariance():
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((12, 12)) * np.exp(-np.arange(12) / 3)
    direct = np.array(
        [of(rng.standard_normal((15, 12)) @ factor.T, rng.standard_normal((10, 12)) @ factor.T)[:2] for _ in range(400)]
    )
    nulls = np.array([null_covariance(factor @ factor.T, 15, 10, seed=seed) for seed in range(400)])
    error = np.sqrt((direct.var(axis=0) + nulls.var(axis=0)) / 400)
    error[0] += 0.006 * direct[:, 0].mean()  # the precision that `chance_cosine` states
    assert (np.abs(nulls.mean(axis=0) - direct.mean(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("spectrum", [np.ones(200), 1 / (1 + np.arange(300)), np.r_[60, np.ones(199)]])
def test_directions_beyond_the_leading_ones_count_in_the_maximum_as_sums(spectrum):
    rng, scale = np.random.default_rng(5), np.sqrt(spectrum)
    direct = [of(*(rng.standard_normal((n, len(scale))) * scale for n in (60, 40))).incoherence_max for _ in range(60)]
    nulls = [null_covariance(np.diag(spectrum), 60, 40, seed=seed).maximum for seed in range(60)]
    error = np.sqrt((np.var(direct) + np.var(nulls)) / 60)
    assert np.mean(nulls) == pytest.approx(np.mean(direct), abs=4 * error)


def test_an_isotropic_covariance_gives_the_rotations_mean_and_an_anisotropic_one_more():
    flat, steep = (null_covariance(sigma, 60, 40) for sigma in (np.eye(200), np.diag(np.exp(-np.arange(200) / 10))))
    assert flat.mean == pytest.approx(mean_absolute_cosine(200), rel=0.05)
    assert steep.mean > 2 * flat.mean


def test_the_largest_cosine_of_random_directions_is_the_predicted_one():
    rng = np.random.default_rng(0)
    first, second = unit_vectors(rng.standard_normal((61, 100, 64))), unit_vectors(rng.standard_normal((61, 80, 64)))
    largest = np.abs(first @ second.swapaxes(1, 2)).max(axis=(1, 2))
    assert np.median(largest) == pytest.approx(largest_cosine(64, 100 * 80), abs=0.015)
