"""The command `compare` on two finished runs."""

import csv
import json
import re

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.printing.differences import as_json, difference_rows
from armillary.results.comparing import compare
from two_runs_made_up import shown


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two finished runs of a tiny model, of other windows."""
    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        view = arm.load(transformers.LlamaForCausalLM(config))
    made = [tmp_path_factory.mktemp("runs") / name for name in ("one", "other")]
    for seed, out in enumerate(made):
        arm.survey(view, np.random.default_rng(seed).integers(3, 60, (24, 16)), out=out, progress=False, report=False)
    return made


def test_the_command_prints_the_comparison(folders, armillary):
    code, out, err = armillary("compare", *folders, "--all")
    assert (code, err) == (0, "")
    for words in (
        "Every result with an error",
        "residual norm",
        "Layer by layer",
        "Angles in degrees",
        "difference = other − one",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 140


def test_at_80_columns_no_number_of_the_comparison_is_cut(folders):
    found = compare(*map(arm.open, folders))
    narrow, wide = shown(found, width=80), shown(found, width=200)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    numbers = [set(re.findall(r"[-+]?\d+\.\d+(?:e-?\d+)?", text)) for text in (narrow, wide)]
    assert numbers[0] == numbers[1]


def test_the_command_prints_json_and_csv(folders, armillary):
    found = compare(*map(arm.open, folders))
    code, out, _ = armillary("compare", *folders, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(as_json(found))
    code, out, _ = armillary("compare", *folders, "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert len(rows) == len(difference_rows(found))
    norm = [float(row["difference"]) for row in rows if row["result"] == "norm"]
    assert norm == found["norms"].norm_difference.values.tolist()


def test_a_folder_that_is_missing_or_of_another_kind_is_one_line(folders, tmp_path, armillary):
    for bad, words in ((tmp_path / "none", "which does not exist"), (tmp_path, "is not a results file of Armillary")):
        if bad.exists():
            (bad / "states.nc").write_text("something else")
        for pair in ((folders[0], bad), (bad, folders[0])):
            code, out, err = armillary("compare", *pair)
            assert (code, out) == (2, "")
            assert err.count("\n") == 1
            assert words in err
