"""The tables of heads as data and as text, and the command that prints them."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
import xarray as xr
from rich.console import Console

import armillary as arm
import made_up
from armillary.errors import RequestError
from armillary.printing.heads import best_first, heads_table, printed, summary
from armillary.results.schema.naming import KINDS, SCORES
from armillary.results.store import Run, tree_of


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
    assert 'id="head-names"' in (folder / "report.html").read_text(encoding="utf-8")
    assert "the repeated-token test reads 8 windows of 40 tokens with the model and " in err
    assert "L1H3" in out
    assert "8 are uniform" in out
    code, again, err = command("heads", folder)
    assert (code, again, err) == (0, out, "")


def test_json_and_csv_are_the_table(folder, run, command):
    frame = heads_table(run)
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
    assert len(heads_table(run, "uniform")) == 8
    assert len(heads_table(run, "induction")) == 0
    assert len(heads_table(run, "attention sink")) == len(heads_table(run, "sink")) == 0
    near = r"^expected a kind of head, got 'previos': did you mean previous or previous-token\?$"
    with pytest.raises(RequestError, match=near):
        heads_table(run, "previos")
    known = "induction, duplicate, duplicate-token, previous, previous-token, sink, attention sink, local, uniform"
    with pytest.raises(RequestError, match=rf"^expected a kind of head, got 'xyzzy': choose {known}$"):
        heads_table(run, "xyzzy")
    code, out, err = command("heads", folder, "--kind", "previos")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_run_without_heads_is_refused_in_one_line(saved, tmp_path, command):
    text = np.random.default_rng(0).integers(64, size=(8, 12))
    arm.survey(arm.load(str(saved)), text, out=tmp_path / "run", progress=False, report=False)
    code, out, err = command("heads", tmp_path / "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--heads" in err


def shown(table, width):
    screen = Console(width=width, file=io.StringIO())
    screen.print(table)
    return screen.file.getvalue()


@pytest.fixture
def many():
    """A run of 16 heads of all kinds, and of none."""
    results = made_up.run_of()
    results.attrs["length"] = 24
    return Run(results)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_nothing_is_cut_at_any_width(many, width):
    frame = heads_table(many)
    for table in (summary(many, frame), printed(many, frame)):
        text = shown(table, width)
        assert "…" not in text
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width
        assert "residual → residual 60 %" in text


def test_the_summary_has_few_columns_and_fits_eighty(many):
    lines = shown(summary(many, heads_table(many)), 80).splitlines()
    assert sum("─" * 40 in line for line in lines) == 1, "one panel"


def test_the_summary_names_the_heads_of_each_kind_best_first(many):
    frame = heads_table(many)
    rows = [line.split() for line in shown(summary(many, frame), 140).splitlines() if line[:1] == "L"]
    expected = []
    for kind in KINDS:
        part = frame[frame.kind == kind]
        score = part[kind if kind in SCORES else "entropy_relative"].sort_values(ascending=False)
        expected += [f"L{block}H{head}" for block, head in score.index]
    assert [row[0] for row in rows] == expected
    assert len(rows) == (frame.kind != "").sum() == 12
    title = "(2 induction, 2 duplicate-token, 2 previous-token, 2 attention sink, 2 local); 2 are uniform"
    assert f"10 of 16 heads have a kind {title}" in shown(summary(many, frame), 140)
    assert [row[1] for row in rows[:5]] == [
        "induction",
        "induction",
        "duplicate-token",
        "duplicate-token",
        "previous-token",
    ]
    assert rows[0][2:4] == [f"{100 * frame.induction[frame.kind == 'induction'].max():.1f}", "1.0"]


def test_every_head_is_printed_on_request(many, folder, command):
    rows = [line.split()[0] for line in shown(printed(many, heads_table(many)), 200).splitlines() if line[:1] == "L"]
    assert rows == [f"L{block}H{head}" for block in range(4) for head in range(4)]
    _, brief, _ = command("heads", folder, "--quiet")
    _, full, _ = command("heads", folder, "--quiet", "--all")
    assert "duplicate-token" in full
    assert "score" in full
    assert full.count("L1H3") >= brief.count("L1H3") == 1


def test_the_summary_prints_five_heads_of_a_kind_and_counts_the_others(many):
    kinds = np.full_like(many.results["taxonomy"].kind.values, "local")
    kinds[0, :3] = "sink"
    run = Run(made_up.changed(many.results, taxonomy__kind=kinds))
    text = shown(summary(run, heads_table(run)), 80)
    assert sum(line.startswith("L") for line in text.splitlines()) == 3 + 5
    assert "8 more heads: --kind local prints one kind, --all every head." in " ".join(text.split())
    alone = shown(summary(run, heads_table(run, "local"), "local"), 80)
    assert sum(line.startswith("L") for line in alone.splitlines()) == 13


def test_heads_of_one_kind_are_all_that_pass_its_threshold_by_the_score_of_that_kind(many):
    labels = many.results["taxonomy"].kind.values.astype(object)
    first = tuple(np.argwhere(labels == "induction")[0])
    labels[first] = "induction, sink"
    dataset = many.results["taxonomy"].to_dataset().assign(labels=(("block", "head"), labels.astype(str)))
    groups = {name: node.to_dataset() for name, node in many.results.children.items()} | {"taxonomy": dataset}
    run = Run(tree_of(groups, many.provenance))
    frame = heads_table(run, "sink")
    assert list(frame.kind).count("induction") == 1
    text = shown(summary(run, frame, "sink"), 80)
    block, head = first
    row = next(line for line in text.splitlines() if line.startswith(f"L{block}H{head} "))
    assert f"{100 * float(dataset.sink.values[first]):.1f}" in row.split()


def test_a_kind_that_no_head_has_is_answered_in_words(many):
    table = summary(many, heads_table(many).iloc[:0])
    assert table.caption.startswith("No head of this model has this kind.\n")
    assert "No head" not in summary(many, heads_table(many)).caption


def test_a_head_that_is_several_things_says_so_its_kind_first(many):
    labels = many.results["taxonomy"].kind.values.astype(object)
    first = tuple(np.argwhere(labels == "induction")[0])
    labels[first] = "induction, sink"
    taxonomy = many.results["taxonomy"].to_dataset().assign(labels=(("block", "head"), labels.astype(str)))
    groups = {f"/{name}": node.to_dataset() for name, node in many.results.children.items()} | {"/taxonomy": taxonomy}
    run = Run(xr.DataTree.from_dict(groups))
    lines = shown(summary(run, heads_table(run)), 100).splitlines()
    line = next(line for line in lines if line.startswith("L{}H{} ".format(*first)))
    assert line.index("induction") < line.index("attention sink")
    assert heads_table(run).loc[first].labels == "induction, sink"


def test_a_run_without_kinds_shows_what_heads_do(many):
    results = many.results.drop_nodes(["taxonomy", "repeats", "constituents"])
    run = Run(results)
    frame = heads_table(run)
    assert "kind" not in frame
    text = shown(summary(run, frame), 140)
    assert "attention on the token itself %" in " ".join(text.split()) or "itself %" in text
    assert "no kind" not in text
    with pytest.raises(
        RequestError, match=r"^expected a run with /taxonomy, got one without: `armillary heads RUN` adds it$"
    ):
        heads_table(run, "induction")


def test_a_run_without_heads_has_no_table_of_them(many):
    run = Run(many.results.drop_nodes(["taxonomy", "heads"]))
    with pytest.raises(
        RequestError, match=r"^expected a run with /taxonomy, got one without: `armillary heads RUN` adds it$"
    ):
        heads_table(run)


def test_kinds_alone_are_ordered_by_the_score_that_is_there(many):
    run = Run(many.results.drop_nodes(["heads"]))
    frame = best_first(heads_table(run))
    assert frame.kind.tolist()[-2:] == ["uniform", "uniform"]
    assert frame.deciding.isna().sum() == 2


def test_the_text_table_counts_every_kind_and_names_the_null(run):
    text = shown(printed(run, heads_table(run)), 140)
    assert "…" not in text
    words = " ".join(text.split())
    assert "Highest score of any head of the random-weight control, in %: induction " in words
    assert "repeated random tokens, standard error (SE) over 8 windows; attention sink, local: text, SE over " in words
    assert "dominant QK term: query → key, the largest share of the logits' variance." in words
    assert "None of 8 heads has a kind; 8 are uniform" in text
