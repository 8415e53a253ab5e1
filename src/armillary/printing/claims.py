"""Verdicts on claims: a summary by document and a row for each, on a terminal of 80 columns and in a notebook."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from rich.console import Group
from rich.text import Text

from armillary.printing.panels import Column, Panels
from armillary.verdicts.claim import (
    ABSENT,
    APPROXIMATE,
    ASYMPTOTIC,
    BROKEN,
    DOCUMENTS,
    EXACT,
    FALSE,
    UNCHECKED,
    VACUOUS,
    VERDICTS,
    Verdict,
)

SHORT = {
    EXACT: "exact",
    ASYMPTOTIC: "asymptotic",
    APPROXIMATE: "approximate",
    FALSE: "false",
    VACUOUS: "vacuous",
    ABSENT: "not here",
    UNCHECKED: "not checked",
    BROKEN: "BROKEN",
}
"""Verdicts in one word."""

NUMBERS = ("published", "corrected", "measured")


class Verdicts(list[Verdict]):
    """A list of verdicts that shows itself as a table in a notebook."""

    def frame(self) -> pd.DataFrame:
        """One row per claim, by id."""
        return rows(self)

    def _repr_html_(self) -> str:
        shown = rows(self)[["verdict", *NUMBERS, "se", "statement", "why"]].rename(columns={"se": "SE"})
        counts = summary(self).to_html()
        return f"{counts}{shown.to_html(float_format='{:.4g}'.format, na_rep='–')}"


def rows(found: Sequence[Verdict]) -> pd.DataFrame:
    """Every number and text of the verdicts, one row per claim."""
    return pd.DataFrame(list(found), columns=Verdict._fields).set_index("id")


def summary(found: Sequence[Verdict]) -> pd.DataFrame:
    """How many claims of each document have each verdict; verdicts that none has are left out."""
    used = [verdict for verdict in VERDICTS if any(one.verdict == verdict for one in found)]
    counts = {letters: Counter(one.verdict for one in found if one.document == letters) for letters in DOCUMENTS}
    table = {letters: [count[verdict] for verdict in used] for letters, count in counts.items() if count}
    if len(table) > 1:
        table["all"] = [sum(column) for column in zip(*table.values(), strict=True)]
    frame = pd.DataFrame.from_dict(table, orient="index", columns=used)
    frame["claims"] = frame.sum(axis=1)
    return frame.rename_axis(index="document")


def printed(found: Sequence[Verdict], *, reasons: bool = False) -> Group:
    """The summary, then a row for each claim; with `reasons` also what each says and why its verdict is what it is."""
    counts = summary(found)
    used = [str(verdict) for verdict in counts.columns[:-1]]
    columns = [
        Column("document", [str(name) for name in counts.index], words=True),
        *(Column(SHORT[verdict], [str(count) for count in counts[verdict]]) for verdict in used),
        Column("claims", [str(count) for count in counts["claims"]]),
    ]
    first = Panels("Claims of four documents, checked", columns, "")
    lines = [
        Column("claim", [one.id for one in found], words=True),
        Column("verdict", [SHORT[one.verdict] for one in found], words=True),
        *(Column(name, [number(getattr(one, name)) for one in found]) for name in NUMBERS),
        Column("SE", [number(one.se, 2) for one in found], quiet=True),
    ]
    said = [detail(one) for one in found] if reasons else []
    return Group(first, Panels("", lines, "" if reasons else caption(used)), *said)


def number(value: float, digits: int = 4) -> str:
    """A number in few letters; a dash where there is none."""
    return "–" if np.isnan(value) else f"{value:.{digits}g}"


def caption(used: Sequence[str]) -> str:
    """What the words of the table mean."""
    meanings = [f"{SHORT[verdict]}: {VERDICTS[verdict]}." for verdict in used]
    return "\n".join([*meanings, "--id ID says what was measured and why; --json gives everything."])


def detail(one: Verdict) -> Text:
    """One claim in words."""
    parts = [f"{one.id} ({DOCUMENTS[one.document].authors}, {one.place}): {one.verdict}"]
    parts += [f"  Published: {one.statement}"]
    parts += [f"  Numbers: {one.quantity}"] if one.quantity else []
    return Text("\n".join([*parts, f"  {one.why}", ""]))
