"""The softmax of Gaussian scores: log-normal moments, ratios, entropy against scale, and paths over the sphere.

After Wertich, chapter 5, corrected where it is wrong: E exp(x) is exp(μ + σ²/2); the entropy of the softmax of αv falls
as −α Var_p(v); the cross-entropy along a SLERP path is nearly, and not exactly, a cosine.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from armillary.measures.localization.softmax import entropy, softmax

Values = int | float | Float[np.ndarray, "*shape"]
Scores = Float[np.ndarray, " key"]
Times = Float[np.ndarray, " time"]


class Moments(NamedTuple):
    """Mean and variance of a positive random number."""

    mean: Values
    variance: Values


class PathCurves(NamedTuple):
    """Along a path from v to w, t from 0 to 1: H(w, ·), KL(w‖·) and Jensen–Shannon with w, softmax taken, in nats."""

    cross_entropy: Times
    kl: Times
    jensen_shannon: Times


def log_normal_moments(mean: Values, variance: Values) -> Moments:
    """exp(μ + σ²/2) and (exp σ² − 1) exp(2μ + σ²): mean and variance of exp x, x normal."""
    return Moments(np.exp(mean + variance / 2), np.expm1(variance) * np.exp(2 * mean + variance))


def published_log_normal_mean(mean: Values, variance: Values) -> Values:
    """exp((μ + σ²)/2) as printed in section 5.1.2: right for μ = 0 alone."""
    return np.exp((mean + variance) / 2)


def ratio_moments(gap: Values, variances: tuple[Values, Values], covariance: Values = 0.0) -> Moments:
    """Mean and variance of p_i/p_j = exp(x_i − x_j): log-normal of mean `gap` and variance σ_i² + σ_j² − 2σ_ij."""
    return log_normal_moments(gap, variances[0] + variances[1] - 2 * covariance)


def published_ratio_mean(gap: Values, variances: tuple[Values, Values], covariance: Values = 0.0) -> Values:
    """Equation (5.20) as printed: the gap is halved too."""
    return published_log_normal_mean(gap, variances[0] + variances[1] - 2 * covariance)


def entropy_at(scores: Scores, scales: Float[np.ndarray, " scale"]) -> Float[np.ndarray, " scale"]:
    """Entropy of softmax(αv) at each α, in nats: log n at 0, towards 0 (one key) as α grows."""
    return entropy(softmax(scales[:, None] * scores))


def entropy_slope(scores: Scores, scales: Float[np.ndarray, " scale"]) -> Float[np.ndarray, " scale"]:
    """dH/dα = −α Var_p(v), p the softmax of αv."""
    shares = softmax(scales[:, None] * scores)
    centred = scores - (shares @ scores)[:, None]
    return np.asarray(-scales * np.sum(shares * centred**2, axis=1))


def score_gradient(target: Scores, scores: Scores) -> Scores:
    """Gradient of the cross-entropy H(q, softmax x) by the scores: softmax(x) − q."""
    return softmax(scores) - target


def slerp(first: Scores, second: Scores, times: Times) -> Float[np.ndarray, "time key"]:
    """sin((1 − t)θ)/sin θ · v + sin(tθ)/sin θ · w, θ the angle of v and w: the great circle where they are as long.

    Parallel vectors are joined by a straight line; opposite ones have no shorter arc and are refused.
    """
    cosine = float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
    angle = float(np.arccos(np.clip(cosine, -1, 1)))
    if np.pi - angle < 1e-9:
        raise ValueError("expected two vectors that are not opposite, got an angle of 180°: there is no shorter arc")
    if angle < 1e-9:
        return np.asarray(first + times[:, None] * (second - first))
    weights = np.sin(np.stack([(1 - times) * angle, times * angle], axis=1)) / np.sin(angle)
    return np.asarray(weights @ np.stack([first, second]))


def path_curves(first: Scores, second: Scores, times: Times) -> PathCurves:
    """Cross-entropy, KL and Jensen–Shannon between softmax(w) and the softmax of each point of the path to it."""
    target, along = softmax(second), softmax(slerp(first, second, times))
    crossed = -(np.log(along) @ target)
    middle = entropy((along + target) / 2)
    return PathCurves(crossed, crossed - float(entropy(target)), middle - (entropy(along) + entropy(target)) / 2)


def path_slope(first: Scores, second: Scores, times: Times) -> Times:
    """d/dt of the cross-entropy along the path: Σ (softmax v(t) − softmax w) dv/dt."""
    angle = float(np.arccos(np.clip(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)), -1, 1)))
    weights = np.cos(np.stack([(1 - times) * angle, times * angle], axis=1)) * [-angle, angle] / np.sin(angle)
    velocity = weights @ np.stack([first, second])
    return np.asarray(np.sum((softmax(slerp(first, second, times)) - softmax(second)) * velocity, axis=1))


def cosine_residual(curve: Times, times: Times, angle: float = np.pi / 2) -> float:
    """What is left of a curve beside its best a cos(θt + b) + c, root mean square over the curve's own deviation.

    0 for an exact cosine. Along SLERP between random vectors of length l in n dimensions it is about 0.11 l/n.
    """
    design = np.stack([np.cos(angle * times), np.sin(angle * times), np.ones_like(times)], axis=1)
    fitted = design @ np.linalg.lstsq(design, curve, rcond=None)[0]
    return float(np.sqrt(np.mean((curve - fitted) ** 2)) / np.std(curve))


def entropy_deficit(keys: int, length: Values) -> Values:
    """l²/2n: by how much the softmax of a random vector of length l in n dimensions falls short of log n, l² ≪ n."""
    return length**2 / (2 * keys)
