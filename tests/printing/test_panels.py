"""Columns that do not fit go on in another panel: every cell is printed whole, at any width."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from armillary.printing.panels import Column, Panels, pieces


def shown(columns, width):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(Panels("title", columns, "caption"))
    return out.getvalue()


def test_a_column_is_as_wide_as_its_cells_and_the_words_of_its_heading():
    assert Column("relative entropy %", ["1.0"]).width == len("entropy %")
    assert Column("a b", ["longer than that"]).width == 16


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(40, 120))
def test_every_cell_is_printed_and_the_first_column_stands_in_every_panel(widths, width):
    columns = [Column("row", ["first"]), *(Column("x", [f"{at:0{size}d}"]) for at, size in enumerate(widths))]
    text = shown(columns, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    cut = pieces(columns, width)
    assert [column for piece in cut for column in piece[1:]] == columns[1:]
    lines = [line.split() for line in text.splitlines() if line.startswith("first")]
    assert lines == [[column.cells[0] for column in piece] for piece in cut]


@pytest.mark.parametrize("cell", ["[bold]a[/bold]", "a [red]"])
def test_no_markup_is_obeyed(cell):
    assert cell in shown([Column("[b]x[/b]", [cell], words=True)], 80)


def test_a_null_stays_in_the_panel_of_what_it_is_the_null_of():
    columns = [Column("row", ["1"]), Column("wide", ["x" * 20]), Column("value", ["x" * 12]), Column("null", ["0"])]
    columns[-1] = columns[-1]._replace(quiet=True)
    assert [[column.heading for column in piece] for piece in pieces(columns, 40)] == [
        ["row", "wide"],
        ["row", "value", "null"],
    ]
