"""How strong position is, and in how many directions: bias-corrected, with errors over documents."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.linalg import eigsh

from armillary.measures.errors.jackknife import standard_error
from armillary.measures.errors.leave_out import Jackknifed, unknown
from armillary.measures.pairs import pair_mean, pair_means_without, pair_replicates, pair_standard_error

DETERMINED = 3.0
"""A stable rank is answered only where position and its first mode are this many standard errors above zero."""


class PositionEffect(NamedTuple):
    """Share, spectrum, stable rank and relative norm of the position basis; plug-in, corrected, with error and null."""

    share_corrected: float
    share_corrected_se: float
    share_corrected_without: Float[np.ndarray, "group"]
    share_null: float
    singular_value: Float[np.ndarray, "mode"]
    rank_stable: float
    rank_stable_null: float
    rank_stable_corrected: float
    rank_stable_corrected_se: float
    rank_stable_corrected_without: Float[np.ndarray, "fold"]
    relative_norm: float
    relative_norm_null: float
    relative_norm_corrected: float
    relative_norm_corrected_se: float
    relative_norm_corrected_without: Float[np.ndarray, "fold"]


def position_effect(
    position_kernel: Float[np.ndarray, "group group_"],
    position_basis: Float[np.ndarray, "position d_model"],
    position_null: Float[np.ndarray, "position d_model"],
    covariance: Float[np.ndarray, "d_model d_model_"],
    leading_groups: Float[np.ndarray, "group direction direction_"],
    squares: Float[np.ndarray, "group"],
    group: Int[np.ndarray, "context"],
    energy_heldout: Float[np.ndarray, "mode"],
    energy_heldout_without: Float[np.ndarray, "fold"],
) -> PositionEffect:
    """Everything about the strength of the position basis that needs the groups of documents.

    `position_kernel` are the inner products of the groups' sums at each position (group g belongs to fold g mod 8);
    `position_null` is the basis after every context was circularly shifted by its own random offset: what smooth noise
    alone shows, plug-in.
    share_corrected = tr Ĝ / (T · variance) with the unbiased Gram Ĝ = (S Sᵀ − Σ S_g S_gᵀ) / (C² − Σ n_g²); it may be
    negative, and is never clipped. With the leading energy_heldout (see `heldout`), rank_stable_corrected = tr Ĝ /
    energy_heldout_1 and relative_norm_corrected = √(C energy_heldout_1) / ‖M‖op, ‖M‖op² half plug-in and half held out,
    both NaN (not estimable) when tr Ĝ or energy_heldout_1 is within three standard errors of zero. `leading_groups` are
    the groups' second moments along a few leading directions (see `leading_variance`). Both errors are the jackknife's
    over folds, with the mode found anew without each (`energy_heldout_without`).
    """
    length, folds = len(position_basis), len(energy_heldout_without)
    in_fold = fold_of(len(position_kernel), folds)
    kernel = in_fold @ position_kernel @ in_fold.T
    sizes = group_sizes(group % folds, kernel)
    spectrum, null_spectrum = singular_values(position_basis), singular_values(position_null)
    groups = group_sizes(group, position_kernel)
    trace, trace_se = pair_mean(position_kernel, groups), pair_standard_error(position_kernel, groups)
    variance = float(eigsh(covariance.astype(np.float64), 1, v0=np.ones(len(covariance)), return_eigenvectors=False)[0])
    largest = np.sqrt(length * variance)  # ‖M‖op / √C, the scale of σ₁
    first_se = float(standard_error(energy_heldout_without))
    # With too few folds for an error the energy only has to be there.
    determined = trace > DETERMINED * trace_se and energy_heldout[0] > np.nan_to_num(DETERMINED * first_se)
    stable = relative = unknown(len(sizes))
    if determined:
        first = energy_heldout_without / energy_heldout[0]
        variances, heldout = leading_variance(np.tensordot(in_fold, leading_groups, 1), sizes * length)
        unbiased = variance * (1 + heldout) / 2
        stable = folded(trace / energy_heldout[0], pair_means_without(kernel, sizes) / trace, first)
        relative = folded(np.sqrt(energy_heldout[0] / (length * unbiased)), (first + 1) / 2, (variances + 1) / 2)
    share = share_of(position_kernel, groups, squares, length)
    return PositionEffect(
        **share._asdict(),
        share_null=float(sizes.sum() * np.sum(null_spectrum**2) / squares.sum()),
        singular_value=spectrum,
        rank_stable=stable_rank(spectrum),
        rank_stable_null=stable_rank(null_spectrum),
        rank_stable_corrected=stable.value,
        rank_stable_corrected_se=stable.se,
        rank_stable_corrected_without=stable.without,
        relative_norm=float(spectrum[0] / largest),
        relative_norm_null=float(null_spectrum[0] / largest),
        relative_norm_corrected=relative.value,
        relative_norm_corrected_se=relative.se,
        relative_norm_corrected_without=relative.without,
    )


def folded(value: float, above: Float[np.ndarray, " fold"], below: Float[np.ndarray, " fold"]) -> Jackknifed:
    """A ratio with its error over folds, to first order: what is above and below without each fold, over the whole."""
    without = value * (1 + above - below)
    return Jackknifed(float(value), float(standard_error(without)), without)


def group_sizes(group: Int[np.ndarray, " context"], kernel: np.ndarray) -> Float[np.ndarray, " group"]:
    """How many contexts each group holds."""
    return np.bincount(group, minlength=len(kernel)).astype(np.float64)


def fold_of(groups: int, folds: int) -> Float[np.ndarray, "fold group"]:
    """Which fold each group belongs to, as a matrix that sums groups into folds."""
    return (np.arange(groups) % folds == np.arange(folds)[:, None]).astype(np.float64)


def linear_kernel(values: Float[np.ndarray, " group"], sizes: Float[np.ndarray, " group"]) -> np.ndarray:
    """A mean over groups written as a mean over pairs, so that its error joins that of the pairs."""
    return np.outer(sizes, sizes) * (values[:, None] + values[None, :]) / 2


class PositionShare(NamedTuple):
    """The bias-corrected position share, its standard error, and the share without each group of documents."""

    share_corrected: float
    share_corrected_se: float
    share_corrected_without: Float[np.ndarray, "group"]


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
    changes = kernel / (length * total) - share * linear_kernel(per_group, sizes)
    error = pair_standard_error(changes, sizes)
    return PositionShare(share, error, pair_replicates(changes, sizes, share, error))


def stable_rank(spectrum: Float[np.ndarray, " mode"]) -> float:
    """Σσ² / σ₁² of singular values, largest first."""
    return float(np.sum(spectrum**2) / spectrum[0] ** 2)


def singular_values(matrix: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "mode"]:
    """Singular values from the smaller Gram matrix, largest first; those below √eps σ₁ are rounding."""
    gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    return np.sqrt(np.linalg.eigvalsh(gram)[::-1].clip(0))


def leading_variance(
    products: Float[np.ndarray, "fold direction direction_"], tokens: Float[np.ndarray, " fold"]
) -> tuple[Float[np.ndarray, " fold"], float]:
    """Along the leading direction, in units of the largest variance: that without each fold, and the held-out one.

    `products` are the folds' second moments in a frame of a few directions that holds nearly all of the leading one.
    Held out is the variance along the leading direction found without a fold, measured in that fold, mean over folds:
    as much too small as the plug-in is too large (Lawley 1956), so that their mean is right to the next order. NaN
    where a run does not have them.
    """
    whole = products.sum(0)
    if not np.isfinite(whole).all():
        return np.full(len(tokens), np.nan), float("nan")
    energies, vectors = np.linalg.eigh(whole)
    along = np.einsum("i,fij,j->f", vectors[:, -1], products, vectors[:, -1]) / energies[-1]
    without = np.linalg.eigh(whole - products)[1][:, :, -1]
    measured = np.einsum("fi,fij,fj->", without, products, without)
    return (1 - along) / (1 - tokens / tokens.sum()), float(measured / energies[-1])
