"""docs/schema.md, written from the schema itself: python -m armillary.results.schema_page > docs/schema.md."""

import sys
from collections.abc import Iterable

from armillary.results.labels import AXES
from armillary.results.schema import FORMAT, GROUPS, Group
from armillary.results.schema.kinds import adding

HEAD = f"""# The schema of a run

This page is made from `src/armillary/results/schema/`. Change its files, then run
`python -m armillary.results.schema_page > docs/schema.md`; a test compares the two.

A run is a folder. Its files are netCDF4, format {FORMAT}, one per kind of work: `states.nc` from every survey,
`heads.nc` from a survey with `--heads`, `names.nc` from `armillary heads`. Each file holds
groups, and carries its provenance (model, text, settings, versions, command) as attributes of its root.
`armillary.open(folder).results` is a `DataTree` of all groups. Every variable carries its unit and its meaning as the
attributes `units` and `long_name`. A file that lacks a variable, or has it with other axes, is refused on opening.

Endings of names: `X` is the plug-in estimate, `X_corrected` the bias-corrected one, `X_se` or `X_corrected_se` a
standard error, `X_low` and `X_high` the leave-one-group-out range, `X_null` the plug-in value of the null, `X_floor` a
null in closed form. NaN in a corrected value means: not estimable. The column "error over" says what a standard error
is over. [statistics.md](statistics.md) says how these are made, [measures.md](measures.md) by which formulas.
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([HEAD, axes_table(), *(group_section(name, group) for name, group in GROUPS.items())])


def axes_table() -> str:
    """The axes that some variable has."""
    used = {axis.rstrip("_") for group in GROUPS.values() for row in group.variables.values() for axis in row.axes}
    rows = [(f"`{name}`", text) for name, text in AXES.items() if name in used]
    return "## Axes\n\nA second axis of the same kind ends in an underscore.\n\n" + table(("axis", "what it is"), rows)


def group_section(name: str, group: Group) -> str:
    """One group: what it is about, who makes it, its variables."""
    made = ", ".join(f"`{measure.__name__}`" for measure in group.measures)
    added = f"{adding(group.command)}."
    by = f"Measured by {made} from {', '.join(f'`/{source}`' for source in group.inputs)}." if made else "Captured."
    rows = [
        (
            f"`{variable}`" + " (optional)" * row.optional,
            ", ".join(row.axes) or "none",
            row.unit,
            row.text,
            row.error if row.error != "none" else "",
        )
        for variable, row in group.variables.items()
    ]
    text = group.text[0].upper() + group.text[1:]
    return f"## /{name}\n\n{text}. In `{group.file}`. {by} {added}\n\n" + table(
        ("variable", "axes", "unit", "meaning", "error over"), rows
    )


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(markdown())
