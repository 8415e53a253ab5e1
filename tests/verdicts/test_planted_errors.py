"""A wrong formula in the place of a right one is caught: the verdict flips."""

import sys

import numpy as np
import pytest

from armillary.measures.gaussian import bilinear, information, random_matrices, softmax
from armillary.measures.localization import penalty, products, walk
from armillary.measures.localization.bounds import entropy_bound
from armillary.measures.localization.law import published_rho, symmetric_shares
from armillary.verdicts import registry
from armillary.verdicts.claim import BROKEN, FALSE, measure_name


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
    "BAO-B2-CS": ("product_of_four", lambda covariance: 2 * products.product_of_four(covariance)),
    "SZ-INCOH": ("mean_absolute_cosine", lambda size: np.sqrt(1 / size)),
    "TW-RESID": ("stream_radius", lambda width, blocks: np.sqrt(width * (1 + blocks))),
    "WE-2.5-GAP": ("smallest_gap", lambda size, deviation: np.pi * deviation / size),
    "WE-5.3": ("sphere_moments", lambda *_: bilinear.FormMoments(1 / 63, 0.0)),
    "WE-6.10": ("self_pair_moments", lambda C, law: bilinear.FormMoments(float(C.sum()), 1.0)),
    "WE-6.11": ("bilinear_moments", lambda C, law: bilinear.FormMoments(0.0, float(np.trace(C) ** 2))),
    "WE-6.35": ("sphere_moments", lambda C, lengths, cosine: bilinear.FormMoments(lengths[0] / len(C), 1.0)),
    "WE-6.37": ("sphere_moments", lambda C, lengths, cosine: bilinear.FormMoments(6 / len(C), 1.0)),
    "WE-8.5": ("bilinear_moments", lambda C, law: bilinear.FormMoments(0.0, float(np.trace(C)))),
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


WITHOUT_MEASURES = {"WE-2.1-UV", "WE-2.1-SV", "WE-6.25-DOF"}
"""Facts of linear algebra that no measure of Armillary states: checked on matrices made with a known answer."""


def distorted(measure, factor):
    """The measure with every number of its answer multiplied."""

    def change(answer):
        if isinstance(answer, tuple):
            parts = [change(each) for each in answer]
            return type(answer)(*parts) if hasattr(answer, "_fields") else tuple(parts)
        numeric = isinstance(answer, float | complex) or (isinstance(answer, np.ndarray) and answer.dtype.kind in "fc")
        return answer * factor if numeric else answer

    return lambda *arguments, **named: change(measure(*arguments, **named))


def survives(claim, monkeypatch):
    """Whether the verdict stays as it is whatever number of whatever measure is distorted."""
    before = registry.verdict(claim, 0, None).verdict
    rooms = [room for name, room in sys.modules.items() if name.startswith("armillary.verdicts.")]
    for name in claim.uses:
        for factor in (1.3, 0.0, -1.0, 100.0):
            with monkeypatch.context() as patch:
                for room in rooms:
                    if measure_name(getattr(room, name.rpartition(".")[2], None)) == name:
                        patch.setattr(room, name.rpartition(".")[2], distorted(MEASURES[name], factor))
                try:
                    if registry.verdict(claim, 0, None).verdict != before:
                        return False
                except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                    return False
    return True


MEASURES = {
    measure_name(value): value
    for name, room in list(sys.modules.items())
    if name.startswith("armillary.verdicts.")
    for value in vars(room).values()
    if measure_name(value)
}


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_no_verdict_survives_every_distortion_of_its_measures(monkeypatch):
    blind = {claim.id for claim in registry.CLAIMS.values() if claim.runnable and survives(claim, monkeypatch)}
    assert blind == WITHOUT_MEASURES


def test_at_least_fifteen_claims_are_tried_and_the_right_formulas_differ_from_the_wrong_ones():
    assert len(PLANTED) >= 15
    assert random_matrices.mean_length(64, 0.3) != PLANTED["WE-2.5-DV"][1](64, 0.3)
