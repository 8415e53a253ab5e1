"""Means over pairs of groups: no bias, and an error that is right with and without an effect."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.errors.jackknife import half_width, standard_error
from armillary.measures.pairs import pair_mean, pair_means_without, pair_standard_error

SIZES = np.array([2.0, 3, 1, 4, 2, 2, 5, 3, 1, 4, 2, 3, 2, 4, 1, 3])
EQUAL = (4.0,) * 16


def sums(rng, effect, width=24, sizes=SIZES):
    """Sums of groups of independent vectors with the mean `effect` · e₀ and unit noise."""
    noise = rng.normal(size=(len(sizes), width)) * np.sqrt(sizes)[:, None]
    noise[:, 0] += sizes * effect
    return noise


@functools.cache
def simulated(effect, replicates=2000, sizes=tuple(SIZES)):
    """Pair means, their squared errors and the plain jackknife's, over many clouds."""
    sizes = np.array(sizes)
    rng = np.random.default_rng(1)
    out = np.empty((replicates, 3))
    for row in out:
        total = sums(rng, effect, sizes=sizes)
        kernel = total @ total.T
        mean = pair_mean(kernel, sizes)
        plain = standard_error(pair_means_without(kernel, sizes))
        row[:] = mean, pair_standard_error(kernel, sizes) ** 2, plain**2
    return out.T


@pytest.mark.parametrize("effect", [0.0, 0.3, 2.0])
def test_the_pair_mean_has_no_bias_with_unequal_groups(effect):
    means, _, _ = simulated(effect)
    assert abs(means.mean() - effect**2) < 3 * means.std() / np.sqrt(len(means))
    rng = np.random.default_rng(1)
    plug_in = [np.sum((sums(rng, effect).sum(0) / SIZES.sum()) ** 2) for _ in range(500)]
    assert np.mean(plug_in) - effect**2 > 0.4  # the squared norm of the mean is too large by 24 / 42


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9))
def test_pair_means_are_those_of_a_plain_loop(seed, groups):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, groups).astype(float)
    kernel = rng.normal(size=(groups, groups))
    kernel += kernel.T

    def loop(kept):
        pairs = [(g, h) for g in kept for h in kept if g != h]
        return sum(kernel[g, h] for g, h in pairs) / sum(sizes[g] * sizes[h] for g, h in pairs)

    everyone = list(range(groups))
    assert pair_mean(kernel, sizes) == pytest.approx(loop(everyone))
    expected = [loop([h for h in everyone if h != g]) for g in everyone]
    assert pair_means_without(kernel, sizes) == pytest.approx(np.array(expected))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_the_diagonal_does_not_count_and_the_scale_does(seed, scale):
    rng = np.random.default_rng(seed)
    total = sums(rng, 0.5)
    kernel = total @ total.T
    other = scale * kernel + np.diag(rng.normal(size=len(SIZES)) * 100)
    assert pair_mean(other, SIZES) == pytest.approx(scale * pair_mean(kernel, SIZES))
    assert pair_standard_error(other, SIZES) == pytest.approx(scale * pair_standard_error(kernel, SIZES))


@pytest.mark.parametrize("sizes", [EQUAL, tuple(SIZES)], ids=["equal", "unequal"])
def test_with_a_strong_effect_the_error_is_right_and_so_is_the_jackknifes(sizes):
    means, ours, plain = simulated(3.0, sizes=sizes)
    assert ours.mean() == pytest.approx(means.var(), rel=0.15)
    assert plain.mean() == pytest.approx(means.var(), rel=0.15)


@pytest.mark.parametrize("sizes", [EQUAL, tuple(SIZES)], ids=["equal", "unequal"])
def test_without_an_effect_the_error_is_a_little_wide_where_the_jackknife_doubles(sizes):
    means, ours, plain = simulated(0.0, sizes=sizes)
    assert 1 < ours.mean() / means.var() < 1.6
    assert 1.85 < plain.mean() / means.var() < 2.4


@pytest.mark.parametrize("sizes", [EQUAL, tuple(SIZES)], ids=["equal", "unequal"])
@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0, 3.0])
def test_intervals_cover_with_and_without_an_effect(effect, sizes):
    means, ours, plain = simulated(effect, sizes=sizes)
    reached = np.abs(means - effect**2) / half_width(len(sizes))
    assert 0.905 < np.mean(reached <= np.sqrt(ours)) < 0.995
    if effect == 0:
        assert np.mean(reached <= np.sqrt(plain)) > 0.985


def test_the_variance_without_an_effect_is_the_closed_form():
    means, _, plain = simulated(0.0, sizes=EQUAL)
    closed = 2 * 24 / (16 * 15) / 4**2  # tr Σ² over pairs, twice for the two orders of each pair
    assert means.var() == pytest.approx(closed, rel=0.1)
    # Efron and Stein's excess for a mean over pairs: 2 (n − 1) / (n − 2).
    assert plain.mean() == pytest.approx(closed * 2 * 15 / 14, rel=0.1)


@pytest.mark.parametrize("groups", [2, 3])
def test_fewer_than_four_groups_have_no_error(groups):
    assert np.isnan(pair_standard_error(np.ones((groups, groups)), np.ones(groups)))
    assert not np.isnan(pair_standard_error(np.ones((4, 4)), np.ones(4)))
