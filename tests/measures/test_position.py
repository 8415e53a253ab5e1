"""The strength of the position basis on clouds whose truth is known: plug-in, corrected, and what its error covers."""

import numpy as np
import pytest
from fields import alike
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from armillary.measures.errors.jackknife import standard_error
from armillary.measures.heldout import heldout
from armillary.measures.pairs import pair_mean, pair_standard_error
from armillary.measures.position import leading_variance, position_effect, position_share

POSITIONS, WIDTH, CONTEXTS = 32, 48, 64
SPREAD = 1 / np.sqrt(1 + np.arange(WIDTH) / 4)
SPREAD /= np.sqrt(np.mean(SPREAD**2))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with threadpool_limits(1):
        yield


def waves(strength, positions=POSITIONS, width=WIDTH):
    """A position effect of rank 3: three cosines of falling size along fixed orthogonal directions."""
    along = (np.arange(positions) + 0.5) / positions
    cosines = np.stack([np.cos(np.pi * (k + 1) * along) / (k + 1) for k in range(3)], 1)
    directions = np.linalg.qr(np.random.default_rng(7).normal(size=(width, 3)))[0]
    return strength * cosines @ directions.T


def smooth(rng, count, rho=0.8):
    """Stationary AR(1) noise along the text, unlike in different directions."""
    drawn = rng.normal(size=(count, POSITIONS, WIDTH))
    drawn[:, 1:] *= np.sqrt(1 - rho**2)
    return SPREAD * lfilter([1], [1, -rho], drawn, axis=1)


def folded(means, sizes, folds=8):
    """Means over folds of groups, as a survey deals them out."""
    dealt = [np.arange(len(sizes))[fold::folds] for fold in range(min(folds, len(sizes)))]
    return np.stack([np.average(means[own], axis=0, weights=sizes[own]) for own in dealt])


def inputs(states, group, rng):
    """What a survey hands to `position_effect`, from a full table."""
    contexts, positions, _ = states.shape
    centred = states - states.mean((0, 1))
    sizes = np.bincount(group)
    means = np.stack([centred[group == g].mean(0) for g in range(len(sizes))])
    sums = sizes[:, None, None] * (means - means.mean(1, keepdims=True))
    turned = [np.roll(one, turn, 0) for one, turn in zip(centred, rng.integers(positions, size=contexts), strict=True)]
    held = heldout(folded(means, sizes), group)
    return {
        "position_kernel": np.einsum("gtd,htd->gh", sums, sums),
        "energy_heldout": held.energy_heldout,
        "energy_heldout_without": held.energy_heldout_without,
        "position_basis": centred.mean(0),
        "position_null": np.mean(turned, 0),
        "leading_groups": np.stack([leading_products(centred[group == g]) for g in range(len(sizes))]),
        "covariance": np.tensordot(centred, centred, ((0, 1), (0, 1))) / (contexts * positions),
        "squares": np.array([np.sum(centred[group == g] ** 2) for g in range(len(sizes))]),
        "group": group,
    }


def leading_products(states, width=16):
    """Second moments in a frame that holds all that varies, or the first coordinates of it."""
    flat = states.reshape(-1, states.shape[-1])[:, :width]
    return flat.T @ flat


def measured(states, group, rng=None):
    return position_effect(**inputs(states, group, rng or np.random.default_rng(0)))


def unequal(contexts, groups, rng):
    """Groups of unequal size, none empty."""
    return np.sort(np.concatenate([np.arange(groups), rng.integers(groups, size=contexts - groups)]))


def independent(strength, replicates, contexts=CONTEXTS):
    """Effects measured on clouds of independent documents of one window each, in 16 groups."""
    group = np.arange(contexts) * 16 // contexts
    for seed in range(replicates):
        rng = np.random.default_rng([seed, 1])
        yield measured(waves(strength) + smooth(rng, contexts), group, rng)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_plug_in_values_are_those_of_the_full_stacked_matrices(seed):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(12, 7, 9)) + rng.normal(size=(7, 9)) + rng.normal(size=(12, 1, 9)) + 3
    got = measured(states, unequal(12, 5, rng))
    centred = states - states.mean((0, 1))
    position = np.broadcast_to(centred.mean(0), states.shape)
    stacked, whole = position.reshape(-1, 9), centred.reshape(-1, 9)
    assert got.relative_norm == pytest.approx(np.linalg.norm(stacked, 2) / np.linalg.norm(whole, 2))
    singular = np.linalg.svd(centred.mean(0), compute_uv=False)
    assert got.rank_stable == pytest.approx(np.sum(singular**2) / singular[0] ** 2)
    assert np.allclose(got.singular_value, singular, atol=1e-6 * singular[0])
    assert 0 <= got.relative_norm <= 1
    assert 1 <= got.rank_stable <= 6


def test_the_null_is_measured_like_the_basis():
    rng = np.random.default_rng(0)
    arrays = inputs(rng.normal(size=(12, 7, 9)), unequal(12, 5, rng), rng)
    got = position_effect(**{**arrays, "position_null": arrays["position_basis"]})
    assert got.rank_stable_null == pytest.approx(got.rank_stable)
    assert got.relative_norm_null == pytest.approx(got.relative_norm)
    assert got.share_null == pytest.approx(12 * np.sum(arrays["position_basis"] ** 2) / np.sum(arrays["squares"]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_corrected_share_is_the_trace_of_the_unbiased_gram(seed):
    rng = np.random.default_rng(seed)
    states, group = rng.normal(size=(14, 6, 5)), unequal(14, 5, rng)
    centred = states - states.mean((0, 1))
    sums = [centred[group == g].sum(0) for g in range(5)]
    sums = [one - one.mean(0) for one in sums]
    gram = sum(sums) @ sum(sums).T - sum(one @ one.T for one in sums)
    gram /= 14**2 - sum(np.sum(group == g) ** 2 for g in range(5))
    expected = np.trace(gram) / (6 * np.sum(centred**2) / (14 * 6))
    arrays = inputs(states, group, rng)
    got = position_effect(**arrays)
    assert got.share_corrected == pytest.approx(expected)
    names = ("position_kernel", "position_basis", "squares", "group")
    alone = position_share(**{name: arrays[name] for name in names})
    alike(alone, (got.share_corrected, got.share_corrected_se, got.share_corrected_without))
    assert standard_error(got.share_corrected_without) == pytest.approx(got.share_corrected_se)


def test_heldout_energy_is_that_of_a_plain_loop_over_folds():
    rng = np.random.default_rng(1)
    states, group = waves(2.0, 9, 11) + rng.normal(size=(30, 9, 11)), unequal(30, 11, rng)
    arrays = inputs(states, group, rng)
    got = arrays["energy_heldout"][:4]
    centred = states - states.mean((0, 1))
    centred = centred - centred.mean(1, keepdims=True)
    expected = np.zeros(4)
    for fold in range(8):
        out = group % 8 == fold
        inside, others = centred[out].sum(0), centred[~out].mean(0)
        modes = np.linalg.svd(others)[0].T
        for k in range(4):
            expected[k] += (modes[k] @ inside) @ (modes[k] @ others) / 30
    assert np.allclose(got, expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_turning_and_scaling_the_space_changes_only_the_units(seed, scale):
    rng = np.random.default_rng(seed)
    states, group = waves(4.0, 8, 10) + rng.normal(size=(20, 8, 10)), unequal(20, 6, rng)
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    plain = measured(states, group)._asdict()
    moved = measured(scale * states @ turn + 5, group)._asdict()
    powers = {"singular_value": 1, "energy_heldout": 2}
    for name, value in plain.items():
        expected = np.asarray(value) * scale ** powers.get(name, 0)
        close = 1e-4 if name.endswith("_se") else 1e-5  # an error follows a mode that two power steps find
        assert np.allclose(moved[name], expected, rtol=close, atol=1e-6 * np.max(expected), equal_nan=True), name


def test_the_corrected_share_is_the_truth_on_average_where_the_plain_one_is_too_large():
    strength = 1.0
    truth = np.mean(np.sum(waves(strength) ** 2, 1)) / (WIDTH + np.mean(np.sum(waves(strength) ** 2, 1)))
    found = list(independent(strength, 120))
    corrected = np.array([one.share_corrected for one in found])
    error = corrected.std() / np.sqrt(len(corrected))
    assert abs(corrected.mean() - truth) < 3 * error
    rng = np.random.default_rng(0)
    plain = []
    for _ in range(40):
        states = waves(strength) + smooth(rng, CONTEXTS)
        centred = states - states.mean((0, 1))
        plain.append(CONTEXTS * np.sum(centred.mean(0) ** 2) / np.sum(centred**2))
    assert np.mean(plain) - truth > 10 * error


def test_heldout_energy_is_the_squared_singular_value_where_the_plain_one_is_too_large():
    strength = 2.0
    truth = np.linalg.svd(waves(strength), compute_uv=False)[0] ** 2
    group = np.arange(CONTEXTS) * 16 // CONTEXTS
    found = []
    for seed in range(120):
        rng = np.random.default_rng([seed, 1])
        arrays = inputs(waves(strength) + smooth(rng, CONTEXTS), group, rng)
        found.append((position_effect(**arrays), arrays["energy_heldout"][0]))
    corrected = np.mean([energy for _, energy in found])
    plain = np.mean([one.singular_value[0] ** 2 for one, _ in found])
    assert corrected == pytest.approx(truth, rel=0.03)
    assert plain > 1.05 * truth


def test_a_missing_effect_has_no_stable_rank_and_no_share_on_average():
    found = list(independent(0.0, 100))
    ranks = np.array([one.rank_stable_corrected for one in found])
    assert np.isnan(ranks).mean() >= 0.9
    assert np.array_equal(np.isnan(ranks), np.isnan([one.rank_stable_corrected_se for one in found]))
    assert np.array_equal(np.isnan(ranks), np.isnan([one.relative_norm_corrected for one in found]))
    shares = np.array([one.share_corrected for one in found])
    assert abs(shares.mean()) < 3 * shares.std() / 10
    assert (shares < 0).mean() > 0.3  # a share of nothing scatters around zero, and is not clipped


def test_a_stable_rank_is_answered_three_standard_errors_above_nothing_and_not_below():
    answered = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 3])
        group = np.arange(CONTEXTS) * 16 // CONTEXTS
        arrays = inputs(waves(0.6) + smooth(rng, CONTEXTS), group, rng)
        sizes = np.bincount(group).astype(float)
        kernel = arrays["position_kernel"]
        clear = pair_mean(kernel, sizes) > 3 * pair_standard_error(kernel, sizes)
        clear &= arrays["energy_heldout"][0] > 3 * standard_error(arrays["energy_heldout_without"])
        assert np.isnan(position_effect(**arrays).rank_stable_corrected) == (not clear)
        answered.append(clear)
    assert 5 < sum(answered) < 50


def test_the_turned_windows_show_what_smooth_noise_alone_shows():
    found = list(independent(0.0, 60))
    basis = np.array([np.sum(one.singular_value**2) for one in found])
    null = np.array([one.share_null for one in found])
    plain = basis * CONTEXTS / (CONTEXTS * POSITIONS * WIDTH)
    assert null.mean() == pytest.approx(plain.mean(), rel=0.1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_without_each_fold_the_largest_variance_averages_to_the_whole(seed):
    rng = np.random.default_rng(seed)
    states, group = waves(2.0, 8, 10) + rng.normal(size=(20, 8, 10)), unequal(20, 6, rng)
    tokens = 8.0 * np.bincount(group)
    without, heldout_part = leading_variance(inputs(states, group, rng)["leading_groups"], tokens)
    assert np.average(without, weights=tokens.sum() - tokens) == pytest.approx(1)
    assert heldout_part < 1


def test_a_variance_without_a_fold_is_that_of_the_others_along_the_direction_of_numpys_eigenvectors():
    rng = np.random.default_rng(3)
    states, group = waves(6.0, 8, 16) + rng.normal(size=(24, 8, 16)), np.arange(24) // 3
    arrays = inputs(states, group, rng)
    without, held = leading_variance(arrays["leading_groups"], np.full(8, 24.0))
    centred = states - states.mean((0, 1))
    values, vectors = np.linalg.eigh(arrays["covariance"])
    left = [np.mean((centred[group != g] @ vectors[:, -1]) ** 2) for g in range(8)]
    assert without == pytest.approx(np.array(left) / values[-1])
    others = [np.linalg.svd(centred[group != g].reshape(-1, 16))[2][0] for g in range(8)]
    apart = [np.mean((centred[group == g] @ others[g]) ** 2) for g in range(8)]
    assert held == pytest.approx(np.mean(apart) / values[-1])
    assert position_effect(**arrays).relative_norm_corrected_se > 0


def test_a_run_without_products_by_group_has_no_corrected_relative_norm():
    rng = np.random.default_rng(3)
    arrays = inputs(waves(6.0, 8, 16) + rng.normal(size=(24, 8, 16)), np.arange(24) // 3, rng)
    found = position_effect(**{**arrays, "leading_groups": np.full((8, 1, 1), np.nan)})
    assert np.isnan([found.relative_norm_corrected, found.relative_norm_corrected_se]).all()
    assert np.isfinite([found.relative_norm, found.rank_stable_corrected, found.share_corrected]).all()
