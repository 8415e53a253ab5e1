"""`armillary simulate` as a user types it: a table, rows of data, a folder with a page, and errors of one line."""

import csv
import json

import pytest

import armillary as arm

SMALL = ["--walks", "20", "--length", "6", "--width", "8", "--draws", "2"]


@pytest.fixture
def run(command):
    return lambda *arguments: command("simulate", "localization", *SMALL, *arguments)


def test_a_simulation_prints_a_row_per_setting_and_keeps_nothing(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith("Simulated localization: 20 walks of 6 tokens for each of 2 draws of W_QK")
    assert len([line for line in out.splitlines() if line.startswith(("iso ", "aniso "))]) == 18
    assert not list(tmp_path.iterdir())


def test_json_and_csv_give_every_position_of_every_setting(run):
    code, out, _ = run("--json")
    found = json.loads(out)
    assert code == 0
    assert len(found) == 18 * 6
    assert found[0]["setting"] == "iso 0.1, 0.02"
    assert {"position", "rho", "rho_se", "rho_exact", "rho_published", "entropy", "regime", "clipped"} <= set(found[0])
    _, out, _ = run("--csv")
    assert [float(row["rho"]) for row in csv.DictReader(out.splitlines())] == pytest.approx(
        [row["rho"] for row in found], abs=1e-9
    )


def test_a_folder_gets_results_and_page_and_show_prints_them_again(run, command, tmp_path):
    folder = tmp_path / "run"
    _, printed, _ = run("--out", folder, "--seed", "3")
    assert (folder / "simulation.nc").exists()
    assert (folder / "report.html").exists()
    assert arm.open(folder).provenance["seed"] == 3
    assert command("show", folder)[1] == printed
    assert "simulated-rho" in command("figure", folder)[1]
    code, _, err = run("--out", folder)
    assert code == 2
    assert err == (
        f"armillary: expected a folder without a run, got {folder}, which already holds one: choose another --out\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["localisation"], "expected a simulation, got 'localisation': did you mean localization?"),
        (["localization", "--walks", "1"], "expected the number of walks from 2 to 100000, got 1"),
        (["localization", "--seed", "-1"], "expected a seed of at least 0, got -1: choose another"),
    ],
)
def test_what_cannot_be_simulated_is_one_line(command, arguments, message):
    code, out, err = command("simulate", *arguments)
    assert (code, out) == (2, "")
    assert err == f"armillary: {message}\n"


@pytest.mark.parametrize("line", [["show", "RUN", "--table", "decomposition"], ["heads", "RUN"]])
def test_what_a_simulation_does_not_have_is_refused_in_one_line(run, command, tmp_path, line):
    run("--out", tmp_path / "run")
    code, out, err = command(*(tmp_path / "run" if word == "RUN" else word for word in line))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("armillary: expected a run with /")
    assert "got one without: `armillary survey" in err
