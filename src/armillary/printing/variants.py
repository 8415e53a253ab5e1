"""What changes of a model do to one text, as rows of data and as printed."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from armillary.printing import prompt as tables
from armillary.printing.numbers import number
from armillary.printing.panels import Column, Panels
from armillary.system.texts import escaped, numbered

if TYPE_CHECKING:
    from armillary.prompts.variants import Variant

COLUMNS = {"entropy": 2, "mass_first": 2, "moved": 3}
"""What is averaged over blocks, with how many digits."""


def rows(found: Sequence["Variant"], **chosen: Any) -> pd.DataFrame:
    """One row per variant and block: entropy in nats, masses, strongest pairs, and how much attention moved."""
    frames = [tables.layers(each.maps, **chosen).assign(moved=each.moved, variant=each.name) for each in found]
    return pd.concat(frames).reset_index().set_index(["variant", "block"])


def printed(found: Sequence["Variant"], layer: int | None, **chosen: Any) -> Group:
    """A row per variant, its continuation, and with a layer also its map token by token."""
    parts: list[RenderableType] = [summary(found, layer, **chosen)]
    if layer is not None:
        for each in found:
            parts += [
                Text(f"\n{each.name}"),
                tables.printed(each.maps, tables.tokens(each.maps, layer, **chosen), None),
            ]
    continued = {each.name: each.continuation for each in found if each.continuation is not None}
    if continued:
        parts += [Text("continuation"), side_by_side(continued)]
    notes = dict.fromkeys(each.note for each in found if each.note)
    return Group(*parts, *(Text(f"{note}.") for note in notes))


def side_by_side(continued: dict[str, str]) -> Table:
    """Every variant's continuation beside its name; long ones go on below themselves."""
    table = Table.grid(padding=(0, 2), pad_edge=True)
    for name, text in continued.items():
        table.add_row(Text(name, no_wrap=True), Text(escaped(text)))
    return table


def summary(found: Sequence["Variant"], layer: int | None, **chosen: Any) -> Panels:
    """Entropy, attention on position 0, attention that moved and the next token's divergence, a row per variant."""
    frame = rows(found, **chosen)
    kept = frame if layer is None else frame[frame.index.get_level_values("block") == layer]
    means = kept[list(COLUMNS)].groupby("variant", sort=False).mean()
    heads = {**tables.HEADINGS, "moved": "attention moved"}
    columns = [Column("model", [each.name for each in found], words=True)]
    columns += [
        Column(heads[name], [number(value, digits) for value in means[name]]) for name, digits in COLUMNS.items()
    ]
    columns.append(Column("KL of next token", [number(each.divergence, 3) for each in found]))
    where = "mean over blocks" if layer is None else f"block {layer}"
    maps = found[0].maps
    caption = (
        f"{where}. attention moved: total variation to the model as it is, 0 to 1. KL: as it is ‖ changed, in nats."
    )
    return Panels(f"{maps.attrs['model']}: {numbered(maps.sizes['position'], 'token')}", columns, caption)


def as_json(found: Sequence["Variant"], **chosen: Any) -> str:
    """Every variant with its rows, continuation and divergence, as one JSON object."""
    frame = rows(found, **chosen)
    made = [
        {
            "variant": each.name,
            "divergence": each.divergence,
            "continuation": None if each.continuation is None else escaped(each.continuation),
            "note": each.note,
            "rows": json.loads(frame.loc[each.name].reset_index().to_json(orient="records")),
        }
        for each in found
    ]
    maps = found[0].maps
    return json.dumps({"model": maps.attrs["model"], "tokens": maps.text.values.tolist(), "variants": made}, indent=1)
