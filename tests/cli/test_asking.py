"""`armillary prompt` and `armillary heads` on a tiny saved model: tables, JSON, CSV, and errors of one line."""

import json

import pytest
import tokenizers
import torch
import transformers

HOSTILE = ["\x1b[31m", "[red]word2[/red]"]
WORDS = [*HOSTILE, *(f"word{i}" for i in range(60))]


def saved(folder, model):
    model.save_pretrained(folder)
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.set_num_threads(1)
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 63}
    config = transformers.LlamaConfig(**shape, hidden_size=32, max_position_embeddings=400)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return saved(tmp_path_factory.mktemp("causal"), transformers.LlamaForCausalLM(config))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 63}
    config = transformers.BertConfig(**shape, hidden_size=32, max_position_embeddings=40)
    return saved(tmp_path_factory.mktemp("encoder"), transformers.BertModel(config))


@pytest.fixture
def run(command):
    return lambda *arguments: command("prompt", *arguments)


def test_a_row_per_layer_and_the_continuation_are_printed(run, model):
    code, out, _ = run(model, "word1 word2 word3")
    assert code == 0
    assert "strongest pair" in out
    assert "continuation: " in out
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit()]) == 2


def test_one_layer_is_shown_token_by_token_or_word_by_word(run, model):
    code, out, _ = run(model, "word1 word2 word3", "--layer", "1", "--head", "2", "--mean", "output", "--json")
    assert code == 0
    read = json.loads(out)
    assert [row["text"] for row in read["rows"]] == ["word1", "word2", "word3"]
    assert len(read["continuation"].split()) <= 20
    code, out, _ = run(model, "word1 word2", "--words", "--csv", "--tokens", "0")
    assert code == 0
    assert out.startswith("block,entropy,mass_first")


def test_an_encoder_is_read_and_not_asked_to_go_on(run, encoder):
    code, out, _ = run(encoder, "word1 word2")
    assert code == 0
    assert "continuation" not in out


def test_the_built_in_task_prints_answers_and_masses(run, model):
    code, out, _ = run(model, "--shots", "1,2", "--tokens", "2")
    assert code == 0
    assert "umbrella" in out
    assert "2 shots" in out
    assert "elsewhere   SE  control" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["word1", "--layer", "2"], "expected a layer from 0 to 1, got 2"),
        (["word1", "--head", "4"], "expected a head from 0 to 3, got 4"),
        (["   "], "armillary: expected at least one word, got an empty prompt: write a text\n"),
        (["word1 " * 401], "expected at most 400 tokens"),
        ([], "armillary: expected a text or --shots, got neither: give one of the two\n"),
        (["word1", "--shots", "3"], "armillary: expected a text or --shots, got both: give one of the two\n"),
        (["--shots", "3,x"], "expected numbers of examples, got '3,x': separate them by commas, 3,5,8\n"),
        (["--shots", "99"], " from 1 to 29"),
        (
            ["word1", "--tokens", "-2"],
            "armillary: expected --tokens of at least 0, got -2: 0 asks for no continuation\n",
        ),
        (
            ["word1", "--mean", "foo"],
            "armillary: expected plain or output for --mean, got 'foo': choose plain, output\n",
        ),
        (["word1", "--json", "--csv"], "armillary: expected --json or --csv, got both: give one of the two\n"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_code_two(run, model, arguments, message):
    code, out, err = run(model, *arguments, "--quiet")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_an_encoder_asked_to_generate_says_so(run, encoder):
    code, _, err = run(encoder, "word1", "--tokens", "3", "--quiet")
    assert code == 2
    assert err.startswith("armillary: expected a causal language model to continue a text, ")
    assert err.count("\n") == 1
    assert "BertModel" in err
    code, _, err = run(encoder, "--shots", "1")
    assert code == 2
    assert "expected a causal language model" in err


def test_control_characters_and_markup_are_shown_escaped(run, model):
    for form in ([], ["--json"], ["--csv"], ["--words"]):
        code, out, _ = run(model, f"word1 {HOSTILE[0]} {HOSTILE[1]}", "--layer", "0", *form)
        assert code == 0
        assert "\x1b" not in out
        assert "\\x1b[31m" in out
        assert HOSTILE[1] in out


def test_weights_are_printed_by_block_by_head_and_as_rows(command, model, tmp_path):
    code, out, _ = command("weights", model, "--out", str(tmp_path / "w"), "--quiet")
    assert code == 0
    assert "not random" in " ".join(out.split())
    assert (tmp_path / "w" / "weights.nc").exists()
    assert "L1H3" in command("weights", model, "--block", "1", "--quiet")[1]
    rows = json.loads(command("weights", model, "--json", "--quiet")[1])
    assert {"block", "head", "trace_qk", "trace_qk_z", "symmetry_twin"} <= set(rows[0])


def test_weights_of_a_block_that_is_not_there_and_a_taken_folder_are_one_line(command, model, tmp_path):
    (tmp_path / "weights.nc").write_text("")
    for arguments, message in (
        (["--block", "9"], "expected a block from 0 to 1, got 9"),
        (["--out", str(tmp_path)], "expected a folder without a run"),
        (["--run", str(tmp_path / "none")], "expected the folder of a run"),
    ):
        code, _, err = command("weights", model, *arguments, "--quiet")
        assert code == 2
        assert err.count("\n") == 1
        assert message in err


def test_changes_of_the_model_stand_beside_the_model_as_it_is(run, model):
    code, out, _ = run(model, "word1 word2 word3", "--alpha", "0.5,1,2", "--without", "L1H2", "--tokens", "2")
    assert code == 0
    names = ["as it is (α = 1)", "α = 0.5", "α = 2", "without L1H2"]
    rows = [line.strip() for line in out.splitlines()]
    for name in names:
        assert sum(row.startswith(name) for row in rows) == 2, "a row of numbers and a continuation"
    code, out, _ = run(model, "word1 word2 word3", "--alpha", "2", "--json", "--tokens", "0")
    assert [each["variant"] for each in json.loads(out)["variants"]] == ["as it is", "α = 2"]
    code, out, _ = run(model, "word1 word2 word3", "--alpha", "2", "--csv", "--tokens", "0")
    assert out.splitlines()[0].startswith("variant,block,entropy")
    assert len(out.splitlines()) == 1 + 2 * 2
    code, out, _ = run(model, "word1 word2", "--alpha", "2", "--layer", "1", "--tokens", "0")
    assert out.count("attends most to") == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--alpha", "two"], "expected numbers for alpha, got 'two': separate them by commas, 0.5,2"),
        (["--without", "18.6"], "expected a head as block and number, got '18.6': write L18H6 for block 18, head 6"),
        (["--without", "L9H0"], "expected a block from 0 to 1, got 9"),
        (["--without", "L0H9"], "expected a head from 0 to 3, got 9"),
        (["--alpha", "nan"], "expected a finite alpha, got nan: choose another"),
        (["--alpha", "-1"], "expected alpha of at least 0, got -1: choose a larger one"),
        (["--alpha", "2", "--layer", "7"], "expected a layer from 0 to 1, got 7"),
    ],
)
def test_changes_that_cannot_be_made_are_refused_in_one_line(run, model, flags, said):
    code, out, err = run(model, "word1 word2", *flags, "--quiet")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_changes_need_a_text(run, model):
    code, _, err = run(model, "--shots", "3", "--alpha", "2")
    assert code == 2
    assert "expected a text with --alpha or --without, got --shots: give one of the two" in err


def test_a_change_that_is_asked_for_twice_is_made_once(run, model):
    code, out, _ = run(
        model, "word1 word2", "--alpha", "2,2.0", "--without", "L1H2,L01H2", "--tokens", "0", "--json", "--quiet"
    )
    assert code == 0
    assert [each["variant"] for each in json.loads(out)["variants"]] == ["as it is", "α = 2", "without L1H2"]


def test_blanks_are_refused_before_a_model_is_loaded(run):
    code, _, err = run("nowhere/no-model", "   ")
    assert (code, err) == (2, "armillary: expected at least one word, got an empty prompt: write a text\n")


def test_one_token_is_no_tokens_in_the_title(run, model):
    for flags in ([], ["--alpha", "2"]):
        assert "1 token\n" in run(model, "word1", "--tokens", "0", *flags)[1]


def test_a_prompt_says_on_standard_error_that_it_loads_and_quiet_is_silent(run, model):
    for flags in (["word1"], ["word1", "--alpha", "2"]):
        assert run(model, *flags, "--tokens", "0")[2] == f"{model}: loading\n"
        assert run(model, *flags, "--tokens", "0", "--quiet")[2] == ""


def test_the_task_says_what_it_costs_and_quiet_is_silent(run, model):
    said = run(model, "--shots", "1,2", "--tokens", "2")[2].splitlines()
    assert said[0] == f"{model}: loading"
    assert said[1].endswith("prompts of the task, each answered in up to 2 tokens, then its control")
    assert run(model, "--shots", "1", "--tokens", "1", "--quiet")[2] == ""
