"""The ScreeNOT ranks of a survey are those of the matrices they speak of."""

import numpy as np
import pytest

from armillary.measures.heldout import heldout
from armillary.measures.ranks import K, screenot_ranks
from armillary.measures.screenot import rank_screenot


def planted(rank=5, positions=70, width=90, folds=8):
    rng = np.random.default_rng(rank)
    left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (positions, width))
    left = np.linalg.qr(left - left.mean(0))[0]
    drawn = 12 * left @ right.T + rng.normal(size=(folds, positions, width))
    return drawn - drawn.mean(1, keepdims=True)


def ranks_of(folds):
    group = np.repeat(np.arange(16), 3)[: 6 * len(folds)] if len(folds) > 1 else np.zeros(4, int)
    basis = np.tensordot(np.bincount(group % len(folds)) / len(group), folds, 1)
    singular = np.linalg.svd(basis, compute_uv=False)
    return screenot_ranks(singular, heldout(folds, group).singular_value_without, folds, group), basis, group


def test_ranks_are_those_of_the_basis_of_its_parts_and_at_each_k():
    folds = planted()
    got, basis, group = ranks_of(folds)
    assert got.rank_screenot == rank_screenot(basis) == 5
    assert got.rank_screenot_by_k.tolist() == [rank_screenot(basis, k) for k in K]
    weights = np.bincount(group % 8).astype(float)
    without = [rank_screenot(np.average(np.delete(folds, f, 0), 0, np.delete(weights, f))) for f in range(8)]
    assert (got.rank_screenot_low, got.rank_screenot_high) == (min(without), max(without))
    assert got.rank_screenot_half == rank_screenot(np.average(folds[::2], 0, weights[::2]))
    assert got.rank_screenot_null == 0  # white noise has no modes of its own


def test_windows_too_short_for_k_have_no_rank():
    got, *_ = ranks_of(planted(2, positions=30, width=40))
    assert np.isnan(got.rank_screenot)
    assert np.isnan(got.rank_screenot_null)
    assert np.isnan(got.rank_screenot_by_k).tolist() == [False, True, True]


def test_a_single_fold_has_a_rank_and_nothing_to_set_it_against():
    got, basis, _ = ranks_of(planted()[:1])
    assert got.rank_screenot == rank_screenot(basis)
    for name in ("rank_screenot_low", "rank_screenot_high", "rank_screenot_null", "rank_screenot_half"):
        assert np.isnan(getattr(got, name))


@pytest.mark.parametrize("exponent", [-20, 0, 20])
def test_ranks_do_not_depend_on_scale(exponent):
    plain, *_ = ranks_of(planted())
    scaled, *_ = ranks_of(np.ldexp(planted(), exponent))
    assert plain[:4] == scaled[:4]
