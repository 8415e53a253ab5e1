"""The two named models, fetched once from the package index: the same contract as for tiny ones, and quickly."""

import time

import pytest
import torch

from armillary.errors import SourceError
from armillary.models import NAMED, load
from armillary.models.attention import attention_output
from armillary.models.contract import check_contract, run
from armillary.models.sources.loading import resolve

pytestmark = pytest.mark.real
TEXTS = ["The armillary sphere shows where the stars stand.", "A short one.", "Words move inside a transformer, too."]


def quickest(action):
    """Seconds of the quickest of three: the others tell how busy the machine is."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@pytest.fixture(scope="module", params=list(NAMED))
def view(request):
    return load(request.param)


def batch(view, side):
    view.tokenizer.pad_token = view.tokenizer.pad_token or view.tokenizer.eos_token
    coded = view.tokenizer(TEXTS, return_tensors="pt", padding=True, padding_side=side)
    return coded["input_ids"], coded["attention_mask"].bool()


@pytest.mark.parametrize("side", ["right", "left"])
def test_real_states_and_attention_are_the_models_own(view, error, side):
    ids, real = batch(view, side)
    assert not real.all()
    passed = run(view, ids, real)
    with torch.no_grad():
        out = view.backbone(input_ids=ids, attention_mask=real.long(), output_hidden_states=True)
        for block in range(view.n_blocks):
            assert torch.equal(passed.states[block][real], out.hidden_states[block][real])
        final = passed.after[-1] if view.final_norm is None else view.final_norm(passed.after[-1])
        assert error(final[real], out.hidden_states[-1][real]) < 1e-5
        for call, output in zip(passed.calls, passed.outputs, strict=True):
            assert error(attention_output(view, call)[real], output[real]) < 1e-5


def test_the_contract_of_a_real_model_is_quick(view):
    assert quickest(lambda: check_contract(view)) < 0.5


def test_named_models_are_what_they_say():
    smollm2, minilm = load("smollm2"), load("minilm")
    assert (smollm2.n_blocks, smollm2.n_heads, smollm2.n_kv_heads, smollm2.d_model) == (30, 9, 3, 576)
    assert (minilm.n_blocks, minilm.n_heads, minilm.n_kv_heads, minilm.d_model) == (6, 12, 12, 384)
    assert (smollm2.max_length, minilm.max_length) == (8192, 512)
    assert smollm2.provenance["licence"] == "Apache-2.0"
    assert minilm.provenance["licence"] == "MIT"
    assert smollm2.W_U is not None
    assert minilm.W_U is None
    prompt = smollm2.tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        best = smollm2.model(**prompt).logits[0, -1].argmax()
    assert smollm2.tokenizer.decode(best) == " Paris"


def test_a_second_load_takes_less_than_a_second_and_a_half():
    load("smollm2")
    assert quickest(lambda: load("smollm2")) < 1.5


def test_a_named_wheel_with_another_hash_is_refused(cache):
    with pytest.raises(SourceError, match="serves another file"):
        resolve(NAMED["minilm"].source + "#sha256=" + "0" * 64)
