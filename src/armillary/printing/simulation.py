"""The table of a simulation: one row per setting as it is printed, one per setting and position as data."""

import numpy as np
import pandas as pd

from armillary.printing.numbers import heading, number
from armillary.printing.panels import Column, Panels
from armillary.results.reading import require
from armillary.results.store import Run

GROUP = "localization_simulation"
CLIPPED = "*"
"""Marks a regime that clipping makes."""


def rows(run: Run) -> pd.DataFrame:
    """One row per setting and position: every number of the simulation; those of a setting stand in all its rows."""
    require(run.results, GROUP)
    return run.results[GROUP].to_dataset().to_dataframe(dim_order=["setting", "position"])


def printed(run: Run) -> Panels:
    """One row per setting for a terminal."""
    require(run.results, GROUP)
    found = run.results[GROUP].to_dataset()
    regimes = [
        f"{regime}{CLIPPED if clipped else ''}"
        for regime, clipped in zip(found.regime.values, found.clipped.values, strict=True)
    ]
    attention = found.probability.values
    peaks = [f"{share:.2f} at {place}" for share, place in zip(attention.max(1), 1 + attention.argmax(1), strict=True)]
    columns = [
        Column("setting", [str(name) for name in found.setting.values], words=True),
        Column(heading(f"{GROUP}/xi"), cells(found.xi.values, 1)),
        Column(heading(f"{GROUP}/eta"), cells(found.eta.values, 2)),
        Column("ρ", regimes, words=True),
        Column("softmax most", peaks),
        Column("nats", cells(found.entropy.values, 2)),
        Column("publ. off", cells(found.published_error.values, 2)),
        Column("exact, SE", cells(found.exact_deviation.values, 1)),
    ]
    return Panels(title(run), columns, CAPTION)


def cells(values: np.ndarray, digits: int) -> list[str]:
    """Numbers of one column."""
    return [number(round(float(value), digits) + 0.0, digits) for value in values]  # no −0.0


def title(run: Run) -> str:
    """What was simulated, and how much of it."""
    found = run.results[GROUP]
    walks, draws = (found.attrs.get(name, "?") for name in ("walks", "draws"))
    drawn = f"{draws} {'draw' if draws == 1 else 'draws'} of W_QK"
    return f"Simulated localization: {walks} walks of {found.sizes['position']} tokens for each of {drawn}"


CAPTION = "\n".join(
    (
        "setting: isotropic or anisotropic covariance, mean and scale of the eigenvalues of W_QK.",
        "ρ: where the signal passes the linearised softmax. "
        f"{CLIPPED} clipping makes this focus: the softmax attends to an end.",
        "softmax most: largest mean attention, and the token that has it. nats: entropy of attention.",
        "publ. off: largest |published − simulated ρ|. exact, SE: largest |exact − simulated ρ| in standard errors.",
        "--json and --csv give every position.",
    )
)
