"""Directions against numpy's SVD and clouds of known variance; arcs against the geometry of the sphere."""

import numpy as np
import pytest

from armillary.measures.sphere.projection import great_circles, principal_directions, share_along

RNG = np.random.default_rng(0)


def test_directions_and_shares_are_those_of_the_svd():
    cloud = RNG.normal(size=(200, 12)) * np.linspace(3, 0.2, 12) + 5
    found = principal_directions(cloud)
    _, sizes, rows = np.linalg.svd(cloud - cloud.mean(0), full_matrices=False)
    assert np.abs(np.sum(found.directions * rows[:3], 1)) == pytest.approx(np.ones(3))
    assert found.variance_share == pytest.approx(sizes[:3] ** 2 / np.sum(sizes**2))
    largest = np.abs(found.directions).argmax(1)
    assert (found.directions[np.arange(3), largest] > 0).all()
    assert share_along(cloud, found.directions) == pytest.approx(found.variance_share)


def test_a_cloud_of_one_direction_has_no_others():
    found = principal_directions(np.outer(np.arange(9.0), [0, 3, 4, 0]))
    assert found.directions == pytest.approx(np.array([[0, 0.6, 0.8, 0], np.zeros(4), np.zeros(4)]), abs=1e-12)
    assert found.variance_share == pytest.approx([1, 0, 0], abs=1e-12)


def test_a_space_of_two_dimensions_is_filled_up_and_a_point_has_no_variance():
    assert principal_directions(RNG.normal(size=(9, 2))).directions.shape == (3, 2)
    point = principal_directions(np.ones((4, 6)))
    assert not point.variance_share.any()
    assert np.isnan(share_along(np.ones((4, 6)), np.eye(6)[:3])).all()


def test_arcs_have_equal_parts_on_the_great_circle_through_their_ends():
    corners = RNG.normal(size=(2, 3))
    arc = great_circles(corners, 6)
    assert np.linalg.norm(arc, axis=1) == pytest.approx(np.ones(7))
    steps = np.arccos(np.clip(np.sum(arc[:-1] * arc[1:], 1), -1, 1))
    whole = np.arccos(arc[0] @ arc[-1])
    assert steps == pytest.approx(np.full(6, whole / 6))
    assert arc @ np.cross(*corners) == pytest.approx(np.zeros(7), abs=1e-12)


def test_a_path_leads_through_the_directions_of_its_corners():
    corners = RNG.normal(size=(5, 3))
    path = great_circles(corners, 4)
    assert path.shape == (17, 3)
    assert path[::4] == pytest.approx(corners / np.linalg.norm(corners, axis=1, keepdims=True))


def test_a_step_to_the_same_place_stays_there_and_opposite_or_zero_corners_have_no_arc():
    same = great_circles(np.array([[0, 2.0, 0], [0, 5.0, 0]]), 3)
    assert same == pytest.approx(np.tile([0, 1.0, 0], (4, 1)))
    opposite = great_circles(np.array([[0, 1.0, 0], [0, -1.0, 0]]), 3)
    assert np.isnan(opposite[:3]).all()
    assert np.isnan(great_circles(np.array([[0, 1.0, 0], [0, 0, 0]]), 3)).all()


def test_great_circles_of_the_space_are_great_circles_of_the_picture():
    directions = np.linalg.qr(RNG.normal(size=(9, 9)))[0][:3]
    ends = RNG.normal(size=(2, 9))
    far = great_circles(ends, 10) @ directions.T
    assert far @ np.cross(*(ends @ directions.T)) == pytest.approx(np.zeros(11), abs=1e-12)
