"""The table of norms: one row per norm, as data and as it is printed."""

import numpy as np
import pandas as pd

from armillary.printing.numbers import heading, number
from armillary.printing.panels import Column, Panels
from armillary.results.reading import require
from armillary.results.store import Run

DIGITS = {
    **{"gain_largest": 2, "gain_smallest": 2, "gain_variation": 2, "flat_axes": 0, "shift": 3},
    **{"radius": 3, "radius_before": 3, "radius_after": 3, "along_ones": 4},
}
"""What is printed of every norm, and to how many digits; JSON and CSV give all."""


def norm_rows(run: Run) -> pd.DataFrame:
    """One row per norm: kind, axes of its ellipsoid, shift, and radii where the run holds sampled states."""
    require(run.results, "norm_geometry")
    norms = run.results["norm_geometry"].to_dataset()
    columns = {str(name): norms[name].values for name in norms.data_vars if norms[name].dims == ("norm",)}
    return pd.DataFrame(columns, pd.Index(norms["norm"].values.astype(str), name="norm"))


def printed(run: Run) -> Panels:
    """The table for a terminal."""
    frame = norm_rows(run)
    columns = [Column("norm", list(frame.index), words=True), Column("kind", frame.kind.tolist(), words=True)]
    columns += [
        Column(heading(f"norm_geometry/{name}"), [number(float(value), digits) for value in frame[name]])
        for name, digits in DIGITS.items()
        if name in frame
    ]
    return Panels(f"Norms of {run.provenance.get('model', 'a model')}", columns, caption(run))


def caption(run: Run) -> str:
    """How to read the table, and what the last norm does to logits where that is known."""
    lines = [
        "A norm puts states on a sphere of radius √d_model; gain makes an ellipsoid of it, bias shifts it (in radii).",
        "A norm is named by what reads it, or by what it stands after. flat axes: gains of zero, to float32.",
    ]
    norms = run.results["norm_geometry"].to_dataset()
    if "radius_before" in norms:
        lines.append("radius: mean over sampled tokens before gain and bias; – where the sample lacks the states.")
    if "argmax_agreement" in norms and np.isfinite(norms.argmax_agreement):
        share, error = (number(100 * float(norms[f"argmax_agreement{end}"]), 1) for end in ("", "_se"))
        lines.append(
            f"In {share} % of states (SE {error}) the likeliest token also has the largest cosine with the state."
        )
    return "\n".join(lines)
