"""Questions about the sphere, information, simulations and training."""

import numpy as np
import xarray as xr

from armillary.figures.gaussian.information import INFORMATION, NULLS
from armillary.figures.kit.words import largest, number, quoted
from armillary.figures.simulation.walks import DEVIATION, OFF, RHO, attention_finding, joint_limit
from armillary.figures.sphere.norms import agreement, agreement_sentence, known_radii
from armillary.figures.training import ACCURACY, BIGRAMS, TRAINED, validated
from armillary.reporting.kinds import NO, UNCLEAR, YES, Curve
from armillary.reporting.questions.asking import Question, Said
from armillary.results.reading import array, estimate, has, numbers
from armillary.results.schema.training import SWEEP

NEAR = 0.01
"""States lie on the sphere where their radii are within this part of √d_model."""

OFF_BY = 0.02
"""A law of probabilities does not hold where it is off by more than this."""


def sphere(results: xr.DataTree) -> Said | None:
    """Whether norms put states on the sphere of radius √d_model."""
    ratio, known = known_radii(results)
    if not known.any():
        return None
    away = float(np.max(np.abs(ratio[known] - 1)))
    return Said(
        YES if away < NEAR else NO, f"Radii lie within {number(100 * away)} % of √d_model, before gain and bias"
    )


def nearest(results: xr.DataTree) -> Said | None:
    """Whether the likeliest token mostly has the largest cosine with the state."""
    share, margin = agreement(results)
    if not np.isfinite(share):
        return None
    verdict = YES if share - margin > 0.5 else NO if share + margin < 0.5 else UNCLEAR
    return Said(verdict, agreement_sentence(results))


def information(results: xr.DataTree) -> Said | None:
    """Whether neighbouring tokens share more information than the null."""
    near = estimate(results, INFORMATION, distance=0)
    if not np.isfinite(near.value).any():
        return None
    null, best = numbers(results, NULLS, distance=0), largest(near.value)
    above, below = (near.low > null).any(), (near.high < null).all()
    value = number(float(near.value[best]))
    far = number(float(numbers(results, INFORMATION, distance=-1)[best]))
    apart = int(array(results, INFORMATION)["distance"].values[-1])
    verdict = YES if above else NO if below else UNCLEAR
    said = f"Neighbours share up to {value} nats (layer {best}), tokens {apart} apart {far}"
    return Said(verdict, said, Curve(near.value, null))


def law(results: xr.DataTree) -> Said | None:
    """Whether the published law of signal propagation agrees with the simulation."""
    off, deviation = numbers(results, OFF), numbers(results, DEVIATION)
    if not (np.isfinite(off).any() and np.isfinite(deviation).any()):
        return None
    published, exact = float(np.nanmax(off)), float(np.nanmax(deviation))
    sure = exact <= joint_limit(array(results, RHO).size)
    verdict = UNCLEAR if not sure else NO if published > OFF_BY else YES
    return Said(verdict, f"It is off by up to {number(published)}; the exact law agrees within {number(exact)} SE")


def attending(results: xr.DataTree) -> Said | None:
    """Whether the softmax attends where the published ρ is high."""
    said = attention_finding(results)
    verdict = NO if said.startswith("Clipping makes") and " no " not in said else UNCLEAR
    return None if "not estimable" in said else Said(verdict, said)


def learnt(results: xr.DataTree) -> Said | None:
    """Whether a trained model does its task: exact matches, else the validation loss beside the bigram entropy."""
    if has(results, ACCURACY) and has(results, TRAINED):
        return exact_matches(results)
    steps, one = validated(results)
    if not steps.size:
        return None
    margin = float(np.nan_to_num(one.margin()[-1]))
    value = quoted(float(one.value[-1]), float(one.margin()[-1]), "nats")
    curve = Curve(one.value, axis="step", at=one.value.size - 1)
    if not has(results, BIGRAMS):
        return Said(UNCLEAR, f"Validation loss ends at {value}; there is no bigram entropy to compare with", curve)
    bigrams = float(numbers(results, BIGRAMS))
    gap = float(one.value[-1]) - bigrams
    verdict = YES if gap + margin < 0 else NO if gap - margin > 0 else UNCLEAR
    null = np.full_like(one.value, bigrams)
    said = f"Validation loss ends at {value}; the bigram entropy is {number(bigrams)}"
    return Said(verdict, said, curve._replace(null=null))


def exact_matches(results: xr.DataTree) -> Said | None:
    """How many answers are right at the end, inside and outside the trained lengths."""
    values, trained = numbers(results, ACCURACY), array(results, TRAINED).values.astype(bool)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not known.size or not trained.any():
        return None
    last = 100 * values[known[-1]]
    worst = float(last[trained].min())
    verdict = YES if worst >= 90 else NO if worst < 50 else UNCLEAR
    outside = f"; at most {number(float(last[~trained].max()))} % outside" if (~trained).any() else ""
    curve = Curve(100 * values[known][:, trained].min(axis=1), axis="step", at=known.size - 1)
    inside = "All answers are exact" if worst == 100 else f"At least {number(worst)} % of answers are exact"
    return Said(verdict, f"{inside} inside the trained lengths{outside}", curve)


def swept(results: xr.DataTree) -> Said | None:
    """Whether stronger penalties do what the document says."""
    verdicts = array(results, f"{SWEEP}/verdict").values.astype(str)
    if not verdicts.size:
        return None
    held, count = int((verdicts[:, 0] == "holds").sum()), len(verdicts)
    failed = int((verdicts[:, 0] == "does not hold").sum())
    verdict = YES if held == count else NO if failed == count else UNCLEAR
    return Said(verdict, f"{held} of the document's {count} claims hold, {failed} do not")


QUESTIONS = (
    Question("Do norms put states on a sphere?", ("norm-radii",), sphere, "norm_geometry"),
    Question("Is the likeliest token the nearest one?", ("norm-radii",), nearest, lead=False),
    Question("Do neighbouring tokens share information?", ("gaussian-information",), information, "gaussian"),
    Question("Does the published law of localization hold?", ("simulated-rho",), law),
    Question("Does the softmax attend where ρ is high?", ("simulated-attention",), attending),
    Question("Did the model learn its task?", ("training-accuracy", "training-loss"), learnt),
    Question("Do stronger penalties act as published?", ("locater-sweep",), swept),
)
