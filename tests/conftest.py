"""Shapes in signatures are checked while the tests run."""

import os
import sys

import hypothesis
import pytest
from jaxtyping import install_import_hook

if os.environ.get("ARMILLARY_SHAPES", "1") == "1":
    install_import_hook("armillary", "beartype.beartype")

# How long an example takes says nothing on a machine that does other things too.
hypothesis.settings.register_profile("armillary", deadline=None)
hypothesis.settings.load_profile("armillary")

os.environ.pop("COLUMNS", None)  # the terminal that runs the tests sets no width for the tables in them


@pytest.fixture(scope="session")
def cli():
    """The command line."""
    import armillary.cli

    return armillary.cli


@pytest.fixture
def command(cli, monkeypatch, capfd):
    """The whole command in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["armillary", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("ARMILLARY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tiny_llama():
    """A random model of two blocks, for what depends on no particular one."""
    import torch
    import transformers

    import armillary

    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return armillary.load(transformers.LlamaForCausalLM(config))
