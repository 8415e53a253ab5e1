"""Texts of any origin, cut into windows of tokens that know their document: sources → documents → windows → groups."""

from armillary.corpora.cutting import Windows, windows
from armillary.corpora.grouping import Groups, groups
from armillary.corpora.sources import NAMED, Corpus, Named, RandomTokens, ReadyWindows, Texts, corpus
from armillary.corpora.texts import Document, Skipped

__all__ = [
    "NAMED",
    "Corpus",
    "Document",
    "Groups",
    "Named",
    "RandomTokens",
    "ReadyWindows",
    "Skipped",
    "Texts",
    "Windows",
    "corpus",
    "groups",
    "windows",
]
