"""`armillary stores` on a tiny saved model: tables that fit 80 columns, JSON, CSV, and errors of one line."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from rich.cells import cell_len
from rich.console import Console

from armillary.printing.panels import Column, Panels
from armillary.printing.stores import Fitted, tokens

ROWS = 2 * 4 * 4 * 5
"""Blocks, heads, sides and triplets of the tiny model."""


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("armillary.probes.stores.readings.DRAWS", 30)


@pytest.fixture
def run(armillary, model):
    return lambda *arguments: armillary("stores", model, *arguments)


def test_a_row_per_block_and_the_answers_are_printed(run):
    code, out, _ = run()
    assert code == 0
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit()]) == 2
    assert "Block 0 is unreadable: " in out
    assert "Readability rises with depth: not determined" in out
    flat = " ".join(out.split())
    assert "Read: input by embeddings, output by the unembedding; gain of the norms folded in." in flat
    assert "Note: W_QK is that of distance 0: RoPE rotates it with the distance." in flat


def test_one_head_is_printed_triplet_by_triplet_with_its_tokens(run):
    code, out, _ = run("--block", "1", "--head", "2")
    assert code == 0
    for text in ("W_QK of L1H2", "W_VO of L1H2", "tokens read in", "tokens written", "1 +", "5 −", "word"):
        assert text in out
    code, out, _ = run("--block", "1", "--triplets", "2")
    assert code == 0
    assert [f"W_VO of L1H{head}" in out for head in range(5)] == [True] * 4 + [False]
    assert "3 +" not in out


def test_tables_fit_80_columns(run, monkeypatch):
    monkeypatch.setattr("armillary.cli.output.WIDTH", 80)
    for arguments in ([], ["--block", "0", "--head", "1"], ["--block", "0", "--head", "1", "--words", "word1,word2"]):
        code, out, _ = run(*arguments)
        assert code == 0
        assert max(map(cell_len, out.splitlines())) <= 80


def test_json_and_csv_give_every_reading(run):
    code, out, _ = run("--json")
    assert code == 0
    rows = json.loads(out)
    assert len(rows) == ROWS
    assert rows[0]["side"] == "query"
    assert all(rows[0][f"{end}_{place}"] for end in ("positive", "negative") for place in range(1, 6))
    assert {"singular_value", "share", "plane", "peak", "peak_null", "peak_z", "coherence_z"} <= set(rows[0])
    code, out, _ = run("--csv", "--block", "0")
    assert code == 0
    assert len(pd.read_csv(io.StringIO(out))) == ROWS / 2


def test_words_are_printed_with_their_keys_and_values(run):
    code, out, _ = run("--words", "word1,word2, word3", "--block", "0", "--head", "1")
    assert code == 0
    assert "words in L0H1" in out
    assert "value as tokens" in out
    code, out, _ = run("--words", "word1,word2 word3", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["word"] for row in rows[:2]] == ["word1", "word2 word3"]
    assert [rows[0][f"key_{place}"] for place in range(1, 6)] == ["word2 word3", "", "", "", ""]
    assert all(rows[0][f"value_token_{place}"] for place in range(1, 6))
    code, out, _ = run("--words", "word1,word2 word3")
    assert code == 0
    assert "1 of 2 words have several tokens, averaged" in " ".join(out.split())


def test_results_are_kept_in_a_folder_and_in_a_run(run, armillary, surveyed, tmp_path):
    code, _, _ = run("--out", str(tmp_path / "kept"), "--no-folded")
    assert code == 0
    assert (tmp_path / "kept" / "stores.nc").exists()
    assert "weights and embeddings as stored" in " ".join(run("--no-folded")[1].split())
    code, _, _ = run("--run", str(surveyed[0]), "--block", "1", "--head", "0")
    assert code == 0
    assert (surveyed[0] / "stores.nc").exists()
    code, _, _ = armillary("figure", str(surveyed[0]), "store-readability", "--out", str(tmp_path / "figure.svg"))
    assert code == 0
    assert (tmp_path / "figure.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--block", "2"], "armillary: expected a block from 0 to 1, got 2\n"),
        (["--block", "0", "--head", "4"], "armillary: expected a head from 0 to 3, got 4\n"),
        (["--head", "1"], "armillary: expected a block beside head 1, got none: give --block as well\n"),
        (["--triplets", "0"], "armillary: expected triplets of each head from 1 to 8, got 0\n"),
        (["--words", ","], "expected words, got an empty list: name some, or leave them out for the built-in list\n"),
        (["--words", "word1,unheard"], "expected a word that the tokenizer knows, got 'unheard', which gives no"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_code_two(run, refused, arguments, message):
    assert message in refused(run(*arguments, "--quiet"))


def test_a_model_without_a_tokenizer_is_one_line(armillary, refused, tmp_path, capfd):
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 32}
    config = transformers.LlamaConfig(**shape, hidden_size=16)
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "bare")
    capfd.readouterr()  # transformers' own progress
    line = refused(armillary("stores", str(tmp_path / "bare"), "--quiet"))
    assert "expected a tokenizer to read directions as tokens, got none with" in line


def test_few_words_say_in_one_sentence_that_specificity_needs_more(run):
    code, out, err = run("--words", "word1,word2")
    flat = " ".join(out.split())
    assert (code, err) == (0, f"{err.split(': ')[0]}: loading\n")
    assert "Specificity of keys and values: not determined; it needs at least 10 words, got 2" in flat
    assert not re.search(r"\bnan\b", flat)
    many = ",".join(f"word{i}" for i in range(12))
    assert "Specificity of keys rises with depth: " in " ".join(run("--words", many)[1].split())


def test_no_word_of_a_heading_is_cut_where_a_terminal_is_narrow(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out = run("--block", "0", "--head", "1", "--words", "word1,word2,word3")[1]
    assert max(map(cell_len, out.splitlines())) <= 40
    assert "triplet" in out
    assert "…" not in out


def test_a_token_takes_the_room_that_there_is():
    texts = np.array(["appearances", "incompatibilities"])

    def made(letters):
        return Panels("", [Column("triplet", ["1 +"], words=True), Column("tokens", [tokens(texts, letters)])], "")

    def shown(width):
        console = Console(width=width, file=io.StringIO())
        console.print(Fitted(made))
        return console.file.getvalue()

    assert "appearances  incompatibilities" in shown(60)
    assert "appearances  incompatibil…" in shown(35)
