"""The tables of a text's way through a model: one row per layer for one token, or one row per token."""

import numpy as np
import pandas as pd
import xarray as xr

from armillary.errors import refuse_outside
from armillary.printing.numbers import number
from armillary.printing.panels import Column, Panels
from armillary.results.reading import require
from armillary.results.store import Run
from armillary.system.texts import in_quotes

CONTROL = "control"
PLACES = {"coordinate": "pca", "coordinate_own": "own", "umap": "umap"}


def rows(run: Run) -> pd.DataFrame:
    """One row per layer and token with everything that is known of its state, of its path and of its control."""
    travel = travelled(run)
    layers, positions = travel.sizes["layer"], travel.sizes["position"]
    index = pd.MultiIndex.from_product([range(layers), range(positions)], names=["layer", "position"])
    frame = pd.DataFrame(index=index)
    for name in ("token", "text", "counted"):
        frame[name] = np.tile(travel[name].values, layers)
    frame["angle"] = travel.angle.values.ravel()
    frame["angle_null"] = np.repeat(travel.angle_null.values, positions)
    for name in ("length", "direct", "straightness"):
        frame[name] = np.tile(travel[name].values, layers)
        frame[f"{name}_null"] = float(travel[f"{name}_null"])
    for choice in range(travel.sizes.get("choice", 0)):
        for name in ("top_token", "top_text", "top_probability"):
            frame[f"{name}_{choice + 1}"] = travel[name].values[..., choice].ravel()
    for name, short in PLACES.items():
        for mode in range(travel.sizes["mode"] if name in travel else 0):
            frame[f"{short}_{mode + 1}"] = travel[name].values[..., mode].ravel()
    return frame


def by_layer(run: Run, position: int | None = None) -> Panels:
    """One row per layer: how far one token turned, and what its state decodes to; by default the last token."""
    travel = travelled(run)
    chosen = last_counted(travel) if position is None else position
    refuse_outside("a position", chosen, 0, travel.sizes["position"] - 1)
    columns = [
        Column("layer", [str(layer) for layer in range(travel.sizes["layer"])]),
        Column("angle °", [number(value, 1) for value in travel.angle.values[:, chosen]]),
        Column(CONTROL, [number(value, 1) for value in travel.angle_null.values], quiet=True),
    ]
    if "top_text" in travel:
        top, share = travel.top_text.values[:, chosen], 100 * travel.top_probability.values[:, chosen]
        columns.append(Column("decodes to", [in_quotes(str(text)) for text in top[:, 0]], words=True))
        columns.append(Column("%", [number(float(value), 1) for value in share[:, 0]]))
        if top.shape[1] > 1:
            columns.append(Column("or", [in_quotes(str(text)) for text in top[:, 1]], words=True, quiet=True))
            columns.append(Column("%", [number(float(value), 1) for value in share[:, 1]], quiet=True))
    token = in_quotes(str(travel.text.values[chosen]))
    return Panels(f"{title(run)}: token {chosen}, {token}", columns, f"{path_of(travel, chosen)}\n{caption(travel)}")


def by_token(run: Run) -> Panels:
    """One row per token: how long and how straight its path is, and what it decodes to in the end."""
    travel = travelled(run)
    columns = [
        Column("position", [str(position) for position in range(travel.sizes["position"])]),
        Column("token", [in_quotes(str(text)) for text in travel.text.values], words=True),
        Column("path length °", [number(value, 0) for value in travel.length.values]),
        Column("direct angle °", [number(value, 0) for value in travel.direct.values]),
        Column("straightness", [number(value, 2) for value in travel.straightness.values]),
    ]
    if "top_text" in travel:
        share = 100 * travel.top_probability.values[-1, :, 0]
        columns.append(Column("decodes to", [in_quotes(str(text)) for text in travel.top_text.values[-1, :, 0]], True))
        columns.append(Column("%", [number(float(value), 1) for value in share]))
        columns.append(Column("from layer", [str(int(layer)) for layer in travel.settled.values]))
    return Panels(title(run), columns, f"{control_of(travel)}\n{caption(travel)}")


def travelled(run: Run) -> xr.Dataset:
    """The group /travel; refused where a run lacks it."""
    require(run.results, "travel")
    return run.results["travel"].to_dataset()


def last_counted(travel: xr.Dataset) -> int:
    """The last token that is no special one."""
    return int(np.flatnonzero(travel.counted.values.astype(bool))[-1])


def path_of(travel: xr.Dataset, position: int) -> str:
    """One token's path as a sentence."""
    length, direct = (number(float(travel[name].values[position]), 0) for name in ("length", "direct"))
    straight = number(float(travel.straightness.values[position]), 2)
    return f"Path length {length}°, direct angle {direct}°, straightness {straight}. {control_of(travel)}"


def control_of(travel: xr.Dataset) -> str:
    """The control's path as a sentence."""
    length, direct = (number(float(travel[f"{name}_null"]), 0) for name in ("length", "direct"))
    straight = number(float(travel.straightness_null), 2)
    return f"Random-weight control, mean over its tokens: {length}°, {direct}°, {straight}."


def title(run: Run) -> str:
    """Whose text."""
    return f"{run.provenance.get('model', 'a model')}, ‘{run.results['travel'].attrs.get('source', '')}’"


def caption(travel: xr.Dataset) -> str:
    """How to read the table."""
    return "\n".join(
        [
            f"States: {travel.attrs.get('states', 'every layer')}.",
            "angle: between a token's states in this layer and the one before; the path length is their sum.",
            f"Lens: {travel.attrs.get('lens', 'unknown')}.",
            "--json and --csv give every token, layer and coordinate.",
        ]
    )
