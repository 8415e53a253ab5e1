"""The tables of `armillary travel`: one token layer by layer, all tokens, everything as rows; 80 columns suffice."""

import io

import numpy as np
import pytest
from rich.console import Console

import made_up
from armillary.errors import RequestError
from armillary.printing.travel import by_layer, by_token, rows
from armillary.results.store import Run


@pytest.fixture(scope="module")
def run():
    return Run(made_up.run_of(layers=4, positions=6))


def printed(table, width=80):
    console = Console(width=width, markup=False, highlight=False, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def test_the_last_token_is_shown_layer_by_layer(run):
    text = printed(by_layer(run))
    assert text.startswith("m, ‘a text’: token 5, ‘ the’")
    numbered = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert [line[:3] for line in numbered] == [["0", "–", "–"], *([str(layer), "10.0", "5.0"] for layer in (1, 2, 3))]
    assert "‘$x$ $y$’" in text
    assert "50.0" in text
    said = " ".join(text.split())
    assert "Path length 30°, direct angle 20°, straightness 0.67." in said
    assert "Random-weight control, mean over its tokens: 15°, 5°, 0.25." in said
    assert "States: every layer through the final norm." in said


def test_another_token_can_be_asked_for_and_one_that_is_not_there_is_refused(run):
    assert "token 1, ‘<b>bold</b>’" in printed(by_layer(run, 1))
    with pytest.raises(RequestError, match=r"^expected a position from 0 to 5, got 6"):
        by_layer(run, 6)


def test_every_token_has_a_row_of_its_path(run):
    text = printed(by_token(run))
    numbered = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert [line[0] for line in numbered] == list("012345")
    assert "0.67" in text
    assert "‘$x$ $y$’" in text


@pytest.mark.parametrize("table", [by_layer, by_token])
def test_80_columns_suffice(run, table):
    lines = printed(table(run)).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("──" in line for line in lines) == 1, "one panel is enough"


def test_without_a_lens_nothing_is_decoded_and_it_is_said(run):
    lacking = {f"travel__{name}": None for name in ("top_text", "top_token", "top_probability", "settled")}
    results = made_up.changed(run.results, **lacking)
    results["travel"].attrs["lens"] = "nothing is decoded: BertModel has no language head"
    for table in (by_layer(Run(results)), by_token(Run(results))):
        text = printed(table)
        assert "decodes to" not in text
        assert "Lens: nothing is decoded: BertModel has no language head." in text


def test_rows_hold_every_state_with_what_it_decodes_to_and_where_it_stands(run):
    frame, travel = rows(run), run.results["travel"]
    assert frame.shape[0] == 4 * 6
    assert frame.loc[(2, 3), "angle"] == 10
    assert frame.loc[(2, 3), "angle_null"] == 5
    assert frame.loc[(2, 3), "text"] == str(travel.text.values[3])
    assert frame.loc[(2, 3), "top_text_2"] == str(travel.top_text.values[2, 3, 1])
    assert frame.loc[(2, 3), "top_probability_2"] == 0.25
    assert frame.loc[(1, 4), ["pca_1", "pca_2", "pca_3"]].tolist() == pytest.approx(travel.coordinate.values[1, 4])
    assert frame.loc[(1, 4), "umap_3"] == travel.umap.values[1, 4, 2]
    assert frame.loc[(0, 0), "counted"] == np.False_
    assert frame.length_null.unique().tolist() == [15]


def test_a_run_without_paths_is_told_which_command_adds_them(run):
    bare = Run(run.results.filter(lambda node: node.name == "norms"))
    with pytest.raises(
        RequestError,
        match=r"^expected a run with /travel, got one without: `armillary travel MODEL TEXT --run RUN` adds it$",
    ):
        rows(bare)


def test_a_long_token_is_cut_in_a_table(run):
    results = made_up.changed(run.results, travel__top_text="a" * 40)
    assert f"‘{'a' * 15}…’" in printed(by_layer(Run(results)))
