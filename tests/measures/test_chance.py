"""Chance similarity against its closed form, and against plain simulation of the vectors themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.measures.chance import chance_cosine, spectrum_from, spectrum_of
from armillary.measures.incoherence import mean_absolute_cosine

SPECTRA = {
    "power law": 1 / (1 + np.arange(200)),
    "slow power law": (1 + np.arange(200)) ** -0.5,
    "one large direction": np.r_[60, np.ones(199)],
    "few dimensions": np.array([3.0, 1, 0.5]),
}


@pytest.mark.parametrize("d_model", [1, 8, 64, 576])
def test_equal_eigenvalues_give_the_closed_form_of_uniform_directions(d_model):
    assert chance_cosine(spectrum_from(np.ones(d_model))) == pytest.approx(mean_absolute_cosine(d_model), rel=0.005)


@pytest.mark.parametrize("name", SPECTRA)
def test_any_spectrum_gives_the_mean_of_many_simulated_pairs(name):
    spectrum, rng = SPECTRA[name], np.random.default_rng(1)
    means = []
    for _ in range(40):
        drawn = rng.standard_normal((2, 600, len(spectrum)), dtype=np.float32) * np.sqrt(spectrum, dtype=np.float32)
        one, other = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
        means.append(np.abs(one @ other.T).mean())
    scatter = np.std(means) / np.sqrt(len(means))
    assert chance_cosine(spectrum_from(spectrum)) == pytest.approx(
        np.mean(means), abs=4 * np.hypot(scatter, 0.006 * np.mean(means))
    )


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-6, 1e6))
def test_scale_does_not_matter_and_no_variance_has_no_directions(scale):
    spectrum = np.exp(-np.arange(30) / 5)
    assert chance_cosine(spectrum_from(scale * spectrum)) == pytest.approx(
        chance_cosine(spectrum_from(spectrum)), rel=1e-4
    )
    assert np.isnan(chance_cosine(spectrum_from(np.zeros(5))))
    assert spectrum_of(np.zeros((5, 5))) is None


@pytest.mark.parametrize("name", SPECTRA)
def test_a_covariance_gives_the_same_chance_as_its_eigenvalues(name):
    spectrum = SPECTRA[name]
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((len(spectrum), len(spectrum)))).Q
    found, known = spectrum_of((turn * spectrum) @ turn.T), spectrum_from(spectrum)
    assert chance_cosine(found) == pytest.approx(chance_cosine(known), rel=0.01)
    assert found.leading[:3] == pytest.approx(known.leading[:3], rel=0.02)
    assert found.leading.sum() + found.rest == pytest.approx(1)
