"""Held-out energies against plain loops and known truths; how they cover is in tests/capture/test_coverage.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from armillary.measures.heldout import (
    above,
    fold_energies,
    heldout,
    leading_energy,
    null_point,
    rank_heldout_familywise,
)


def curves(rng, folds=5, positions=9, width=12):
    """Fold means of noise and a common curve, centred over positions."""
    common = 3 * np.outer(np.cos(np.pi * (np.arange(positions) + 0.5) / positions), rng.normal(size=width))
    drawn = common + rng.normal(size=(folds, positions, width))
    return drawn - drawn.mean(1, keepdims=True)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_energies_and_spectra_are_those_of_a_plain_loop_whatever_side_is_shorter(seed, tall):
    rng = np.random.default_rng(seed)
    folds = curves(rng, positions=14, width=6) if tall else curves(rng)
    weights = rng.dirichlet(np.full(5, 5.0))
    terms, spectra, _ = fold_energies(folds, weights, modes := min(folds.shape[1:]))
    for fold in range(5):
        others = sum(weights[g] * folds[g] for g in range(5) if g != fold) / (1 - weights[fold])
        left, singular, _ = np.linalg.svd(others, full_matrices=False)
        for k in range(modes):
            if singular[k] > 1e-6 * singular[0]:
                expected = weights[fold] * (left[:, k] @ folds[fold]) @ (left[:, k] @ others)
                assert terms[fold, k] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert np.allclose(spectra[fold], singular, atol=1e-6 * singular[0])


def test_power_iteration_finds_the_energy_of_the_leading_mode():
    rng = np.random.default_rng(2)
    folds, weights = curves(rng), np.full(5, 0.2)
    weighted = (weights[:, None, None] * folds).astype(np.float32)
    offsets = [0, 3, 1, 8, 5]
    turned = np.stack([np.roll(fold, offset, 0) for fold, offset in zip(weighted, offsets, strict=True)])
    terms, _, _ = fold_energies(turned / weights[:, None, None], weights, 9)
    assert leading_energy(weighted, offsets, turned.sum(0) - turned, weights, rng) == pytest.approx(
        terms.sum(0)[0], rel=1e-3
    )


def test_what_float32_folds_give_is_what_float64_gives():
    rng = np.random.default_rng(6)
    folds, group = 100 * curves(rng, 8, 30, 40), np.repeat(np.arange(16), 2)
    wide, narrow = heldout(folds, group), heldout(folds.astype(np.float32), group)
    assert np.allclose(narrow.energy_heldout, wide.energy_heldout, rtol=0, atol=1e-6 * wide.energy_heldout[0])
    assert narrow.rank_heldout == wide.rank_heldout


@pytest.mark.parametrize("shape", [(8, 20, 30), (8, 30, 20)])
def test_energies_without_a_fold_are_those_of_the_other_folds_alone(shape):
    rng = np.random.default_rng(8)
    group = rng.permutation(np.repeat(np.arange(8), [9, 3, 5, 4, 7, 3, 6, 8]))
    effect = 3 * np.outer(np.cos(np.arange(shape[1])), rng.normal(size=shape[2]))
    folds = effect + rng.normal(size=shape)
    found = heldout(folds, group).energy_heldout_without
    for left in range(8):
        others = group[group != left]
        alone = heldout(np.delete(folds, left, 0), others - (others > left))
        assert found[left] == pytest.approx(alone.energy_heldout[0], rel=1e-4)


def test_the_null_does_not_see_what_the_folds_share():
    rng = np.random.default_rng(3)
    folds, weights = curves(rng), np.full(5, 0.2)
    effect = np.outer(np.arange(9) - 4.0, rng.normal(size=12))
    assert null_point(folds, weights, 0) == pytest.approx(null_point(folds + 100 * effect, weights, 0), rel=1e-3)


def test_the_null_is_as_large_as_the_energies_of_turned_noise():
    rng = np.random.default_rng(4)
    points, energies = [], []
    for _ in range(200):
        noise = rng.normal(size=(8, 16, 24))
        noise -= noise.mean(1, keepdims=True)
        points.append(null_point(noise, np.full(8, 0.125), int(rng.integers(1000))))
        energies.append(fold_energies(noise, np.full(8, 0.125), 2)[0].sum(0).max())
    assert 0.9 <= np.mean(np.array(energies) <= points) <= 1.0
    assert np.mean(np.array(energies) <= np.array(points) / 3) < 0.9


def test_a_planted_rank_is_counted_and_one_fold_says_nothing():
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(size, 3)))[0] for size in (20, 30))
    left = np.linalg.qr(left - left.mean(0))[0]
    effect = 40 * left @ right.T
    group = np.repeat(np.arange(16), 2)
    folds = effect + rng.normal(size=(8, 20, 30))
    found = heldout(folds, group)
    assert (found.rank_heldout, found.rank_heldout_low, found.rank_heldout_high) == (3, 3, 3)
    assert np.allclose(found.energy_heldout[:3], 1600, rtol=0.1)
    alone = heldout(folds[:1], np.zeros(4, int))
    assert np.isnan(alone.energy_heldout).all()
    assert np.isnan(alone.energy_heldout_null)
    assert alone.rank_heldout == 0


def test_only_the_leading_modes_are_counted():
    assert above(np.array([1.0, 5.0, 0.5, 7.0]), 2.0) == 2
    assert above(np.full(40, 3.0), 2.0) == 20
    assert above(np.full(4, np.nan), 2.0) == 0


def test_the_rank_for_all_layers_together_is_by_the_point_of_sidaks_correction():
    """At the L-th root of 95 % noise exceeds the null in no layer in 95 % of all surveys, as Student's t has it."""
    rng = np.random.default_rng(11)
    found, layers = [], 7
    for _ in range(4000):
        spread = np.sqrt(np.mean(rng.standard_normal((layers, 8)) ** 2, 1))
        null = spread * stats.t.ppf(np.sqrt(0.95), 8)
        energy = np.sort(rng.standard_normal((layers, 2)), 1)[:, ::-1]
        found.append([rank_heldout_familywise(energy, null).any(), (energy > null[:, None]).any()])
    jointly, each = np.mean(found, 0)
    assert jointly == pytest.approx(0.05, abs=0.012)
    assert each > 0.2
    assert rank_heldout_familywise(np.full((3, 4), np.nan), np.full(3, np.nan)).tolist() == [0, 0, 0]
