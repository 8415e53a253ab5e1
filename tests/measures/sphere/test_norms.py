"""Norms as ellipsoids against torch's own LayerNorm and RMSNorm, and against closed forms."""

import numpy as np
import pytest
import torch

from armillary.measures.sphere.norms import lost_axes, norm_radii, norm_shape, sphere_points, without_gain

WIDTH = 64
RNG = np.random.default_rng(0)
STATES = RNG.normal(2, 5, (20, WIDTH))
GAIN, BIAS = RNG.uniform(0.3, 2, WIDTH), RNG.normal(size=WIDTH)


def layer_norm(states, gain=None, bias=None, eps=1e-5):
    parts = [None if part is None else torch.tensor(part) for part in (gain, bias)]
    return torch.nn.functional.layer_norm(torch.tensor(states), (states.shape[1],), *parts, eps=eps).numpy()


def test_points_on_the_sphere_are_torchs_norms_without_gain_and_bias():
    assert sphere_points(STATES, True, 1e-5) == pytest.approx(layer_norm(STATES), abs=1e-12)
    rms = torch.nn.functional.rms_norm(torch.tensor(STATES), (WIDTH,), eps=1e-6).numpy()
    assert sphere_points(STATES, False, 1e-6) == pytest.approx(rms, abs=1e-12)


@pytest.mark.parametrize("centring", [True, False])
def test_without_eps_the_radius_is_the_root_of_the_width_and_only_a_layer_norm_is_orthogonal_to_ones(centring):
    found = norm_radii(sphere_points(STATES, centring, 0.0), np.ones(WIDTH), np.zeros(WIDTH))
    assert found.radius_before == pytest.approx(np.sqrt(WIDTH), rel=1e-12)
    assert found.radius_before_sd == pytest.approx(0, abs=1e-12)
    assert found.radius_after == found.radius_before
    assert (found.along_ones < 1e-12) is centring


def test_a_small_state_stays_inside_the_sphere_by_its_eps():
    state = 1e-3 * STATES[:1]
    variance = float(state.var())
    found = norm_radii(sphere_points(state, True, 1e-5), np.ones(WIDTH), np.zeros(WIDTH))
    assert found.radius_before == pytest.approx(np.sqrt(WIDTH * variance / (variance + 1e-5)), rel=1e-12)


def test_gain_and_bias_are_undone_and_their_radii_are_those_of_torchs_outputs():
    outputs = layer_norm(STATES, GAIN, BIAS)
    points = without_gain(outputs, GAIN, BIAS, True)
    assert points == pytest.approx(layer_norm(STATES), abs=1e-10)
    found = norm_radii(points, GAIN, BIAS)
    norms = np.linalg.norm(outputs, axis=1)
    assert found.radius_after == pytest.approx(norms.mean(), rel=1e-12)
    assert found.radius_after_sd == pytest.approx(norms.std(), rel=1e-9)


def test_one_lost_coordinate_of_a_layer_norm_is_found_by_the_hyperplane_and_two_are_not():
    gain = GAIN.copy()
    gain[3] = 1e-30
    outputs = layer_norm(STATES, gain, BIAS, eps=0.0).astype(np.float32)
    assert lost_axes(gain, BIAS).nonzero()[0].tolist() == [3]
    points = without_gain(outputs, gain, BIAS, True)
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.full(20, np.sqrt(WIDTH)), rel=1e-5)
    assert np.isnan(without_gain(outputs, gain, BIAS, False)).all()
    gain[4] = 0.0
    assert np.isnan(without_gain(outputs, gain, BIAS, True)).all()


def test_the_axes_of_a_known_ellipsoid_are_found():
    gain = np.array([-8.0, 2.0, 2.0, 2.0, 0.5])
    found = norm_shape(gain, np.array([3.0, 4.0, 0, 0, 0]))
    assert found.gain_largest == 4
    assert found.gain_smallest == 4
    assert found.gain_variation == pytest.approx(np.std([8, 2, 2, 2, 0.5]) / 2.9)
    assert found.flat_axes == 0
    assert found.shift == pytest.approx(5 / np.sqrt(5))
    assert found.radius == pytest.approx(np.sqrt(5))


def test_a_constant_gain_keeps_the_sphere_whatever_its_size():
    found = norm_shape(np.full(7, 0.01), np.zeros(7))
    assert (found.gain_largest, found.gain_smallest, found.shift) == (1, 1, 0)
    assert found.gain_variation == pytest.approx(0, abs=1e-12)


def test_flat_axes_are_counted_and_not_the_smallest():
    found = norm_shape(np.array([1.0, 1.0, 1.0, 0.5, 0.0, 1e-33]), np.zeros(6))
    assert found.flat_axes == 2
    assert found.gain_smallest == pytest.approx(0.75 / 0.5)
    dead = norm_shape(np.zeros(4), np.zeros(4))
    assert np.isnan([dead.gain_largest, dead.gain_smallest, dead.gain_variation]).all()
    assert dead.flat_axes == 4


def test_without_tokens_radii_are_not_a_number():
    assert np.isnan(norm_radii(np.zeros((0, WIDTH)), GAIN, BIAS)).all()
