import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screenot.ScreeNOT import adaptiveHardThresholding

from armillary.measures.screenot import null_spectra, rank_from_spectrum, rank_null, rank_screenot, threshold_screenot


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    # The oracle doubles its bracket without end where its absolute tolerance is below the data's rounding.
    def stop(*_: object) -> None:
        raise TimeoutError("the screenot package did not return")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def singular_values(matrix):
    return np.linalg.svd(matrix, compute_uv=False)


def planted(seed, rows, columns, rank, edges):
    """White noise with `rank` equal spikes whose observed singular values tend to `edges` × the bulk's edge.

    A spike x in noise of variance 1/columns is seen at y² = (x + 1/x)(x + β/x) (Benaych-Georges & Nadakuditi 2012).
    """
    rng = np.random.default_rng(seed)
    beta = rows / columns
    seen = (edges * (1 + np.sqrt(beta))) ** 2 - 1 - beta
    strength = np.sqrt((seen + np.sqrt(seen**2 - 4 * beta)) / 2)
    left = np.linalg.qr(rng.standard_normal((rows, rank)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, rank)))[0]
    return strength * left @ right.T + rng.standard_normal((rows, columns)) / np.sqrt(columns)


def white_threshold(rows, columns):
    beta = rows / columns
    return np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1)))


@pytest.mark.parametrize("seed", range(4))
def test_rank_and_threshold_are_those_of_the_screenot_package(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        k = int(rng.integers(2, 12))
        rows, columns = (int(side) for side in rng.integers(2 * k + 2, 120, size=2))
        noise = rng.standard_normal((rows, columns)) * np.exp(rng.normal(0, rng.choice([0.0, 0.5]), columns))
        signal_rank = int(rng.integers(0, k + 1))
        spikes = rng.standard_normal((rows, signal_rank)) * rng.uniform(0.5, 3, signal_rank)
        matrix = noise / np.sqrt(max(rows, columns)) + spikes @ rng.standard_normal((signal_rank, columns)) / np.sqrt(
            rows * columns / 4
        )
        with at_most(20):
            _, threshold, rank = adaptiveHardThresholding(matrix, k, strategy="i")
        assert threshold_screenot(singular_values(matrix), matrix.shape, k) == pytest.approx(threshold, abs=1e-5)
        assert rank_screenot(matrix, k) == rank


@pytest.mark.parametrize("edges", [1.5, 3.0])
@pytest.mark.parametrize("rank", range(1, 16))
def test_planted_modes_well_above_the_edge_are_counted_exactly(rank, edges):
    found = [rank_screenot(planted(seed, 127, 576, rank, edges)) for seed in range(5)]
    assert np.count_nonzero(np.array(found) == rank) >= 4


@pytest.mark.parametrize("rank", [1, 5, 15])
def test_modes_between_the_edge_and_the_threshold_are_left_out(rank):
    # The threshold minimises the squared error, and a mode this close to the bulk costs more than it brings.
    assert 1.1 * (1 + np.sqrt(127 / 576)) < white_threshold(127, 576)
    assert [rank_screenot(planted(seed, 127, 576, rank, 1.1)) for seed in range(5)] == [0] * 5


def test_noise_alone_has_rank_0():
    for seed in range(10):
        assert rank_screenot(np.random.default_rng(seed).standard_normal((127, 576))) == 0


def test_one_mode_at_1_2_edges_is_kept_where_the_closed_threshold_is_lower_and_dropped_where_it_is_higher():
    assert white_threshold(127, 576) < 1.2 * (1 + np.sqrt(127 / 576))
    assert white_threshold(100, 2000) > 1.2 * (1 + np.sqrt(100 / 2000))
    kept = [rank_screenot(planted(seed, 127, 576, 1, 1.2)) for seed in range(10)]
    dropped = [rank_screenot(planted(seed, 100, 2000, 1, 1.2)) for seed in range(10)]
    assert np.mean(kept) >= 0.8
    assert np.mean(dropped) <= 0.2


def test_many_equal_modes_at_1_2_edges_repel_each_other_and_only_those_above_the_threshold_count():
    for seed in range(5):
        matrix = planted(seed, 127, 576, 10, 1.2)
        values = singular_values(matrix)
        rank = rank_screenot(matrix)
        assert rank == np.count_nonzero(values > threshold_screenot(values, matrix.shape))
        assert 0 < rank < 10


@pytest.mark.parametrize(("rows", "columns"), [(127, 576), (576, 127), (300, 300), (100, 2000)])
def test_in_white_noise_the_threshold_is_the_closed_form_of_gavish_and_donoho(rows, columns):
    noise = np.random.default_rng(0).standard_normal((rows, columns)) / np.sqrt(max(rows, columns))
    expected = white_threshold(min(rows, columns), max(rows, columns))
    assert threshold_screenot(singular_values(noise), noise.shape) == pytest.approx(expected, rel=0.02)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 15), exponent=st.integers(-300, 300))
@settings(max_examples=60, deadline=None)
def test_rank_counts_the_values_above_the_threshold_and_is_the_same_at_powers_of_two(seed, k, exponent):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((31, 50)) * np.exp(rng.normal(0, 1, 50))
    values = singular_values(matrix)
    rank = rank_from_spectrum(values, matrix.shape, k)
    threshold = threshold_screenot(values, matrix.shape, k)
    assert rank == np.count_nonzero(values > threshold)
    assert rank_screenot(np.ldexp(matrix, exponent), k) == rank_screenot(matrix, k)
    assert threshold_screenot(np.ldexp(values, exponent), matrix.shape, k) == np.ldexp(threshold, exponent)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rank_does_not_depend_on_scale(scale, dtype):
    matrix = planted(3, 127, 576, 7, 2.0).astype(dtype)
    assert rank_screenot(matrix * dtype(scale)) == 7


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 6, 20])
def test_a_matrix_without_noise_has_its_own_rank(rank, dtype):
    rng = np.random.default_rng(rank)
    matrix = (rng.standard_normal((127, rank)) @ rng.standard_normal((rank, 576))).astype(dtype)
    for scale in (1e-9, 1.0, 1e9):
        assert rank_screenot(matrix * dtype(scale)) == rank


def test_a_zero_matrix_has_rank_0_and_threshold_0():
    assert rank_screenot(np.zeros((127, 576))) == 0
    assert threshold_screenot(np.zeros(127), (127, 576)) == 0


def test_a_k_too_large_for_the_shape_is_refused_with_the_largest_that_fits():
    assert rank_screenot(np.random.default_rng(0).standard_normal((41, 60)), k=20) == 0
    with pytest.raises(ValueError, match=r"k = 20 needs .* a 40 × 60 matrix has 40; take k ≤ 19"):
        rank_screenot(np.ones((40, 60)), k=20)
    with pytest.raises(ValueError, match="k = 0"):
        rank_screenot(np.ones((40, 60)), k=0)


def test_a_matrix_with_nan_is_refused():
    with pytest.raises(ValueError, match="finite"):
        rank_screenot(np.full((127, 576), np.nan))


def test_singular_values_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="got 3"):
        rank_from_spectrum(np.ones(3), (127, 576))


def autocorrelated(rng, contexts, positions, d_model):
    noise = rng.standard_normal((contexts, positions, d_model))
    for t in range(1, positions):
        noise[:, t] = 0.95 * noise[:, t - 1] + np.sqrt(1 - 0.95**2) * noise[:, t]
    return noise


def test_the_null_reads_the_rank_that_smooth_noise_gives_by_itself():
    rng = np.random.default_rng(5)
    states = autocorrelated(rng, 64, 100, 80)
    mean = states.mean(axis=0) - states.mean(axis=(0, 1))
    null = rank_null(states.reshape(16, 4, 100, 80).mean(axis=1), np.full(16, 4), k=20)
    assert rank_screenot(mean, k=20) > 3
    assert null.rank_screenot_null == pytest.approx(rank_screenot(mean, k=20), abs=2)
    assert null.rank_screenot_null_low <= null.rank_screenot_null <= null.rank_screenot_null_high


def test_the_null_holds_no_position_and_as_much_noise_as_the_mean_over_contexts():
    rng = np.random.default_rng(6)
    sizes = rng.integers(2, 9, size=16)
    position = 10 * rng.standard_normal((60, 40))
    energies = []
    for _ in range(12):
        states = autocorrelated(rng, int(sizes.sum()), 60, 40)
        means = np.array([part.mean(axis=0) for part in np.split(states, np.cumsum(sizes)[:-1])])
        spectra = null_spectra(means + position, sizes, splits=10)
        np.testing.assert_allclose(spectra, null_spectra(means, sizes, splits=10), atol=1e-6)
        mean = states.mean(axis=0) - states.mean(axis=(0, 1))
        energies.append(((mean**2).sum(), (spectra**2).sum(axis=1).mean()))
    of_mean, of_null = np.array(energies).mean(axis=0)
    assert of_null == pytest.approx(of_mean, rel=0.1)


def test_null_spectra_are_the_singular_values_of_the_differences_of_halves():
    rng = np.random.default_rng(7)
    means = rng.standard_normal((2, 30, 12))
    difference = means[0] - means[1]
    expected = singular_values(difference - difference.mean(axis=0)) * np.sqrt(3 * 5) / 8
    np.testing.assert_allclose(null_spectra(means, np.array([3, 5]), splits=3), np.tile(expected, (3, 1)), rtol=1e-9)


def test_one_group_has_no_other_half():
    with pytest.raises(ValueError, match="at least 2 groups"):
        null_spectra(np.ones((1, 30, 12)), np.array([4]))
