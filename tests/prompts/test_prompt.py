"""One prompt: texts, words and maps, on a tiny model with a tokenizer of its own and on a real one."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import RequestError


def test_a_text_and_its_ids_give_the_same_maps(view):
    text, ids = arm.prompt(view, "the stars stand"), arm.prompt(view, [1, 2, 3])
    assert text.token.values.tolist() == [1, 2, 3]
    for name in ("logits", "pattern", "states", "output_norm", "text"):
        assert np.array_equal(text[name], ids[name])
    assert text.pattern.dims == ("block", "head", "query", "key")
    assert text.states.sizes["layer"] == 3
    assert all(variable.attrs["units"] and variable.attrs["long_name"] for variable in text.data_vars.values())


def test_texts_of_tokens_and_words_are_escaped(view):
    found = arm.prompt(view, "the \x1b[31m stars")
    assert found.text.values.tolist() == ["the", "\\x1b[31m", "stars"]
    assert found.word_text.values.tolist() == ["the", "\\x1b[31m", "stars"]


def test_a_model_without_a_tokenizer_reads_ids(view):
    bare = arm.load(view.model)
    found = arm.prompt(bare, torch.tensor([1, 2]).numpy())
    assert found.text.values.tolist() == ["#1", "#2"]
    assert "word_index" not in found


def test_maps_that_do_not_fit_are_refused(view, monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 100})())
    with pytest.raises(RequestError, match=r"free memory for the maps of 3 tokens, got 0\.0 GB: shorten"):
        arm.prompt(view, [1, 2, 3])


def test_a_family_without_known_heads_has_no_maps():
    config = transformers.MambaConfig(vocab_size=30, hidden_size=16, num_hidden_layers=2)
    view = arm.load(transformers.MambaModel(config))
    with pytest.raises(RequestError, match="expected a known family for attention maps, got 'mamba'"):
        arm.prompt(view, [1, 2, 3])
    with pytest.raises(RequestError, match="expected a known family for"), arm.scaled(view, 2.0):
        pass


@pytest.mark.real
def test_all_blocks_of_a_real_model_scaled_at_once_spread_or_sharpen_attention():
    view = arm.load("smollm2")
    text = "The armillary sphere shows where the stars stand."
    entropy = {}
    for alpha in (0.25, 1.0, 4.0):
        with arm.scaled(view, alpha):
            pattern = arm.prompt(view, text).pattern.values[0].astype(float)
        entropy[alpha] = float(-(pattern * np.log(np.maximum(pattern, 1e-300))).sum(-1).mean())
    assert entropy[0.25] > entropy[1.0] > entropy[4.0]
