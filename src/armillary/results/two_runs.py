"""What two runs have in common and what sets them apart, in words."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from armillary.results.angles import COUNT, MODES
from armillary.results.schema import GROUPS
from armillary.results.schema.training import TRAINING
from armillary.results.store import Run

RUNS = ("one", "other")
HEADLINES = {
    "position/share_corrected": "Does the position share differ?",
    "position/rank_stable_corrected": "Does the stable rank of position differ?",
    "context/silhouette": "Does clustering by document differ?",
    "norms/norm": "Does the residual norm differ?",
    "depth/token_share": "Does the token explain more or less?",
    "mixing/similarity_output": "Does attention mix tokens differently?",
}
"""The six results that are asked about first, as far as both runs hold them, and the questions."""
SETTINGS = ("model", "model_sha256", "revision", "random_weights", "dtype", "corpus", "corpus_sha256", "contexts",
            "length", "seed", "first", "outliers", "bos", "crossing", "documents", "per_document")  # fmt: skip
"""What makes two runs different, as the provenance names it."""
HASHES = {"model_sha256": ("model", "revision", "random_weights"), "corpus_sha256": ("corpus",)}
"""Which settings bring another hash with them, and are named instead of it."""

OF_TRAINING = ("trained", "preset", "answers", "digits_from", "digits_to", "tokens", "shape", "layers", "heads",
               "width", "mlp", "context", "dropout", "steps", "batch", "accumulation", "learning_rate", "schedule",
               "warmup", "weight_decay", "beta2", "clip", "precision", "kappa_scale", "kappa_trace")  # fmt: skip
"""What makes two training runs different besides."""


def both_hold(one: Run, other: Run, *groups: str) -> bool:
    """Whether both runs hold these groups."""
    return all(name in run.results.children for run in (one, other) for name in groups)


def described(run: Run) -> str:
    """A run in half a line."""
    about = run.provenance
    twin = f" with random weights ({about['random_weights']})" if about.get("random_weights") else ""
    if "trained" in about and "contexts" not in about:
        return f"{run.title}: trained for {about.get('steps')} steps, seed {about.get('seed')}"
    return (
        f"{about.get('model')}{twin} on {about.get('corpus')}: {about.get('contexts')} windows of "
        f"{about.get('length')} tokens, seed {about.get('seed')}, outliers {about.get('outliers')}"
    )


def differing_settings(one: Run, other: Run) -> str:
    """The settings that are not the same, each with its two values.

    A hash is named, and cut, only where no setting explains it: another model or corpus has another hash.
    """
    names = (*SETTINGS, *OF_TRAINING) if both_hold(one, other, TRAINING) else SETTINGS
    pairs = {name: [recorded(run, name) for run in (one, other)] for name in names}
    differing = {name: values for name, values in pairs.items() if values[0] != values[1]}
    named = [
        f"{name} ({' / '.join(value[:12] if name in HASHES else value or 'none' for value in values)})"
        for name, values in differing.items()
        if differing.keys().isdisjoint(HASHES.get(name, ()))
    ]
    return ", ".join(named) or "nothing that is recorded"


def recorded(run: Run, name: str) -> str:
    """A setting in words; texts record `crossing` as 0 or 1, ready windows and random tokens as false or true."""
    value = str(run.provenance.get(name, ""))
    return {"0": "false", "1": "true"}.get(value, value) if name == "crossing" else value


def same_windows(one: Run, other: Run) -> bool:
    """Whether both runs read the same tokens in the same order."""
    return both_hold(one, other, "corpus") and np.array_equal(
        *(run.results["corpus"].tokens.values for run in (one, other))
    )


def same_groups(one: Run, other: Run) -> bool:
    """Whether the groups of both runs hold the same documents of the same text, so that the runs can be paired."""
    texts = [run.provenance.get("corpus_sha256") for run in (one, other)]
    if not both_hold(one, other, "corpus") or texts[0] != texts[1]:
        return False
    return same_windows(one, other) or documents_of(one) == documents_of(other)


def documents_of(run: Run) -> list[set[str]]:
    """The names of the documents of each group."""
    corpus = run.results["corpus"].to_dataset()
    names, document, group = (corpus[name].values for name in ("document_name", "document_index", "group"))
    return [set(names[document[group == number]].astype(str)) for number in range(int(group.max()) + 1)]


def outliers_kept_in(one: Run, other: Run) -> str | None:
    """Which run kept the outliers, where that alone was changed: the same weights read the same windows."""
    rules = [run.provenance.get("outliers") for run in (one, other)]
    weights = [run.provenance.get("model_sha256") for run in (one, other)]
    models = [run.provenance.get("model") for run in (one, other)]
    if sorted(map(str, rules)) != ["drop", "keep"] or weights[0] != weights[1] or models[0] != models[1]:
        return None
    return RUNS[rules.index("keep")] if same_windows(one, other) else None


def notes(one: Run, other: Run, angles: xr.Dataset, left_out: list[str]) -> Iterator[str]:
    """How to read the comparison, one sentence or two per line."""
    yield (
        "difference = other − one, with its 95 % interval (Student's t). * significant: the false discovery rate over "
        "the rows of each result is held at 5 % (Benjamini–Hochberg)."
    )
    yield shared_documents(one, other)
    yield from depths_explained(one, other)
    if any("residual" in run.results.children for run in (one, other)):
        yield angles_explained(angles, one, other)
    if left_out:
        yield f"Not compared, because their axes differ: {', '.join(left_out)}."


def held_by_one(one: Run, other: Run) -> Iterator[str]:
    """Which results only one of two runs holds: a file of a run whole, or the groups of it that the other lacks."""
    for name, run, beside in zip(RUNS, (one, other), (other, one), strict=True):
        held = beside.results.children
        files = {GROUPS[group].file for group in held if group in GROUPS}
        only = [group for group in run.results.children if group not in held]
        named = [
            f"/{group}" if group not in GROUPS or GROUPS[group].file in files else GROUPS[group].file for group in only
        ]
        if named:
            yield f"Only {name if name == 'one' else 'the other'} holds {', '.join(dict.fromkeys(named))}."


def depths_explained(one: Run, other: Run) -> Iterator[str]:
    """How models of different depth are compared."""
    for group, axis in (("residual", "layer"), ("heads", "block")):
        if both_hold(one, other, group):
            first, second = (run.results[group].sizes[axis] for run in (one, other))
            if first != second:
                yield (
                    f"The runs have {first} and {second} {axis}s: each {axis} of the shallower model is compared with "
                    "the nearest of the other in relative depth."
                )
            return


def shared_documents(one: Run, other: Run) -> str:
    """Whether the errors of the two runs are independent, as far as the documents tell."""
    if both_hold(one, other, TRAINING) and "corpus" not in {*one.results.children, *other.results.children}:
        return (
            "Errors are over stretches of what each run kept for validation: where that is the same text, the interval "
            "of a difference is too wide."
        )
    if not both_hold(one, other, "corpus"):
        return "Whether the runs share documents is not known: one of them does not say what it read."
    texts = [run.provenance.get("corpus_sha256") for run in (one, other)]
    names = [set(run.results["corpus"].document_name.values.astype(str)) for run in (one, other)]
    shared = len(names[0] & names[1])
    count = f"{shared} of {len(names[0])} and {len(names[1])} documents"
    if same_groups(one, other):
        what = "the same windows" if same_windows(one, other) else "the same documents in the same groups"
        return f"Both runs read {what}: they are paired, group by group of documents."
    bent = (
        "the errors are correlated. The interval assumes that they are not: it is too wide where both runs vary with "
        "their documents in the same direction, too narrow where they vary in opposite ones."
    )
    if shared and texts[0] == texts[1]:
        return f"Both runs read the same text and share {count}, in other groups: {bent}"
    if shared:
        return f"The texts differ, but {count} have the same names: if they are the same, {bent}"
    return "The runs share no document: their errors are independent."


def angles_explained(found: xr.Dataset, one: Run, other: Run) -> str:
    """What the angles are between, and against what."""
    if not found.data_vars:
        return "No angles: the runs agree neither in d_model nor in their positions, or hold no positional basis."
    known = all("rank_heldout" in run.results["position"].to_dataset() for run in (one, other))
    fallback = (
        f"{COUNT}, since a run has no rank_heldout: where position is not significant these are directions of noise, "
        "which may agree too"
    )
    count = "the smaller rank_heldout of the two (– where it is 0)" if known else fallback
    smooth = " Smooth modes are similar in any model, which this null ignores."
    return (
        f"Angles are between the k leading {found.attrs['between']}, k = {count}. null: 5 % point of random "
        "subspaces; halves: between two halves of a run's own documents, which is noise alone at half the data."
        + (smooth if found.attrs["between"] == MODES else "")
    )
