"""The table of verdicts: 80 columns, a summary first, and words for one claim; a table in a notebook."""

import io

import pytest
from rich.console import Console

from armillary.printing.claims import Verdicts, number, printed, rows, summary
from armillary.verdicts.registry import CLAIMS, verdicts

SOME = ("BAO-L1-VAR", "BAO-PWL", "TW-LN", "TW-GPT2", "SZ-T2-NOISE", "WE-7.2.1-LINFORMER", "BAO-LOC-GRAD-3/4")


@pytest.fixture(scope="module")
def found():
    return verdicts([CLAIMS[name] for name in SOME])


def shown(table, width=80):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(table)
    return out.getvalue()


def test_the_table_fits_80_columns_with_the_summary_first(found):
    text = shown(printed(found))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Claims of four documents, checked"
    assert text.index("document") < text.index("BAO-L1-VAR")
    row = next(line for line in lines if line.startswith("BAO-L1-VAR")).split()
    assert row[:4] == ["BAO-L1-VAR", "false", "1.564", "0.105"]
    assert next(line for line in lines if line.startswith("TW-GPT2")).split()[1:] == [
        "not",
        "checked",
        "–",
        "–",
        "–",
        "–",
    ]


def test_every_id_fits_its_column():
    assert max(len(name) for name in CLAIMS) <= 18


def test_reasons_say_what_was_published_and_measured(found):
    text = " ".join(shown(printed(found[:1], reasons=True)).split())
    assert "BAO-L1-VAR (Bao, Hataya & Karakida (2024), Lemma 1, variance): false as published" in text
    assert "Published: v^i = (2i²/T² + 7/12) tr W²/λ² + o(1)" in text
    assert "Numbers: Variance of g where the published one is farthest off" in text


def test_the_summary_counts_and_rows_hold_everything(found):
    counts = summary(found)
    assert counts.loc["BAO", "false as published"] == 2
    assert counts.loc["all", "claims"] == len(found) == len(rows(found))
    assert rows(found).loc["TW-LN", "verdict"] == "holds exactly"
    assert list(summary(found[:1]).index) == ["BAO"]


def test_a_list_of_verdicts_is_a_table_in_a_notebook(found):
    html = Verdicts(found)._repr_html_()
    assert "<table" in html
    assert "BAO-L1-VAR" in html
    assert "false as published" in html


def test_numbers_are_short_and_missing_ones_are_dashes():
    assert (number(float("nan")), number(1234.5678), number(0.00123456, 2)) == ("–", "1235", "0.0012")
