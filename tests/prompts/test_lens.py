"""What a token's states decode to is what the model's own final norm and head say of them."""

import numpy as np
import torch

import armillary as arm
from armillary.prompts.lens import token_lens


def test_the_last_layer_is_the_models_own_next_token(view):
    ids = np.array([1, 2, 3, 4])
    states = arm.prompt(view, ids).states.values[:, 2]
    found = token_lens(view, states, 3)
    with torch.inference_mode():
        own = view.model(torch.from_numpy(ids)[None]).logits[0, 2].softmax(-1).topk(3)
    assert found.text.shape == (3, 3)
    assert np.allclose(found.probability[-1], own.values.numpy(), rtol=1e-4)
    assert found.text[-1].tolist() == [view.tokenizer.decode([token]) for token in own.indices.tolist()]


def test_every_layer_goes_through_the_final_norm_and_the_head(view):
    states = arm.prompt(view, [1, 2, 3]).states.values[:, 0]
    found = token_lens(view, states, 7)
    inner = view.model
    with torch.inference_mode():
        own = inner.lm_head(inner.transformer.ln_f(torch.from_numpy(states))).softmax(-1).sort(descending=True).values
    assert np.allclose(found.probability, own.numpy(), rtol=1e-4)
