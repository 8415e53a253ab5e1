"""What is measured of attention heads during a survey with --heads."""

from armillary.measures.heads import (
    distance_profile,
    head_means,
    map_ranks,
    mean_map,
    mixing,
    signal_profile,
    sink_rate,
    spectral_gap,
)
from armillary.results.schema.kinds import Group, Variable, axes, with_error

FILE = "heads.nc"
COMMAND = "armillary survey --heads"
PER_HEAD, PER_BLOCK = axes("block head"), axes("block")

SCALARS = {
    "entropy": Variable(
        PER_HEAD, "nats", "entropy of a query's attention, mean over queries from 1 on", label="entropy"
    ),
    "entropy_relative": Variable(
        PER_HEAD,
        "1",
        "entropy over log t, t the number of keys a query may see; queries that see one left out",
        label="relative entropy",
        share=True,
    ),
    "mass_first": Variable(
        PER_HEAD, "1", "attention on position 0, the attention sink", label="attention on the first token", share=True
    ),
    "mass_self": Variable(
        PER_HEAD, "1", "attention of a token on itself", label="attention on the token itself", share=True
    ),
    "mass_previous": Variable(
        PER_HEAD, "1", "attention on the previous token", label="attention on the previous token", share=True
    ),
    "distance": Variable(
        PER_HEAD,
        "tokens",
        "mean distance between query and key, weighted by attention; of an attention sink, about its queries' position",
        label="mean distance",
    ),
    "signal_propagation": Variable(
        PER_HEAD,
        "1",
        "share of windows and keys i with 0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1, ω the last query's scores on its T keys",
        label="signal propagation",
    ),
    "rank_effective": Variable(
        PER_HEAD,
        "1",
        "exp of the spectral entropy of a map's first 128 rows, mean over sampled windows",
        label="effective rank of the map",
        draws="head_groups/ranked",
    ),
    "rank_stable": Variable(
        PER_HEAD,
        "1",
        "Σσ² / σ₁² of a map's first 128 rows, mean over sampled windows",
        label="stable rank of the map",
        draws="head_groups/ranked",
    ),
    "spectral_gap": Variable(
        PER_HEAD,
        "1",
        "σ₁ − σ₂ of a map's first 128 rows, mean over sampled windows",
        label="spectral gap of the map",
        optional=True,
        draws="head_groups/ranked",
    ),
}
"""One number per head."""

PLAIN = {
    "sink_rate": Variable(
        PER_HEAD,
        "1",
        "share of windows in which position 0 gets more than 0.3 of the attention",
        label="sink rate",
        share=True,
        optional=True,
    ),
}
"""One number per head that has no error: most heads have a rate of 0 or 1."""

SHAPED = {
    "distance_profile": Variable(
        axes("block head span"),
        "1",
        "attention by distance between query and key; adds up to 1",
        label="attention by distance",
        share=True,
    ),
    "map": Variable(
        axes("block head query_bin key_bin"),
        "1",
        "attention of the queries of a bin on the keys of a bin; rows add up to 1",
        label="mean attention map",
        share=True,
    ),
    "signal_propagation_profile": Variable(
        axes("block head key_bin"),
        "1",
        "signal propagation of a bin's keys; NaN: the last query sees none",
        label="signal propagation by key",
    ),
}
"""More than one number per head."""

MIXING = {
    "similarity_residual": Variable(
        PER_BLOCK,
        "1",
        "mean cosine of different tokens of a window, states that the block receives",
        label="token similarity before attention",
    ),
    "similarity_output": Variable(
        PER_BLOCK,
        "1",
        "mean cosine of different tokens of a window, output of the attention before any norm",
        label="token similarity of the attention's output",
    ),
    "collapse_residual": Variable(
        PER_BLOCK,
        "1",
        "‖X − 1x̄ᵀ‖ / ‖X‖ of a window's states; 0: rank collapse",
        label="distance from rank collapse before attention",
    ),
    "collapse_output": Variable(
        PER_BLOCK,
        "1",
        "‖X − 1x̄ᵀ‖ / ‖X‖ of the attention's output in a window",
        label="distance from rank collapse of the attention's output",
    ),
    "output_norm": Variable(
        PER_BLOCK,
        "1",
        "norm of the attention's output over that of the state, mean over tokens",
        label="norm of the attention's output over the state's",
    ),
}
"""One number per block."""

SKEWED = ("similarity_residual", "collapse_residual", "collapse_output", "output_norm")
"""Of these the ones that a few documents make up, so that no interval covers."""


def with_errors(variables: dict[str, Variable]) -> dict[str, Variable]:
    """Each variable, followed by its standard error over documents."""
    return {name: row for one, base in variables.items() for name, row in with_error(one, base).items()}


def by_group() -> dict[str, Variable]:
    """What a pass keeps: the mean over each group's windows, the group before the axes of a shape."""
    rows: dict[str, Variable] = {}
    for name, row in (SCALARS | PLAIN | SHAPED | MIXING).items():
        first = tuple(axis for axis in row.axes if axis in PER_HEAD)
        along = (*first, "group", *row.axes[len(first) :])
        text = f"by group of documents: {row.text}"
        rows[f"{name}_groups"] = Variable(along, row.unit, text, optional=row.optional)
    return rows


GROUPS: dict[str, Group] = {
    "head_groups": Group(
        FILE,
        "what heads do in each group of documents, means over its windows",
        by_group()
        | {
            "windows": Variable(axes("group"), "windows", "how many windows the group has"),
            "ranked": Variable(axes("group"), "windows", "how many of them were sampled for the ranks of maps"),
        },
        command=COMMAND,
    ),
    "heads": Group(
        FILE,
        "what attention heads do over the corpus",
        with_errors(SCALARS) | PLAIN | with_errors(SHAPED),
        (head_means, distance_profile, mean_map, signal_profile, map_ranks, spectral_gap, sink_rate),
        ("head_groups",),
        COMMAND,
    ),
    "mixing": Group(
        FILE,
        "what attention does to the tokens of a window, by block",
        {name: row for name, row in MIXING.items() if name in SKEWED}
        | with_errors({name: row for name, row in MIXING.items() if name not in SKEWED}),
        (mixing,),
        ("head_groups",),
        COMMAND,
    ),
}
