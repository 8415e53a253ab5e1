"""The groups of `armillary gaussian`: everything that the lens shows of a run, as labelled results."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from armillary.measures.errors.groups import means_without
from armillary.measures.gaussian.distance import information_by_distance
from armillary.measures.gaussian.heads import MixingGap
from armillary.measures.gaussian.likely import explained_by_tokens, likely_marks, marginal_spectrum
from armillary.measures.gaussian.logits import LogitMoments
from armillary.measures.gaussian.stacks import stack_similarity
from armillary.models.interventions import randomised, scaled
from armillary.models.view import View
from armillary.probes.control import CONTROL_SEED
from armillary.probes.lens import heads, reading
from armillary.probes.lens.heads import Under
from armillary.probes.lens.reading import BlockReading, Report
from armillary.probes.lens.sample import Sample, frame, sample_of
from armillary.results.labels import labelled
from armillary.results.measuring import described
from armillary.results.reading import SIMULATED
from armillary.results.schema.gaussian import PROJECTIONS
from armillary.results.store import Run
from armillary.system.progress import progress as progress_bar
from armillary.system.threads import one_core_each, side_by_side

ALPHAS = (0.5, 2.0)
"""What W_Q and W_K are multiplied by for the similarity of tokens through depth."""

VARIANT_WINDOWS = 16
"""How many windows the variants of the model read for it."""

CONTROL = "random weights"

LIKELY = 32
"""How many of the most frequent tokens make up the law of a token."""

STACKS: dict[str, dict[str, Any]] = {
    "β = 1": {"skip": 1.0},
    "β = 0.5": {"skip": 0.5},
    "β = 0.1": {"skip": 0.1},
    "β = 0.5, norm": {"skip": 0.5, "length": 8.0, "norm": True},
    "β = 0.1, norm": {"skip": 0.1, "length": 8.0, "norm": True},
}
"""Random stacks: β the share of attention beside the skip; with a norm tokens have length √d = 8."""

DEPTH, DRAWN = 24, 10
"""Layers of the random stacks, and how many of each kind are drawn."""


def lens_groups(
    view: View, run: Run, *, directions: int, windows: int, seed: int, progress: bool
) -> dict[str, xr.Dataset]:
    """Mutual information by distance, logits, what maps keep, mixing, and similarity through depth."""
    view.known_family("heads")
    sample = sample_of(view, run, windows, directions)
    with one_core_each():
        turned, share = frame(run, directions)
    variants, chunks = sample.only(VARIANT_WINDOWS), reading.block_chunks(view, sample)
    modes, marks = min(directions, view.d_head), likely_marks(sample.tokens, sample.kept, LIKELY)
    passes = len(chunks) * len(sample.tokens) + (1 + len(ALPHAS)) * len(variants.tokens)
    with progress_bar(f"{view.name}: gaussian", passes, sample.tokens.shape[1], show=progress) as report:
        with reading.reading_blocks(view, sample, chunks[0], modes) as held:
            states = reading.read_states(view, sample, turned, report, marks)
        found = {"gaussian": information(states.along, share, sample, directions, seed)}
        found["gaussian_tokens"] = of_tokens(states, marks, sample, directions)
        found |= of_heads(view, sample, modes, held, report)
        own = similarity_of(states.similarity, sample)
        found["gaussian_depth"] = through_depth(view, variants, own, int(run.provenance["seed"]), report)
    with one_core_each():
        found["gaussian_stacks"] = random_stacks(seed)
    about = {"model": view.name, "windows": len(sample.tokens), "directions": directions}
    return {
        name: described(name, dataset.assign_attrs({**about, "groups": sample.groups, **dataset.attrs}))
        for name, dataset in found.items()
    }


def information(
    states: Float[np.ndarray, "layer context position mode"],
    share: Float[np.ndarray, " layer"],
    sample: Sample,
    directions: int,
    seed: int,
) -> xr.Dataset:
    """The group /gaussian."""
    arrays = {**under_lens(states, Under.of(sample)), "distances": sample.distances}
    found = labelled(information_by_distance, side_by_side)(arrays, size=directions, seed=seed)
    return found.assign(direction_share=("layer", share)).assign_coords(distance=sample.distances)


def under_lens(states: Float[np.ndarray, "layer context position mode"], under: Under) -> dict[str, Any]:
    """Counted positions of the states of all layers, as measures ask for them."""
    counted = xr.DataArray(states[:, :, under.at], dims=("layer", "context", "position", "mode"))
    return {"states": counted, "kept": under.kept, "group": under.group}


def of_tokens(
    states: reading.States, marks: Int[np.ndarray, "context position"], sample: Sample, directions: int
) -> xr.Dataset:
    """The group /gaussian_tokens: the likely tokens as a law of states, and what they explain."""
    under = Under.of(sample)
    arrays = {**under_lens(states.along, under), "marks": marks[:, under.at]}
    explained = labelled(explained_by_tokens, side_by_side)(arrays, size=directions)
    counts = np.zeros(states.token_sums.shape[1:3])
    used = marks >= 0
    np.add.at(counts, (np.broadcast_to(sample.group[:, None], marks.shape)[used], marks[used]), 1)
    sums = xr.DataArray(states.token_sums, dims=("layer", "group", "token", "d_model"))
    spectra = labelled(marginal_spectrum, side_by_side)({"sums": sums, "counts": counts})
    return explained.merge(spectra).assign(probability=("token", counts.sum(0) / sample.kept.sum()))


def of_heads(
    view: View, sample: Sample, modes: int, held: dict[int, BlockReading], report: Report
) -> dict[str, xr.Dataset]:
    """The groups of heads; the first blocks have been read, the others are read a few at a time."""
    under, distances = Under.of(sample), heads.logit_distances(sample)
    count = heads.input_directions(view, sample)
    logits: list[list[LogitMoments]] = []
    mixed: list[list[tuple[MixingGap, float]]] = []
    kept: list[dict[str, np.ndarray]] = []
    for blocks in reading.block_chunks(view, sample):
        held = held or reading.read_blocks(view, sample, blocks, modes, report)
        for block in blocks:
            read, weights = held.pop(block), view.heads(block)
            parts = heads.block_heads(view, block, read)
            forms = heads.distance_forms(view, block, weights.scale, distances)
            logits.append(heads.logits_of(parts, forms, distances, under))
            mixed.append(heads.mixed_of(parts, under))
            with one_core_each():
                kept.append(heads.kept_of(weights, read.inputs.numpy(), under, count))
    return {
        "gaussian_logits": logit_dataset(logits, distances),
        "gaussian_kept": kept_dataset(kept, count),
        "gaussian_mixing": mixing_dataset(mixed),
    }


def logit_dataset(rows: list[list[LogitMoments]], distances: np.ndarray) -> xr.Dataset:
    """Logits of all heads, and what they say together."""
    axes = ("block", "head", "distance")
    columns = {
        name: (axes, np.array([[getattr(head, name) for head in block] for block in rows]))
        for name in LogitMoments._fields
    }
    logs = (np.log(columns[name][1]) for name in ("variance", "variance_predicted"))
    variance, predicted = (each.reshape(-1, len(distances)) for each in logs)
    found = xr.Dataset(columns, coords={"distance": distances})
    pairs = range(len(distances)) if len(variance) > 2 else []
    over = [np.corrcoef(variance[:, at], predicted[:, at])[0, 1] for at in pairs] or np.full(len(distances), np.nan)
    apart = np.exp(np.median(np.abs(columns["log_ratio"][1]), axis=(0, 1)))
    return found.assign(correlation=("distance", np.asarray(over)), factor_median=("distance", apart))


def kept_dataset(rows: list[dict[str, np.ndarray]], count: int) -> xr.Dataset:
    """What maps keep, of all heads."""
    axes = {"kept": ("block", "head", "projection")}
    columns = {name: (axes.get(name, ("block",)), np.array([row[name] for row in rows])) for name in rows[0]}
    return xr.Dataset(columns, coords={"projection": list(PROJECTIONS)}).assign(input_directions=count)


def mixing_dataset(rows: list[list[tuple[MixingGap, float]]]) -> xr.Dataset:
    """Mixing of all heads."""
    columns = {
        name: (("block", "head"), np.array([[getattr(gap, name) for gap, _ in block] for block in rows]))
        for name in MixingGap._fields
    }
    columns["information_values"] = (("block", "head"), np.array([[own for _, own in block] for block in rows]))
    return xr.Dataset(columns)


def similarity_of(each: Float[np.ndarray, "context layer"], sample: Sample) -> dict[str, Float[np.ndarray, " layer"]]:
    """Mean over windows, and its range as one group of documents is left out."""
    sizes = np.bincount(sample.group)
    whole, without = means_without(
        np.stack([each[sample.group == number].mean(0) for number in range(len(sizes))]), sizes
    )
    return {"similarity": whole, "similarity_low": without.min(0), "similarity_high": without.max(0)}


def through_depth(
    view: View, sample: Sample, own: dict[str, Float[np.ndarray, " layer"]], seed: int, report: Report
) -> xr.Dataset:
    """The group /gaussian_depth: the model, its random-weight control, and W_Q and W_K multiplied by α."""
    changes: dict[str, Callable[[], AbstractContextManager[None]]] = {
        CONTROL: partial(randomised, view, seed + CONTROL_SEED),
        **{f"α = {alpha:g}": partial(silently_scaled, view, alpha) for alpha in ALPHAS},
    }
    found = {"model": own}
    for name, change in changes.items():
        with change():
            found[name] = similarity_of(reading.read_states(view, sample, None, report).similarity, sample)
    # Another draw of random weights moves their similarity by far more than other documents do.
    nothing = np.full_like(own["similarity"], np.nan)
    found[CONTROL] |= {"similarity_low": nothing, "similarity_high": nothing}
    columns = {name: (("variant", "layer"), np.stack([each[name] for each in found.values()])) for name in own}
    return xr.Dataset(columns, coords={"variant": list(found)}, attrs={"groups": sample.groups})


@contextmanager
def silently_scaled(view: View, alpha: float) -> Iterator[None]:
    """W_Q and W_K multiplied by α; where q and k are normalised this changes nothing, which the curve then shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with scaled(view, alpha):
            yield


def random_stacks(seed: int) -> xr.Dataset:
    """The group /gaussian_stacks."""
    found = [stack_similarity(depth=DEPTH, stacks=DRAWN, seed=seed, **options) for options in STACKS.values()]
    axes = ("stack", "depth")
    names = ("similarity", "similarity_se")
    columns = {name: (axes, np.stack([getattr(each, name) for each in found])) for name in names}
    return xr.Dataset(columns, coords={"stack": list(STACKS)}, attrs={SIMULATED: DRAWN})
