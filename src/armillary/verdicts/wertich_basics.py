"""Chapter 2 of Wertich: Gaussians, information, attention and random matrices."""

import numpy as np
import scipy.linalg
from scipy.special import softmax as reference_softmax

from armillary.measures.gaussian.gaussianity import shape
from armillary.measures.gaussian.information import (
    Gaussian,
    canonical_correlations,
    cross_entropy,
    gaussian_entropy,
    jensen_shannon,
    kl_divergence,
    log_density,
    mutual_information,
    published_cross_entropy,
    root,
)
from armillary.measures.gaussian.joint import ellipsoid_volume, mapped
from armillary.measures.gaussian.published import (
    orthogonal_rebuild,
    published_ellipsoid_volume,
    published_mean_length,
    published_singular_values,
)
from armillary.measures.gaussian.random_matrices import (
    largest_singular_value,
    mean_length,
    mean_singular_value,
    smallest_gap,
)
from armillary.measures.localization.softmax import shares_divergence, softmax
from armillary.measures.spectra.factors import factors
from armillary.measures.spectra.marchenko_pastur import squared_quantile
from armillary.measures.spectra.products import qk_spectrum
from armillary.measures.sphere.norms import sphere_points
from armillary.verdicts.claim import EXACT, NONE, Finding, claim, claims_among
from armillary.verdicts.deciding import (
    all_of,
    approximate,
    compared,
    computed,
    inequality,
    mean_and_error,
    simulated,
    vanishing,
)


@claim(
    "WE-2.1-ELL",
    "Section 2.1",
    "Q(x) = (x − μ)ᵀΣ⁻¹(x − μ) = 0 defines the ellipsoid",
    "Q(x) = c with c > 0; Q(x) = 0 is the point μ",
    "Σ⁻¹ is positive definite.",
)
def ellipsoid(rng: np.random.Generator) -> Finding:
    """Q at the image of the unit sphere under Σ^½."""
    law = random_law(rng, 4)
    directions = rng.standard_normal((50, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = directions @ root(law.covariance).T
    forms = np.einsum("na,ab,nb->n", points, np.linalg.inv(law.covariance), points)
    return computed(forms, np.ones(50), np.zeros(50))


@claim(
    "WE-2.1-VOL",
    "Section 2.1",
    "the ellipsoid's volume is Π σ_i⁻¹, proportional to 1/√|Σ|",
    "proportional to √|Σ|",
    "Σ^½ maps the ball to the ellipsoid. The peak of the density is proportional to 1/√|Σ|, the volume to its inverse.",
)
def volume(rng: np.random.Generator) -> Finding:
    """Area of xᵀΣ⁻¹x ≤ 1 for Σ = diag(1, 4)."""
    covariance = np.diag([1.0, 4.0])
    points = rng.uniform(-2, 2, (100_000, 2))
    inside = 16.0 * (np.sum(points**2 / np.diagonal(covariance), axis=1) <= 1)
    ball = ellipsoid_volume(np.eye(2))
    published = published_ellipsoid_volume(ball, covariance)
    return simulated(*mean_and_error(inside), ellipsoid_volume(covariance), published)


@claim(
    "WE-2.1-DIAG",
    "Section 2.1",
    "a diagonalizable X is QΛQᵀ with orthogonal Q, a random matrix A = UΛUᵀ",
    "only a normal one is; in general PΛP⁻¹",
    "Eigenvectors of a matrix that is not normal are not orthogonal.",
)
def diagonal_form(rng: np.random.Generator) -> Finding:
    """Relative error of the rebuilt matrix, 50 × 50 normal entries; corrected: by PΛP⁻¹."""
    matrix = rng.standard_normal((50, 50))
    values, vectors = np.linalg.eig(matrix)
    rebuilt = (vectors * values @ np.linalg.inv(vectors)).real
    symmetric = matrix + matrix.T
    found = computed(matrix, rebuilt, orthogonal_rebuild(matrix))
    printed, right = (
        float(np.linalg.norm(each - matrix) / np.linalg.norm(matrix)) for each in (orthogonal_rebuild(matrix), rebuilt)
    )
    errors = found._replace(published=printed, corrected=right, measured=NONE)
    return all_of(errors, computed(symmetric, orthogonal_rebuild(symmetric)))


@claim(
    "WE-2.1-SV",
    "Section 2.1",
    "squared singular values are the absolute eigenvalues",
    "singular values are, of normal matrices",
    "AᵀA has the eigenvalues |λ|² if A is normal.",
)
def singular(rng: np.random.Generator) -> Finding:
    """Largest singular value of a symmetric matrix made of the eigenvalues 3, −2.5, 2, −1, 0.5, 0.1."""
    eigenvalues, turn = np.array([3.0, -2.5, 2.0, -1.0, 0.5, 0.1]), haar(rng, 1, 6)[0]
    measured = scipy.linalg.svdvals((turn * eigenvalues) @ turn.T)
    return computed(measured, np.abs(eigenvalues), published_singular_values(eigenvalues))


@claim(
    "WE-2.1-UV",
    "Section 2.1",
    "for X (n × d), V are the eigenvectors of XXᵀ and U of XᵀX",
    "V of XᵀX, U of XXᵀ",
    "X = UDVᵀ gives XᵀX = VD²Vᵀ. Also: the maximum-likelihood covariance divides by n, not n − 1.",
)
def sides(rng: np.random.Generator) -> Finding:
    """|cos| of a V that X was made with and an eigenvector of XᵀX (corrected) or XXᵀ (published), 6 × 6."""
    left, right = haar(rng, 2, 6)
    X = (left * np.arange(1.0, 7)) @ right.T
    by_columns, by_rows = (scipy.linalg.eigh(each)[1] for each in (X.T @ X, X @ X.T))
    cosines = [np.abs(np.sum(right * vectors, axis=0)) for vectors in (by_columns, by_rows)]
    return computed(np.ones(6), *cosines)


@claim(
    "WE-2.1-LIN",
    "Section 2.1",
    "x ~ N(μ, Σ) gives Ax ~ N(Aμ, AΣAᵀ)",
    "holds",
    "Linearity.",
)
def linear_map(rng: np.random.Generator) -> Finding:
    """Largest entry of mean and covariance of Ax."""
    law, map = random_law(np.random.default_rng(4), 3), np.random.default_rng(5).standard_normal((2, 3))
    points = sampled(law, 40_000, rng) @ map.T
    image = mapped(law, map)
    centred = points - image.mean
    return all_of(
        simulated(*mean_and_error(np.einsum("na,nb->nab", centred, centred)), image.covariance),
        simulated(*mean_and_error(points), image.mean),
    )


@claim(
    "WE-2.2-H",
    "Section 2.2",
    "H = ½ log((2πe)^d |Σ|)",
    "holds",
    "−E log p.",
)
def gaussian_entropy_claim(rng: np.random.Generator) -> Finding:
    """Entropy of a Gaussian in 3 dimensions, nats."""
    law = random_law(np.random.default_rng(6), 3)
    nats = -log_density(sampled(law, 40_000, rng), law)
    return simulated(*mean_and_error(nats), gaussian_entropy(law.covariance))


@claim(
    "WE-2.2-CE",
    "Section 2.2",
    "H(p, q) = ½ log((2πe)^d |Σ_q|) + ½ tr(Σ_q⁻¹Σ_p) + ...",
    "½ log((2π)^d |Σ_q|) + ..., without e",
    "The d/2 of the e is already in the trace. As printed KL(p‖p) would be d/2.",
    ("WE-2.2-H",),
)
def cross(rng: np.random.Generator) -> Finding:
    """Cross-entropy of two Gaussians in 3 dimensions, nats."""
    p, q = (random_law(np.random.default_rng(seed), 3) for seed in (6, 7))
    nats = -log_density(sampled(p, 40_000, rng), q)
    return simulated(*mean_and_error(nats), cross_entropy(p, q), published_cross_entropy(p, q))


@claim(
    "WE-2.2-KL0",
    "Section 2.2",
    "KL(p‖p) = 0, H(X, Y) = H(X) + H(Y) − I(X; Y), I = ½ log(|Σ_x||Σ_y|/|Σ|)",
    "holds, with the corrected cross-entropy",
    "I = −½ Σ log(1 − ρ²) over canonical correlations.",
    ("WE-2.2-CE",),
)
def information(rng: np.random.Generator) -> Finding:
    """Mutual information of two blocks of 2 and 3 dimensions, nats."""
    law, other = random_law(rng, 5), random_law(rng, 5)
    correlations = canonical_correlations(law.covariance, 2)
    inside = gaussian_entropy(law.covariance[:2, :2]) + gaussian_entropy(law.covariance[2:, 2:])
    known = mutual_information(law.covariance, 2)
    return all_of(
        computed(-0.5 * float(np.sum(np.log1p(-(correlations**2)))), known),
        computed(gaussian_entropy(law.covariance), inside - known),
        computed(1 + kl_divergence(law, law), 1.0),
        computed(kl_divergence(law, other), cross_entropy(law, other) - gaussian_entropy(law.covariance)),
    )


@claim(
    "WE-2.2-JSD",
    "Section 2.2",
    "√JSD is a metric",
    "holds; between Gaussians it has no closed form, since the mixture is no Gaussian",
    "Endres & Schindelin (2003). Put in the place of the mixture, a Gaussian of the same moments gives another number.",
)
def metric(rng: np.random.Generator) -> Finding:
    """Largest √JSD(p, r)/(√JSD(p, q) + √JSD(q, r)) over 3000 triples of distributions, at most 1."""
    p, q, r = softmax(2 * rng.standard_normal((3, 3000, 5)))

    whole, first, second = (np.sqrt(shares_divergence(*pair)) for pair in ((p, r), (p, q), (q, r)))
    ratios = whole / (first + second)
    one, other = (random_law(np.random.default_rng(seed), 2) for seed in (1, 2))
    middle = one.mean / 2 + other.mean / 2
    gaps = [law.mean - middle for law in (one, other)]
    spread = sum((law.covariance + np.outer(gap, gap)) / 2 for law, gap in zip((one, other), gaps, strict=True))
    moment = Gaussian(middle, np.asarray(spread))
    wrong = (kl_divergence(one, moment) + kl_divergence(other, moment)) / 2
    right = jensen_shannon(one, other, 20_000, int(rng.integers(1 << 31)))
    words = (
        f"Of two Gaussians here {right.value:.3f} (SE {right.se:.3f}); with a Gaussian of equal moments {wrong:.3f}."
    )
    return inequality(ratios)._replace(note=words)


@claim(
    "WE-2.3-LN",
    "Section 2.3",
    "LayerNorm standardises each feature over tokens, and the central limit theorem makes it standard normal",
    "it standardises each token over features, and leaves the shape of their law",
    "Taking off a mean and dividing by a deviation changes neither skewness nor kurtosis.",
)
def layer_norm(rng: np.random.Generator) -> Finding:
    """Skewness of exponential features after LayerNorm, d = 4096; a normal law has 0."""
    states = rng.exponential(size=(200, 4096))
    points = sphere_points(states, True, 0.0)
    per_token = computed(points.std(axis=1), np.ones(200))
    found = compared(float(shape(points).skewness.mean()), 0.1, 2.0, 0.0)
    return all_of(found, per_token)


@claim(
    "WE-2.3-HEADS",
    "Section 2.3",
    "each of h heads sees d/h coordinates of the embedding",
    "each head projects the whole embedding to d/h dimensions",
    "W_Q of a head has d rows.",
)
def heads(rng: np.random.Generator) -> Finding:
    """Coordinates of the input that change a head's scores, d = 32, h = 4: by W_Q and W_K, and cut out (published)."""
    W_Q, W_K, W_V = rng.standard_normal((3, 32, 8))
    cut = np.eye(32, 8)
    seen = [int(np.sum(np.linalg.norm(query @ W_K.T, axis=1) > 1e-12)) for query in (W_Q, cut @ W_Q[:8])]
    made = factors(W_Q, W_K, W_V, W_V.T)
    rank = np.sum(qk_spectrum(made.R_Q, made.R_K, made.inner_qk, 1.0, 32).singular_value_qk > 1e-9)
    found = computed(float(seen[0]), 32.0, float(seen[1]))
    return all_of(found, computed(float(rank), 8.0), note="A matter of definition: the rank is d/h in both.")


@claim(
    "WE-2.4-SQRTD",
    "Section 2.4",
    "√d_k is the square root of a query's expected length",
    "√d_k is about the expected length itself, and the deviation of ⟨q, k⟩",
    "|q|² has mean d_k; |q| has the mean of a χ law, 7.97 for d_k = 64.",
)
def root_of_width(rng: np.random.Generator) -> Finding:
    """Mean length of a standard normal query, d_k = 64."""
    queries = rng.standard_normal((10_000, 64))
    lengths = np.linalg.norm(queries, axis=1)
    products = np.sum(queries[:5000] * queries[5000:], axis=1)
    deviation = simulated(*mean_and_error(products**2), 64.0)
    return all_of(simulated(*mean_and_error(lengths), mean_length(64), 64.0), deviation)


@claim(
    "WE-2.4-DOUBLE",
    "Section 2.4",
    "Â = Softmax(QKᵀ/√d), A = Softmax(Â)",
    "A = Softmax(QKᵀ/√d), once",
    "A second softmax of numbers between 0 and 1 is nearly uniform.",
)
def double(rng: np.random.Generator) -> Finding:
    """Largest attention of one query on 8 keys."""
    scores = 2 * rng.standard_normal((8, 8))
    return computed(reference_softmax(scores, axis=-1), softmax(scores), softmax(softmax(scores)))


@claim(
    "WE-2.5-DV",
    "Section 2.5",
    "E‖Av‖ = nσ² for |v| = 1",
    "E‖Av‖² = nσ²; E‖Av‖ = σ√2 Γ((n + 1)/2)/Γ(n/2)",
    "Av has n independent entries of variance σ². The two agree where σ² = 1/n.",
)
def mapped_length(rng: np.random.Generator) -> Finding:
    """Mean length of Av, n = 64, σ = 0.3."""
    lengths = np.linalg.norm(0.3 * rng.standard_normal((10_000, 64)), axis=1)
    return simulated(*mean_and_error(lengths), mean_length(64, 0.3), published_mean_length(64, 0.3))


@claim(
    "WE-2.5-MP",
    "Section 2.5",
    "squared singular values have density √(4σ²x − x²)/(2πσ²x) on [0, 4σ²]; for σ² = 1/n on [0, 4/n]",
    "σ² must read nσ²: on [0, 4nσ²], for σ² = 1/n on [0, 4]",
    "Their mean is nσ². The published range contradicts the document's own (6.12).",
)
def marchenko_pastur_range(rng: np.random.Generator) -> Finding:
    """Median squared singular value, n = 200, σ² = 1/n."""
    values = np.linalg.svd(rng.standard_normal((20, 200, 200)) / np.sqrt(200), compute_uv=False) ** 2
    median, error = mean_and_error(np.median(values, axis=1))
    exact = float(squared_quantile(np.array([0.5]), 1.0)[0])
    return compared(float(median), 5 * float(error) + 0.01, exact, exact / 200, se=float(error))


@claim(
    "WE-2.5-WIGNER",
    "Section 2.5",
    "for symmetric A the singular values follow Wigner's semicircle",
    "the eigenvalues do; singular values follow the quarter circle",
    "Singular values are |λ|, so the two halves fold onto each other.",
)
def wigner(rng: np.random.Generator) -> Finding:
    """Mean singular value, n = 300, entries of variance 1/n; a semicircle about 0 has mean 0."""
    half = rng.standard_normal((6, 300, 300))
    matrices = (half + half.swapaxes(1, 2)) / np.sqrt(600)
    values = np.linalg.svd(matrices, compute_uv=False)
    mean = compared(float(values.mean()), 0.01, mean_singular_value(300, 1 / np.sqrt(300)), 0.0)
    return all_of(mean, compared(1 + float(np.linalg.eigvalsh(matrices).mean()), 0.02, 1.0))


@claim(
    "WE-2.5-XAVIER",
    "Section 2.5",
    "entries of variance 2/(n + m) make up for the aspect ratio",
    "the largest singular value (√n + √m)√(2/(n + m)) falls from 2 to 1.81 at 8 : 1, the mean square rises from 1 to "
    "1.8",
    "Only the sum n + m is held fixed.",
)
def xavier(rng: np.random.Generator) -> Finding:
    """Share by which the largest singular value falls short of 2 at 8 : 1; at most 0.15 is called close."""
    values = np.linalg.svd(rng.standard_normal((10, 640, 80)) * np.sqrt(2 / 720), compute_uv=False)
    edge = largest_singular_value(640, 80, np.sqrt(2 / 720))
    right = compared(float(values[:, 0].mean()), 0.06, edge)
    found = approximate(float(1 - values[:, 0].mean() / 2), 0.15, corrected=1 - edge / 2, published=0.0)
    return all_of(found, right)


@claim(
    "WE-2.5-GAP",
    "Section 2.5",
    "the smallest gap of neighbouring singular values is c σ/n on average",
    "holds, with c = √π",
    "Gaps repel as those of a real symmetric matrix, density π²s/6 at s mean spacings. Over the quarter circle "
    "n²x²/4σ² of them are below x on average, so the smallest exceeds x in exp(−n²x²/4σ²) of matrices: mean √π σ/n.",
)
def gaps_of_neighbours(rng: np.random.Generator) -> Finding:
    """Power of n by which the smallest gap falls, n = 16 to 128; 0.1 √π allowed for c at n = 64."""
    sizes, draws = (16, 32, 64, 128), (1600, 800, 400, 200)
    gaps, errors = [], []
    for size, count in zip(sizes, draws, strict=True):
        values = np.linalg.svd(rng.standard_normal((count, size, size)), compute_uv=False)
        mean, error = mean_and_error(np.min(-np.diff(values, axis=1), axis=1))
        gaps.append(float(mean))
        errors.append(float(error))
    law = smallest_gap(64, 1.0)
    constant = compared(gaps[2], 0.1 * law + 5 * errors[2], law, se=errors[2])
    falls = vanishing(sizes, gaps, -1.0, within=0.25, note=f"c = {gaps[2] * 64:.2f} at n = 64.")
    return falls if constant.verdict == EXACT else constant


def random_law(rng: np.random.Generator, size: int) -> Gaussian:
    """A Gaussian with random mean and a covariance far from singular."""
    factor = rng.standard_normal((size, size))
    return Gaussian(rng.standard_normal(size), factor @ factor.T / size + 0.3 * np.eye(size))


def sampled(law: Gaussian, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Points of a Gaussian."""
    return np.asarray(law.mean + rng.standard_normal((draws, len(law.mean))) @ root(law.covariance).T)


def haar(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Uniform orthogonal matrices."""
    turns, triangle = np.linalg.qr(rng.standard_normal((count, size, size)))
    return np.asarray(turns * np.sign(np.einsum("nii->ni", triangle))[:, None, :])


CLAIMS = claims_among(globals())
