"""Figure 5: what simulated walks show lies where the exact law says, and not where the published one does."""

import numpy as np
import pytest
from scipy import stats

from armillary.measures.localization.simulation import (
    anisotropic_covariance,
    simulated_walks,
    spectral_matrix,
    walk_scores,
)

PAIRS = [(0.1, 0.02), (0.1, 0.1), (0.5, 0.1), (0.02, 0.1), (0.0, 0.1), (-0.1, 0.05), (0.0, 1.0), (0.01, 0.001)]


@pytest.fixture(scope="module")
def figure():
    return [
        simulated_walks(mean, scale, isotropic, seed=index)
        for isotropic in (True, False)
        for index, (mean, scale) in enumerate(PAIRS)
    ]


def test_the_exact_rho_is_within_chance_of_figure_5_and_the_published_one_is_not(figure):
    looks = 40 * len(figure)
    hits = np.round(300 * np.concatenate([each.rho for each in figure]))
    exact, published = (
        np.concatenate([getattr(each, name) for each in figure]) for name in ("rho_exact", "rho_published")
    )

    def smallest(rho):
        return 2 * np.minimum(stats.binom.cdf(hits, 300, rho), stats.binom.sf(hits - 1, 300, rho)).min()

    assert smallest(exact) > 0.01 / looks
    assert smallest(published) < 1e-20
    assert all(np.abs(each.rho - each.rho_published).max() > 0.12 for each in figure)


def test_with_128_modes_the_gaussian_rho_is_close_to_the_exact_one(figure):
    assert max(np.abs(each.rho_exact - each.rho_gaussian).max() for each in figure) < 0.05


def test_where_rho_localises_the_entropy_is_low(figure):
    entropies = {pair: each.entropy for pair, each in zip(PAIRS, figure, strict=False)}
    assert entropies[0.5, 0.1] < 0.3 < entropies[0.1, 0.02] < 1.5 < entropies[0.0, 0.1] < np.log(40)


def test_probabilities_add_up_to_1_and_errors_are_those_of_the_mean(figure):
    for each in figure:
        assert each.probability.sum() == pytest.approx(1)
        assert (each.slope <= each.probability * (1 - each.probability) + 1e-12).all()
        assert (each.rho_se > 0).all()
        assert 0 <= each.entropy_se < 0.1


def test_standard_errors_are_the_scatter_of_repeated_simulations():
    # The same W_QK each time would need the same seed; with scale 0 every draw of W_QK is the same multiple of I.
    runs = [simulated_walks(0.03, 0.0, walks=100, length=10, d_model=16, seed=seed) for seed in range(200)]
    for name in ("entropy", "probability", "slope", "distance", "rho"):
        values = np.array([getattr(run, name) for run in runs])
        errors = np.array([getattr(run, f"{name}_se") for run in runs])
        # The standard deviation of 200 draws is itself known to 1/√400.
        ratio = values.std(axis=0, ddof=1) / np.sqrt(np.mean(errors**2, axis=0))
        certain = values.mean(axis=0) > 0.99 if name == "rho" else np.zeros(np.shape(ratio), dtype=bool)
        assert np.all((np.abs(ratio - 1) < 0.25) | certain), name


def test_a_seed_gives_the_same_walks_again():
    first, second, other = (simulated_walks(0.1, 0.1, False, 20, 6, 8, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.probability, second.probability)
    assert first.entropy == second.entropy != other.entropy


def test_scores_in_batches_have_the_covariance_of_the_walk(monkeypatch):
    rng = np.random.default_rng(2)
    covariance, W_QK = anisotropic_covariance(5, rng), rng.standard_normal((5, 5)) / 5
    monkeypatch.setattr("armillary.measures.localization.simulation.CELLS", 50_000)
    scores = walk_scores(W_QK, covariance, 60_000, 6, rng)
    order, W = np.arange(1, 7), W_QK @ covariance
    z = (scores - order * np.trace(W)).mean(axis=0) / (scores.std(axis=0) / np.sqrt(len(scores)))
    assert np.abs(z).max() < 4
    # Isserlis: Cov(ω_i, ω_j) = T min(i, j) tr(MΣMᵀΣ) + ij tr(MΣMΣ).
    expected = 6 * np.minimum.outer(order, order) * np.trace(W @ W_QK.T @ covariance)
    expected = expected + np.outer(order, order) * np.trace(W @ W)
    np.testing.assert_allclose(np.cov(scores.T), expected, rtol=0.06, atol=0.03 * expected.max())


def test_the_drawn_matrices_have_the_spectra_of_the_document():
    rng = np.random.default_rng(3)
    eigenvalues = np.linalg.eigvalsh(spectral_matrix(0.5, 0.1, 400, rng))
    assert stats.kstest(eigenvalues, stats.norm(0.5, 0.1).cdf).pvalue > 0.01
    assert np.trace(anisotropic_covariance(400, rng)) / 400 == pytest.approx(25 / 12, rel=0.02)
