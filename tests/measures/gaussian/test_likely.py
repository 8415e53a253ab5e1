"""The likely tokens of a text: shares against texts whose laws are known, spectra against drawn tokens."""

import numpy as np
import pytest

from armillary.measures.errors.jackknife import half_width
from armillary.measures.gaussian.likely import explained_by_tokens, likely_marks, marginal_spectrum

TOKENS, MODES = 6, 3
SHARES = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
FIXED = np.random.default_rng(5)
VECTORS, BIGRAM = FIXED.normal(size=(TOKENS, MODES)), FIXED.normal(size=(TOKENS, MODES))


def text(rng, bigram=0.0, linear=0.0, windows=64, length=40):
    """Tokens drawn independently; a state is its token's vector, noise, and what the token or state before adds."""
    tokens = rng.choice(TOKENS, size=(windows, length), p=SHARES)
    own = VECTORS[tokens] + rng.normal(size=(windows, length, MODES))
    states = own.copy()
    states[:, 1:] += bigram * BIGRAM[tokens[:, :-1]]
    for at in range(1, length):
        states[:, at] += linear * states[:, at - 1]
    return states, tokens, np.ones(tokens.shape, dtype=bool), np.arange(windows) % 16


def explained(rng, **options):
    states, tokens, kept, group = text(rng, **options)
    return explained_by_tokens(states, likely_marks(tokens, kept, TOKENS), kept, group, MODES)


def between(vectors):
    """Covariance of one of these vectors, drawn with their probabilities."""
    centred = vectors - SHARES @ vectors
    return (centred.T * SHARES) @ centred


def share(part, whole):
    return np.trace(np.linalg.solve(whole, part)) / MODES


def test_shares_are_those_of_the_law_that_the_text_was_drawn_from():
    found = explained(np.random.default_rng(0), bigram=1.0, windows=256)
    whole = between(VECTORS) + between(BIGRAM) + np.eye(MODES)
    assert found.own_token == pytest.approx(share(between(VECTORS), whole), abs=5 * found.own_token_se)
    assert found.previous_token == pytest.approx(share(between(BIGRAM), whole), abs=5 * found.own_token_se)
    assert found.own_token_se < 0.02
    assert found.previous_token_low < found.previous_token < found.previous_token_high


def test_without_an_effect_of_the_token_before_there_is_none():
    found = np.array([explained(np.random.default_rng(seed)).previous_token for seed in range(40)])
    assert abs(found.mean()) < 5 * found.std(ddof=1) / np.sqrt(40)
    assert np.abs(found).max() < 0.02


def test_a_conditional_that_is_linear_is_predicted_and_one_that_is_not_is_missed():
    linear = explained(np.random.default_rng(1), linear=0.7)
    assert linear.previous_predicted == pytest.approx(linear.previous_token, abs=5 * linear.own_token_se)
    assert linear.previous_state > 2 * linear.previous_token
    other = explained(np.random.default_rng(1), bigram=1.0)
    assert other.previous_token > other.previous_predicted + 10 * other.own_token_se


def test_the_interval_of_the_own_token_covers():
    rng = np.random.default_rng(2)
    found = [explained(rng, bigram=0.5, linear=0.5, windows=32) for _ in range(120)]
    values, errors = np.array([(one.own_token, one.own_token_se) for one in found]).T
    assert np.mean(np.abs(values - values.mean()) < half_width(16) * errors) > 0.88


def test_marks_are_ranks_by_frequency_and_rare_or_uncounted_tokens_have_none():
    tokens = np.array([[7, 7, 7, 3], [3, 9, 7, 5]])
    kept = np.array([[True] * 4, [True, True, True, False]])
    assert likely_marks(tokens, kept, 2).tolist() == [[0, 0, 0, 1], [1, -1, 0, -1]]


def test_too_few_pairs_are_not_estimable():
    states, tokens, kept, group = text(np.random.default_rng(0), windows=16, length=2)
    found = explained_by_tokens(states, likely_marks(tokens, kept, 1), kept, group, MODES)
    assert np.isnan(found.own_token)


def sums_of(vectors, counts):
    """Sums by group of documents of tokens that all have their own vector."""
    return counts[..., None] * vectors


def test_the_spectrum_is_that_of_drawn_tokens():
    rng = np.random.default_rng(3)
    counts = rng.multinomial(200, SHARES, size=16).astype(float)
    found = marginal_spectrum(sums_of(VECTORS, counts), counts)
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    drawn = np.repeat(unit, counts.sum(0).astype(int), axis=0)
    moment = np.linalg.eigvalsh(drawn.T @ drawn / len(drawn))[::-1]
    np.testing.assert_allclose(found.eigenvalue[:MODES], moment, atol=1e-12)
    assert found.eigenvalue.sum() == pytest.approx(1)
    assert found.directions == pytest.approx(1 / np.sum(moment**2), rel=0.01)
    pairs = unit @ unit.T
    draws = rng.choice(TOKENS, size=(2, 200_000), p=counts.sum(0) / counts.sum())
    first, second = draws[:, draws[0] != draws[1]]
    assert found.cosine == pytest.approx(pairs[first, second].mean(), abs=0.01)


def test_orthogonal_tokens_span_what_probabilities_allow_and_equal_ones_a_single_direction():
    counts = np.tile(100 * SHARES, (16, 1))
    apart = marginal_spectrum(sums_of(np.eye(TOKENS), counts), counts)
    assert apart.directions == pytest.approx(apart.directions_orthogonal)
    assert apart.directions_published < apart.directions
    assert apart.cosine == pytest.approx(0, abs=1e-12)
    same = marginal_spectrum(sums_of(np.ones((TOKENS, 4)), counts), counts)
    assert (same.directions, same.cosine) == (pytest.approx(1), pytest.approx(1))
