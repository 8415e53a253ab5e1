"""The units of the jackknife: windows of one document depend on each other, so a document is not split without need."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from armillary.corpora.cutting import Windows
from armillary.errors import RequestError

FEWEST_DOCUMENTS = 4
"""Below this many documents a jackknife over documents has too few degrees of freedom, and documents are cut."""

Rule = Literal["whole documents", "one document each", "stretches of documents"]


@dataclass(frozen=True)
class Groups:
    """The group 0..G-1 of each window, none of them empty, and the rule by which they were made."""

    index: Int[np.ndarray, "context"]
    rule: Rule


def groups(
    windows: Windows | tuple[Int[np.ndarray, "context"], Int[np.ndarray, "context"]],
    n: int = 16,
) -> Groups:
    """At most `n` groups of windows, from Windows or from their (document, offset) arrays.

    With `n` documents or more: `n` groups of whole documents, the largest document first into the smallest group. With
    fewer, but at least four: one group per document. With fewer still: every document is cut into contiguous stretches,
    as even as can be, so that there are `n` groups in all, or as many as there are windows.
    """
    document, offset = (windows.document, windows.offset) if isinstance(windows, Windows) else windows
    if n < 2:
        raise RequestError(f"expected at least 2 groups, got n={n}: the jackknife leaves one out at a time")
    if len(document) < 1:
        raise RequestError(f"expected at least 1 window to group, got {len(document)}: draw more contexts")
    _, document, counts = np.unique(document, return_inverse=True, return_counts=True)
    if len(counts) >= n:
        return Groups(_packed(counts, n)[document], "whole documents")
    if len(counts) >= FEWEST_DOCUMENTS:
        return Groups(document.astype(np.int64), "one document each")
    return Groups(_stretches(document, offset, counts, n), "stretches of documents")


def _packed(counts: Int[np.ndarray, "document"], n: int) -> Int[np.ndarray, "document"]:
    load = np.zeros(n, dtype=np.int64)
    group = np.empty(len(counts), dtype=np.int64)
    for document in np.argsort(-counts, kind="stable"):
        group[document] = np.argmin(load)
        load[group[document]] += counts[document]
    return group


def _stretches(
    document: Int[np.ndarray, "context"],
    offset: Int[np.ndarray, "context"],
    counts: Int[np.ndarray, "document"],
    n: int,
) -> Int[np.ndarray, "context"]:
    pieces = np.ones(len(counts), dtype=np.int64)
    # The longest stretches are cut next; a stretch of one window has the least ratio, 1, and is never chosen.
    for _ in range(min(n, len(document)) - len(counts)):
        pieces[np.argmax(counts / pieces)] += 1
    group = np.empty(len(document), dtype=np.int64)
    order = np.lexsort((offset, document))
    stretches = (
        stretch
        for windows, number in zip(np.split(order, np.cumsum(counts)[:-1]), pieces, strict=True)
        for stretch in np.array_split(windows, number)
    )
    for number, stretch in enumerate(stretches):
        group[stretch] = number
    return group
