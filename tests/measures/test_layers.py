import numpy as np
import pytest

from armillary.measures.layers import TOKENS, cka, layer_cosine, layer_similarity, sample_gram


def centring(count):
    return np.eye(count) - 1 / count


def unbiased_hsic(K, L):
    """Song et al. (2012), as the average over quadruples of different samples."""
    count = len(K)
    total, number = 0.0, 0
    for i in range(count):
        for j in range(count):
            for q in range(count):
                for r in range(count):
                    if len({i, j, q, r}) == 4:
                        total += K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q])
                        number += 1
    return total / number


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((9, 6))
    return np.stack([shared, shared + rng.standard_normal((9, 6)), rng.standard_normal((9, 6)) + 4])


def test_sample_gram_is_the_table_of_centred_inner_products(states):
    for sample, table in zip(states, sample_gram(states), strict=True):
        np.testing.assert_allclose(table, centring(9) @ sample @ sample.T @ centring(9), atol=1e-12)


def test_cka_is_kornblith_s_cross_covariance_form(states):
    centred = states - states.mean(axis=1, keepdims=True)
    expected = [
        [np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)) for b in centred]
        for a in centred
    ]
    np.testing.assert_allclose(cka(sample_gram(states)).cka, expected, rtol=1e-12)


def test_debiased_cka_is_the_ratio_of_hsic_over_quadruples_of_different_samples(states):
    kernels = [sample @ sample.T for sample in states]
    table = np.array([[unbiased_hsic(K, L) for L in kernels] for K in kernels])
    own = np.sqrt(np.diagonal(table))
    np.testing.assert_allclose(cka(sample_gram(states)).cka_debiased, table / np.outer(own, own), atol=1e-10)


def test_rotated_and_scaled_layers_have_cka_1_and_unrelated_ones_0_only_without_the_bias():
    rng = np.random.default_rng(1)
    sample = rng.standard_normal((40, 100))
    turned = 7 * sample @ np.linalg.qr(rng.standard_normal((100, 100)))[0]
    result = cka(sample_gram(np.stack([sample, turned, rng.standard_normal((40, 100))])))
    assert result.cka[0, 1] == pytest.approx(1)
    assert result.cka_debiased[0, 1] == pytest.approx(1)
    assert result.cka[0, 2] > 0.5
    assert abs(result.cka_debiased[0, 2]) < 0.1


def test_a_layer_without_variance_or_a_sample_of_three_has_no_debiased_cka():
    constant = cka(sample_gram(np.stack([np.ones((6, 3)), np.random.default_rng(2).standard_normal((6, 3))])))
    assert np.isnan(constant.cka[0]).all()
    assert np.isnan(constant.cka_debiased[0]).all()
    few = cka(sample_gram(np.random.default_rng(3).standard_normal((2, 3, 5))))
    assert np.isnan(few.cka_debiased).all()
    assert few.cka[0, 0] == pytest.approx(1)


def test_layer_cosine_is_the_mean_over_tokens_of_their_cosines(states):
    expected = [
        [np.mean([x @ y / np.sqrt((x @ x) * (y @ y)) for x, y in zip(a, b, strict=True)]) for b in states]
        for a in states
    ]
    np.testing.assert_allclose(layer_cosine(states), expected, atol=1e-14)
    np.testing.assert_allclose(layer_cosine(states.astype(np.float32)), expected, atol=1e-6)


def test_likeness_is_that_of_at_most_256_tokens_evenly_spread_without_massive_ones():
    rng = np.random.default_rng(4)
    states = rng.standard_normal((2, 700, 3))
    massive = rng.random(700) < 0.1
    calm = states[:, ~massive]
    assert 2 * TOKENS < calm.shape[1] <= 3 * TOKENS
    chosen = calm[:, ::3]
    result = layer_similarity(states, massive, 70)
    np.testing.assert_allclose(result.layer_cosine, layer_cosine(chosen))
    np.testing.assert_allclose(result.cka, cka(sample_gram(chosen)).cka)
    few = layer_similarity(states[:, :200], massive[:200], 0)
    np.testing.assert_allclose(few.cka_debiased, cka(sample_gram(states[:, :200])).cka_debiased)


def test_a_zero_state_has_no_cosine_with_other_layers():
    states = np.ones((2, 3, 4))
    states[1, 0] = 0
    assert np.isnan(layer_cosine(states)[1]).all()
    assert layer_cosine(states)[0, 0] == pytest.approx(1)
