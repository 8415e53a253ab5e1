"""Make a run without a model: a simulation whose truth is known, beside the theory that speaks of it."""

from pathlib import Path

from armillary.errors import RequestError, did_you_mean, refuse_outside
from armillary.results.simulating import COVARIANCES, PAIRS, localization_groups
from armillary.results.store import Run
from armillary.runs.writing import refuse_taken, written
from armillary.system.progress import progress_of

LOCALIZATION = "localization"
SIMULATIONS = (LOCALIZATION,)
"""What can be simulated."""

LIMITS = {
    "walks": ("the number of walks", 2, 100_000),
    "length": ("a length", 2, 4096),
    "width": ("a width", 2, 4096),
    "draws": ("the number of draws", 1, 1000),
}
"""What each number is, and between which values it lies."""


def simulate(
    name: str = LOCALIZATION,
    *,
    walks: int = 300,
    length: int = 40,
    width: int = 128,
    draws: int = 10,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = True,
    report: bool = True,
) -> Run:
    """Figure 5 of Bao, Hataya and Karakida (2024) as an experiment, and their figures 1 to 4 beside their corrections.

    `name` is localization. Tokens of `width` coordinates walk at random for `length` steps, `walks` times for each of
    `draws` draws of W_QK, in every setting: isotropic or anisotropic steps, and several means and scales of the
    eigenvalues of W_QK. It holds how often the signal of each position passes, with its standard error, beside the
    exact, the Gaussian and the published law, and where the softmax itself attends. With `out` it is written to that
    folder, which gets a page too unless `report` is False. `seed` draws everything; `progress` shows the settings that
    are done.
    """
    if name not in SIMULATIONS:
        raise RequestError(f"expected a simulation, got {name!r}: {did_you_mean(name, SIMULATIONS)}")
    sizes = {"walks": walks, "length": length, "width": width, "draws": draws}
    for size, (what, low, high) in LIMITS.items():
        refuse_outside(what, sizes[size], low, high)
    if seed < 0:
        raise RequestError(f"expected a seed of at least 0, got {seed}: choose another")
    refuse_taken(out)
    with progress_of(f"simulating {name}", len(COVARIANCES) * len(PAIRS), show=progress) as advance:
        groups = localization_groups(**sizes, seed=seed, advance=advance)
    return written(groups, {"simulation": name, **sizes, "seed": seed}, out=out, report=report)
