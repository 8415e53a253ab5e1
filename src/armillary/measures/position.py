"""How strong position is, and in how many directions: bias-corrected, with errors over documents."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.linalg import eigsh

from armillary.measures.pairs import pair_jackknife_error, pair_mean, pair_standard_error

ITERATIONS = 12
"""Power iterations for the largest direction without a fold."""

DETERMINED = 3.0
"""A stable rank is answered only when the position's energy is this many standard errors above zero."""


class PositionEffect(NamedTuple):
    """Share, spectrum, stable rank and relative norm of the position basis; plug-in, corrected, with error and null."""

    share_corrected: float
    share_corrected_se: float
    share_null: float
    singular_value: Float[np.ndarray, "mode"]
    rank_stable: float
    rank_stable_null: float
    rank_stable_corrected: float
    rank_stable_corrected_se: float
    relative_norm: float
    relative_norm_null: float
    relative_norm_corrected: float
    relative_norm_corrected_se: float


def position_effect(
    position_kernel: Float[np.ndarray, "group group_"],
    position_folds: Float[np.ndarray, "fold position d_model"],
    position_basis: Float[np.ndarray, "position d_model"],
    position_null: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    covariance: Float[np.ndarray, "d_model d_model_"],
    squares: Float[np.ndarray, "group"],
    group: Int[np.ndarray, "context"],
    energy_heldout: Float[np.ndarray, "mode"],
) -> PositionEffect:
    """Everything about the strength of the position basis that needs the groups of documents.

    `position_folds[f]` is the mean over the contexts of fold f at each position, less the grand mean (group g belongs
    to fold g mod 8), and `position_kernel` the inner products of the groups' sums; `position_null` is the basis after
    every context was circularly shifted by its own random offset: what smooth noise alone shows, plug-in.
    share_corrected = tr Ĝ / (T · variance) with the unbiased Gram Ĝ = (S Sᵀ − Σ S_g S_gᵀ) / (C² − Σ n_g²); it may be
    negative, and is never clipped. With the leading energy_heldout (see `heldout`), rank_stable_corrected = tr Ĝ /
    energy_heldout_1 and relative_norm_corrected = √(C energy_heldout_1) / ‖M‖op, ‖M‖op² half plug-in and half held out,
    both NaN (not estimable) when tr Ĝ is within three standard errors of zero.
    """
    length, in_fold = len(position_basis), fold_of(len(position_kernel), len(position_folds))
    kernel, parts, fold = in_fold @ position_kernel @ in_fold.T, in_fold @ squares, group % len(position_folds)
    sizes = group_sizes(fold, kernel)
    (spectrum, leading), null_spectrum = leading_mode(position_basis), singular_values(position_null)
    groups = group_sizes(group, position_kernel)
    trace, trace_se = pair_mean(position_kernel, groups), pair_standard_error(position_kernel, groups)
    energies = np.diag(kernel) / sizes**2
    direction, variance, per_fold = largest_variance(covariance, context_basis, position_folds, energies, parts, fold)
    largest = np.sqrt(length * variance)  # ‖M‖op / √C, the scale of σ₁
    determined = trace > DETERMINED * trace_se and energy_heldout[0] > 0
    stable, stable_se, ratio, ratio_se = np.full(4, np.nan)
    if determined:
        first = mode_kernel(position_folds, leading, sizes, energy_heldout[0])
        unbiased = (variance + heldout_variance(covariance, direction, context_basis, fold, length)) / 2
        stable, ratio = trace / energy_heldout[0], np.sqrt(energy_heldout[0] / (length * unbiased))
        stable_se = pair_jackknife_error((kernel - stable * first) / energy_heldout[0], sizes)
        relative = first / energy_heldout[0] - linear_kernel(per_fold / variance, sizes)
        ratio_se = ratio / 2 * pair_jackknife_error(relative, sizes)
    share = share_of(position_kernel, groups, squares, length)
    return PositionEffect(
        share_corrected=share.share_corrected,
        share_corrected_se=share.share_corrected_se,
        share_null=float(sizes.sum() * np.sum(null_spectrum**2) / squares.sum()),
        singular_value=spectrum,
        rank_stable=float(np.sum(spectrum**2) / spectrum[0] ** 2),
        rank_stable_null=float(np.sum(null_spectrum**2) / null_spectrum[0] ** 2),
        rank_stable_corrected=float(stable),
        rank_stable_corrected_se=float(stable_se),
        relative_norm=float(spectrum[0] / largest),
        relative_norm_null=float(null_spectrum[0] / largest),
        relative_norm_corrected=float(ratio),
        relative_norm_corrected_se=float(ratio_se),
    )


def group_sizes(group: Int[np.ndarray, " context"], kernel: np.ndarray) -> Float[np.ndarray, " group"]:
    """How many contexts each group holds."""
    return np.bincount(group, minlength=len(kernel)).astype(np.float64)


def fold_of(groups: int, folds: int) -> Float[np.ndarray, "fold group"]:
    """Which fold each group belongs to, as a matrix that sums groups into folds."""
    return (np.arange(groups) % folds == np.arange(folds)[:, None]).astype(np.float64)


def mode_kernel(
    position_folds: Float[np.ndarray, "fold position d_model"],
    mode: Float[np.ndarray, " position"],
    sizes: Float[np.ndarray, " fold"],
    energy: float,
) -> Float[np.ndarray, "fold fold_"]:
    """Inner products of the folds' sums along one mode, scaled so that their pair mean is the mode's energy."""
    along = sizes[:, None] * ((mode - mode.mean()) @ position_folds.astype(np.float64))
    kernel = along @ along.T
    return kernel * (energy / pair_mean(kernel, sizes))


def linear_kernel(values: Float[np.ndarray, " group"], sizes: Float[np.ndarray, " group"]) -> np.ndarray:
    """A mean over groups written as a mean over pairs, so that its error joins that of the pairs."""
    return np.outer(sizes, sizes) * (values[:, None] + values[None, :]) / 2


class PositionShare(NamedTuple):
    """The bias-corrected position share, and its standard error."""

    share_corrected: float
    share_corrected_se: float


def position_share(
    position_kernel: Float[np.ndarray, "group group_"],
    position_basis: Float[np.ndarray, "position d_model"],
    squares: Float[np.ndarray, "group"],
    group: Int[np.ndarray, "context"],
) -> PositionShare:
    """tr Ĝ / (T · variance), Ĝ from pairs of different groups; see `position_effect`."""
    return share_of(position_kernel, group_sizes(group, position_kernel), squares, len(position_basis))


def share_of(
    kernel: Float[np.ndarray, "group group_"],
    sizes: Float[np.ndarray, " group"],
    squares: Float[np.ndarray, " group"],
    length: int,
) -> PositionShare:
    """The share and its standard error: the numerator's pairs and the denominator's groups."""
    total = squares.sum() / (sizes.sum() * length)
    share = pair_mean(kernel, sizes) / (length * total)
    per_group = squares / (sizes * length) / total
    error = pair_standard_error(kernel / (length * total) - share * linear_kernel(per_group, sizes), sizes)
    return PositionShare(share, error)


def leading_mode(
    position_basis: Float[np.ndarray, "position d_model"],
) -> tuple[Float[np.ndarray, " mode"], Float[np.ndarray, " position"]]:
    """All singular values, as `singular_values` gives them, and the left singular vector of the largest."""
    wide = len(position_basis) <= position_basis.shape[1]
    energies, vectors = np.linalg.eigh(position_basis @ position_basis.T if wide else position_basis.T @ position_basis)
    mode = vectors[:, -1] if wide else position_basis @ vectors[:, -1]
    return np.sqrt(energies[::-1].clip(0)), mode / max(np.linalg.norm(mode), np.finfo(np.float64).tiny)


def singular_values(matrix: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "mode"]:
    """Singular values from the smaller Gram matrix, largest first; those below √eps σ₁ are rounding."""
    gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    return np.sqrt(np.linalg.eigvalsh(gram)[::-1].clip(0))


def largest_variance(
    covariance: Float[np.ndarray, "d_model d_model_"],
    context_basis: Float[np.ndarray, "context d_model"],
    position_folds: Float[np.ndarray, "fold position d_model"],
    energies: Float[np.ndarray, " fold"],
    squares: Float[np.ndarray, " fold"],
    fold: Int[np.ndarray, " context"],
) -> tuple[Float[np.ndarray, " d_model"], float, Float[np.ndarray, " fold"]]:
    """The direction of the largest variance, that variance, and each fold's own variance along it.

    The covariance is kept over all windows only. A fold's part along the direction is exact for position and context;
    the rest is shared out by the folds' residual sums of squares. `energies` are the folds' Σ ‖p_t‖².
    """
    length, d_model = position_folds.shape[1:]
    sizes = np.bincount(fold, minlength=len(squares)).astype(np.float64)
    value, vector = eigsh(covariance.astype(np.float64), k=1, v0=np.ones(d_model))
    direction, variance = vector[:, 0], float(value[0])
    along = (position_folds @ direction.astype(position_folds.dtype)).astype(np.float64)
    along_position = sizes * length * along.var(1)
    along_context = length * np.bincount(fold, (context_basis @ direction) ** 2, len(sizes))
    context = length * np.bincount(fold, np.sum(context_basis**2, 1), len(sizes))
    rest = squares - context - sizes * energies
    # Folds of one window each leave nothing over but rounding.
    weights = rest / rest.sum() if rest.sum() > 1e-6 * squares.sum() else sizes / sizes.sum()
    left = variance * sizes.sum() * length - along_context.sum() - along_position.sum()
    per_fold = (along_context + along_position + left * weights) / (sizes * length)
    return direction, variance, per_fold


def heldout_variance(
    covariance: Float[np.ndarray, "d_model d_model_"],
    direction: Float[np.ndarray, " d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    fold: Int[np.ndarray, " context"],
    length: int,
) -> float:
    """The variance along the largest direction found without a fold, measured in that fold; mean over folds.

    As much too small as the plug-in is too large (Lawley 1956), so that their mean is right to the next order. What
    inflates the plug-in most are the few contexts: a fold's own context vectors are subtracted exactly, the rest of the
    covariance is shared by all folds. A few power iterations from the whole's direction, all folds at once.
    """
    sizes = np.bincount(fold).astype(np.float64)
    member = (fold == np.arange(len(sizes))[:, None]).astype(np.float64)

    def parts(vectors: Float[np.ndarray, "d_model fold"]) -> tuple[np.ndarray, np.ndarray]:
        """Each fold's own vector under the covariance of all contexts, and under its own context vectors'."""
        along = context_basis @ vectors
        whole = covariance @ vectors.astype(covariance.dtype)
        common = whole * len(fold) - context_basis.T @ along
        return whole * len(fold), common * (sizes / len(fold)) + context_basis.T @ (along * member.T)

    vectors = np.repeat(direction[:, None], len(sizes), 1)
    for _ in range(ITERATIONS):
        whole, own = parts(vectors)
        vectors = whole - own
        vectors /= np.linalg.norm(vectors, axis=0)
    _, own = parts(vectors)
    return float(np.sum(vectors * own) / len(fold))
