"""How the position bases of two runs lie to each other in each layer: angles, and what chance and noise give."""

from functools import cache

import numpy as np
import xarray as xr
from jaxtyping import Float

from armillary.measures.subspaces import leading_directions, principal_angles, principal_angles_null
from armillary.results.store import Run

COUNT = 3
"""How many directions are compared where the runs do not say how many there are."""

DIRECTIONS, MODES = "directions of the residual stream", "modes along the positions"

Pairs = list[tuple[int, int]]


def position_angles(one: Run, other: Run, layers: Pairs) -> xr.Dataset:
    """Principal angles in radians, smallest first, between the k leading directions of two position bases.

    k is the smaller `rank_heldout` of the two runs, or 3 where they have none, and never more than half of the space;
    with k = 0 there is nothing to compare and angles are NaN, as are those beyond k. Where d_model agrees the
    directions are compared (right singular vectors), else, where the positions agree, the modes along the positions
    (left ones, which are centred and so lie in T − 1 dimensions). `angle_null` is the 5 % point of each angle between
    two random subspaces; `angle_halves_one` and `_other` are those between two halves of a run's own documents: what
    noise alone gives, at half the data and so a little too large. Without a common space the dataset is empty.
    """
    between, space = common_space(one, other)
    if not between:
        return xr.Dataset()
    counts = [min(count, space // 2) for count in numbers_of_directions(one, other, layers)]
    found: dict[str, list[np.ndarray]] = {name: [] for name in ("", "_null", "_halves_one", "_halves_other")}
    for (first, second), k in zip(layers, counts, strict=True):
        found[""].append(angles_between((basis(one, first), basis(other, second)), k, between))
        found["_null"].append(chance(space, k))
        found["_halves_one"].append(angles_between(halves(one, first), k, between))
        found["_halves_other"].append(angles_between(halves(other, second), k, between))
    most = max([1, *counts])
    columns = {
        f"angle{ending}": (("layer", "mode"), np.stack([padded(row, most) for row in rows]), {"units": "rad"})
        for ending, rows in found.items()
    }
    return xr.Dataset({"k": ("layer", counts), **columns}, attrs={"between": between, "space": space})


def common_space(one: Run, other: Run) -> tuple[str, int]:
    """What can be compared, and how many dimensions it has; nothing where neither d_model nor the positions agree."""
    first, second = (run.results["residual"].position_basis for run in (one, other))
    if first.sizes["d_model"] == second.sizes["d_model"]:
        return DIRECTIONS, first.sizes["d_model"]
    if np.array_equal(first.position, second.position):
        return MODES, first.sizes["position"] - 1
    return "", 0


def numbers_of_directions(one: Run, other: Run, layers: Pairs) -> list[int]:
    """How many directions both runs hold in each pair of layers, and no more than their bases have."""
    groups = [run.results["position"].to_dataset() for run in (one, other)]
    most = min(min(run.results["residual"].position_basis.shape[1:]) for run in (one, other))
    if not all("rank_heldout" in group for group in groups):
        return [min(COUNT, most)] * len(layers)
    ranks = [np.nan_to_num(group.rank_heldout.values) for group in groups]
    return [min(int(ranks[0][first]), int(ranks[1][second]), most) for first, second in layers]


def basis(run: Run, layer: int) -> Float[np.ndarray, "position d_model"]:
    """The position basis of one layer."""
    return np.asarray(run.results["residual"].position_basis[layer].values, dtype=np.float64)


def halves(run: Run, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Position bases [position, d_model] of the even and the odd folds of documents; NaN where there is one fold."""
    folds = np.asarray(run.results["residual"].position_folds[layer].values, dtype=np.float64)
    group = run.results["corpus"].group.values
    sizes = np.bincount(group % len(folds), minlength=len(folds)).astype(np.float64)
    if len(folds) < 2:
        empty = np.full(folds.shape[1:], np.nan)
        return empty, empty
    even, odd = (np.average(folds[start::2], axis=0, weights=sizes[start::2]) for start in (0, 1))
    return even - even.mean(0), odd - odd.mean(0)


def angles_between(pair: tuple[np.ndarray, np.ndarray], k: int, between: str) -> Float[np.ndarray, " mode"]:
    """Angles between the k leading directions of two bases [position, d_model], or between their modes."""
    if k == 0 or any(np.isnan(matrix).any() for matrix in pair):
        return np.full(k, np.nan)
    first, second = (leading_directions(matrix.T if between == MODES else matrix, k) for matrix in pair)
    return principal_angles(first, second)


@cache
def chance(space: int, k: int) -> Float[np.ndarray, " mode"]:
    """The 5 % point of each angle between random subspaces: only a smaller angle is more than chance."""
    return np.quantile(principal_angles_null(space, k, draws=1000), 0.05, axis=0) if k else np.zeros(0)


def padded(values: Float[np.ndarray, " mode"], length: int) -> Float[np.ndarray, " mode_"]:
    """Filled up with NaN."""
    return np.concatenate([values, np.full(length - len(values), np.nan)])
