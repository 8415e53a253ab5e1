"""Means over groups with their errors, and names by scores: against numpy, a closed form and simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.errors.groups import group_mean
from armillary.measures.errors.jackknife import standard_error
from armillary.measures.heads import distance_profile, head_means, map_ranks, mixing, sink_rate, spectral_gap
from armillary.measures.taxonomy import GENERAL, SPECIAL, Score, names, over_repeats, taxonomy


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any))
def test_the_mean_is_the_mean_over_all_windows(seed, sizes):
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=(size, 3)) for size in sizes]
    each = np.stack([part.mean(0) if len(part) else np.full(3, np.nan) for part in values])
    found = group_mean(each, np.array(sizes))
    assert np.allclose(found.mean, np.concatenate(values).mean(0))
    assert np.isnan(found.se).all() == (np.count_nonzero(sizes) < 4)


def test_with_equal_groups_the_error_is_that_of_a_plain_mean():
    each = np.random.default_rng(0).normal(size=(16, 4))
    found = group_mean(each, np.full(16, 5))
    assert np.allclose(found.se, each.std(0, ddof=1) / 4)


def test_errors_cover_when_groups_differ_in_size():
    rng = np.random.default_rng(1)
    windows = rng.integers(2, 9, 16)
    # Windows of a group share half of their variance, as windows of a document do.
    shared = rng.normal(size=(2000, 16)) + rng.normal(size=(2000, 16)) / np.sqrt(windows)
    found = [group_mean(each, windows) for each in shared]
    covered = [abs(float(one.mean)) < 2.13 * float(one.se) for one in found]
    assert 0.92 < np.mean(covered) < 0.98


def test_a_group_without_ranked_windows_counts_for_nothing():
    effective = np.array([[3.0, np.nan, 5.0, 4.0, 4.0], [1.0, np.nan, 2.0, 3.0, 1.0]])
    found = map_ranks(effective, effective, np.array([1, 0, 3, 2, 2]))
    assert np.allclose(found.rank_effective, [4.25, 1.875])
    assert np.isfinite(found.rank_effective_se).all()


def test_results_come_under_their_own_names():
    rng = np.random.default_rng(2)
    given = [rng.normal(size=(3, 4)) + 10 * i for i in range(7)]
    windows = np.full(4, 2)
    found = head_means(*given, windows)
    order = ("entropy", "entropy_relative", "mass_first", "mass_self", "mass_previous", "distance")
    for name, each in zip((*order, "signal_propagation"), given, strict=True):
        assert np.allclose(getattr(found, name), each.mean(1))
        assert np.allclose(getattr(found, f"{name}_se"), each.std(1, ddof=1) / 2)
    blocks = [rng.normal(size=4) + 10 * i for i in range(5)]
    mixed = mixing(*blocks, windows)
    for name, each in zip(("similarity_residual", "similarity_output", "collapse_residual", "collapse_output",
                           "output_norm"), blocks, strict=True):  # fmt: skip
        assert getattr(mixed, name) == pytest.approx(each.mean())
    profile = rng.dirichlet(np.ones(6), size=(3, 4))
    assert np.allclose(distance_profile(profile, windows).distance_profile.sum(-1), 1)


def scores(**values):
    """Scores of one head, all others at the null."""
    null = 0.05
    each = {kind: np.full((1, 1), values.get(kind, null)) for kind in (*SPECIAL, *GENERAL)}
    return {kind: Score(value, value * 0, null) for kind, value in each.items()}


@pytest.mark.parametrize(
    ("values", "entropy", "kind"),
    [
        ({}, 0.95, "uniform"),
        ({}, 0.5, ""),
        ({"induction": 0.25}, 0.5, "induction"),
        ({"induction": 0.23}, 0.95, "uniform"),
        ({"induction": 0.3, "previous": 0.4}, 0.2, "previous"),
        ({"induction": 0.3, "sink": 0.9}, 0.2, "induction"),
        ({"sink": 0.6, "local": 0.7}, 0.2, "local"),
        ({"sink": 0.5}, 0.2, ""),
        ({"sink": 0.55}, 0.2, "sink"),
        ({"duplicate": 0.6}, 0.95, "duplicate"),
    ],
)
def test_names_follow_the_thresholds(values, entropy, kind):
    assert names(scores(**values), np.full((1, 1), entropy)).tolist() == [[kind]]


def test_a_high_null_raises_the_threshold():
    high = {kind: score._replace(null=0.6) for kind, score in scores(induction=0.65).items()}
    assert names(high, np.full((1, 1), 0.1)).tolist() == [[""]]
    assert names(scores(induction=0.65), np.full((1, 1), 0.1)).tolist() == [["induction"]]


def test_the_error_of_a_repeated_score_is_that_of_the_mean():
    each = np.random.default_rng(3).normal(size=(2, 3, 8))
    found = over_repeats(each, np.array([[0.1, 0.3, 0.2]] * 2))
    assert np.allclose(found.value, each.mean(-1))
    assert np.allclose(found.se, each.std(-1, ddof=1) / np.sqrt(8))
    assert found.null == 0.3
    assert np.isnan(over_repeats(each[..., :1], each[..., 0]).se).all()


def test_the_taxonomy_reads_every_score_from_its_own_input():
    repeats = {f"{kind}_repeats": np.full((2, 2, 3), 0.01) for kind in SPECIAL}
    twin = {f"{name}_twin": np.full((2, 2), 0.02) for name in (*SPECIAL, "mass_first", "mass_local")}
    profile = np.full((2, 2, 4, 6), 0.02)
    first = np.full((2, 2, 4), 0.03)
    repeats["duplicate_repeats"][0, 0] = 0.8
    repeats["induction_repeats"][0, 0] = 0.5
    first[0, 1] = 0.9
    repeats["previous_repeats"][0, 1] = 0.7
    profile[1, 0, :, :4] = 0.2
    first[1, 1] = 0.9
    found = taxonomy(
        **repeats,
        **twin,
        mass_first_groups=first,
        entropy_relative=np.full((2, 2), 0.3),
        distance_profile_groups=profile,
        windows=np.array([1, 2, 3, 4]),
    )
    assert found.kind.tolist() == [["duplicate", "previous"], ["local", "sink"]]
    assert found.labels.tolist() == [["duplicate, induction", "previous, sink"], ["local", "sink"]]
    assert np.allclose(found.local, [[0.08, 0.08], [0.8, 0.08]])
    assert found.sink_null == 0.02
    assert np.allclose(found.sink, first[..., 0])


def test_scores_on_text_are_given_without_each_group_and_their_error_is_the_jackknifes():
    rng = np.random.default_rng(4)
    first, profile, windows = rng.random((2, 3, 5)), rng.random((2, 3, 5, 6)), np.array([1, 2, 3, 4, 2])
    found = taxonomy(
        **{f"{kind}_repeats": rng.random((2, 3, 8)) for kind in SPECIAL},
        **{f"{name}_twin": np.zeros((2, 3)) for name in (*SPECIAL, "mass_first", "mass_local")},
        mass_first_groups=first,
        entropy_relative=np.zeros((2, 3)),
        distance_profile_groups=profile,
        windows=windows,
    )
    for groups, whole, se, without in (
        (first, found.sink, found.sink_se, found.sink_without),
        (profile[..., :4].sum(-1), found.local, found.local_se, found.local_without),
    ):
        assert np.allclose(whole, np.average(groups, axis=-1, weights=windows))
        for left in range(5):
            kept = np.arange(5) != left
            assert np.allclose(without[..., left], np.average(groups[..., kept], axis=-1, weights=windows[kept]))
        assert np.allclose(se, standard_error(np.moveaxis(without, -1, 0)))


def test_the_sink_rate_is_a_share_of_windows_and_the_gap_a_mean_over_those_sampled():
    rates, windows = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]]), np.array([2, 1, 4])
    assert np.allclose(sink_rate(rates, windows), [3 / 7, 1])
    gaps = spectral_gap(np.array([[1.0, np.nan, 3.0, 2.0, 2.0]]), np.array([1, 0, 3, 2, 2]))
    assert np.allclose(gaps.spectral_gap, (1 + 9 + 4 + 4) / 8)
    assert np.isfinite(gaps.spectral_gap_se).all()
