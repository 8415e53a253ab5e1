"""`armillary train` as a user types it: a table, a folder, a config file, and errors of one line."""

import json

import pytest

import armillary as arm

TINY = ["--layers", "1", "--heads", "2", "--width", "8", "--steps", "4", "--batch", "4", "--problems", "10"]
TINY += ["--log-every", "2", "--validate-every", "2", "--save-every", "4", "--geometry-every", "4", "--warmup", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli") / "run"


def test_training_prints_a_row_per_validation_and_keeps_run_and_model(command, folder):
    code, out, err = command("train", "addition", *TINY, "--out", folder)
    assert (code, err) == (0, "")
    assert "4 steps" in out
    assert [line.split()[0] for line in out.splitlines() if line[:4].strip().isdigit()][:3] == ["0", "2", "4"]
    assert "1* digits %" in " ".join(out.split()) or "1*" in out
    assert (folder / "model/model.safetensors").exists()
    assert (folder / "report.html").exists()


def test_a_training_run_alone_is_shown_reported_and_compared(command, folder):
    code, out, _ = command("show", folder, "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["step"] for row in rows] == [0, 2, 4]
    assert "entropy" in rows[0]
    assert command("show", folder)[0] == 0
    assert command("report", folder)[0] == 0
    code, out, _ = command("compare", folder, folder, "--json")
    assert code == 0
    assert {row["result"] for row in json.loads(out)["results"]} == {"loss_validation", "accuracy"}
    assert command("compare", folder, folder)[0] == 0
    assert arm.open(folder).plot("training-loss").data


def test_a_config_file_gives_settings(command, tmp_path):
    (tmp_path / "train.toml").write_text("digits_from = 5\n", encoding="utf-8")
    code, _, err = command("train", "addition", "--config", tmp_path / "train.toml", "--out", tmp_path / "run")
    assert (code, err) == (2, "armillary: expected digits_from of at most digits_to, got 5 and 4: swap them\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["additon"], "expected something to train, got 'additon': did you mean addition or addition-rotary?"),
        (["addition", "--preset", "huge"], "expected the preset quick or paper, got 'huge': choose one of these"),
        (["addition", "--task", "chess"], "expected a value that task takes, got 'chess': choose text, addition"),
        (
            ["locater", "--kappa-trace", "-1"],
            "expected kappa_trace as a finite number of at least 0, got -1.0: choose another",
        ),
        (
            ["sweep", "locater", "--kappa-scale", "0,x"],
            "expected numbers with commas between them for --kappa-scale, got '0,x': as in 0,1",
        ),
    ],
)
def test_bad_input_is_one_line(command, tmp_path, arguments, message):
    code, out, err = command("train", *arguments, "--out", tmp_path / "run")
    assert (code, out, err) == (2, "", f"armillary: {message}\n")


def test_a_folder_that_holds_a_run_is_refused(command, folder):
    code, _, err = command("train", "addition", *TINY, "--out", folder)
    assert code == 2
    assert err.startswith("armillary: expected a folder without a run, got ")
