"""`armillary travel` on a tiny saved model: tables, JSON, CSV, folders, and errors of one line."""

import json

import pytest
import torch
import transformers

import armillary as arm


@pytest.fixture
def travel(armillary):
    return lambda *arguments: armillary("travel", *arguments)


@pytest.fixture(scope="module")
def encoder(model, tmp_path_factory):
    """An encoder without a head, with the tokenizer of the tiny model."""
    folder = tmp_path_factory.mktemp("encoder")
    shape = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(transformers.BertConfig(**shape, intermediate_size=48)).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return str(folder)


def test_the_last_token_is_printed_layer_by_layer(travel, model):
    code, out, err = travel(model, "word1 word2 word3")
    assert code == 0
    assert "token 2, ‘word3’" in out
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit()]) == 3
    assert "decodes" in out
    assert "3 tokens through 2 blocks" in " ".join(err.split())
    code, out, err = travel(model, "word1 word2 word3", "--position", "0", "--quiet")
    assert "token 0, ‘word1’" in out
    assert err == ""


def test_every_token_is_printed_on_request(travel, model):
    code, out, _ = travel(model, "word1 word2 word3", "--tokens", "--no-lens", "--quiet")
    assert code == 0
    assert "straightness" in out
    assert "decodes" not in out.replace("nothing is decoded", "")


def test_json_and_csv_give_every_state(travel, model):
    code, out, _ = travel(model, "word1 word2", "--json", "--quiet")
    assert code == 0
    read = json.loads(out)
    assert [(row["layer"], row["position"]) for row in read] == [(layer, at) for layer in range(3) for at in range(2)]
    assert read[-1]["top_probability_1"] <= 1
    code, out, _ = travel(model, "word1 word2", "--csv", "--quiet")
    assert out.startswith("layer,position,token,text,counted,angle,angle_null,length,")
    assert len(out.splitlines()) == 7


def test_a_folder_keeps_the_paths_and_a_run_gets_them(travel, model, surveyed, tmp_path):
    code, *_ = travel(model, "word1 word2", "--out", tmp_path / "run", "--quiet")
    assert code == 0
    assert "travel" in arm.open(tmp_path / "run").results.children
    code, *_ = travel(model, "word1 word2", "--run", surveyed[0], "--quiet")
    assert code == 0
    assert {"residual", "travel"} <= set(arm.open(surveyed[0]).results.children)


def test_an_encoder_without_a_head_is_followed(travel, encoder):
    code, out, _ = travel(encoder, "word1 word2", "--quiet")
    assert code == 0
    assert "Lens: nothing is decoded: BertModel has no language head." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "expected at least one word, got an empty prompt: write a text"),
        (["word1 " * 41], "expected at most 40 tokens"),
        (["word1", "--position", "1", "--quiet"], "expected a position from 0 to 0, got 1"),
        (
            ["word1", "--run", "nowhere"],
            "expected the folder of a run, got nowhere, which does not exist: check the path",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(travel, model, refused, arguments, message):
    assert message in refused(travel(model, *arguments))


def test_the_lens_of_an_encoder_without_a_head_is_refused(travel, encoder, refused):
    message = "expected a model with a language head to decode states, got BertModel: load one that has it, or leave "
    assert message in refused(travel(encoder, "word1", "--lens"))


def test_norms_are_printed_beside_the_weights_on_request(armillary, model):
    code, out, _ = armillary("weights", model, "--norms", "--quiet")
    assert code == 0
    assert out.startswith("Norms of ")
    assert "RMSNorm" in out
    code, out, _ = armillary("weights", model, "--norms", "--quiet", "--csv")
    assert [line.split(",")[0] for line in out.splitlines()] == [
        "norm", "attention 0", "mlp 0", "attention 1", "mlp 1", "final"
    ]  # fmt: skip
