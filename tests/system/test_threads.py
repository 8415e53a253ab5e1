"""Small pieces of work side by side: in order, on one core each, errors handed on."""

import threading

import pytest

from armillary.system.threads import libraries, one_core_each, side_by_side


def test_results_stand_in_the_order_of_the_items():
    assert side_by_side(lambda item: item**2, range(20), threads=3) == [item**2 for item in range(20)]


def test_pieces_of_work_run_at_the_same_time():
    together = threading.Barrier(2, timeout=30)
    assert sorted(side_by_side(lambda item: together.wait(), range(2), threads=2)) == [0, 1]


def test_matrix_products_have_one_core_while_it_lasts_and_theirs_afterwards():
    before = [pool["num_threads"] for pool in libraries().info() if pool["user_api"] == "blas"]
    with one_core_each():
        assert {pool["num_threads"] for pool in libraries().info() if pool["user_api"] == "blas"} == {1}
    assert [pool["num_threads"] for pool in libraries().info() if pool["user_api"] == "blas"] == before


def test_an_error_of_one_piece_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda item: 1 // item, [1, 0], threads=2)
