"""How two subspaces lie to each other, as the leading directions of two position bases: principal angles and a null."""

import numpy as np
from jaxtyping import Float
from scipy import linalg

CLEAR = 1e-3
"""A singular value above this part of the largest is found from the Gram matrix as well as from the matrix."""


def leading_directions(
    position_basis: Float[np.ndarray, "position d_model"], k: int
) -> Float[np.ndarray, "mode d_model"]:
    """The k directions in which a position basis is largest, orthonormal, strongest first (right singular vectors).

    They come from the k leading eigenvectors of the smaller Gram matrix, a fraction of the work of all singular
    vectors; modes so weak that squaring would blur them are taken from the matrix itself.
    """
    if not 1 <= k <= min(position_basis.shape):
        raise ValueError(f"a basis of shape {position_basis.shape} has {min(position_basis.shape)} modes, not k = {k}")
    basis = position_basis.astype(np.float64, copy=False)
    tall = basis.shape[0] > basis.shape[1]
    gram = basis.T @ basis if tall else basis @ basis.T
    energy, vectors = linalg.eigh(gram, subset_by_index=(len(gram) - k, len(gram) - 1))
    if not energy[0] > CLEAR**2 * energy[-1]:
        return np.linalg.svd(basis, full_matrices=False)[2][:k]
    strongest = vectors[:, ::-1].T
    return strongest if tall else np.linalg.qr((strongest @ basis).T)[0].T


def principal_angles(
    modes: Float[np.ndarray, "mode d_model"], modes_: Float[np.ndarray, "mode d_model"]
) -> Float[np.ndarray, "mode"]:
    """Angles in radians, 0 to π/2, smallest first, between the spans of two sets of orthonormal rows.

    The cosines are the singular values of A Bᵀ, the sines those of what B leaves of A (Björck & Golub 1973); together
    they are accurate at both ends. Left singular vectors may be given as well, to compare bases of different d_model by
    position.
    """
    first, second = modes.astype(np.float64, copy=False), modes_.astype(np.float64, copy=False)
    overlap = first @ second.T
    cosines = np.linalg.svd(overlap, compute_uv=False)
    sines = np.linalg.svd(first - overlap @ second, compute_uv=False)[::-1]
    return np.arctan2(sines, cosines)


def principal_angles_null(d_model: int, k: int, draws: int = 100, seed: int = 0) -> Float[np.ndarray, "sample mode"]:
    """Principal angles in radians, smallest first, of two random k-dimensional subspaces, one row per draw.

    cos² are the eigenvalues of A(A + B)⁻¹ with A, B Wishart of k and d_model − k degrees of freedom (Muirhead 1982,
    chapter 3), so nothing of size d_model is drawn. Σ cos² has the mean k²/d_model. Subspaces must fit beside each
    other: 2k ≤ d_model.
    """
    if not 1 <= k <= d_model // 2:
        raise ValueError(f"two subspaces of dimension k = {k} need 2k ≤ d_model = {d_model}")
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((draws, k, k))
    rest = _bartlett(rng, draws, k, d_model - k)
    joint = first.swapaxes(1, 2) @ first + rest @ rest.swapaxes(1, 2)
    whitened = np.linalg.solve(np.linalg.cholesky(joint), first.swapaxes(1, 2))
    return np.arccos(np.minimum(np.linalg.svd(whitened, compute_uv=False), 1.0))  # rounding may pass 1


def _bartlett(rng: np.random.Generator, draws: int, k: int, degrees: int) -> Float[np.ndarray, "sample mode mode_"]:
    lower = np.tril(rng.standard_normal((draws, k, k)), -1)
    index = np.arange(k)
    lower[:, index, index] = np.sqrt(rng.chisquare(degrees - index, size=(draws, k)))
    return lower
