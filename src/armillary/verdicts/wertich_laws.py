"""Chapter 4 of Wertich: joint Gaussians of a sequence, linear maps, information, and spectra from likely tokens."""

import numpy as np

from armillary.measures.gaussian.information import (
    canonical_correlations,
    gaussian_entropy,
    kl_divergence,
    mutual_information,
)
from armillary.measures.gaussian.joint import each_token, entropy_change, kept_information, mapped, through_maps
from armillary.measures.gaussian.published import published_second_moment
from armillary.measures.gaussian.tokens import (
    pair_spectrum,
    published_token_gram,
    spectral_energy,
    token_gram,
    token_law,
)
from armillary.verdicts.claim import Finding, claim, claims_among
from armillary.verdicts.deciding import all_of, computed, direction, mean_and_error, simulated
from armillary.verdicts.wertich_basics import random_law, sampled


@claim(
    "WE-4.1-PD",
    "Section 4.1",
    "the covariance Σ_X of embeddings is positive definite",
    "positive semidefinite; that of k tokens has rank k − 1",
    "Differences from the mean of k vectors span k − 1 dimensions. A density then needs fewer directions.",
)
def definite(rng: np.random.Generator) -> Finding:
    """Rank of the covariance of 5 likely tokens in 8 dimensions; positive definite: 8."""
    vectors, shares = rng.standard_normal((5, 8)), rng.dirichlet(np.ones(5))
    return computed(float(np.linalg.matrix_rank(token_law(vectors, shares).covariance)), 4.0, 8.0)


@claim(
    "WE-4.2-DETMI",
    "Section 4.2",
    "a smaller det Σ_ij means less mutual information",
    "neither implies the other: a cross-covariance of rank 1 has determinant 0 and any mutual information",
    "Mutual information depends on the canonical correlations, the determinant on their product alone.",
)
def determinant(rng: np.random.Generator) -> Finding:
    """Information at det 0 (one correlation 0.99) less that at det 0.09 (two of 0.3), nats; the statement: below 0."""
    informations = []
    for correlations in ((0.99, 0.0), (0.3, 0.3)):
        covariance = np.eye(4)
        covariance[:2, 2:] = covariance[2:, :2] = np.diag(correlations)
        informations.append(mutual_information(covariance, 2))
    return direction(informations[0] - informations[1], 0.0, published=-1)


@claim(
    "WE-4.2-MAP",
    "Equation (4.2)",
    "a linear layer maps blocks to Lμ_i and LΣ_ijLᵀ",
    "holds",
    "I ⊗ L acts on the joint Gaussian.",
    ("WE-2.1-LIN",),
)
def block_map(rng: np.random.Generator) -> Finding:
    """Largest entry of the joint covariance of two tokens behind a map."""
    fixed = np.random.default_rng(8)
    law, layer = random_law(fixed, 6), fixed.standard_normal((2, 3))
    tokens = sampled(law, 40_000, rng).reshape(-1, 2, 3) @ layer.T
    image = mapped(law, each_token(layer, 2))
    flat = tokens.reshape(len(tokens), -1) - image.mean
    return simulated(*mean_and_error(np.einsum("na,nb->nab", flat, flat)), image.covariance)


@claim(
    "WE-4.2-DH",
    "Section 4.2",
    "entropy changes by log|det L|",
    "holds; it grows where |det L| > 1",
    "log|LΣLᵀ| = log|Σ| + 2 log|det L|.",
)
def entropy_moves(rng: np.random.Generator) -> Finding:
    """Change of entropy, nats."""
    law, layer = random_law(rng, 4), rng.standard_normal((4, 4))
    after = gaussian_entropy(mapped(law, layer).covariance)
    return computed(after - gaussian_entropy(law.covariance), entropy_change(layer))


@claim(
    "WE-4.2-MI",
    "Section 4.2",
    "mutual information and KL are invariant under invertible L",
    "holds",
    "Determinants cancel.",
)
def invariance(rng: np.random.Generator) -> Finding:
    """Mutual information behind an invertible map, nats."""
    law, other, layer = random_law(rng, 6), random_law(rng, 6), rng.standard_normal((3, 3))
    both = each_token(layer, 2)
    image, image_other = mapped(law, both), mapped(other, both)
    return all_of(
        computed(mutual_information(image.covariance, 3), mutual_information(law.covariance, 3)),
        computed(kl_divergence(image, image_other), kl_divergence(law, other)),
    )


@claim(
    "WE-4.2-NONLIN",
    "Section 4.2",
    "only non-linear maps alter mutual information",
    "a linear map of lower rank loses some, and a non-linear bijection keeps all",
    "Data processing: W_Q, W_K and W_V of a head have rank d_head < d_model and lose information.",
    ("WE-4.2-MI",),
)
def processing(rng: np.random.Generator) -> Finding:
    """Information of two tokens of 8 dimensions behind maps to 3, nats; published: as before."""
    law = random_law(rng, 16)
    left, right = rng.standard_normal((2, 3, 8))
    kept = kept_information(law.covariance, 8, left, right)
    correlations = canonical_correlations(through_maps(law.covariance, 8, left, right), 3)
    measured = -0.5 * float(np.sum(np.log1p(-(correlations**2))))
    return computed(measured, kept.after, kept.before, tolerance=1e-7)


@claim(
    "WE-4.3-WEIGHTS",
    "Section 4.3",
    "the covariance of likely tokens is Σ λ_i² v_i v_iᵀ",
    "the second moment is Σ λ_i v_i v_iᵀ, the covariance subtracts μμᵀ; the Gram matrix is √(λ_iλ_j) α_ij, of trace 1",
    "A token of probability λ counts with weight λ.",
)
def weights(rng: np.random.Generator) -> Finding:
    """Entry of the second moment where the printed one is farthest off; 5 tokens."""
    fixed = np.random.default_rng(9)
    vectors, shares = fixed.standard_normal((5, 4)), fixed.dirichlet(np.ones(5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    drawn = vectors[rng.choice(5, 40_000, p=shares)]
    law = token_law(vectors, shares)
    exact = law.covariance + np.outer(law.mean, law.mean)
    spectra = [np.linalg.eigvalsh(each)[-4:] for each in (token_gram(shares, vectors @ vectors.T), exact)]
    found = simulated(
        *mean_and_error(np.einsum("na,nb->nab", drawn, drawn)), exact, published_second_moment(vectors, shares)
    )
    return all_of(found, computed(*spectra))


@claim(
    "WE-4.3-EIG",
    "Section 4.3.1",
    "eigenvalues of a 2 × 2 block by the quadratic formula",
    "holds",
    "Characteristic polynomial.",
)
def pair(rng: np.random.Generator) -> Finding:
    """Larger eigenvalue of [[0.5, 0.2], [0.2, 0.3]]."""
    return computed(
        np.linalg.eigvalsh(np.array([[0.5, 0.2], [0.2, 0.3]]))[::-1], np.array(pair_spectrum(0.5, 0.3, 0.2))
    )


@claim(
    "WE-4.3-APPROX",
    "Section 4.3.1",
    "for equal weights the eigenvalues are λ(1 ± α)",
    "λ²(1 ± α) for the printed matrix λ_iλ_jα_ij; λ(1 ± α) is right for the correctly weighted √(λ_iλ_j)α_ij",
    "Two slips that cancel: the conclusion about real tokens stands.",
    ("WE-4.3-WEIGHTS", "WE-4.3-EIG"),
)
def equal_weights(rng: np.random.Generator) -> Finding:
    """Larger eigenvalue of the printed matrix, λ = 0.4, α = 0.3."""
    shares, angles = np.array([0.4, 0.4]), np.array([[1.0, 0.3], [0.3, 1.0]])
    printed = np.linalg.eigvalsh(published_token_gram(shares, angles))[::-1]
    right = computed(np.linalg.eigvalsh(token_gram(shares, angles))[::-1], np.array(pair_spectrum(0.4, 0.4, 0.12)))
    found = computed(printed, np.array(pair_spectrum(0.16, 0.16, 0.048)), np.array(pair_spectrum(0.4, 0.4, 0.12)))
    return all_of(found, right)


@claim(
    "WE-4.3-SPREAD",
    "Section 4.3.1",
    "larger inner products α_ij make the spectrum less balanced",
    "holds: tr G² = Σ λ_iλ_jα_ij² grows with |α| at fixed trace",
    "The sum of squared eigenvalues at a fixed sum measures how unequal they are.",
)
def spread(rng: np.random.Generator) -> Finding:
    """Tr G² at α = 0.6 less that at α = 0.2, 4 tokens."""
    shares = rng.dirichlet(np.ones(4))
    energies = [spectral_energy(shares, np.full((4, 4), a) + (1 - a) * np.eye(4)) for a in (0.2, 0.6)]
    return direction(energies[1] - energies[0], 0.0)


CLAIMS = claims_among(globals())
