"""Sections 1 to 3 of Song & Zhong: the decomposition, and Theorem 1 on smooth Gram matrices with its proof."""

import numpy as np

from armillary.measures.constituents import score_parts
from armillary.measures.decomposition import decomposition, variance
from armillary.measures.periodic import (
    difference_factors,
    factor_bound,
    factor_bound_published,
    low_frequency_block,
)
from armillary.measures.similarity import unit_vectors
from armillary.measures.smoothness import (
    basis_share,
    corrected_factor,
    cosines,
    finite_difference,
    gram,
    low_frequency_share,
    reflected,
    sinusoidal_encoding,
    sinusoidal_encoding_published,
    spectrum_2d,
    theorem1_bound_corrected,
    theorem1_bound_published,
    theorem1_residual,
)
from armillary.verdicts.claim import NONE, Finding, claim, claims_among
from armillary.verdicts.deciding import all_of, compared, computed, inequality, mean_and_error, simulated

BESSEL = 2.404825557695773
"""The first zero of J₀: positions at angles A cos θ then add up to zero."""


@claim(
    "SZ-DEC",
    "Equations (2) to (4)",
    "h = μ + pos + ctx + resid with Σ pos = Σ ctx = 0 and residuals that sum to 0 over contexts and positions",
    "holds",
    "Means taken off row by row and column by column.",
)
def parts(rng: np.random.Generator) -> Finding:
    """Largest entry of a state rebuilt from its four parts."""
    states = table_of_states(rng)
    made = decomposition(states)
    rebuilt = made.mean + made.position_basis + made.context_basis[:, None] + made.residual
    sums = [made.position_basis.sum(0), made.context_basis.sum(0), made.residual.sum((0, 1))]
    zero = computed(1 + np.concatenate(sums), np.ones(3 * states.shape[-1]))
    return all_of(computed(states, rebuilt), zero)


@claim(
    "SZ-ANOVA",
    "Section 2",
    "Σ|h − μ|² = C Σ|pos|² + T Σ|ctx|² + Σ|resid|²",
    "holds; without any effect position has the share (T − 1)/(CT − 1), not 0",
    "The four parts are orthogonal. The noise floor is what independent states give.",
    ("SZ-DEC",),
)
def analysis_of_variance(rng: np.random.Generator) -> Finding:
    """Share of position in independent states, T = 6, C = 8."""
    states = table_of_states(rng)
    made = decomposition(states)
    squares = np.sum((states - made.mean) ** 2)
    rest = float(np.sum(made.residual**2) / squares)
    whole = computed(rest, float(variance(made.position_basis, made.context_basis, np.array([squares])).share[2]))
    shares = []
    for _ in range(400):
        noise = rng.standard_normal((8, 6, 4))
        split = decomposition(noise)
        total = np.array([np.sum((noise - split.mean) ** 2)])
        shares.append(variance(split.position_basis, split.context_basis, total).share[0])
    mean, error = mean_and_error(np.array(shares))
    return all_of(simulated(mean, error, (6 - 1) / (8 * 6 - 1)), whole)


@claim(
    "SZ-RELNORM",
    "Section 2, Table 1",
    "the relative norm ‖P‖/‖M‖ lies in [0, 1]",
    "holds where P repeats pos_t over contexts; with T columns alone it is smaller by √C",
    "P is then the projection of M on what depends on position alone, and a projection does not lengthen.",
    ("SZ-DEC",),
)
def relative_norm(rng: np.random.Generator) -> Finding:
    """Largest ‖P‖/‖M‖ over 200 tables, at most 1."""
    ratios = []
    for _ in range(200):
        states = table_of_states(rng)
        made = decomposition(states)
        basis = np.broadcast_to(made.position_basis, states.shape)
        sizes = [np.linalg.norm(each.reshape(-1, states.shape[-1]), 2) for each in (basis, states - made.mean)]
        ratios.append(sizes[0] / sizes[1])
    few = np.linalg.norm(made.position_basis, 2) * np.sqrt(len(states)) / sizes[0]
    return all_of(inequality(np.array(ratios)), computed(float(few), 1.0))


@claim(
    "SZ-UNIT",
    "Section 3.3",
    "position vectors of unit norm sum to zero by definition",
    "the vectors sum to zero before they are normalised, not after",
    "Dividing each by its own norm changes the sum. Theorem 1 needs vectors that sum to zero; for G of such it holds.",
    ("SZ-DEC",),
)
def unit_norm(rng: np.random.Generator) -> Finding:
    """Norm of the sum of 10 unit position vectors; published 0."""
    basis = np.random.default_rng(1).standard_normal((10, 6))
    basis -= basis.mean(0)
    after = float(np.linalg.norm(unit_vectors(basis).sum(0)))
    before = computed(1 + basis.sum(0), np.ones(6))
    return all_of(computed(after, float(np.sqrt(gram(basis).sum())), 0.0), before)


@claim(
    "SZ-T1-LEM1",
    "Appendix F.1, Lemma 1",
    "x̂_t = γ_t (FΔx)_t + 1{t = 1} Σx",
    "holds",
    "Summation by parts.",
)
def by_parts(rng: np.random.Generator) -> Finding:
    """Largest Fourier coefficient of a random vector, N = 64."""
    values = rng.standard_normal(64)
    through = difference_factors(64) * np.fft.fft(64 * (values - np.roll(values, 1)))
    through[0] += values.sum()
    measured = np.fft.fft(values)
    return computed(np.concatenate([measured.real, measured.imag]), np.concatenate([through.real, through.imag]))


@claim(
    "SZ-T1-LEM2",
    "Appendix F.1, Lemma 2",
    "|γ_t| ≤ 1/(8(t − 1))",
    "1/(2π(t − 1)) ≤ |γ_t| ≤ 1/(4(t − 1))",
    "|1 − e^{iθ}| = 2 sin(|θ|/2) ≥ 2|θ|/π; the proof has 4|θ|/π. The published bound fails for every t.",
)
def factor_sizes(rng: np.random.Generator) -> Finding:
    """Largest |γ_t| over its bound, N = 128; at most 1."""
    frequency = np.arange(1.0, 64)
    sizes = np.abs(difference_factors(128)[1:64])
    least = 1 / (2 * np.pi * frequency)
    corrected = np.concatenate([sizes / factor_bound(frequency), least / sizes])
    return inequality(corrected, sizes / factor_bound_published(frequency))


@claim(
    "SZ-T1-NORM",
    "Equation (7) and appendix F.1",
    "the difference of (7), with T², is the one of the proof",
    "the proof uses N² = 4T²: a factor 4^m",
    "The transform of the reflected matrix has size N = 2T. This slip and that of Lemma 2 compensate: the corrected "
    "proof gives 2[2(g₁g_k)^m + g_k^{2m}] in place of 6/(8k)^m, which is smaller for k up to about 0.7 T.",
    ("SZ-T1-LEM1", "SZ-T1-LEM2"),
)
def normalisation(rng: np.random.Generator) -> Finding:
    """Largest Fourier coefficient of a reflected Gram matrix, from its first difference; T = 12."""
    basis = centred(rng.standard_normal((12, 5)))
    matrix = basis @ basis.T
    factors = difference_factors(24)
    of_difference = np.fft.fft2(finite_difference(matrix, 1)) * np.outer(factors, factors)
    measured = np.fft.fft2(reflected(matrix))
    same = computed(measured.real, 4 * of_difference.real, of_difference.real)
    smaller = [corrected_factor(64, k, m) / (6 / (8 * k) ** m) for k in range(1, 45) for m in (1, 2, 3)]
    return all_of(same, inequality(np.array(smaller)))


@claim(
    "SZ-T1-BASIS",
    "Theorem 1",
    "low-frequency vectors f_s(t) = cos((s − ½)(t − 1)π/T)",
    "cos((s − 1)(t − ½)π/T), the DCT-II: s and t have changed places",
    "Counterexample within all hypotheses: pos_t = (cos, sin)(A cos(π(t − ½)/T)) with J₀(A) = 0 has unit norm and "
    "sums to zero. Whatever B, the printed basis leaves more than the bound; the DCT-II leaves 2e-16.",
)
def basis_of_theorem(rng: np.random.Generator) -> Finding:
    """What k = 64 vectors leave of this Gram matrix over the bound at m = 4, T = 128; at most 1."""
    length, k, order = 128, 64, 4
    angles = BESSEL * np.cos(np.pi * (np.arange(length) + 0.5) / length)
    matrix = gram(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    printed = theorem1_residual(matrix, k, "published").least / theorem1_bound_published(matrix, k, order)
    own = theorem1_residual(matrix, k).projected / theorem1_bound_corrected(matrix, k, order)
    return inequality(own, printed)


@claim(
    "SZ-T1-LEM3",
    "Appendix F.1, Lemma 3",
    "with the frequencies {1..k} ∪ {2T−k+1..2T} the block is F B Bᵀ Fᵀ",
    "with {1..k} ∪ {2T−k+2..2T}",
    "The published set lacks the conjugate of one frequency, so its block is not real. With the other it is ΠGΠ, real "
    "and positive semidefinite, and B exists.",
    ("SZ-T1-BASIS",),
)
def block(rng: np.random.Generator) -> Finding:
    """Largest imaginary part of the block, T = 12, k = 4; published 0."""
    basis = centred(rng.standard_normal((12, 5)))
    matrix = basis @ basis.T
    frame = cosines(12, 4)
    projected = frame @ (frame.T @ matrix @ frame) @ frame.T
    made = low_frequency_block(matrix, 4)
    real = computed(made.real, projected)
    # The published set is the corrected one and the frequency −k: waves in t + ½ of the reflected matrix, one by one.
    waves = np.exp(2j * np.pi * np.outer(np.arange(24), np.r_[0:4, -4:0]) / 24)
    block_of = (waves @ (waves.conj().T @ reflected(matrix) @ waves.conj()) @ waves.T / 24**2)[:12, :12]
    imaginary = low_frequency_block(matrix, 4, "published").imag
    return all_of(
        computed(imaginary, block_of.imag, np.zeros_like(imaginary)), real, computed(1 + np.abs(made.imag).max(), 1.0)
    )


@claim(
    "SZ-T1",
    "Theorem 1, with the DCT-II basis",
    "‖G − F B Bᵀ Fᵀ‖/T ≤ 6/(8k)^m ‖Δ^(m,m)‖_max",
    "holds for the DCT-II basis and k up to about 0.7 T, for vectors that sum to zero",
    "By the corrected proof, whose factor is smaller there. It is loose: random cases reach a few per cent of it. "
    "Without the zero sum frequency 0 escapes every bound.",
    ("SZ-T1-BASIS", "SZ-T1-NORM"),
)
def theorem_one(rng: np.random.Generator) -> Finding:
    """Largest residual over bound in 300 random cases, at most 1."""
    ratios, corrected = [], []
    for _ in range(300):
        length, order = int(rng.integers(8, 40)), int(rng.integers(1, 4))
        k = int(rng.integers(1, max(2, int(0.7 * length))))
        waves = cosines(length, min(length, 6)) @ rng.standard_normal((min(length, 6), 4))
        basis = centred(waves + rng.uniform(0, 0.3) * rng.standard_normal((length, 4)))
        matrix = basis @ basis.T
        left = theorem1_residual(matrix, k).projected
        ratios.append(left / theorem1_bound_published(matrix, k, order))
        corrected.append(left / theorem1_bound_corrected(matrix, k, order))
    return inequality(np.array(corrected + ratios))


@claim(
    "SZ-T1-SMOOTH",
    "Section 3.3",
    "Δ^(m,m) ≈ ∂_x^m ∂_y^m f for smooth f, hence bounded",
    "for m = 1; for m ≥ 2 only if the odd derivatives of f vanish at the ends",
    "The reflection makes a kink at the ends, and a second difference across a kink grows with T per axis. On a "
    "circle, cos 2π(x − y), the maximum is 4π² at m = 1 for all T and 4π² T² at m = 2. The bound is then loose, not "
    "wrong.",
)
def smooth(rng: np.random.Generator) -> Finding:
    """Power of T by which the largest Δ^(2,2) of the circle grows."""
    lengths = np.array([32, 64, 128, 256])
    sizes = np.array([[np.abs(finite_difference(circle(int(T)), m)).max() for m in (1, 2)] for T in lengths])
    powers = np.polyfit(np.log(lengths), np.log(sizes), 1)[0]
    first = compared(float(powers[0]), 0.05, 0.0)
    return all_of(compared(float(powers[1]), 0.05, 2.0, 0.0), first)


@claim(
    "SZ-DCT",
    "Section 3.2, Table 3",
    "Ĝ = F G Fᵀ by the discrete cosine transform; r_K is the share of Σ Ĝ² in K × K low frequencies",
    "holds; for vectors that sum to zero the first row of Ĝ vanishes, so r_1 = 0 counting from 1",
    "The transform is orthonormal. Table 3's 39 % at K = 1 needs counting from 0, or vectors that do not sum to zero.",
)
def cosine_transform(rng: np.random.Generator) -> Finding:
    """Σ Ĝ² over Σ G²."""
    basis = centred(rng.standard_normal((20, 6)))
    matrix = basis @ basis.T
    energy = float(np.sum(spectrum_2d(matrix) ** 2) / np.sum(matrix**2))
    first = computed(1 + low_frequency_share(matrix, 2)[0], 1.0)
    return all_of(computed(energy, 1.0), first)


@claim(
    "SZ-PE",
    "Appendix B.1",
    "[pos_t]_i = sin or cos of t/10000^{2i/d}, i the full index",
    "t/10000^{2⌊i/2⌋/d}: sine and cosine of a pair share a frequency",
    "Only then is |pos_t|² = d/2 for every t and the Gram matrix a function of t − t′.",
)
def encoding(rng: np.random.Generator) -> Finding:
    """Largest |pos_t|² over 512 positions, d = 768; published: by the printed exponents."""
    right, printed = (made(512, 768) for made in (sinusoidal_encoding, sinusoidal_encoding_published))
    return computed(np.full(512, 384.0), np.sum(right**2, 1), np.sum(printed**2, 1))


@claim(
    "SZ-PE-OBS",
    "Appendix B.1",
    "the original encoding has less energy in low frequencies than a learned one",
    "holds for the side of the encoding: r_10 = 0.91 against 0.997 reported for a trained model",
    "Centred and normalised, T = 512, d = 768. A random basis has r_10 = 0.01.",
    ("SZ-PE", "SZ-DCT"),
)
def encoding_frequencies(rng: np.random.Generator) -> Finding:
    """The r_10 of the sinusoidal encoding over 0.997; at most 1."""
    share = float(basis_share(centred(sinusoidal_encoding(512, 768)))[9])
    return inequality(share / 0.997)._replace(measured=share, published=0.997, corrected=NONE)


@claim(
    "SZ-EQ10",
    "Equation (10)",
    "hᵀW_qW_kᵀh′ is the sum of four terms pos/cvec × pos/cvec",
    "holds for μ = 0; the left side has h twice in print",
    "Bilinear in the two parts.",
    ("SZ-DEC",),
)
def four_terms(rng: np.random.Generator) -> Finding:
    """Largest score of 12 tokens."""
    states = centred(rng.standard_normal((12, 10)))
    position = 0.5 * states + rng.standard_normal((12, 10))
    W_q, W_k = rng.standard_normal((2, 10, 4))
    halves = np.stack([position, states - position])
    return computed(states @ W_q @ W_k.T @ states.T, score_parts(halves @ W_q, halves @ W_k).sum((0, 1)))


def table_of_states(rng: np.random.Generator) -> np.ndarray:
    """Random states of 8 contexts and 6 positions, with effects of both."""
    return rng.standard_normal((8, 6, 5)) + 2 * rng.standard_normal((6, 5)) + rng.standard_normal((8, 1, 5))


def centred(vectors: np.ndarray) -> np.ndarray:
    """Vectors that sum to zero."""
    return np.asarray(vectors - vectors.mean(0))


def circle(length: int) -> np.ndarray:
    """cos 2π(x − y) at x = t/T."""
    place = np.arange(1, length + 1) / length
    return np.asarray(np.cos(2 * np.pi * (place[:, None] - place)))


CLAIMS = claims_among(globals())
