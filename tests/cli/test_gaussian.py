"""`armillary gaussian` as a user types it: the model is read once, tables and rows come from the run."""

import json

import pytest

from armillary.probes.lens import groups
from tiny_run import surveyed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return surveyed(tmp_path_factory.mktemp("gaussian"), heads=False, contexts=20).folder


def test_the_first_time_the_model_is_read_and_then_the_run(command, folder, monkeypatch):
    monkeypatch.setattr(groups, "DEPTH", 3)
    monkeypatch.setattr(groups, "DRAWN", 3)
    code, out, err = command("gaussian", folder, "--directions", "2", "--quiet")
    assert (code, err) == (0, "")
    assert "as jointly Gaussian tokens: 2 directions" in out
    again = command("gaussian", folder, "--quiet")
    assert again[1] == out
    rows = json.loads(command("gaussian", folder, "--json")[1])
    assert {"layer", "distance", "information", "information_low", "information_null"} <= set(rows[0])
    heads = json.loads(command("gaussian", folder, "--heads", "--json")[1])
    assert {"block", "head", "distance", "variance", "variance_predicted", "log_ratio"} <= set(heads[0])


def test_a_request_that_cannot_be_met_is_one_line(command, folder):
    code, _, err = command("gaussian", folder, "--again", "--directions", "99", "--quiet")
    assert code == 2
    assert err == "armillary: expected directions from 1 to 32, got 99\n"


def test_options_that_differ_from_what_the_run_holds_are_refused_and_the_same_are_taken(command, folder):
    held = "expected what this run holds, 2 directions, 20 windows"
    for options, got in (
        (["--directions", "4", "--windows", "3"], f"{held}, got --directions 4 --windows 3: add --again"),
        (["--seed", "3"], f"{held}, of a seed that is not kept, got --seed 3: add --again"),
    ):
        assert command("gaussian", folder, *options) == (2, "", f"armillary: {got}\n")
    assert command("gaussian", folder, "--directions", "2", "--windows", "64")[0] == 0, "a run of 20 windows has no 64"
