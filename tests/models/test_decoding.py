"""Decoding against every model's own logits: what the last state decodes to is what the model says."""

import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import RequestError
from armillary.models import decoding
from armillary.models.decoding import decoded, has_head
from armillary.models.states import reading
from families import TINY, tiny_model

IDS = torch.tensor([[5, 60, 7, 33, 12, 8, 41]])


def read(view):
    """The states of every layer, and the model's own logits."""
    with torch.inference_mode(), reading(view, attention=False) as states:
        logits = view.run(IDS, head=True).logits[0]
        return [state[0] for state in states.take(view.n_blocks)[0]], logits


@pytest.mark.parametrize("family", TINY)
def test_the_last_states_decode_to_the_models_own_logits(family):
    view = arm.load(tiny_model(family), check=False)
    states, logits = read(view)
    (found,) = decoded(view, states[-1])
    assert torch.equal(found.logits, logits)


@pytest.mark.parametrize("family", TINY)
def test_what_the_unembedding_reads_gives_the_logits_but_for_bias_and_soft_cap(family):
    view = arm.load(tiny_model(family), check=False)
    (found,) = decoded(view, read(view)[0][-1])
    unembedding = view.model.get_output_embeddings()
    logits = found.read @ view.W_U + (0 if unembedding.bias is None else unembedding.bias)
    cap = getattr(view.config, "final_logit_softcapping", None)
    assert torch.allclose(cap * torch.tanh(logits / cap) if cap else logits, found.logits, atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "bert", "albert-groups", "gemma2"])
def test_states_are_decoded_one_by_one_however_many_fit(family, monkeypatch):
    view = arm.load(tiny_model(family), check=False)
    states = torch.cat(read(view)[0])
    (together,) = decoded(view, states)
    monkeypatch.setattr(decoding, "NUMBERS", 200)
    parts = list(decoded(view, states))
    assert len(parts) == len(states) // 2
    assert torch.allclose(torch.cat([part.logits for part in parts]), together.logits, atol=1e-5)


def test_a_middle_state_of_a_pre_norm_model_goes_through_final_norm_and_head():
    view = arm.load(tiny_model("llama"), check=False)
    state = read(view)[0][1]
    (found,) = decoded(view, state)
    assert torch.allclose(view.model.lm_head(view.final_norm(state)), found.logits, atol=1e-6)


def test_a_masked_language_head_transforms_the_state_first():
    view = arm.load(tiny_model("bert"), check=False)
    state = read(view)[0][1]
    (found,) = decoded(view, state)
    assert torch.allclose(view.model.cls(state), found.logits, atol=1e-6)


def test_afterwards_the_model_is_as_before():
    view = arm.load(tiny_model("gpt2"), check=False)
    states, before = read(view)
    list(decoded(view, states[0]))
    assert torch.equal(read(view)[1], before)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in view.model.modules())


def test_a_model_without_a_head_is_refused():
    shape = {"vocab_size": 67, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    view = arm.load(transformers.BertModel(transformers.BertConfig(**shape, intermediate_size=48)), check=False)
    assert not has_head(view)
    message = (
        "^expected a model with a language head to decode states, got BertModel: "
        "load one that has it, or leave the lens out$"
    )
    with pytest.raises(RequestError, match=message):
        list(decoded(view, torch.zeros(1, 32)))
