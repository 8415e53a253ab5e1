"""The table of a simulation: a row per setting that fits a terminal of 80 columns, and every number as data."""

import io

import numpy as np
import pytest
from rich.console import Console

import armillary as arm
from armillary.printing.overview import overview
from armillary.printing.simulation import printed, rows, title
from armillary.results.store import tree_of


@pytest.fixture(scope="module")
def run():
    return arm.simulate(walks=50, length=40, width=16, draws=1)


def shown(table, width):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(table)
    return out.getvalue()


def test_a_terminal_of_80_columns_has_a_row_per_setting_in_one_panel(run):
    lines = shown(printed(run), 80).splitlines()
    assert max(map(len, lines)) <= 80
    table = [line for line in lines if line.startswith(("iso ", "aniso "))]
    assert [line.split("  ")[0] for line in table] == list(run.results["localization_simulation"].setting.values)
    assert lines[0] == title(run) == "Simulated localization: 50 walks of 40 tokens for each of 1 draw of W_QK"


def test_every_column_says_what_the_run_holds(run):
    found = run.results["localization_simulation"].to_dataset()
    columns = {column.heading: column.cells for column in printed(run).columns}
    place = list(found.setting.values).index("iso 0.5, 0.1")
    one = found.isel(setting=place)
    assert columns["ξ"][place] == f"{one.xi.item():.1f}"
    assert columns["ρ"][place] == f"{one.regime.item()}{'*' if one.clipped.item() else ''}"
    peak = int(one.probability.values.argmax())
    assert columns["softmax most"][place] == f"{one.probability.values[peak]:.2f} at {peak + 1}"
    assert columns["publ. off"][place] == f"{one.published_error.item():.2f}"
    assert columns["exact, SE"][place] == f"{one.exact_deviation.item():.1f}"


def test_no_cell_is_a_negative_zero(run):
    tree = run.results["localization_simulation"].to_dataset().copy()
    tree["xi"] = tree.xi * 0 - 0.01
    table = printed(arm.Run(tree_of({"localization_simulation": tree}, {})))
    assert {cell for column in table.columns if column.heading == "ξ" for cell in column.cells} == {"0.0"}


def test_a_focus_that_clipping_makes_is_marked_and_the_mark_explained(run):
    text = shown(printed(run), 120)
    clipped = run.results["localization_simulation"].clipped.values
    assert clipped.any()
    assert text.count("middle*") == clipped.sum()
    assert "* clipping makes this focus: the softmax attends to an end." in text


def test_the_data_have_a_row_for_every_setting_and_position(run):
    frame = rows(run)
    found = run.results["localization_simulation"].to_dataset()
    assert frame.index.names == ["setting", "position"]
    assert len(frame) == found.sizes["setting"] * 40
    assert set(frame.columns) == set(found.data_vars)
    np.testing.assert_array_equal(frame.rho.to_numpy().reshape(-1, 40), found.rho.values)
    assert (frame.loc["iso 0, 1"].entropy == found.entropy.sel(setting="iso 0, 1").item()).all()


def test_show_prints_the_table_of_a_simulation(run):
    assert shown(overview(run).printed, 100) == shown(printed(run), 100)
    assert overview(run).rows.equals(rows(run))


def test_a_run_without_a_simulation_is_told_which_command_makes_one():
    message = (
        r"^expected .* /localization_simulation, got one without: `armillary simulate localization` makes a run with"
    )
    with pytest.raises(arm.RequestError, match=message):
        rows(arm.Run(tree_of({}, {})))
