"""Surveys of a tiny Llama: the model, one that is interrupted, and whether two runs have the same bits."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm


def llama(seed=0, **changes):
    options = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    } | changes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return arm.load(transformers.LlamaForCausalLM(transformers.LlamaConfig(**options)))


def arrays(run):
    return {f"{g}/{n}": v.values for g, node in run.results.children.items() for n, v in node.data_vars.items()}


def assert_same_bits(ours, theirs):
    ours, theirs = arrays(ours), arrays(theirs)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype, name
        equal_nan = value.dtype.kind == "f"
        assert np.array_equal(value, theirs[name], equal_nan=equal_nan), name


def interrupted(view, text, folder, monkeypatch, shards=1):
    from armillary.surveys.engines import local as engines

    real, calls = engines.shard_state, []

    def stopping(*arguments):
        if len(calls) == shards:
            raise KeyboardInterrupt
        calls.append(1)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(engines, "shard_state", stopping)
        patch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
        patch.setattr("armillary.surveys.total.CHECKPOINT_SECONDS", 0.0)
        patch.setattr("armillary.surveys.total.PART", 0)
        with pytest.raises(KeyboardInterrupt):
            arm.survey(view, text, out=folder, progress=False)
