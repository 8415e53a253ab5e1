"""The tables of the Gaussian lens: one row per layer and one per head, as data and as they are printed."""

import numpy as np
import pandas as pd
import xarray as xr

from armillary.printing.numbers import heading, number
from armillary.printing.panels import Column, Panels, estimates
from armillary.results.reading import require
from armillary.results.store import Run

GROUP, TOKENS, LOGITS, KEPT, MIXING, DEPTH = (
    *("gaussian", "gaussian_tokens", "gaussian_logits"),
    *("gaussian_kept", "gaussian_mixing", "gaussian_depth"),
)
EXPLAINED = {"previous %": "previous_token", "predicted %": "previous_predicted", "directions": "directions"}
"""What is printed of the likely tokens."""

VARIANCES = {"variance": "variance", "predicted": "variance_predicted", "independent": "variance_independent"}
NEAR = 1
"""The distance at which logits are printed."""


def layer_rows(run: Run) -> pd.DataFrame:
    """One row per layer and distance: mutual information; what likely tokens explain is repeated."""
    require(run.results, GROUP)
    found = run.results[GROUP].to_dataset()
    if TOKENS in run.results.children:
        likely = run.results[TOKENS].to_dataset().drop_vars(["eigenvalue", "probability"])
        found = xr.merge([found, likely], join="exact", combine_attrs="drop")
    return found.assign_coords(layer=np.arange(found.sizes["layer"])).to_dataframe(dim_order=["layer", "distance"])


def head_rows(run: Run) -> pd.DataFrame:
    """One row per head and distance of query and key: logits; what does not depend on distance is repeated."""
    require(run.results, LOGITS)
    parts = [run.results[LOGITS].to_dataset().drop_vars(["correlation", "factor_median"])]
    kept = run.results[KEPT].to_dataset()
    for which in kept.projection.values.tolist():
        one = kept["kept"].sel(projection=which).drop_vars("projection")
        parts.append(one.rename(f"kept_{which.replace('–', '_')}").to_dataset())
    parts.append(run.results[MIXING].to_dataset())
    joined = xr.merge(parts, join="exact", combine_attrs="drop")
    numbered = {axis: np.arange(joined.sizes[axis]) for axis in ("block", "head")}
    return joined.assign_coords(numbered).to_dataframe(dim_order=["block", "head", "distance"])


def printed(run: Run) -> Panels:
    """One row per layer for a terminal."""
    require(run.results, GROUP)
    found, depth = (run.results[name].to_dataset() for name in (GROUP, DEPTH))
    layers = found.sizes["layer"]
    columns = [
        Column("layer", [str(layer) for layer in range(layers)]),
        Column(heading(f"{GROUP}/direction_share"), [number(100 * float(one), 0) for one in found.direction_share]),
    ]
    shown = found.distance.values[[0, len(found.distance) // 2, -1]]
    for distance in dict.fromkeys(int(one) for one in shown):
        here = found.information.sel(distance=distance).values
        columns.append(Column(f"nats at {distance}", [number(rounded(value), 2) for value in here]))
    highest = found.information_null_high.max("distance").values
    columns.append(Column("null at most", [number(float(one), 2) for one in highest]))
    for name, values in by_token(run).items():
        columns.append(Column(name, [number(float(value), 0 if "%" in name else 1) for value in values]))
    for name, values in by_block(run).items():
        digits = 0 if "%" in name else 2
        columns.append(Column(name, [number(float(value), digits) for value in values] + ["–"]))
    for name, variant in (("cosine", "model"), ("control", "random weights")):
        cosines = depth.similarity.sel(variant=variant).values
        columns.append(Column(name, [number(float(one), 2) for one in cosines]))
    return Panels(title(run), columns, caption(run))


def by_token(run: Run) -> dict[str, np.ndarray]:
    """What is printed of the likely tokens; nothing where the run was read without them."""
    if TOKENS not in run.results.children:
        return {}
    found = run.results[TOKENS].to_dataset()
    return {name: (100 if "%" in name else 1) * found[variable].values for name, variable in EXPLAINED.items()}


def by_block(run: Run) -> dict[str, np.ndarray]:
    """What is printed of heads: the median head of every block."""
    logits, kept, mixing = (run.results[name].to_dataset() for name in (LOGITS, KEPT, MIXING))
    near = logits.sel(distance=NEAR)
    return {
        "var. ratio": np.exp(near.log_ratio.median("head").values),
        "excess": near.excess_kurtosis.median("head").values,
        "kept %": 100 * kept.kept.sel(projection="query–key").median("head").values,
        "random %": 100 * kept.kept_random.values,
        "mixing gap": mixing.entropy_gap.median("head").values,
    }


def printed_heads(run: Run) -> Panels:
    """One row per head for a terminal, at distance 1."""
    frame = head_rows(run).xs(NEAR, level="distance")
    names = [f"L{block}H{head}" for block, head in frame.index]
    columns = [Column("head", names, words=True)]
    for words, name in VARIANCES.items():
        columns.append(Column(words, [number(float(value), 3) for value in frame[name]]))
    for name in ("log_ratio", "entropy_gap"):
        columns += estimates(name.replace("_", " "), map(rounded, frame[name]), frame[f"{name}_se"], 2)
    for name in ("information_gap", "skewness", "excess_kurtosis", "excess_predicted"):
        columns.append(Column(name.replace("_", " "), [number(rounded(value), 2) for value in frame[name]]))
    columns.append(Column("kept %", [number(100 * value, 0) for value in frame["kept_query_key"]]))
    return Panels(title(run), columns, HEADS_CAPTION)


def rounded(value: float) -> float:
    """To two digits, without a minus before zero."""
    return round(float(value), 2) + 0.0


def title(run: Run) -> str:
    """What was read."""
    about = run.results[GROUP].attrs
    return (
        f"{about.get('model', 'a model')} as jointly Gaussian tokens: {about.get('directions', '?')} directions, "
        f"{about.get('windows', '?')} windows, {float(about.get('groups', np.nan)):.0f} groups of documents"
    )


def caption(run: Run) -> str:
    """How to read the table, and what logits say together."""
    logits = run.results[LOGITS].to_dataset().sel(distance=NEAR)
    return "\n".join(
        (
            "share of variance: in these directions. nats at d: mutual information of tokens d apart, "
            "bias-corrected. null at most: of windows paired across documents.",
            *likely_caption(run),
            "var. ratio: measured over predicted variance of neighbours' logits, median head. excess: their kurtosis. "
            "kept %: of neighbours' information by a query and a key; random %: by random maps.",
            "mixing gap: entropy with fixed less real weights, nats, median head. cosine: mean of two tokens, of the "
            "model and its random-weight control.",
            f"Over heads log predicted and log measured variance correlate {float(logits.correlation):.3f}; the median "
            f"head is off by a factor of {float(logits.factor_median):.2f}. --heads gives every head.",
        )
    )


def likely_caption(run: Run) -> list[str]:
    """How to read what is printed of the likely tokens."""
    if TOKENS not in run.results.children:
        return ["Read without the likely tokens: `armillary gaussian --again` adds them."]
    count = run.results[TOKENS].sizes["token"]
    return [
        f"previous %: of a state's variance, explained by the token before it, of the {count} likeliest; predicted %: "
        "by the Gaussian conditional. directions: effective number that these tokens span."
    ]


HEADS_CAPTION = "\n".join(
    (
        "Logits of queries and keys one token apart: variance over windows at given positions, measured, predicted "
        "from Gaussian queries and keys, and from independent ones.",
        "log ratio: of measured over predicted. entropy gap, information gap: fixed less real attention weights, nats. "
        "kept: information left after W_Q and W_K. SE: over documents.",
    )
)
