"""The table of a training run: one row per validation."""

import numpy as np
import pandas as pd

from armillary.printing.numbers import factor, heading, number
from armillary.printing.panels import Column, Panels, estimates
from armillary.results.reading import has, numbers, require
from armillary.results.schema.training import OF_HEADS, OF_LAYERS, TRAINING
from armillary.results.store import Run

LAST = 12
"""The most validations that are printed, evenly spread, the last among them."""


def rows(run: Run) -> pd.DataFrame:
    """One row per step: losses, what was validated, and means over heads and layers of its geometry."""
    require(run.results, TRAINING)
    found = run.results[TRAINING].to_dataset()
    frame = found[[name for name in found.data_vars if found[name].dims == ("step",)]].to_dataframe()
    if "accuracy" in found:
        for digits in found.digits.values:
            frame[f"accuracy_{digits}"] = found.accuracy.sel(digits=digits).to_series()
    for group in (OF_HEADS, OF_LAYERS):
        if group not in run.results.children:
            continue
        held = run.results[group].to_dataset()
        means = {str(name): held[name].mean([axis for axis in held[name].dims if axis != "step"]) for name in held}
        frame = frame.join(pd.DataFrame({name: mean.to_series() for name, mean in means.items()}), how="outer")
    return frame.rename_axis("step")


def printed(run: Run) -> Panels:
    """The validations for a terminal."""
    require(run.results, TRAINING)
    results = run.results
    found, frame = results[TRAINING].to_dataset(), rows(run)
    kept = np.flatnonzero(np.isfinite(found.loss_validation.values))
    chosen = kept[np.unique(np.linspace(0, len(kept) - 1, min(LAST, len(kept))).round().astype(int))]
    steps = found.step.values[chosen]
    errors = found.loss_validation_se.values[chosen]
    columns = [
        Column("step", [str(step) for step in steps]),
        Column(heading(f"{TRAINING}/loss"), cells(found.loss.values[chosen], 3)),
        *estimates(heading(f"{TRAINING}/loss_validation"), found.loss_validation.values[chosen], errors, 3),
    ]
    if "accuracy" in found:
        columns += [
            Column(f"{digits}{'' if found.trained.values[place] else '*'} digits %", column)
            for place, digits in enumerate(found.digits.values)
            if (column := cells(100 * found.accuracy.values[chosen, place], 1))
        ]
    for path, digits in SHOWN.items():
        name = path.partition("/")[2]
        if name in frame:
            columns.append(Column(heading(path), cells(factor(path) * frame[name].reindex(steps).to_numpy(), digits)))
    return Panels(title(run), columns, caption(run))


SHOWN = {
    f"{OF_HEADS}/frobenius_qk": 2,
    f"{OF_HEADS}/entropy": 2,
    f"{OF_HEADS}/signal_propagation": 1,
    f"{OF_LAYERS}/low_frequency_share": 1,
    f"{OF_LAYERS}/similarity": 2,
}
"""What of the geometry is printed, with how many digits."""


def cells(values: np.ndarray, digits: int) -> list[str]:
    """Numbers of one column."""
    return [number(float(value), digits) for value in values]


def title(run: Run) -> str:
    """What was trained, how large, how long."""
    about = run.provenance
    size = f"{about.get('layers', '?')} layers of width {about.get('width', '?')}, {about.get('shape', '?')}"
    return f"{run.title}: {size}, {about.get('parameters', '?')} parameters, {about.get('steps', '?')} steps"


def caption(run: Run) -> str:
    """How to read the columns."""
    lines = ["Losses in nats. SE: over 16 stretches of what was kept for validation."]
    if has(run.results, f"{TRAINING}/accuracy"):
        lines.append("digits: problems whose whole answer is right. * numbers of other lengths than those learnt.")
    if has(run.results, f"{TRAINING}/bigram_entropy"):
        bigrams = float(numbers(run.results, f"{TRAINING}/bigram_entropy"))
        lines.append(f"A model that knows pairs of tokens alone has a loss of {bigrams:.3f} nats on this text.")
    if OF_HEADS in run.results.children:
        lines.append("Geometry: means over heads or layers on a few fixed windows, plug-in.")
    return "\n".join(lines)
