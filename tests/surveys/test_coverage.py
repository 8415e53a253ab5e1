"""Whether the stated errors are honest: hundreds of simulated surveys whose truth is known, through the real sums.

Noise is autocorrelated along the text and unlike in different directions, a document's two windows share half of it,
and some tokens are massive, so that the tables have holes.
"""

import functools

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from armillary.measures.errors.jackknife import half_width
from armillary.measures.heldout import FOLDS, heldout
from armillary.measures.position import position_effect
from armillary.results.labels import labelled
from armillary.surveys.tables import captured_groups
from synthetic import pilot_of, plan_for, state_of

POSITIONS, WIDTH, CONTEXTS, DOCUMENTS, HOLES = 48, 64, 64, 32, 8
STRENGTHS = {"strong": 3.0, "weak": 1.0, "none": 0.0}
SURVEYS = 400
SPREAD = 1 / np.sqrt(1 + np.arange(WIDTH) / 4)
SPREAD /= np.sqrt(np.mean(SPREAD**2))
SMOOTH = ("share_corrected", "rank_stable_corrected", "relative_norm_corrected")


def waves(strength):
    """A position effect of rank 3: three cosines of falling size along fixed orthogonal directions."""
    along = (np.arange(POSITIONS) + 0.5) / POSITIONS
    cosines = np.stack([np.cos(np.pi * (k + 1) * along) / (k + 1) for k in range(3)], 1)
    return strength * cosines @ np.linalg.qr(np.random.default_rng(7).normal(size=(WIDTH, 3)))[0].T


def noise(rng, count, rho=0.8):
    """Stationary AR(1) noise along the text."""
    drawn = rng.normal(size=(count, POSITIONS, WIDTH))
    drawn[:, 1:] *= np.sqrt(1 - rho**2)
    return SPREAD * lfilter([1], [1, -rho], drawn, axis=1)


def states(seed):
    """One survey's states, a layer for each strength, position 0 to be dropped, massive tokens at the same places."""
    rng = np.random.default_rng([seed, 5])
    document = np.repeat(np.arange(DOCUMENTS), CONTEXTS // DOCUMENTS)
    layers = []
    for strength in STRENGTHS.values():
        shared = noise(rng, DOCUMENTS) + SPREAD * rng.normal(size=(DOCUMENTS, 1, WIDTH))
        layers.append(waves(strength) + noise(rng, CONTEXTS) + shared[document])
    table = np.pad(layers, ((0, 0), (0, 0), (1, 0), (0, 0)))
    cells = rng.choice(CONTEXTS * POSITIONS, HOLES, replace=False)
    table[:, cells // POSITIONS, cells % POSITIONS + 1] = 1e4
    return torch.from_numpy(table)


def surveyed(seed, groups):
    """What a survey says of position in each layer, windows dealt out to groups in their order."""
    plan = plan_for(CONTEXTS, POSITIONS, groups=groups, batch=16, seed=seed)
    rule = torch.full((len(STRENGTHS),), 10.0, dtype=torch.float64)
    table = states(seed)
    first, state = pilot_of(table, rule), state_of(table, plan, rule)
    residual = captured_groups(state, plan, first, attention=False)["residual"]
    assert int(residual.holes) == HOLES
    arrays = {**residual.data_vars, "group": xr.DataArray(plan.groups, dims="context")}
    found = labelled(heldout)(arrays)
    return found.merge(labelled(position_effect)({**arrays, **found.data_vars})).assign_coords(layer=list(STRENGTHS))


def truth(strength):
    singular = np.linalg.svd(waves(strength), compute_uv=False)
    energy = np.mean(np.sum(waves(strength) ** 2, 1))
    population = 3 * np.diag(SPREAD**2) + waves(strength).T @ waves(strength) / POSITIONS
    return {
        "share_corrected": energy / (energy + 3 * WIDTH),
        "rank_stable_corrected": np.sum(singular**2) / max(singular[0] ** 2, 1e-300),
        "relative_norm_corrected": singular[0] / np.sqrt(POSITIONS * np.linalg.eigvalsh(population)[-1]),
    }


@functools.cache
def surveys(count=SURVEYS, groups=16):
    with threadpool_limits(1):
        return xr.concat([surveyed(seed, groups) for seed in range(count)], "survey")


def coverage(found, name, strength, groups):
    """How often the 95 % interval holds the truth, where there is one; ratios have errors over the folds of groups."""
    draws = groups if name == "share_corrected" else min(groups, FOLDS)
    one = found.sel(layer=strength)
    given = one.isel(survey=np.flatnonzero(~np.isnan(one[name])))
    off = abs(given[name] - truth(STRENGTHS[strength])[name])
    return float((off <= half_width(draws) * given[f"{name}_se"]).mean())


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_intervals_over_documents_cover_the_truth(name, strength):
    assert 0.90 <= coverage(surveys(), name, strength, 16) <= 0.99


def test_without_an_effect_the_share_covers_zero_and_is_not_clipped():
    assert 0.90 <= coverage(surveys(), "share_corrected", "none", 16) <= 0.99
    assert 0.3 < float((surveys().share_corrected.sel(layer="none") < 0).mean()) < 0.7


def test_without_an_effect_ranks_are_not_determined_or_zero():
    none = surveys().sel(layer="none")
    assert float(np.isnan(none.rank_stable_corrected).mean()) >= 0.90
    assert float((none.rank_heldout == 0).mean()) >= 0.90


def test_a_strong_effect_of_three_modes_is_found_and_hardly_anything_else():
    strong = surveys().sel(layer="strong")
    assert float(strong.rank_heldout.isin([2, 3]).mean()) >= 0.95
    assert float(np.isnan(strong.rank_stable_corrected).mean()) == 0
    assert float((strong.rank_heldout_low <= strong.rank_heldout).mean()) >= 0.95


@pytest.mark.parametrize("name", ["share_corrected", "rank_stable_corrected"])
def test_with_windows_taken_for_documents_the_same_intervals_fail(name):
    assert coverage(surveys(100, CONTEXTS), name, "strong", CONTEXTS) < 0.90


@pytest.mark.parametrize("name", ["share", "rank_stable", "relative_norm"])
def test_plug_in_values_are_off_where_corrected_ones_are_not(name):
    """The bias of the plain estimates at 64 windows, in units of their scatter, against that of the corrected ones."""
    weak, right = surveys().sel(layer="weak"), truth(STRENGTHS["weak"])[f"{name}_corrected"]
    if name == "share":
        plain = (weak.singular_value**2).sum("mode") * CONTEXTS / (CONTEXTS * POSITIONS * 3 * WIDTH)
    else:
        plain = weak[name]
    corrected = weak[f"{name}_corrected"]
    assert abs(plain.mean() - right) > 2 * plain.std()
    assert abs(corrected.mean() - right) < corrected.std()
