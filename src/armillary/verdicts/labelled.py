"""Verdicts as labelled results of a run, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from armillary.results.measuring import described
from armillary.verdicts.claim import Verdict

NUMBERS = ("published", "corrected", "measured", "se")
TEXTS = ("document", "place", "statement", "verdict", "why", "quantity")


def labelled_verdicts(found: Sequence[Verdict], seed: int) -> xr.Dataset:
    """The group /claims: one entry per claim, by id."""
    columns = {name: [getattr(one, name) for one in found] for name in (*TEXTS, *NUMBERS)}
    arrays = {
        name: ("claim", np.array(values, dtype=np.float64 if name in NUMBERS else object))
        for name, values in columns.items()
    }
    dataset = xr.Dataset(arrays, coords={"claim": np.array([one.id for one in found], dtype=object)})
    dataset.attrs["seed"] = seed
    return described("claims", dataset)


def verdicts_of(results: xr.DataTree) -> list[Verdict]:
    """The verdicts that a run holds; none where it has no /claims."""
    if "claims" not in results.children:
        return []
    group = results["claims"].to_dataset()
    columns: dict[str, list[Any]] = {"id": [str(value) for value in group["claim"].values]}
    columns |= {name: [str(value) for value in group[name].values] for name in TEXTS}
    columns |= {name: [float(value) for value in group[name].values] for name in NUMBERS}
    return [Verdict(*row) for row in zip(*(columns[name] for name in Verdict._fields), strict=True)]
