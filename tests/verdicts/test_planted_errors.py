"""A wrong formula in the place of a right one is caught: the verdict flips."""

import sys

import numpy as np
import pytest

from armillary.measures.gaussian import bilinear, information, random_matrices, softmax
from armillary.measures.localization import penalty, products, walk
from armillary.measures.localization.bounds import entropy_bound
from armillary.measures.localization.law import published_rho, symmetric_shares
from armillary.verdicts import registry
from armillary.verdicts.claim import BROKEN, FALSE


def as_published_moments(trace, trace_square, energy, length, positions=None):
    return walk.published_moments(trace, trace_square, length, positions)


def swapped_bound(nu, length):
    found = entropy_bound(nu, length)
    return found._replace(left_corrected=found.left_published)


PLANTED = {
    "BAO-L1-VAR": ("moments", as_published_moments),
    "BAO-SYM": ("moments", as_published_moments),
    "BAO-L1-MEAN": ("moments", as_published_moments),
    "BAO-L4": ("score_products", products.score_products_published),
    "BAO-EQ9": ("entropy_bound", swapped_bound),
    "BAO-LOC-GRAD-3/4": ("trace_gradient", penalty.trace_gradient_published),
    "BAO-GAMMA": ("tangent", lambda scores: scores / scores.shape[-1]),
    "SZ-T1-LEM2": ("factor_bound", lambda frequency: 1 / (8 * frequency)),
    "SZ-T1-LEM1": ("difference_factors", lambda size: np.full(size, 1 / size, dtype=complex)),
    "SZ-PE": ("sinusoidal_encoding", lambda positions, width: np.ones((positions, width))),
    "SZ-T2": ("theorem2_bound", lambda sparsity, incoherence: 4 * sparsity * incoherence),
    "TW-LN-EPS": ("radius_with_eps", lambda variance, eps, width: np.full(len(variance), np.sqrt(width))),
    "TW-JAC": ("stretch", lambda state: np.full(len(state), 1 / state.std())),
    "TW-LN": ("sphere_points", lambda states, centring, eps: states / np.linalg.norm(states, axis=-1, keepdims=True)),
    "WE-2.2-CE": ("cross_entropy", information.published_cross_entropy),
    "WE-2.2-H": ("gaussian_entropy", lambda covariance: len(covariance) / 2 + information.gaussian_entropy(covariance)),
    "WE-2.5-DV": ("mean_length", lambda size, deviation: size * deviation**2),
    "WE-5.1-LN": (
        "log_normal_moments",
        lambda mean, variance: softmax.Moments(softmax.published_log_normal_mean(mean, variance), variance),
    ),
    "WE-5.20": (
        "ratio_moments",
        lambda gap, variances: softmax.Moments(softmax.published_ratio_mean(gap, variances), 1.0),
    ),
    "WE-6.2": ("bilinear_moments", lambda C, law: bilinear.FormMoments(bilinear.published_mean(C, law), 1.0)),
    "WE-6.34": ("turned_trace_variance", bilinear.published_trace_variance),
    "WE-6.45-47": ("random_form_covariance", lambda *_: bilinear.published_random_variance(16, 0.9)),
    "WE-6.29": ("mean_singular_value", lambda size, deviation: np.sqrt(size) * deviation),
    "WE-6.24-29": ("matched_trace", lambda size, deviation: size**2 * deviation**2),
    "WE-5.2.3-SLERP": ("slerp", lambda first, second, times: np.stack([-first])),
}
"""The measure that a claim calls, and what is put in its place."""


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_flips_the_verdict(name, monkeypatch):
    claim = registry.CLAIMS[name]
    before = registry.verdict(claim, 0, None).verdict
    measure, wrong = PLANTED[name]
    monkeypatch.setattr(sys.modules[claim.check.__module__], measure, wrong)
    after = registry.verdict(claim, 0, None).verdict
    assert before not in (BROKEN, after)
    assert after in (BROKEN, FALSE)


def test_the_exact_law_is_caught_where_it_becomes_the_published_one(monkeypatch):
    claim = registry.CLAIMS["BAO-L1-EXACTLAW"]

    def wrong(eigenvalues, length):
        rho = published_rho(float(eigenvalues.sum()), float(np.sum(eigenvalues**2)), length)
        return symmetric_shares(eigenvalues, length)._replace(rho=rho)

    monkeypatch.setattr(sys.modules[claim.check.__module__], "symmetric_shares", wrong)
    assert registry.verdict(claim, 0, None).verdict == FALSE


def test_at_least_fifteen_claims_are_tried_and_the_right_formulas_differ_from_the_wrong_ones():
    assert len(PLANTED) >= 15
    assert random_matrices.mean_length(64, 0.3) != PLANTED["WE-2.5-DV"][1](64, 0.3)
