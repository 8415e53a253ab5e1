"""All claims by id, which of them are asked for, and their verdicts."""

import zlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import xarray as xr

from armillary.errors import RequestError, did_you_mean
from armillary.results.reading import has
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding
from armillary.verdicts import (
    bao_bounds,
    bao_moments,
    bao_rho,
    bao_setup,
    song_zhong_basis,
    song_zhong_kernels,
    trained_models,
    traveling_words,
    wertich_attention,
    wertich_basics,
    wertich_forms,
    wertich_laws,
    wertich_ratios,
    wertich_softmax,
)
from armillary.verdicts.claim import DOCUMENTS, UNCHECKED, Claim, Finding, Verdict

LISTED = [
    each
    for part in (
        *(bao_setup, bao_moments, bao_rho, bao_bounds),
        *(song_zhong_basis, song_zhong_kernels),
        traveling_words,
        *(wertich_basics, wertich_laws, wertich_softmax, wertich_ratios, wertich_forms),
        wertich_attention,
        trained_models,
    )
    for each in part.CLAIMS
]
"""Every claim, file by file."""

CLAIMS: dict[str, Claim] = {
    each.id: each for each in sorted(LISTED, key=lambda claim: list(DOCUMENTS).index(claim.document))
}
"""Every claim by id, document by document in the order of its sections, those about trained models last."""


def chosen(document: str | None = None, ids: Iterable[str] | None = None) -> list[Claim]:
    """The claims that are asked for, all by default; a document or an id that is not known is refused."""
    if document is not None and document.upper() not in DOCUMENTS:
        raise RequestError(f"expected a document, got {document!r}: choose {', '.join(DOCUMENTS)}")
    listed = None if ids is None else [asked.upper() for asked in ([ids] if isinstance(ids, str) else ids)]
    for asked in listed or []:
        if asked not in CLAIMS:
            raise RequestError(f"expected the id of a claim, got {asked!r}: {near(asked)}")
    return [
        each
        for each in CLAIMS.values()
        if (document is None or each.document == document.upper()) and (listed is None or each.id in listed)
    ]


def near(asked: str) -> str:
    """What to do about an id that is not known: the near ones, else how to list all."""
    hint = did_you_mean(asked, CLAIMS)
    return hint if hint.startswith("did you mean") else "`armillary claims` lists them all"


def refuse_lacking(claims: Iterable[Claim], results: xr.DataTree | None) -> None:
    """Refuse claims about a trained model, asked for by id, that nothing given can answer."""
    for each in claims:
        if not each.needs:
            continue
        if results is None:
            raise RequestError(
                f"expected a run for {each.id}, which is about a trained model, got none: "
                f"give the folder of one that `{command_for(each.needs[0])}` made"
            )
        if lacked := [path for path in each.needs if not has(results, path)]:
            raise RequestError(
                f"expected a run with /{lacked[0]} for {each.id}, got one without: {adding(command_for(lacked[0]))}"
            )


def command_for(path: str) -> str:
    """The command that makes a result."""
    return GROUPS[path.partition("/")[0]].command


def verdicts(
    claims: Sequence[Claim],
    seed: int = 0,
    results: xr.DataTree | None = None,
    each: Callable[[Callable[[Claim], Verdict], Sequence[Claim]], Iterable[Verdict]] = map,
) -> list[Verdict]:
    """The verdict on every claim; draws depend on the seed and the claim's own id alone."""
    return list(each(lambda one: verdict(one, seed, results), claims))


def verdict(one: Claim, seed: int, results: xr.DataTree | None) -> Verdict:
    """The verdict on one claim: its check, else the answer of the run, else why there is none."""
    found = finding(one, seed, results)
    right = f"Correct: {one.correction}{'' if one.correction.endswith('.') else '.'}" if one.correction else ""
    why = " ".join(part for part in (right, one.reason, found.note) if part)
    return Verdict(one.id, one.document, one.statement, *found[:5], why, one.quantity, one.place)


def finding(one: Claim, seed: int, results: xr.DataTree | None) -> Finding:
    """What the check or the run says."""
    if one.check is not None:
        return one.check(np.random.default_rng([seed, zlib.crc32(one.id.encode())]))
    if one.answer is None:
        return Finding(UNCHECKED)
    if results is None:
        return Finding(UNCHECKED, note=f"Needs a run of a trained model: `{command_for(one.needs[0])}` makes one.")
    if lacked := [path for path in one.needs if not has(results, path)]:
        return Finding(UNCHECKED, note=f"This run lacks /{lacked[0]}: {adding(command_for(lacked[0]))}.")
    return one.answer(results)
