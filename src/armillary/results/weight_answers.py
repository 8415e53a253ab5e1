"""What a run's weights say to the claims about trained matrices: a verdict with its numbers for each."""

import numpy as np
import xarray as xr

from armillary.measures.spectra.verdicts import Alignment, Pressed, aligned_like_random, beside_control, pressed_down
from armillary.results.answering import Answer
from armillary.results.reading import array, has, numbers

KINDS = {"query and key matrices": ("query", "key"), "feed-forward matrices": ("mlp_in", "mlp_gate", "mlp_out")}
"""The matrices whose spectra the document finds pressed down."""


def weight_answers(results: xr.DataTree) -> dict[str, Answer]:
    """The claims by name, as far as a run holds what decides them.

    The document compares with Glorot's initialisation. Many models begin smaller, and then lie below it untrained:
    so the same question is also put against the random-weight control, the model's own initialisation.
    """
    answers: dict[str, Answer] = {}
    if has(results, "weights/trace_qk_z"):
        found = aligned_like_random(numbers(results, "weights/trace_qk_z"))
        answers["aligned_like_random"] = Answer(
            "W_Q and W_K are aligned like random matrices in most heads", found, alignment_words(found, results)
        )
    for words, names in KINDS.items():
        if has(results, "matrices/energy_initial"):
            pressed = pressed_down(*(of_kind(results, f"matrices/{each}_initial", names) for each in MEASURES))
            claim = f"Spectra of {words} are pressed down below Glorot's initialisation"
            answers[f"{names[0]}_below_glorot"] = Answer(claim, pressed, pressed_words(pressed, "Glorot's"))
        if has(results, "matrix_spectra_twin/singular_value"):
            spectra = (of_kind(results, f"{group}/singular_value", names) for group in SPECTRA)
            pressed = pressed_down(*beside_control(*spectra))
            claim = f"Spectra of {words} are pressed down below the random-weight control"
            answers[f"{names[0]}_below_control"] = Answer(claim, pressed, pressed_words(pressed, "the control's"))
    return answers


MEASURES = ("energy", "below")
SPECTRA = ("matrix_spectra", "matrix_spectra_twin")


def of_kind(results: xr.DataTree, path: str, names: tuple[str, ...]) -> np.ndarray:
    """A result of some matrices of every block, one row for each."""
    values = array(results, path)
    some = values.sel(matrix=[name for name in names if name in values.matrix.values])
    return np.asarray(some.values, dtype=np.float64).reshape(-1, *some.shape[2:])


def alignment_words(found: Alignment, results: xr.DataTree) -> str:
    """How many heads are aligned otherwise, and how strongly; the control's beside it."""
    said = f"{percent(found.share)} % of heads aligned otherwise{interval(found)}; median |z| {found.median:.1f}"
    if not has(results, "weights_twin/trace_qk_z"):
        return said
    control = aligned_like_random(numbers(results, "weights_twin/trace_qk_z"))
    return f"{said}; control {percent(control.share)} % and {control.median:.1f}"


def pressed_words(found: Pressed, initial: str) -> str:
    """How many matrices are pressed down, and how far."""
    return (
        f"{percent(found.share)} % of them{interval(found)}; median energy {found.energy:.2g} times {initial}, "
        f"{percent(found.below)} % of singular values below"
    )


def interval(found: Alignment | Pressed) -> str:
    """The interval of a share; nothing where there is none."""
    return f", 95 % interval {percent(found.low)} to {percent(found.high)}" if np.isfinite(found.low) else ""


def percent(share: float) -> str:
    """A share as a number of per cent; – where it is unknown."""
    return f"{100 * share:.0f}" if np.isfinite(share) else "–"
