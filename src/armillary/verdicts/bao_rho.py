"""Section 4 of Bao et al.: the signal propagation probability ρ, its limits, and what they mean for attention."""

import numpy as np

from armillary.measures.localization.bounds import trace_bound
from armillary.measures.localization.continuum import (
    continuum_rho,
    place_variance,
    place_variance_published,
    rho_slope,
    rho_slope_bound_published,
    rho_slope_published,
    vanishing_bound,
)
from armillary.measures.localization.law import gaussian_shares, symmetric_shares
from armillary.measures.localization.settings import simulated_setting
from armillary.measures.localization.walk import moments, xi_eta
from armillary.verdicts.claim import Finding, claim, claims_among
from armillary.verdicts.deciding import all_of, approximate, computed, inequality, simulated

THETA = np.linspace(0, 1, 201)


@claim(
    "BAO-EQ6-GAUSS",
    "before Lemma 1",
    "⟨γ^i, ω⟩ + γ₀ is approximately normal",
    "within 0.02 in ρ at d = 128, 0.14 at d = 8, 0.26 at d = 2 for eigenvalues of equal size",
    "The excess kurtosis is 6(1 + 6r² + r⁴)/(1 + r²)² · tr W⁴/(tr W²)², so the number of eigenvalues that count "
    "decides, not d itself.",
    ("BAO-L1-EXACTLAW",),
)
def gaussian(rng: np.random.Generator) -> Finding:
    """Largest |Gaussian − exact ρ| at d = 128, T = 40, over 5 spectra; at most 0.05 is called close."""

    def off(d_model: int) -> float:
        spectra = [rng.normal(mean, scale, d_model) / np.sqrt(d_model) for mean, scale in SPECTRA]
        return max(gaussian_error(spectrum, 40) for spectrum in spectra)

    few, many = off(8), off(128)
    return approximate(many, 0.05, note=f"At d = 8 it is {few:.2f}.")


@claim(
    "BAO-EQ6",
    "Equation (6)",
    "ρ(θ) = Φ((θ − ½)ξ; θ) − Φ((θ − ½)ξ − 1/η; θ) with variance 2θ² + 7/12",
    "the same form with the exact μ_i and v_i at finite T, whose 1/T counts as much as the variance at T = 40",
    "Inherits the variance of Lemma 1 and drops γ₀ = 1/T.",
    ("BAO-L1-VAR", "BAO-EQ6-GAUSS"),
)
def rho(rng: np.random.Generator) -> Finding:
    """The ρ where the published one is farthest off; eigenvalues N(0.1, 0.1²), d = 128, T = 40."""
    found = simulated_setting(0.1, 0.1, True, 0, draws=4, walks=300, seed=int(rng.integers(1 << 31)))
    error = np.maximum(found.rho_se, np.sqrt(found.rho_exact * (1 - found.rho_exact) / 1200))
    return simulated(found.rho, error, found.rho_exact, found.rho_published)


@claim(
    "BAO-EQ5",
    "Equation (5)",
    "|tr W| ≤ √(d tr W²)",
    "holds for symmetric W_QK, which Lemma 1 assumes; for others |tr W| ≤ √(d tr(MΣMᵀΣ))",
    "Jensen for the real eigenvalues of W, which is similar to Σ^½MΣ^½. A rotation of the plane has tr W² = −2. "
    "Equality where all eigenvalues are equal.",
)
def trace(rng: np.random.Generator) -> Finding:
    """Largest left side over right side in 2000 draws, at most 1."""
    halves, factors = rng.standard_normal((2, 2000, 6, 6))
    products = (halves + halves.swapaxes(1, 2)) @ (factors @ factors.swapaxes(1, 2))
    square = np.einsum("nab,nba->n", products, products)
    found = trace_bound(np.trace(products, axis1=1, axis2=2), square, square, 6)
    any_M = trace_bound(np.trace(halves, axis1=1, axis2=2), square, np.sum(halves**2, axis=(1, 2)), 6)
    return inequality(
        np.concatenate([found.left_published / found.right_published, any_M.left_corrected / any_M.right_corrected])
    )


@claim(
    "BAO-ETA",
    "Figure 2, caption",
    "η = √tr W²/λ²",
    "η = √tr W²/λ, as in the text",
    "Only with /λ is ξη = tr W/λ, and 1/η the upper threshold of (6).",
)
def eta(rng: np.random.Generator) -> Finding:
    """The ξη for tr W = 3, tr W² = 2, λ = √128; (6) needs tr W/λ."""
    temperature = np.sqrt(128)
    right, caption = xi_eta(3.0, 2.0, temperature), xi_eta(3.0, 2.0, temperature**2)
    return computed(3.0 / temperature, float(right.xi * right.eta), float(caption.xi * caption.eta))


@claim(
    "BAO-FIG3",
    "Figure 3",
    "ξ = 128 and 512 with ξη = 1.28 and 5.12; the text: η = 0.02, ξη = 5.12",
    "η = 0.01 for ξ = 512; such ξ needs d ≥ ξ² = 262 144",
    "The text's two numbers give ξ = 256. By (5) a spectrum with ξ = 512 needs at least 512² dimensions.",
    ("BAO-EQ5",),
)
def figure_three(rng: np.random.Generator) -> Finding:
    """The ξη for ξ = 512: as the text's η = 0.02 gives it, as the caption's 0.01 does, and the value both print."""
    sizes = np.array([256.0**2, 512.0**2])
    largest = np.array([float(xi_eta(0.1 * size, 0.01 * size).xi) for size in sizes])
    bound = trace_bound(np.array([512.0]), np.ones(1), np.ones(1), 512**2)
    return all_of(
        computed(5.12, 512 * 0.01, 512 * 0.02),
        computed(largest, np.array([256.0, 512.0])),
        computed(bound.right_published, np.array([512.0])),
    )


@claim(
    "BAO-L2-1/2",
    "Lemma 2, parts 1 and 2",
    "as (ξ, η) → (±∞, 0) with ξη → r, ρ → 1 for θ ≥ ½ (late), θ ≤ ½ (early) or between ½ and ½ + 1/r (middle)",
    "holds off the boundary points; at θ = ½ and θ = ½ + 1/r the limit is ½, and at r = 2, θ = 1 it depends on the way",
    "At a boundary one of the two erf is 0. T → ∞ must come first: at fixed T, η → 0 gives ρ_i → 1 where E g_i = 1/T + "
    "u_i tr W lies in [0, 1], for small r everywhere.",
    ("BAO-EQ6",),
)
def limits(rng: np.random.Generator) -> Finding:
    """The ρ at θ = ½ for ξ = 1e6, η = 1e-6."""
    inside, outside = np.array([0.55, 0.8, 0.95]), np.array([0.05, 0.3, 0.45])
    off_boundary = [
        computed(continuum_rho(places, 1e6, 1e-6, variance(places)) + 1, wanted + 1)
        for variance in (place_variance, place_variance_published)
        for places, wanted in ((inside, np.ones(3)), (outside, np.zeros(3)))
    ]
    boundary = computed(float(continuum_rho(0.5, 1e6, 1e-6, place_variance(0.5))), 0.5, 1.0)
    return all_of(boundary, *off_boundary)


@claim(
    "BAO-L2-3",
    "Lemma 2, part 3",
    "as |ξ| → 0 at fixed η, ρ′(θ) → 0: ρ is uniform",
    "at ξ = 0, ρ = ½ erf(1/(η√2V(θ))) depends on θ unless η is small or large too",
    "The step |A e₁ − B e₂| ≤ |A − B| for e₁, e₂ in [0, 1] fails. The range of ρ over θ at ξ = 0 is 0.10 at η = 1, "
    "0.22 at η = 2 and below 1e-4 for η ≤ 0.3.",
    ("BAO-EQ6",),
)
def uniformity(rng: np.random.Generator) -> Finding:
    """Range of ρ over θ at ξ = 0, η = 1; uniform: 0."""
    many = 100_000
    places = np.unique(np.linspace(1, many, 2001).astype(np.int64))
    exact = gaussian_shares(*moments(0.0, 1.0, 1.0, many, places)).rho
    limit = continuum_rho(THETA, 0.0, 1.0, place_variance(THETA))
    return computed(float(np.ptp(exact)), float(np.ptp(limit)), 0.0, tolerance=1e-3)


@claim(
    "BAO-RHOPRIME",
    "proof of Lemma 2, part 3",
    "ρ′ has numerators 4θ² − θ + 5/3 and 4θ² − θ + 5/3 − 1/η, times ξ",
    "numerators ξ(2θ + 7/6) and ξ(2θ + 7/6) + 4θ/η for the published variance; ξ/6 and ξ/6 + 4(θ − ½)/η for the exact "
    "one",
    "The slope of √V multiplies 1/η by V′, not by ξ, so ρ′ does not vanish with ξ. The bound made of it is 1e-3 at "
    "(θ, ξ, η) = (0.7, 0.01, 1), where the derivative is 0.2.",
    ("BAO-L2-3",),
)
def slope(rng: np.random.Generator) -> Finding:
    """The slope dρ/dθ of equation (6) as published at θ = 0.7, ξ = 1, η = 1, by differences."""
    step, theta = 1e-5, 0.7
    ends = np.array([theta + step, theta - step])

    def by_differences(variance: np.ndarray, xi: float) -> float:
        high, low = np.asarray(continuum_rho(ends, xi, 1.0, variance))
        return float((high - low) / (2 * step))

    printed, exact = np.asarray(place_variance_published(ends)), np.asarray(place_variance(ends))
    of_printed = rho_slope(theta, 1.0, 1.0, float(place_variance_published(theta)), 4 * theta)
    of_exact = rho_slope(theta, 1.0, 1.0, float(place_variance(theta)), 4 * theta - 2)
    bound = rho_slope_bound_published(theta, 0.01, 1.0)
    broken = inequality(1.0, abs(by_differences(printed, 0.01)) / bound)
    found = computed(by_differences(printed, 1.0), of_printed, rho_slope_published(theta, 1.0, 1.0), tolerance=1e-6)
    return all_of(found, computed(by_differences(exact, 1.0), of_exact, tolerance=1e-6), broken)


@claim(
    "BAO-L2-4",
    "Lemma 2, part 4",
    "ρ(θ) → 0 as η → ∞",
    "holds, at the rate ρ ≤ 1/(η√(2πV))",
    "ρ is the mass of a normal density on an interval of length 1/η.",
    ("BAO-EQ6",),
)
def vanishing_signal(rng: np.random.Generator) -> Finding:
    """Largest ρ over its bound for η = 10 to 1000 and ξ = −10 to 10, at most 1."""
    variance = np.asarray(place_variance(THETA))
    ratios = [
        continuum_rho(THETA, xi, eta, variance) / vanishing_bound(eta, variance)
        for xi in (-10.0, -1.0, 0.0, 3.0, 10.0)
        for eta in (10.0, 100.0, 1000.0)
    ]
    return inequality(np.concatenate(ratios))


@claim(
    "BAO-FIG2-OBS",
    "Section 4, on figure 2",
    "for |ξ| ≤ 1, ρ is relatively uniform regardless of η",
    "for η between about 0.5 and 5 it varies by up to half of itself",
    "As in Lemma 2, part 3: the variance depends on θ.",
    ("BAO-L2-3",),
)
def uniform_plane(rng: np.random.Generator) -> Finding:
    """(largest − smallest)/largest ρ over θ at ξ = 0.5, η = 2; at most 0.1 is called uniform."""
    rho_here = np.asarray(continuum_rho(THETA, 0.5, 2.0, place_variance(THETA)))
    return approximate(float(np.ptp(rho_here) / rho_here.max()), 0.1, published=0.0)


@claim(
    "BAO-MIDDLE",
    "Section 4",
    "with η ≥ 0.5 and large ξ attention localizes in the middle",
    "ρ does; the softmax attends to the end that the trace points to, and so does its slope E p(1 − p)",
    "S̃ is clipped at 1: tokens near the query lose their signal because they have all of the attention.",
    ("BAO-EQ6",),
)
def middle(rng: np.random.Generator) -> Finding:
    """Token where the softmax's mean slope is largest; published: where ρ is; T = 40, d = 128."""
    found = simulated_setting(0.5, 0.1, True, 1, draws=3, walks=200, seed=int(rng.integers(1 << 31)))
    named = found.regime == "middle" and found.clipped
    place, signal = 1.0 + int(found.slope.argmax()), 1.0 + int(found.rho.argmax())
    share = float(found.probability[-1])
    made = computed(place, 40.0 if named else float("nan"), signal, tolerance=1e-6)
    return made._replace(note=f"The last token has {100 * share:.0f} % of the attention.")


@claim(
    "BAO-A1-DIM",
    "Section 4",
    "a larger embedding dimension d makes localization more likely",
    "holds in the sense |ξ| ≤ √d, attained by equal eigenvalues",
    "Equation (5) with equality.",
    ("BAO-EQ5",),
)
def dimension(rng: np.random.Generator) -> Finding:
    """The ξ of equal eigenvalues at d = 256."""
    sizes = np.array([4, 64, 256])
    xi = [float(xi_eta(0.1 * d, 0.01 * d).xi) for d in sizes]
    return computed(np.array(xi), np.sqrt(sizes))


SPECTRA = ((0.1, 0.02), (0.1, 0.1), (0.5, 0.1), (0.0, 0.1), (0.0, 1.0))
"""Mean and scale of eigenvalues, some of those of figure 5."""


def gaussian_error(spectrum: np.ndarray, length: int) -> float:
    """The largest |Gaussian − exact ρ| over positions."""
    trace_of, square = float(spectrum.sum()), float(np.sum(spectrum**2))
    normal = gaussian_shares(*moments(trace_of, square, square, length)).rho
    return float(np.abs(normal - symmetric_shares(spectrum, length).rho).max())


CLAIMS = claims_among(globals())
