"""Angles, lengths and straightness of paths whose geometry is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.measures.sphere.paths import angles_between, mean_path, paths

RNG = np.random.default_rng(0)


def on_a_circle(degrees, d_model=5):
    """States at angles along a great circle, with norms of all sizes."""
    states = np.zeros((len(degrees), 1, d_model))
    states[:, 0, 1], states[:, 0, 3] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return states * RNG.uniform(0.1, 100, (len(degrees), 1, 1))


def test_a_great_circle_is_straight_and_its_steps_are_the_given_ones():
    found = paths(on_a_circle([0, 10, 45, 50, 170]))
    assert np.isnan(found.angle[0]).all()
    assert found.angle[1:, 0] == pytest.approx([10, 35, 5, 120])
    assert found.length == pytest.approx([170])
    assert found.direct == pytest.approx([170])
    assert found.straightness == pytest.approx([1])


def test_a_way_there_and_back_has_a_length_and_no_direct_angle():
    found = paths(on_a_circle([0, 60, 0]))
    assert found.length == pytest.approx([120])
    assert found.direct == pytest.approx([0], abs=1e-9)
    assert found.straightness == pytest.approx([0], abs=1e-9)


def test_beyond_half_a_turn_the_direct_angle_is_the_shorter_way():
    found = paths(on_a_circle([0, 90, 180, 270]))
    assert (found.length, found.direct) == (pytest.approx([270]), pytest.approx([90]))


@given(st.floats(1e-9, 179.999999))
def test_tiny_and_nearly_straight_angles_are_exact(degrees):
    one, other = on_a_circle([0, degrees])[:, 0]
    found = angles_between(one / np.linalg.norm(one), other / np.linalg.norm(other))
    assert found == pytest.approx(degrees, rel=1e-6, abs=1e-10)


def test_angles_are_those_of_arccos_where_it_is_good():
    one, other = RNG.normal(size=(2, 50, 30))
    one, other = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))
    assert angles_between(one, other) == pytest.approx(np.degrees(np.arccos(np.sum(one * other, 1))), abs=1e-9)


def test_a_rotation_of_the_space_and_other_norms_change_nothing():
    states = RNG.normal(size=(6, 4, 12))
    rotation = np.linalg.qr(RNG.normal(size=(12, 12)))[0]
    turned = paths(states @ rotation * RNG.uniform(0.5, 2, (6, 4, 1)))
    for mine, theirs in zip(paths(states), turned, strict=True):
        assert mine == pytest.approx(theirs, nan_ok=True)


def test_a_path_is_at_least_as_long_as_the_direct_angle():
    found = paths(RNG.normal(size=(9, 40, 3)))
    assert (found.length >= found.direct - 1e-9).all()


def test_a_state_that_never_moves_has_no_straightness_and_a_zero_state_no_angle():
    states = np.ones((3, 2, 4))
    states[1, 1] = 0
    found = paths(states)
    assert found.length[0] == 0
    assert np.isnan(found.straightness[0])
    assert np.isnan(found.length[1])


def test_the_mean_path_is_that_of_the_tokens_that_count():
    states = RNG.normal(size=(5, 4, 8))
    each, counted = paths(states), np.array([False, True, True, False])
    mean = mean_path(states, counted)
    assert mean.angle_null == pytest.approx(each.angle[:, 1:3].mean(1), nan_ok=True)
    assert mean.length_null == pytest.approx(each.length[1:3].mean())
    assert mean.direct_null == pytest.approx(each.direct[1:3].mean())
    assert mean.straightness_null == pytest.approx(each.straightness[1:3].mean())
