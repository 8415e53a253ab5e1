"""The token's share against scipy's analysis of variance, and a simulation whose share is known."""

import numpy as np
import pytest
from fields import alike
from scipy.stats import f_oneway

from armillary.measures.errors.jackknife import half_width, standard_error
from armillary.measures.identity import token_share


def of(residuals, token, own_group=None, **options):
    """The share of states that are nothing but residual, one window per group."""
    count, d_model = residuals.shape
    own_group = np.arange(count) if own_group is None else own_group
    groups = int(own_group.max(initial=0)) + 1
    given = {
        "mean": np.zeros(d_model),
        "position_basis": np.zeros((1, d_model)),
        "context_basis": np.zeros((groups, d_model)),
        "residual_position": np.array([1]),
        "position": np.ones(count, dtype=int),
        "context": own_group,
        "group": np.arange(groups),
        "massive": np.zeros(count, dtype=bool),
        "holes": 0,
    }
    return token_share(residuals, token=token, **given | options)


def epsilon_by_scipy(residuals, token):
    """1 − MS_within/MS_total with the sums of squares behind scipy's F, added up over dimensions."""
    names, counts = np.unique(token, return_counts=True)
    names = names[counts > 1]
    entering = np.isin(token, names)
    residuals, token = residuals[entering], token[entering]
    n, k = len(token), len(names)
    F = f_oneway(*[residuals[token == name] for name in names]).statistic
    total = np.sum((residuals - residuals.mean(axis=0)) ** 2, axis=0)
    within = total / (1 + F * (k - 1) / (n - k))
    return 1 - (within.sum() / (n - k)) / (total.sum() / (n - 1))


@pytest.fixture
def sampled():
    rng = np.random.default_rng(0)
    token = rng.integers(0, 30, size=90)
    return rng.standard_normal((30, 5))[token] * 0.7 + rng.standard_normal((90, 5)) + 3, token


def test_the_share_is_that_of_scipys_analysis_of_variance_over_tokens_that_occur_twice(sampled):
    residuals, token = sampled
    assert 1 in np.unique(token, return_counts=True)[1]
    result = of(residuals, token)
    assert result.token_share == pytest.approx(epsilon_by_scipy(residuals, token))
    assert result.token_count == np.sum(np.unique(token, return_counts=True)[1] > 1)
    assert of(residuals[:, :1], token).token_share == pytest.approx(epsilon_by_scipy(residuals[:, :1], token))


def test_the_error_is_the_jackknifes_of_shares_recomputed_without_each_group(sampled):
    residuals, token = sampled
    group = np.random.default_rng(1).integers(0, 6, size=90)
    names, counts = np.unique(token, return_counts=True)
    entering = np.isin(token, names[counts > 1])
    without = np.array(
        [epsilon_by_scipy(residuals[entering & (group != g)], token[entering & (group != g)]) for g in range(6)]
    )
    expected = standard_error(without)
    assert of(residuals, token, group).token_share_se == pytest.approx(float(expected))


def test_mean_position_and_context_are_taken_off_at_the_tokens_own_place(sampled):
    residuals, token = sampled
    rng = np.random.default_rng(2)
    mean, positions, contexts = rng.standard_normal(5), rng.standard_normal((7, 5)), rng.standard_normal((4, 5))
    position, context = rng.integers(1, 8, size=90), rng.integers(0, 4, size=90)
    states = residuals + mean + positions[position - 1] + contexts[context]
    places = {"position": position, "context": context, "group": np.arange(4), "residual_position": np.arange(1, 8)}
    bases = {"mean": mean, "position_basis": positions, "context_basis": contexts}
    expected = of(residuals, token, context)
    alike(of(states, token, **places, **bases), expected, rtol=1e-9)
    kept_first = {**places, "position": position - 1, "residual_position": np.arange(7)}
    alike(of(states, token, **kept_first, **bases), expected, rtol=1e-9)


def test_shuffled_identities_explain_nothing_on_average_and_pass_the_null_once_in_twenty(sampled):
    residuals, token = sampled
    rng = np.random.default_rng(3)
    results = [of(residuals, rng.permutation(token)) for _ in range(300)]
    shares = np.array([result.token_share for result in results])
    assert abs(shares.mean()) < 4 * shares.std() / np.sqrt(300)
    assert shares.min() < 0
    passed = np.mean([result.token_share > result.token_share_null for result in results])
    assert 0.01 < passed < 0.12
    assert of(residuals, token).token_share > of(residuals, token).token_share_null


def test_the_95_percent_interval_covers_the_true_share():
    """Tokens in unequal numbers, documents with their own spread and favourite tokens, 16 groups of unequal size."""
    rng = np.random.default_rng(4)
    tokens, d_model = 12, 8
    effects = rng.standard_normal((tokens, d_model))
    chance = rng.dirichlet(np.full(tokens, 8.0))
    mean = chance @ effects
    between = chance @ np.sum((effects - mean) ** 2, axis=1)
    truth = between / (between + 1.5 * d_model)  # a document's variance is 1 or 2, equally often
    covered = []
    for _ in range(200):
        group = rng.choice(16, size=350, p=rng.dirichlet(np.full(16, 20.0)))
        liked = rng.dirichlet(60 * chance, size=16)
        token = np.array([rng.choice(tokens, p=liked[g]) for g in group])
        spread = np.sqrt(rng.choice([1.0, 2.0], size=16))[group, None]
        result = of(effects[token] + spread * rng.standard_normal((350, d_model)), token, group)
        covered.append(abs(result.token_share - truth) < half_width(16) * result.token_share_se)
    assert 0.9 <= np.mean(covered) <= 0.995


def test_massive_tokens_stay_out_where_the_run_left_them_out(sampled):
    residuals, token = sampled
    massive = np.arange(90) % 11 == 0
    without = of(
        residuals[~massive],
        token[~massive],
        np.arange(90)[~massive],
        group=np.arange(90),
        context_basis=np.zeros((90, 5)),
    )
    alike(of(residuals, token, massive=massive, holes=4), without)
    alike(of(residuals, token, massive=massive, holes=0), of(residuals, token))


def test_the_share_is_not_determined_without_two_tokens_that_occur_twice():
    residuals = np.random.default_rng(5).standard_normal((6, 3))
    nobody, one = of(residuals, np.arange(6)), of(residuals, np.zeros(6, dtype=int))
    assert np.isnan([nobody.token_share, nobody.token_share_se, nobody.token_share_null]).all()
    assert np.isnan([one.token_share, one.token_share_se, one.token_share_null]).all()
    assert (nobody.token_count, one.token_count) == (0, 1)
    assert np.isnan(of(np.ones((6, 3)), np.arange(6) // 2).token_share)
    assert np.isnan(of(residuals, np.arange(6) // 2, np.zeros(6, dtype=int)).token_share_se)
