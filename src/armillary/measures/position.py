"""How strong position is, and in how many directions: without the bias of small samples, with errors over documents."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.linalg import eigsh

from armillary.measures.pairs import pair_mean, pair_standard_error

MODES = 20
"""How many leading modes are followed."""

DETERMINED = 3.0
"""A stable rank is answered only when the position's energy is this many standard errors above zero."""


class PositionEffect(NamedTuple):
    """Share, spectrum, stable rank and relative norm of the position basis; plug-in, corrected, with error and null."""

    share_corrected: float
    share_corrected_se: float
    share_null: float
    singular_value: Float[np.ndarray, "mode"]
    energy_heldout: Float[np.ndarray, "mode"]
    rank_stable: float
    rank_stable_null: float
    rank_stable_corrected: float
    rank_stable_corrected_se: float
    relative_norm: float
    relative_norm_null: float
    relative_norm_corrected: float
    relative_norm_corrected_se: float


def position_effect(
    position_groups: Float[np.ndarray, "group position d_model"],
    position_null: Float[np.ndarray, "position d_model"],
    context_basis: Float[np.ndarray, "context d_model"],
    covariance: Float[np.ndarray, "d_model d_model_"],
    squares: Float[np.ndarray, "group"],
    group: Int[np.ndarray, "context"],
) -> PositionEffect:
    """Everything about the strength of the position basis that needs the groups of documents.

    `position_null` is the position basis after every context was turned by its own random offset: what smooth noise
    alone would show, plug-in. `position_groups[g]` is the mean over the contexts of group g at each position, less the grand mean; `squares[g]`
    the group's sum of squared distances from the grand mean. share_corrected = tr Ĝ / (T · variance) with the unbiased
    Gram Ĝ = (S Sᵀ − Σ S_g S_gᵀ) / (C² − Σ n_g²); it may be negative and is never clipped. energy_heldout_k = mean over
    groups of uᵀ M_g P₋gᵀ u, u the k-th mode found without g: an estimate of σ_k² that noise does not inflate.
    rank_stable_corrected = tr Ĝ / energy_heldout_1, NaN ("not determined") when tr Ĝ is within three standard errors
    of zero. relative_norm_corrected =
    √(C energy_heldout_1) / ‖M‖op, under the same condition.
    """
    sizes = np.bincount(group, minlength=len(position_groups)).astype(np.float64)
    means, contexts = centred(position_groups), sizes.sum()
    length = means.shape[1]
    basis = np.tensordot(sizes / contexts, means, 1)
    spectrum = singular_values(basis)
    modes = min(MODES, *basis.shape)
    energy = heldout_energy(means, sizes, modes)

    sums = sizes[:, None, None] * means
    kernel = inner(sums)
    trace, trace_se = pair_mean(kernel, sizes), pair_standard_error(kernel, sizes)
    share, share_se = share_and_error(kernel, sizes, squares, length, position_groups.mean(1))

    leading = leading_modes(basis @ basis.T, 1)[:, 0]
    first = inner(np.einsum("t,gtd->gd", leading, sums)[:, None, :])
    first *= energy[0] / pair_mean(first, sizes) if pair_mean(first, sizes) > 0 else np.nan
    stable = trace / energy[0]
    determined = trace > DETERMINED * trace_se
    variance, per_group = largest_variance(covariance, context_basis, means, squares, group, sizes)
    largest = np.sqrt(length * variance)  # ‖M‖op / √C, the scale of σ₁
    null_spectrum = singular_values(position_null)
    total = squares.sum() / (contexts * length)
    ratio = np.sqrt(energy[0]) / largest if determined and energy[0] > 0 else np.nan
    return PositionEffect(
        share_corrected=share,
        share_corrected_se=share_se,
        share_null=float(np.sum(null_spectrum**2) / (length * total)),
        singular_value=spectrum[:modes],
        energy_heldout=energy,
        rank_stable=float(np.sum(spectrum**2) / spectrum[0] ** 2),
        rank_stable_null=float(np.sum(null_spectrum**2) / null_spectrum[0] ** 2),
        rank_stable_corrected=float(stable) if determined else np.nan,
        rank_stable_corrected_se=pair_standard_error((kernel - stable * first) / energy[0], sizes)
        if determined
        else np.nan,
        relative_norm=float(spectrum[0] / largest),
        relative_norm_null=float(null_spectrum[0] / largest),
        relative_norm_corrected=float(ratio),
        relative_norm_corrected_se=float(ratio / 2)
        * pair_standard_error(first / energy[0] - linear_kernel(per_group / variance, sizes), sizes),
    )


def centred(groups: Float[np.ndarray, "group position d_model"]) -> Float[np.ndarray, "group position d_model"]:
    """Each group's position vectors with their own mean over positions taken off."""
    return groups - groups.mean(1, keepdims=True)


def inner(sums: Float[np.ndarray, "group position d_model"]) -> Float[np.ndarray, "group group_"]:
    """⟨S_g, S_h⟩ for all pairs of groups."""
    flat = sums.reshape(len(sums), -1)
    return flat @ flat.T


def linear_kernel(values: Float[np.ndarray, " group"], sizes: Float[np.ndarray, " group"]) -> np.ndarray:
    """A mean over groups written as a mean over pairs, so that its error joins that of the pairs."""
    return np.outer(sizes, sizes) * (values[:, None] + values[None, :]) / 2


def share_and_error(
    kernel: Float[np.ndarray, "group group_"],
    sizes: Float[np.ndarray, " group"],
    squares: Float[np.ndarray, " group"],
    length: int,
    group_means: Float[np.ndarray, "group d_model"],
) -> tuple[float, float]:
    """The corrected position share and its standard error: the numerator's pairs and the denominator's groups."""
    total = squares.sum() / (sizes.sum() * length)
    share = pair_mean(kernel, sizes) / (length * total)
    per_group = squares / (sizes * length) / total
    return share, pair_standard_error(kernel / (length * total) - share * linear_kernel(per_group, sizes), sizes)


def heldout_energy(
    means: Float[np.ndarray, "group position d_model"], sizes: Float[np.ndarray, " group"], modes: int
) -> Float[np.ndarray, "mode"]:
    """Energy of each leading mode, found without a group and measured between that group and the others."""
    weighted = sizes[:, None, None] * means
    whole = weighted.sum(0)
    energy = np.zeros(modes)
    for mean, part, size in zip(means, weighted, sizes, strict=True):
        others = (whole - part) / (sizes.sum() - size)
        found = leading_modes(others @ others.T, modes)
        energy += size / sizes.sum() * np.sum((found.T @ mean) * (found.T @ others), 1)
    return energy


def leading_modes(gram: Float[np.ndarray, "position position_"], modes: int) -> Float[np.ndarray, "position mode"]:
    """Eigenvectors of the largest eigenvalues, largest first."""
    return np.linalg.eigh(gram)[1][:, : -modes - 1 : -1]


def singular_values(matrix: Float[np.ndarray, "position d_model"]) -> Float[np.ndarray, "mode"]:
    """Singular values from the smaller Gram matrix, largest first; those below √eps σ₁ are rounding."""
    gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    return np.sqrt(np.linalg.eigvalsh(gram)[::-1].clip(0))


def largest_variance(
    covariance: Float[np.ndarray, "d_model d_model_"],
    context_basis: Float[np.ndarray, "context d_model"],
    means: Float[np.ndarray, "group position d_model"],
    squares: Float[np.ndarray, " group"],
    group: Int[np.ndarray, " context"],
    sizes: Float[np.ndarray, " group"],
) -> tuple[float, Float[np.ndarray, " group"]]:
    """The largest variance of any direction, and each group's own variance along it.

    The covariance is kept over all groups only. A group's part along the direction is exact for position and context;
    the rest is shared out by the groups' residual sums of squares.
    """
    length, d_model = means.shape[1:]
    value, vector = eigsh(covariance, k=1, v0=np.ones(d_model))
    direction, variance = vector[:, 0], float(value[0])
    along_context = length * np.bincount(group, (context_basis @ direction) ** 2, len(sizes))
    along_position = sizes * np.sum((means @ direction) ** 2, 1)
    context = length * np.bincount(group, np.sum(context_basis**2, 1), len(sizes))
    rest = squares - context - sizes * np.sum(means**2, (1, 2))
    left = variance * sizes.sum() * length - along_context.sum() - along_position.sum()
    per_group = (along_context + along_position + left * rest / rest.sum()) / (sizes * length)
    return variance, per_group
