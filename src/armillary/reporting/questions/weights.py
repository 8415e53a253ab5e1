"""Questions about weights: alignment, spectra, heads as stores of tokens, what weights predict."""

import numpy as np
import xarray as xr

from armillary.figures.kit.words import counted, largest, number, quoted
from armillary.measures.errors.jackknife import half_width
from armillary.measures.spectra.verdicts import Alignment, Pressed, aligned_like_random, pressed_down
from armillary.measures.stores.depth import legible
from armillary.reporting.kinds import NO, UNCLEAR, YES, Curve
from armillary.reporting.questions.asking import Question, Said, by_most
from armillary.results.reading import draws, has, numbers, optional
from armillary.results.store_answers import block_numbers, block_readable
from armillary.results.weight_answers import KINDS, of_kind, percent

WORDS = {"holds": YES, "does not hold": NO, "not determined": UNCLEAR}
OPPOSITE = {"holds": NO, "does not hold": YES, "not determined": UNCLEAR}


def alignment(results: xr.DataTree) -> Said:
    """Whether W_Q and W_K of most heads are aligned otherwise than random matrices."""
    z = numbers(results, "weights/trace_qk_z")
    found, control = aligned_like_random(z), ""
    if has(results, "weights_twin/trace_qk_z"):
        twin = aligned_like_random(numbers(results, "weights_twin/trace_qk_z"))
        control = f"; of the control's {percent(twin.share)} %"
    away = f", {percent(found.negative)} % negatively" if found.negative > 0 else ""
    return Said(OPPOSITE[found.verdict], f"{part(found)} of heads are{away}{control}", by_block(np.abs(z)))


def pressed(results: xr.DataTree) -> Said:
    """Whether spectra of queries and keys lie below Glorot's initialisation."""
    paths = ("matrices/energy_initial", "matrices/below_initial")
    found = pressed_down(*(of_kind(results, path, KINDS["query and key matrices"]) for path in paths))
    energy = f"median energy {number(found.energy)} times Glorot's"
    return Said(WORDS[found.verdict], f"{part(found)} of matrices are; {energy}", by_block(numbers(results, paths[0])))


def part(found: Alignment | Pressed) -> str:
    """A share with its interval."""
    ends = f" (95 % interval {percent(found.low)} to {percent(found.high)})" if np.isfinite(found.low) else ""
    return f"{percent(found.share)} %{ends}"


def by_block(values: np.ndarray) -> Curve | None:
    """The median of every block, where there are several."""
    flat = values.reshape(len(values), -1)
    medians = np.array([np.nanmedian(row) if np.isfinite(row).any() else np.nan for row in flat])
    return Curve(medians, axis="block") if np.isfinite(medians).any() else None


def readable(results: xr.DataTree) -> Said | None:
    """Whether singular vectors of heads name tokens more clearly than random directions."""
    found = [legible(block_readable(results, block)) for block in range(len(block_numbers(results)))]
    share = np.array([each.share for each in found])
    if not np.isfinite(share).any():
        return None
    sure, best = np.array([each.verdict == "holds" for each in found]), largest(share)
    ends = f"{100 * found[best].low:.0f} to {100 * found[best].high:.0f}"
    most = f"{100 * share[best]:.0f} % (95 % interval {ends}) in block {block_numbers(results)[best]}"
    none = all(each.verdict == "does not hold" for each in found)
    verdict = NO if none else YES if by_most(sure, np.isfinite(share)) == YES else UNCLEAR
    return Said(verdict, f"Readable in {counted(sure, 'block')}; most, {most}", Curve(100 * share, axis="block"))


def predicted(results: xr.DataTree) -> Said | None:
    """Whether heads on text rank as weights and covariance predict."""
    path = "localization_agreement/rho_agreement"
    value, error = float(numbers(results, path)), optional(results, f"{path}_se")
    margin = float("nan") if error is None else half_width(draws(results, path)) * float(error)
    if not np.isfinite(value):
        return None
    sure = np.isfinite(margin) and abs(value) > margin
    verdict = UNCLEAR if not sure else YES if value > 0 else NO
    said = f"Rank correlation of predicted and measured signal propagation is {quoted(value, margin)}"
    return Said(verdict, said if sure else f"{said}; not significant")


QUESTIONS = (
    Question("Are W_Q and W_K aligned beyond chance?", ("qk-alignment",), alignment, "weights"),
    Question("Are query and key spectra below initialisation?", ("matrix-initial",), pressed, lead=False),
    Question("Can heads be read as tokens?", ("store-readability",), readable, "stores", lead=False),
    Question("Do weights predict where heads attend?", ("localization-agreement",), predicted, lead=False),
)
