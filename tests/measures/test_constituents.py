"""Shares of parts against nine maps written out; the argmax property against a loop and the law of records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.constituents import (
    argmax_share,
    decoupled_scores,
    part_covariance,
    part_share,
    score_parts,
)


def cloud(seed, parts=3, length=9, width=5):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((2, parts, length, width))


def plain_shares(query, key, allowed):
    """Every part written out; covariances over keys by numpy, query by query."""
    maps = np.einsum("aqd,bkd->abqk", query, key)
    found = np.zeros(maps.shape[:2])
    for row, keys in enumerate(allowed):
        if keys.sum() > 1:
            seen = maps[:, :, row, keys]
            for a, b in np.ndindex(*found.shape):
                found[a, b] += np.cov(seen[a, b], seen.sum((0, 1)), ddof=0)[0, 1]
    return found


@pytest.mark.parametrize("causal", [True, False])
def test_covariances_are_those_of_the_nine_maps_written_out(causal):
    query, key = cloud(0)
    allowed = np.tri(9, dtype=bool) if causal else np.ones((9, 9), dtype=bool)
    assert np.allclose(part_covariance(query, key, allowed), plain_shares(query, key, allowed))


def test_a_sliding_window_counts_its_own_keys_only():
    query, key = cloud(1)
    allowed = np.tri(9, dtype=bool) & ~np.tri(9, k=-3, dtype=bool)
    assert np.allclose(part_covariance(query, key, allowed), plain_shares(query, key, allowed))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_shares_add_up_to_one_and_forget_scale(seed, size):
    query, key = cloud(seed)
    allowed = np.tri(9, dtype=bool)
    share = part_share(part_covariance(query, key, allowed))
    assert share.sum() == pytest.approx(1)
    assert np.allclose(share, part_share(part_covariance(size * query, key, allowed)))


def test_what_is_the_same_for_all_keys_has_no_share():
    query, key = cloud(2)
    key[0] = key[0, :1]
    share = part_share(part_covariance(query, key, np.ones((9, 9), dtype=bool)))
    assert np.allclose(share[:, 0], 0)


def test_independent_parts_share_by_their_variances():
    draw = np.random.default_rng(3)
    query = np.ones((2, 50, 1)) * np.array([1.0, 0.0])[:, None, None]
    key = draw.standard_normal((2, 4000, 1)) * np.array([1.0, 2.0])[:, None, None]
    share = part_share(part_covariance(query, key, np.ones((50, 4000), dtype=bool)))
    assert share[0] == pytest.approx([0.2, 0.8], abs=0.02)


def test_scores_that_do_not_vary_have_no_shares():
    assert np.isnan(part_share(np.zeros((3, 3)))).all()


def test_the_argmax_property_is_counted_as_by_hand():
    draw = np.random.default_rng(4)
    scores = draw.standard_normal((20, 20))
    expected = np.mean([int(np.argmax(scores[t, : t + 1])) == t for t in range(20)])
    assert argmax_share(scores) == pytest.approx(expected)
    assert argmax_share(-np.abs(np.subtract.outer(np.arange(9), np.arange(9))).astype(float)) == 1


def test_keys_after_the_query_do_not_count():
    scores = np.triu(np.full((6, 6), 100.0), 1) + np.eye(6)
    assert argmax_share(scores) == 1


def test_random_scores_peak_at_the_query_as_often_as_records_fall():
    draw = np.random.default_rng(5)
    found = np.mean([argmax_share(draw.standard_normal((64, 64))) for _ in range(200)])
    assert found == pytest.approx(np.sum(1 / np.arange(1, 65)) / 64, rel=0.05)


def test_parts_of_scores_add_up_and_decouple_where_the_diagonal_is_constant():
    rng = np.random.default_rng(0)
    query, key = rng.standard_normal((3, 5, 4)), rng.standard_normal((3, 6, 4))
    assert score_parts(query, key).sum((0, 1)) == pytest.approx(query.sum(0) @ key.sum(0).T)
    frame = np.linalg.qr(rng.standard_normal((8, 2))).Q
    states, low = rng.standard_normal((5, 8)), frame @ rng.standard_normal((2, 2)) @ frame.T
    position = states @ frame @ frame.T
    scores = states @ (low + 0.4 * np.eye(8)) @ states.T
    assert decoupled_scores(position, states - position, low, np.full(8, 0.4)) == pytest.approx(scores)
