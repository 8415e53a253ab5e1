"""The glossary: every term once, one sentence each, in the report and as a page of the documentation."""

import re
import subprocess
import sys
from html import unescape

import pytest

import armillary as arm
import made_up
from armillary.reporting.glossary import TERMS, markdown
from armillary.results.schema.naming import KINDS
from armillary.results.store import Run

ASKED_FOR = """layer, block, head, window (context), position, group of documents, jackknife, bias-corrected, plug-in,
circular-shift null, permutation null, random-weight control, noise floor, leave-one-group-out range, stable rank,
ScreeNOT rank, held-out rank, relative norm, low-frequency share, incoherence, silhouette, anisotropy,
intrinsic dimension (TwoNN), CKA, token share, attention sink, induction head, previous-token head,
duplicate-token head, local head, uniform head, signal propagation, rank collapse, dominant QK term, massive activation,
hidden states, positional basis, context basis, residual (component), mean (component), significant, not significant,
not estimable, similarity, random seed, resume, continuation, built-in model, SE"""


def test_every_term_that_a_page_uses_is_explained():
    assert {" ".join(term.split()) for term in ASKED_FOR.split(",")} - {""} <= set(TERMS)


def test_every_kind_of_head_is_explained():
    for word in KINDS.values():
        assert word in TERMS or f"{word} head" in TERMS


@pytest.mark.parametrize("term", TERMS)
def test_a_definition_is_one_sentence(term):
    assert re.fullmatch(r"\S[^\n]*\.", TERMS[term])
    assert not re.search(r"[a-z]\. [A-Z]", TERMS[term])


def test_the_report_ends_with_the_glossary_folded_and_linked(tmp_path):
    text = arm.report(Run(made_up.run_of()), tmp_path / "r.html").read_text(encoding="utf-8")
    folded = re.search(r'<details id="glossary">(.*?)</details>', text, re.S).group(1)
    listed = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", folded)
    assert {unescape(term): unescape(meaning) for term, meaning in listed} == TERMS
    assert '<a href="#glossary">Glossary</a>' in text
    assert text.index("<footer") < text.index('<details id="glossary">')


def test_the_command_prints_the_page_of_the_documentation():
    command = [sys.executable, "-W", "error", "-m", "armillary.reporting.glossary"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == markdown()
    assert all(f"| {term} | " in done.stdout for term in TERMS)
    assert "mean |cosine|" not in done.stdout
