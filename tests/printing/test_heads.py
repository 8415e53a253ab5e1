"""The table of heads as data and as text, and the command that prints it."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from rich.console import Console

import armillary as arm
from armillary.errors import RequestError
from armillary.printing.heads import KINDS, head_table, printed


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A tiny model in a folder."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models") / "tiny"
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, max_position_embeddings=40,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(saved, tmp_path_factory):
    """A run of it with heads."""
    out = tmp_path_factory.mktemp("runs") / "heads"
    text = np.random.default_rng(0).integers(64, size=(16, 20))
    arm.survey(arm.load(str(saved)), text, heads=True, out=out, progress=False, report=False)
    return out


@pytest.fixture(scope="module")
def run(folder):
    """The same run, its heads named."""
    return arm.heads(arm.open(folder), progress=False)


def test_the_model_is_loaded_again_and_the_pass_is_said_before_it_starts(folder, command):
    (folder / "report.html").write_text("as the survey left it")
    code, out, err = command("heads", folder)
    assert code == 0
    assert "Of 8 heads" in (folder / "report.html").read_text(encoding="utf-8")
    assert "the repeated-token test reads 8 windows of 40 tokens with the model and with its random twin" in err
    assert "L1H3" in out
    assert "8 uniform" in out
    code, again, err = command("heads", folder)
    assert (code, again, err) == (0, out, "")


def test_json_and_csv_are_the_table(folder, run, command):
    frame = head_table(run)
    assert frame.shape[0] == 8
    _, out, _ = command("heads", folder, "--json", "--quiet")
    rows = json.loads(out)
    assert [(row["block"], row["head"]) for row in rows] == frame.index.tolist()
    assert rows[5]["entropy"] == pytest.approx(float(run.results["heads"].entropy[1, 1]))
    _, out, _ = command("heads", folder, "--csv", "--quiet")
    read = pd.read_csv(io.StringIO(out), index_col=["block", "head"], keep_default_na=False, na_values=["nan"])
    assert list(read.columns) == list(frame.columns)
    assert np.allclose(read.mass_first, frame.mass_first)


def test_one_kind_can_be_asked_for(folder, run, command):
    assert len(head_table(run, "uniform")) == 8
    assert len(head_table(run, "induction")) == 0
    with pytest.raises(RequestError, match=r"expected a kind of head among induction, .*, came 'previos'"):
        head_table(run, "previos")
    code, out, err = command("heads", folder, "--kind", "previos")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_run_without_heads_is_refused_in_one_line(saved, tmp_path, command):
    text = np.random.default_rng(0).integers(64, size=(8, 12))
    arm.survey(arm.load(str(saved)), text, out=tmp_path / "run", progress=False, report=False)
    code, out, err = command("heads", tmp_path / "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "was surveyed without heads: survey again with --heads" in err


def test_the_text_table_counts_every_kind_and_names_the_null(run):
    screen = Console(width=140, file=io.StringIO())
    screen.print(printed(run, head_table(run)))
    text = screen.file.getvalue()
    assert "…" not in text
    assert "The highest of any head of the random twin: induction 0." in text
    for kind in KINDS:
        assert f" {kind}" in text
