"""Border 1 for heads: sums by group of documents become labelled means."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from armillary.attention.mixing import MIXING
from armillary.attention.pattern_sums import SCALARS, position_bins, span_of
from armillary.surveys.sums.heads import Heads

RANKS = ("rank_effective", "rank_stable", "spectral_gap")


def head_dataset(heads: Heads, length: int) -> xr.Dataset:
    """Every statistic of every head by group of documents, the windows that each group's means are over, the bins."""
    windows = heads.windows
    ranked = {group: heads.ranked.get(group, 0) for group in windows}
    scalars, ranks = means(heads.scalars, windows), means(heads.ranks, ranked)
    mixing = means(heads.mixing, windows)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        f"{name}_groups": (("block", "head", "group"), scalars[..., i]) for i, name in enumerate(SCALARS)
    }
    variables |= {f"{name}_groups": (("block", "head", "group"), ranks[..., i]) for i, name in enumerate(RANKS)}
    variables |= {f"{name}_groups": (("block", "group"), mixing[..., i]) for i, name in enumerate(MIXING)}
    variables |= {
        "distance_profile_groups": (("block", "head", "group", "span"), means(heads.profile, windows)),
        "map_groups": (("block", "head", "group", "query_bin", "key_bin"), means(heads.map, windows)),
        "signal_propagation_profile_groups": (("block", "head", "group", "key_bin"), means(heads.signal, windows)),
        "windows": (("group",), np.array([windows[group] for group in sorted(windows)])),
        "ranked": (("group",), np.array([ranked[group] for group in sorted(windows)])),
    }
    starts, spans = first_of(position_bins(length)), first_of(span_of(length))
    return xr.Dataset(variables, coords={"query_bin": starts, "key_bin": starts, "span": spans})


def means(sums: dict[int, Tensor], windows: dict[int, int]) -> Float[np.ndarray, "block *rest"]:
    """Each group's mean, the group after the axes block and head where there are two; NaN for a group of no window."""
    like = next(iter(sums.values()))
    none = np.full(like.shape, np.nan)
    each = [sums[group].numpy() / windows[group] if windows[group] else none for group in sorted(windows)]
    return np.moveaxis(np.stack(each), 0, min(2, like.ndim - 1))


def first_of(bins: Tensor) -> np.ndarray:
    """The first place of each bin."""
    return np.unique(bins.numpy(), return_index=True)[1]
