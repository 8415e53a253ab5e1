"""docs/claims.md, written from the registry itself: python -m armillary.verdicts.claims_page > docs/claims.md."""

import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

from armillary.verdicts.claim import DOCUMENTS, VERDICTS, Claim, Verdict
from armillary.verdicts.registry import CLAIMS, verdicts

SEED = 0
HEAD = f"""# The claims of four documents, checked

This page is made from `src/armillary/verdicts/`: change its files, then run
`python -m armillary.verdicts.claims_page > docs/claims.md`; a test compares the two. `armillary claims` runs every
check again, `armillary claims --id BAO-L1-VAR` one of them, `armillary claims --run runs/first` also answers the
claims about trained models for the model of a run.

Armillary rests on four documents, and where a formula of theirs does not pass its check it computes the corrected
one. A false formula is no judgement of the work around it: what survives is said in each reason. The documents were
read as text made from PDF files; a slip that concerns a single sign or letter may be the conversion's.

Numbers are of random seed {SEED}. Over 20 seeds no verdict changes; a test by night runs them.
"""


def markdown(found: Sequence[Verdict]) -> str:
    """The whole page: the words of a verdict, how many of each, then document by document."""
    meanings = "".join(f"| {word} | {meaning} |\n" for word, meaning in VERDICTS.items())
    words = f"## Verdicts\n\n| verdict | when |\n|---|---|\n{meanings}"
    return "\n".join([HEAD, words, summary(found), *(section(letters, found) for letters in DOCUMENTS)])


def summary(found: Sequence[Verdict]) -> str:
    """How many claims of each document have each verdict."""
    used = [word for word in VERDICTS if any(one.verdict == word for one in found)]
    counts = {letters: Counter(one.verdict for one in found if one.document == letters) for letters in DOCUMENTS}
    counts["all"] = Counter(one.verdict for one in found)
    head = f"| document | {' | '.join(used)} | claims |\n|---|{'---|' * (len(used) + 1)}\n"
    lines = [
        f"| {name} | {' | '.join(str(count[word]) for word in used)} | {count.total()} |\n"
        for name, count in counts.items()
    ]
    runnable = sum(CLAIMS[one.id].runnable for one in found)
    of_models = sum(bool(CLAIMS[one.id].needs) for one in found)
    said = f"{runnable} of {len(found)} claims are checked without a model; {of_models} more are answered by a run.\n"
    return "## Summary\n\n" + head + "".join(lines) + "\n" + said


def section(letters: str, found: Sequence[Verdict]) -> str:
    """One document."""
    document = DOCUMENTS[letters]
    entries = [entry(CLAIMS[one.id], one) for one in found if one.document == letters]
    return "\n".join([f"## {letters}: {document.authors}, {document.title}", "", *entries])


def entry(one: Claim, found: Verdict) -> str:
    """One claim: statement, correction, numbers, reason, what it uses."""
    lines = [
        f"### {one.id}",
        "",
        f"{one.place}. **{found.verdict.capitalize()}.**",
        "",
        f"- Published: {one.statement}",
    ]
    lines += [f"- Correct: {one.correction}"] if one.correction else []
    lines += [f"- Why: {found.why.removeprefix(f'Correct: {one.correction}').removeprefix('.').strip()}"]
    lines += [f"- Numbers: {numbers(found)}"] if numbers(found) else []
    used = [f"`{name}`" for name in one.uses] + [f"[{other}](#{other.lower()})" for other in one.rests_on]
    lines += [f"- Uses: {', '.join(used)}"] if used else []
    lines += [f"- Needs of a run: {', '.join(f'`/{path}`' for path in one.needs)}"] if one.needs else []
    return "\n".join([*lines, ""])


def numbers(found: Verdict) -> str:
    """What was measured, and the three numbers."""
    values = {name: getattr(found, name) for name in ("published", "corrected", "measured")}
    given = [f"{name} {value:.4g}" for name, value in values.items() if np.isfinite(value)]
    error = f" (SE {found.se:.2g})" if np.isfinite(found.se) else ""
    return f"{found.quantity}: {', '.join(given)}{error}" if given else ""


if __name__ == "__main__":
    sys.stdout.write(markdown(verdicts(list(CLAIMS.values()), SEED)))
