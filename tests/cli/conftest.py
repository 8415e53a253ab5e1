"""A tiny saved model, a folder of texts, a finished run of both, and the command as a user types it."""

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from typer.testing import CliRunner

WORDS = [f"word{i}" for i in range(60)]
SIZES = [100, 70, 45, 33, 90, 52]
SHORT = ["--contexts", "12", "--length", "16"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A saved folder with a tiny random model and a tokenizer of whole words."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models") / "tiny"
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=40,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *WORDS])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder of six documents of known lengths in words."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    for number, size in enumerate(SIZES):
        (folder / f"{number}.txt").write_text(" ".join(rng.choice(WORDS, size)))
    return str(folder)


@pytest.fixture(scope="module")
def surveyed(cli, model, corpus, tmp_path_factory):
    """A finished run."""
    out = tmp_path_factory.mktemp("runs") / "first"
    done = CliRunner().invoke(cli.app, ["survey", model, "--corpus", corpus, *SHORT, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out, done.stdout, done.stderr


@pytest.fixture
def armillary(command):
    """The command as a user types it."""
    return command


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "survey.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def refused():
    """The one line of an error that a user can put right."""

    def line(result):
        code, out, err = result
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith("armillary: ")
        assert "Traceback" not in err
        return err

    return line
