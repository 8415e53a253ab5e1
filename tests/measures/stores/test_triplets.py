"""Singular triplets from thin factors against numpy's full decomposition, and the planes of near-equal values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.stores.triplets import planes, rank, triplets


@pytest.mark.parametrize(("d_model", "d_head"), [(24, 5), (24, 24), (6, 9), (8, 1)])
def test_triplets_are_numpys_of_the_full_product(d_model, d_head):
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, d_model, d_head))
    left, value, right = triplets(first, second)
    whole = first @ second.T
    assert value == pytest.approx(np.linalg.svd(whole, compute_uv=False)[: len(value)], abs=1e-10)
    assert left * value @ right.T == pytest.approx(whole, abs=1e-10)
    for vectors in (left, right):
        assert vectors.T @ vectors == pytest.approx(np.eye(len(value)), abs=1e-10)


def test_an_input_is_mapped_by_the_triplets_one_by_one():
    first, second = np.random.default_rng(1).standard_normal((2, 12, 4))
    left, value, right = triplets(first, second)
    x = np.random.default_rng(2).standard_normal(12)
    assert sum(value[i] * (x @ left[:, i]) * right[:, i] for i in range(4)) == pytest.approx(x @ first @ second.T)


def test_the_rank_counts_what_is_not_rounding():
    rng = np.random.default_rng(0)
    first = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 6))
    assert rank(triplets(first, rng.standard_normal((30, 6))).value, 30) == 3
    assert rank(np.zeros(6), 30) == 0
    assert rank(np.zeros(0), 30) == 0


def test_near_equal_neighbours_share_a_plane_and_so_do_chains_of_them():
    value = np.array([5.0, 4.0, 3.999, 2.0, 1.9999, 1.9998, 1.0])
    assert planes(value, 7).tolist() == [[0, 1], [1, 3], [1, 3], [3, 6], [3, 6], [3, 6], [6, 7]]
    assert planes(value, 5).tolist()[3:] == [[3, 5], [3, 5], [0, 0], [0, 0]]
    assert planes(np.zeros(3), 0).tolist() == [[0, 0]] * 3
    assert planes(np.array([2.0]), 1).tolist() == [[0, 1]]


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=12))
def test_planes_cover_every_mode_once(values):
    value = np.sort(np.array(values))[::-1]
    found = planes(value, len(value))
    assert [end for _, end in dict.fromkeys(map(tuple, found))][-1] == len(value)
    assert all(start <= mode < end for mode, (start, end) in enumerate(found))
