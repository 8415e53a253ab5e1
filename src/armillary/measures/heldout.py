"""Modes of the position basis found without some documents and measured on them: noise does not inflate them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

FOLDS = 8
"""Into how many parts the groups are dealt out, group g to fold g mod 8, where a mean at each position is kept."""

LEADING = 20
"""How many modes are looked at."""

CLOSE = 2
"""How many modes of noise come near the null's point: the first two, as simulations show."""

REPLICATES = 8
"""How many circular shifts of the folds make the null."""

STEPS = 8
"""Power iterations for the null's leading mode: any direction found without a fold will do, this one is nearly it."""


AGAIN = 2
"""Power iterations from the mode without one fold to the mode without two: more change nothing on real text."""


class Heldout(NamedTuple):
    """Held-out energies of the modes, their null, how many stand above it, and what each fold left out changes."""

    energy_heldout: Float[np.ndarray, "mode"]
    energy_heldout_without: Float[np.ndarray, "fold"]
    energy_heldout_null: float
    rank_heldout: int
    rank_heldout_low: int
    rank_heldout_high: int
    singular_value_without: Float[np.ndarray, "fold mode"]


def heldout(
    position_folds: Float[np.ndarray, "fold position d_model"], group: Int[np.ndarray, "context"], seed: int = 0
) -> Heldout:
    """Energy of each mode of the position basis, found without a fold of documents and measured with it.

    energy_heldout_k = Σ_f w_f uᵀ M_f P₋fᵀ u, u the k-th left singular vector of P₋f, the position basis without fold f,
    w_f the fold's share of the contexts: an estimate of σ_k² that noise does not inflate; it may be negative.
    energy_heldout_null is the 95 % point of the leading mode's energy when every fold's curve, less the common one, is
    circularly shifted by its own random offset, such that noise exceeds it with neither of its first two modes.
    rank_heldout counts those of the 20 leading modes that exceed it; a strong noise may stand before a weak effect, so
    they need not be the first. low and high are the lowest and highest count when one fold is left out of the sum. The
    count grows with the number of windows, for ever weaker modes become visible: it says how many are, not how many
    there are. energy_heldout_without is the leading energy, mode and all, when one fold is left out of everything. NaN
    and 0 with fewer than two folds.
    """
    folds, modes = len(position_folds), min(position_folds.shape[1:])
    if folds < 2:
        unknown = np.full((folds, modes), np.nan)
        return Heldout(np.full(modes, np.nan), np.full(folds, np.nan), float("nan"), 0, 0, 0, unknown)
    sizes = np.bincount(group % len(position_folds)).astype(np.float64)
    weights, curves = sizes / sizes.sum(), position_folds - position_folds.mean(1, keepdims=True, dtype=np.float64)
    terms, spectra, leading = fold_energies(curves, weights, modes, position_folds.dtype)
    without = energies_without(curves, weights, leading)
    threshold = null_point(curves, weights, seed)
    energy = terms.sum(0)
    left = [above(np.delete(terms, f, 0).sum(0) / (1 - w), threshold / (1 - w)) for f, w in enumerate(weights)]
    return Heldout(energy, without, threshold, above(energy, threshold), min(left), max(left), spectra)


def rank_heldout_familywise(
    energy_heldout: Float[np.ndarray, "layer mode"], energy_heldout_null: Float[np.ndarray, "layer"]
) -> Int[np.ndarray, "layer"]:
    """The held-out rank of each layer at 95 % for all layers together.

    `rank_heldout` is at 95 % for each layer by itself: of 7 layers without any effect one or another has a mode in a
    fifth of all surveys. The null's point is moved from √0.95 to the L-th root of that, by the same Student's t.
    """
    layers = len(energy_heldout)
    point, joint = (stats.t.ppf(0.95 ** (1 / (CLOSE * each)), REPLICATES) for each in (1, layers))
    rows = zip(energy_heldout, energy_heldout_null * (joint / point), strict=True)
    return np.array([above(energy, threshold) for energy, threshold in rows])


def fold_energies(
    curves: Float[np.ndarray, "fold position d_model"],
    weights: Float[np.ndarray, " fold"],
    modes: int,
    kept: np.typing.DTypeLike = np.float64,
) -> tuple[Float[np.ndarray, "fold mode"], Float[np.ndarray, "fold mode"], Float[np.ndarray, "fold mode_"]]:
    """Each fold's term of the held-out energies, singular values of the basis without it, and its leading mode.

    A fold meets the others in the precision in which folds are kept; spectra need float64, for they are squared. The
    modes are those of the shorter side.
    """
    curves = shorter_first(curves)
    whole = np.tensordot(weights, curves, 1)
    terms, spectra = np.empty((2, len(curves), modes))
    leading = np.empty(curves.shape[:2])
    others = np.empty(whole.shape)  # one room for all folds
    for fold, (weight, part) in enumerate(zip(weights, curves, strict=True)):
        np.multiply(part, -weight, out=others)
        others += whole
        energies, vectors = np.linalg.eigh(others @ others.T)
        found, leading[fold] = vectors[:, : -modes - 1 : -1], vectors[:, -1]
        across = part.astype(kept, copy=False) @ others.astype(kept, copy=False).T
        terms[fold] = weight / (1 - weight) * np.sum(found * (across @ found), 0)
        spectra[fold] = np.sqrt(energies[: -modes - 1 : -1].clip(0)) / (1 - weight)
    return terms, spectra, leading


def shorter_first(curves: Float[np.ndarray, "fold position d_model"]) -> np.ndarray:
    """The curves, axes exchanged where positions are more: uᵀ M Pᵀ u = vᵀ Pᵀ M v for a pair of singular vectors."""
    return curves.swapaxes(1, 2) if curves.shape[1] > curves.shape[2] else curves


def energies_without(
    curves: Float[np.ndarray, "fold position d_model"],
    weights: Float[np.ndarray, " fold"],
    leading: Float[np.ndarray, "fold mode_"],
) -> Float[np.ndarray, " fold"]:
    """The leading held-out energy when each fold in turn is left out of modes and measurement alike.

    `leading` holds the leading mode without each fold: from it the mode without a second one is found by power
    iteration, in float32. NaN with fewer than three folds.
    """
    folds = len(weights)
    if folds < 3:
        return np.full(folds, np.nan)
    weighted = np.ascontiguousarray(shorter_first(curves) * weights[:, None, None], dtype=np.float32)
    whole = weighted.sum(0)
    terms = np.empty((folds, folds))  # [the fold that is left out, the fold that is measured]
    for fold in range(folds):
        others = whole - weighted[fold]
        modes = np.repeat(leading[fold].astype(np.float32)[None, None], folds, 0)
        for _ in range(AGAIN):
            across = modes @ others - modes @ weighted
            modes = across @ others.T - across @ weighted.swapaxes(1, 2)
            modes /= np.linalg.norm(modes, axis=2, keepdims=True)
        left = (modes @ others - modes @ weighted)[:, 0].astype(np.float64)
        terms[:, fold] = np.sum(left * (modes[:, 0] @ weighted[fold]), 1)
    rest = 1 - weights - weights[:, None]  # of the windows, without two folds
    np.fill_diagonal(rest, np.inf)  # a fold that is left out is not measured
    return np.sum(terms / rest, 1) / (1 - weights)


def above(energy: Float[np.ndarray, " mode"], threshold: float) -> int:
    """How many of the leading modes stand above a threshold."""
    return int(np.count_nonzero(energy[:LEADING] > threshold))


def null_point(
    curves: Float[np.ndarray, "fold position d_model"], weights: Float[np.ndarray, " fold"], seed: int
) -> float:
    """95 % point of the larger of the first two modes' held-out energies when folds are circularly shifted.

    What is shifted are the folds' curves less their mean, brought back to full strength by 1/√(1 − w). Products of two
    folds then have mean 0: with R shifts the point is t · sd · √(1 + 1/R), sd that of the first mode, Student's t
    with R degrees of freedom at √0.95.
    """
    length, rng = curves.shape[1], np.random.default_rng(seed)
    common = np.tensordot(weights, curves, 1)
    weighted, without = np.empty((2, *curves.shape), np.float32)  # one room for all shifts
    for into, curve, weight in zip(weighted, curves, weights, strict=True):
        np.subtract(curve, common, out=into, casting="same_kind")
        into *= weight / np.sqrt(1 - weight)
    energies = []
    for _ in range(REPLICATES):
        offsets = rng.integers(length, size=len(curves)).tolist()
        total = np.zeros_like(weighted[0])
        for curve, offset in zip(weighted, offsets, strict=True):
            total[offset:] += curve[: length - offset]
            total[:offset] += curve[length - offset :]
        for into, curve, offset in zip(without, weighted, offsets, strict=True):
            np.subtract(total[offset:], curve[: length - offset], out=into[offset:])
            np.subtract(total[:offset], curve[length - offset :], out=into[:offset])
        energies.append(leading_energy(weighted, offsets, without, weights, rng))
    spread = np.sqrt(np.mean(np.square(energies)) * (1 + 1 / REPLICATES))
    return float(stats.t.ppf(0.95 ** (1 / CLOSE), REPLICATES) * spread)


def leading_energy(
    weighted: Float[np.ndarray, "fold position d_model"],
    offsets: list[int],
    without: Float[np.ndarray, "fold position d_model"],
    weights: Float[np.ndarray, " fold"],
    rng: np.random.Generator,
) -> float:
    """Σ_f uᵀ w_f N_f N₋fᵀ u, u the leading mode of N₋f: the held-out energy, by power iteration in float32.

    `weighted` holds w_f N_f before it is shifted by its offset, `without` the sum of the other folds, shifted.
    """
    modes = rng.standard_normal((len(weighted), 1, weighted.shape[1]), dtype=np.float32)
    for _ in range(STEPS):
        modes = (modes @ without) @ without.swapaxes(1, 2)
        modes /= np.linalg.norm(modes, axis=2, keepdims=True)
    back = np.stack([np.roll(mode, -offset, 1) for mode, offset in zip(modes, offsets, strict=True)])
    own, others = (back @ weighted).astype(np.float64), (modes @ without).astype(np.float64)
    return float(np.sum(own * others / (1 - weights[:, None, None])))
