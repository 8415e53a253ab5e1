"""Shapes in signatures are checked while the tests run."""

import os

import pytest
from jaxtyping import install_import_hook

if os.environ.get("ARMILLARY_SHAPES", "1") == "1":
    install_import_hook("armillary", "beartype.beartype")


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
