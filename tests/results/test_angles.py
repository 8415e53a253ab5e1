"""Angles between the leading directions of two runs: planted ones are found, random ones are not."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from armillary.printing.differences import angle_rows
from armillary.results.comparing import compare
from two_runs_made_up import centred, frame, run_of, shown, without


def tilted(angle, d_model=24, positions=10):
    """A rank-one basis and the same with its direction turned by an angle, in every one of two layers."""
    rng = np.random.default_rng(3)
    course = frame(rng, 2, positions)[:, :1] - frame(rng, 2, positions)[:, :1].mean()
    first, second = frame(rng, 2, d_model).T
    turned = np.cos(angle) * first + np.sin(angle) * second
    return [np.repeat((course * direction)[None], 2, axis=0) for direction in (first, turned)]


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.2])
def test_a_planted_angle_is_found(angle):
    one, other = tilted(angle)
    rank = {"rank_heldout": ("layer", [1, 1])}
    found = compare(run_of(basis=one, results=rank), run_of(basis=other, results=rank))["angles"]
    assert found.k.values.tolist() == [1, 1]
    np.testing.assert_allclose(found.angle, angle, atol=1e-7)


def test_angles_are_scipys_of_the_leading_singular_vectors():
    one, other = run_of(1), run_of(2)
    found = compare(one, other)["angles"]
    for layer in range(3):
        spans = [np.linalg.svd(run.results["residual"].position_basis[layer].values)[2][:3].T for run in (one, other)]
        np.testing.assert_allclose(found.angle[layer], subspace_angles(*spans)[::-1], atol=1e-9)


def test_only_as_many_directions_are_compared_as_both_runs_hold():
    ranks = [{"rank_heldout": ("layer", values)} for values in ([4, 0, 2], [2, 3, 5])]
    found = compare(*(run_of(i, results=rank) for i, rank in enumerate(ranks)))
    assert found["angles"].k.values.tolist() == [2, 0, 2]
    assert np.isnan(found["angles"].angle).values.tolist() == [[False, False], [True, True], [False, False]]
    assert "rank_heldout" in found.attrs["notes"]
    assert len(angle_rows(found)) == 4
    assert "nan" not in shown(found)


def test_random_directions_fall_below_the_null_one_time_in_twenty():
    rng = np.random.default_rng(0)
    one, other = (run_of(i, basis=rng.standard_normal((400, 6, 30))) for i in range(2))
    angles = compare(one, other)["angles"]
    below = (angles.angle < angles.angle_null).mean("layer")
    assert np.all((below > 0.02) & (below < 0.09))


def test_runs_of_other_width_are_compared_along_their_positions():
    rng = np.random.default_rng(0)
    course = centred(rng.standard_normal((2, 10, 3)))
    one, other = course @ frame(rng, 3, 24).T, course @ frame(rng, 3, 16).T
    found = compare(run_of(1, basis=one), run_of(2, basis=other))
    assert found["angles"].attrs["between"] == "modes along the positions"
    assert found["angles"].attrs["space"] == 9
    np.testing.assert_allclose(found["angles"].angle, 0, atol=1e-7)


def test_without_a_common_space_there_are_no_angles_and_it_is_said():
    found = compare(run_of(1, d_model=24), run_of(2, d_model=16, positions=12))
    assert "angle" not in found["angles"].data_vars
    assert "No angles" in found.attrs["notes"]
    assert len(angle_rows(found)) == 0
    assert "Angles in degrees" not in shown(found)


def test_halves_tell_a_firm_basis_from_noise():
    rng = np.random.default_rng(0)
    firm = centred(rng.standard_normal((1, 10, 3))) @ frame(rng, 3, 200).T * 100
    noise = rng.standard_normal((1, 8, 10, 200))
    both = [run_of(i, basis=firm, folds=firm[:, None] * strength + noise) for i, strength in enumerate([1, 0])]
    angles = compare(*both)["angles"]
    assert float(angles.angle_halves_one.max()) < 0.1
    assert float(angles.angle_halves_other.max()) > 1


def test_halves_weigh_folds_by_their_windows():
    rng = np.random.default_rng(0)
    folds = rng.standard_normal((1, 3, 10, 24))
    group = {"group": ("context", np.array([0, 0, 1, 1, 2, 2, 2, 5]))}
    run = without(run_of(basis=centred(folds.mean(1)), folds=folds, groups=4), corpus=group)
    halves = [centred((folds[0, 0] + 2 * folds[0, 2]) / 3), centred(folds[0, 1])]
    spans = [np.linalg.svd(half)[2][:3].T for half in halves]
    np.testing.assert_allclose(
        compare(run, run)["angles"].angle_halves_one[0], subspace_angles(*spans)[::-1], atol=1e-9
    )
