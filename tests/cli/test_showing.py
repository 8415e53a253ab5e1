"""What a run holds is shown, whatever it holds: tables, comparison, figures, report."""

import csv
import json
import re
import shutil

import numpy as np
import pytest

import armillary as arm
from armillary.figures import ERRORS
from armillary.results import store
from armillary.results.schema import GROUPS


def test_show_prints_the_same_table(surveyed, armillary):
    code, out, err = armillary("show", surveyed[0])
    assert (code, err) == (0, "")
    assert out.strip() == surveyed[1].split("results:")[0].strip()


def test_show_as_json_is_the_table_with_null_for_nan(surveyed, armillary):
    code, out, _ = armillary("show", surveyed[0], "--json")
    rows = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    expected = arm.table(arm.open(surveyed[0]))
    assert code == 0
    assert [row["layer"] for row in rows] == [0, 1, 2]
    nulls = 0
    for row, (_, values) in zip(rows, expected.iterrows(), strict=True):
        assert set(row) == {"layer", *expected.columns}
        for name, value in values.items():
            nulls += row[name] is None
            assert (row[name] is None) if np.isnan(value) else row[name] == pytest.approx(value, abs=1e-9)
    assert nulls, "this run has a value that is not determined"


def test_show_as_csv_is_the_table(surveyed, armillary):
    code, out, _ = armillary("show", surveyed[0], "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    expected = arm.table(arm.open(surveyed[0]))
    assert code == 0
    assert list(rows[0]) == ["layer", *expected.columns]
    for row, (_, values) in zip(rows, expected.iterrows(), strict=True):
        for name, value in values.items():
            assert (row[name] == "") if np.isnan(value) else float(row[name]) == value


@pytest.fixture(scope="module")
def whole(model, corpus, tmp_path_factory):
    """A run with states, heads and names."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    arm.survey(arm.load(model), corpus, contexts=12, length=16, heads=True, out=folder, progress=False, report=False)
    arm.heads(arm.open(folder), progress=False)
    return folder


@pytest.fixture(scope="module", params=[("heads.nc", "names.nc"), ("names.nc",), ("heads.nc",)], ids="+".join)
def part(request, whole, tmp_path_factory):
    """The same run without its states: heads and names, or one of the two."""
    folder = tmp_path_factory.mktemp("runs") / "part"
    folder.mkdir()
    for name in request.param:
        shutil.copy(whole / name, folder)
    return folder


def test_show_prints_the_heads_of_a_run_without_states_and_what_adds_the_rest(part, armillary):
    code, out, err = armillary("show", part)
    assert (code, err) == (0, "")
    assert (
        "None of 8 heads has a kind; 8 are uniform" in out
        if (part / "names.nc").exists()
        else "Attention heads of " in out
    )
    assert "`armillary survey` makes a run with /residual, /attention, /corpus" in out
    assert ("`armillary heads RUN` adds /repeats" in out) == (not (part / "names.nc").exists())
    assert ("`armillary survey --heads` makes a run with /head_groups" in out) == (not (part / "heads.nc").exists())
    code, out, _ = armillary("show", part, "--json")
    assert (code, len(json.loads(out))) == (0, 8)


def test_show_refuses_a_table_of_layers_where_there_are_none(part, armillary, refused):
    line = refused(armillary("show", part, "--table", "decomposition"))
    assert line.startswith("armillary: expected a run with /variance, got one without")
    assert line.endswith(": `armillary survey` makes a run with it\n")
    line = refused(armillary("show", part, "--table", "ranks"))
    assert line.endswith(": choose another run, this one has no table\n")


def test_a_run_of_neither_layers_nor_heads_is_a_list_of_its_groups(whole, tmp_path, armillary):
    opened = arm.open(whole)
    groups = {name: opened.results[name].to_dataset().load() for name in ("repeats", "constituents")}
    store.write(tmp_path, "names.nc", groups, opened.provenance)
    code, out, err = armillary("show", tmp_path)
    assert (code, err) == (0, "")
    for group, dataset in groups.items():
        about = GROUPS[group].text.split(",")[0]
        assert re.search(rf"│ /{group} +│ {about}.*│ +{len(dataset.data_vars)} │", out)
    assert "`armillary heads RUN` adds /dissection, /qk_smoothness, /six_panels, /head_examples," in " ".join(
        out.split()
    )
    code, out, _ = armillary("show", tmp_path, "--json")
    assert [row["group"] for row in json.loads(out)] == ["repeats", "constituents"]
    assert json.loads(out)[0]["about"] == GROUPS["repeats"].text


def test_compare_shows_what_both_runs_hold(whole, part, armillary):
    code, out, err = armillary("compare", part, whole)
    assert (code, err) == (0, "")
    assert "results that have an error are identical." in out
    code, out, err = armillary("compare", part, whole, "--all")
    assert (code, err) == (0, "")
    assert "Layer by layer" not in out
    wanted = "induction score %" if (part / "names.nc").exists() else "entropy  "
    line = next(line for line in out.splitlines() if line.startswith(wanted))
    assert "0/8 heads" in line
    code, out, _ = armillary("compare", whole, part, "--json")
    assert code == 0
    assert {row["group"] for row in json.loads(out)["results"]} <= set(arm.open(part).results.children)


def test_heads_prints_the_kinds_of_a_run_without_states(part, armillary):
    code, out, err = armillary("heads", part, "--quiet")
    if (part / "names.nc").exists():
        assert (code, err) == (0, "")
        assert "None of 8 heads has a kind; 8 are uniform" in out
    else:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("armillary: expected a run with /corpus, got one without")


def test_figures_of_a_run_without_states_are_listed(part, armillary):
    code, out, err = armillary("figure", part)
    assert (code, err) == (0, "")
    *figures, how_to_read = out.splitlines()
    assert all(line.split()[1] == "heads" for line in figures)
    assert len(figures) >= 4
    assert how_to_read == ERRORS


def test_a_run_without_states_has_a_report(part, tmp_path, armillary):
    assert armillary("report", part, "--out", tmp_path / "r.html") == (0, f"report: {tmp_path / 'r.html'}\n", "")
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_two_runs_without_states_have_a_report(whole, part, tmp_path, armillary):
    code, _, err = armillary("report", part, whole, "--out", tmp_path / "r.html")
    assert (code, err) == (0, "")
    assert (tmp_path / "r.html").stat().st_size > 10_000


def test_a_figure_that_the_run_cannot_draw_is_refused_in_one_line(part, armillary, refused):
    assert "position-share" in refused(armillary("figure", part, "position-share"))


@pytest.mark.parametrize("width", [60, 80])
def test_the_list_of_figures_fits_the_terminal_and_goes_on_below_the_name(whole, armillary, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = armillary("figure", whole)[1].splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("    ") for line in lines)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--format", "jpg"], "expected a format that figures have, got --format jpg: choose svg, pdf, png"),
        (
            ["--format", "pdf", "--out", "one.png"],
            "expected one format, got --out one.png and --format pdf: omit --format, or change one",
        ),
        (["--out", "one.jpg"], "expected a file name that ends in .svg, .pdf, .png, got one.jpg: change its ending"),
    ],
)
def test_formats_that_are_not_there_or_contradict_are_refused_in_one_line(whole, armillary, refused, flags, said):
    assert refused(armillary("figure", whole, "head-kinds", *flags)) == f"armillary: {said}\n"
