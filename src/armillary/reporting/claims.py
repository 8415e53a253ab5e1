"""The section of a report that holds verdicts on claims: counts, a field to search, and a row for each."""

from collections.abc import Sequence
from html import escape

from armillary.printing.claims import NUMBERS, number, summary
from armillary.reporting.kinds import NO, UNCLEAR, YES, Answer
from armillary.verdicts.claim import (
    ABSENT,
    APPROXIMATE,
    ASYMPTOTIC,
    DOCUMENTS,
    EXACT,
    FALSE,
    VACUOUS,
    VERDICTS,
    Verdict,
)

CLAIMS = "claims"
"""The name of the section."""


def claims_section(found: Sequence[Verdict]) -> str:
    """How many claims have which verdict, then all of them; what is typed leaves the rows that hold every word."""
    documents = "; ".join(f"{name}: {each.authors}" for name, each in DOCUMENTS.items())
    return (
        f'<section id="section-{CLAIMS}"><h2>Claims</h2><p>{escape(documents)}.</p>{counts(found)}'
        '<p><input type="search" id="claims-words" placeholder="search: id, verdict or words" '
        'aria-label="search the claims"> <span id="claims-count"></span></p>'
        f'<div class="claims" id="claims-table">{table(found)}</div></section>'
    )


def claims_answer(found: Sequence[Verdict]) -> list[Answer]:
    """How many claims hold, for the first screen; nothing where the run holds none."""
    if not found:
        return []
    held = sum(one.verdict in (EXACT, ASYMPTOTIC, APPROXIMATE) for one in found)
    failed = sum(one.verdict in (FALSE, VACUOUS, ABSENT) for one in found)
    verdict = NO if failed else YES if held == len(found) else UNCLEAR
    said = f"{held} of {len(found)} hold, {failed} do not, {len(found) - held - failed} are not decided here"
    return [Answer("Do all claims of the documents hold?", verdict, said, f"section-{CLAIMS}")]


def counts(found: Sequence[Verdict]) -> str:
    """How many claims of each document have each verdict."""
    frame = summary(found)
    head = "".join(
        f'<th title="{escape(VERDICTS.get(str(name), ""))}">{escape(str(name))}</th>' for name in frame.columns
    )
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th>{''.join(f'<td>{int(value)}</td>' for value in values)}</tr>"
        for name, values in zip(frame.index, frame.to_numpy(), strict=True)
    )
    table = f"<table><thead><tr><th>document</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="claims">{table}</div>'


def table(found: Sequence[Verdict]) -> str:
    """A row for each claim; every text is escaped."""
    head = "".join(f"<th>{name}</th>" for name in ("claim", "verdict", *NUMBERS, "SE", "statement and reason"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(row, found))}</tbody></table>"


def row(one: Verdict) -> str:
    """One claim."""
    values = [number(getattr(one, name)).replace("-", "−") for name in NUMBERS] + [number(one.se, 2)]
    cells = [f"<td>{escape(value)}</td>" for value in (one.verdict, *values)]
    words = f"{escape(one.statement)}<br><small>{escape(one.quantity)}. {escape(one.why)}</small>"
    return f"<tr><td><b>{escape(one.id)}</b><br>{escape(one.place)}</td>{''.join(cells)}<td>{words}</td></tr>"
