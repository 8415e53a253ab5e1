"""The softmax of Gaussian scores against scipy, finite differences and simulation."""

import numpy as np
import pytest
from scipy import special, stats

from armillary.measures.gaussian.softmax import (
    cosine_residual,
    entropy_at,
    entropy_deficit,
    entropy_slope,
    log_normal_moments,
    path_curves,
    path_slope,
    published_log_normal_mean,
    published_ratio_mean,
    ratio_moments,
    score_gradient,
    slerp,
)
from armillary.measures.similarity import unit_vectors

RNG = np.random.default_rng(0)
SCALES = np.array([0.0, 0.5, 1.0, 3.0])
TIMES = np.linspace(0, 1, 41)


def orthogonal_pair(rng, keys, length=1.0):
    first, second = rng.standard_normal((2, keys))
    first /= np.linalg.norm(first)
    second -= (second @ first) * first
    return length * first, length * second / np.linalg.norm(second)


@pytest.mark.parametrize(("mean", "variance"), [(0.5, 1.0), (2.0, 0.3)])
def test_log_normal_moments_are_scipys_and_the_published_mean_is_not(mean, variance):
    law = stats.lognorm(np.sqrt(variance), scale=np.exp(mean))
    assert log_normal_moments(mean, variance) == pytest.approx((law.mean(), law.var()))
    assert abs(published_log_normal_mean(mean, variance) - law.mean()) > 0.5


def test_ratios_of_probabilities_have_the_moments_of_drawn_ones():
    covariance = np.array([[0.5, 0.2], [0.2, 0.3]])
    scores = RNG.multivariate_normal([0.3, -0.2], covariance, 400_000)
    shares = special.softmax(scores, axis=1)
    ratio = shares[:, 0] / shares[:, 1]
    found = ratio_moments(0.5, (0.5, 0.3), 0.2)
    error = ratio.std() / np.sqrt(len(ratio))
    assert abs(ratio.mean() - found.mean) < 5 * error
    assert ratio.var() == pytest.approx(found.variance, rel=0.05)
    assert abs(published_ratio_mean(0.5, (0.5, 0.3), 0.2) - ratio.mean()) > 50 * error


def test_entropy_goes_from_uniform_to_one_key_with_the_slope_of_finite_differences():
    scores = RNG.standard_normal(20)
    assert entropy_at(scores, np.array([0.0, 1e3])) == pytest.approx([np.log(20), 0])
    step = 1e-5
    slopes = (entropy_at(scores, SCALES + step) - entropy_at(scores, SCALES - step)) / (2 * step)
    np.testing.assert_allclose(entropy_slope(scores, SCALES), slopes, atol=1e-8)


def test_the_gradient_of_the_cross_entropy_is_softmax_less_target():
    target, scores = special.softmax(RNG.standard_normal(6)), RNG.standard_normal(6)

    def crossed(x):
        return -target @ special.log_softmax(x)

    steps = 1e-6 * np.eye(6)
    slopes = [(crossed(scores + step) - crossed(scores - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(score_gradient(target, scores), slopes, atol=1e-8)


def test_slerp_stays_on_the_sphere_begins_at_v_and_ends_at_w():
    first, second = unit_vectors(RNG.standard_normal((2, 9)))
    path = slerp(first, second, TIMES)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1)
    np.testing.assert_allclose(path[[0, -1]], [first, second], atol=1e-12)
    angle = np.arccos(first @ second)
    np.testing.assert_allclose(path @ first, np.cos(TIMES * angle), atol=1e-12)
    np.testing.assert_allclose(slerp(first, first, TIMES)[20], first)
    with pytest.raises(ValueError, match="angle of 180°: there is no shorter arc"):
        slerp(first, -first, TIMES)


def test_curves_along_the_path_are_scipys_and_end_at_0():
    first, second = orthogonal_pair(RNG, 10, 3.0)
    curves = path_curves(first, second, TIMES)
    target, along = special.softmax(second), special.softmax(slerp(first, second, TIMES), axis=1)
    np.testing.assert_allclose(curves.kl, [stats.entropy(target, row) for row in along], atol=1e-12)
    middle = (along + target) / 2
    expected = [(stats.entropy(p, m) + stats.entropy(target, m)) / 2 for p, m in zip(along, middle, strict=True)]
    np.testing.assert_allclose(curves.jensen_shannon, expected, atol=1e-12)
    assert curves.kl[-1] == pytest.approx(0, abs=1e-12)


def test_the_slope_along_the_path_is_that_of_finite_differences():
    first, second = orthogonal_pair(RNG, 10, 3.0)
    inside, step = TIMES[1:-1], 1e-5
    ahead, behind = (path_curves(first, second, inside + sign * step).cross_entropy for sign in (1, -1))
    np.testing.assert_allclose(path_slope(first, second, inside), (ahead - behind) / (2 * step), atol=1e-8)


def test_the_cross_entropy_along_slerp_is_nearly_a_cosine_and_more_nearly_so_in_many_dimensions():
    residuals = {
        keys: np.median(
            [
                cosine_residual(
                    path_curves(*orthogonal_pair(np.random.default_rng(i), keys), TIMES).cross_entropy, TIMES
                )
                for i in range(40)
            ]
        )
        for keys in (10, 100)
    }
    assert 0.004 < residuals[10] < 0.04
    assert residuals[100] == pytest.approx(residuals[10] / 10, rel=0.5)
    assert cosine_residual(3 * np.cos(np.pi / 2 * TIMES + 0.4) - 1, TIMES) < 1e-12


def test_short_random_vectors_have_nearly_uniform_softmax():
    vectors = unit_vectors(RNG.standard_normal((2000, 100)))
    deficit = np.log(100) - stats.entropy(special.softmax(vectors, axis=1), axis=1)
    assert deficit.mean() == pytest.approx(entropy_deficit(100, 1.0), rel=0.03)
