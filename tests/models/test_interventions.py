"""Interventions do what they say and leave nothing behind: weights and outputs are the same bits afterwards."""

import itertools

import pytest
import torch

import armillary as arm
from armillary.errors import RequestError
from armillary.models.attention import attention_calls, products, scores
from armillary.models.interventions import Change, changed
from armillary.models.sources.twins import twin_of_model

IDS = torch.arange(3, 14)[None]
NORMED = {"qwen3", "gemma3_text", "gemma3", "phi-normed", "olmo2"}
SHARED = {"albert", "albert-groups"}


def calls_of(view):
    calls = []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.backbone(input_ids=IDS)
    return calls


def output_of(view):
    with torch.no_grad():
        return view.backbone(input_ids=IDS).last_hidden_state


def weights_of(view):
    return {name: (weight, weight.data_ptr(), weight.clone()) for name, weight in view.model.named_parameters()}


def assert_untouched(view, before, output):
    for name, weight in view.model.named_parameters():
        same, place, bits = before[name]
        assert weight is same
        assert weight.data_ptr() == place
        assert torch.equal(weight, bits), name
    assert torch.equal(output_of(view), output)


@pytest.fixture
def llama(tiny):
    return arm.load(tiny("llama"))


@pytest.fixture
def view(tiny, name):
    return arm.load(tiny(name), check=False)


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_scores_of_a_fixed_input_go_with_the_square_of_alpha(view, name, alpha):
    """The input of block 1 is fixed while block 1 alone is scaled; what shares weights is looked at in block 0."""
    block = None if name in SHARED else 1
    if name in NORMED:
        with pytest.warns(UserWarning, match="cancels"), arm.scaled(view, alpha, block) as record:
            assert record.factor == 1
        return
    at = block or 0
    before = products(calls_of(view)[at])
    with arm.scaled(view, alpha, block) as record:
        after = products(calls_of(view)[at])
    assert record.factor == alpha**2
    assert ((after - alpha**2 * before).abs().max() / before.abs().max() / alpha**2) < 1e-5


def test_the_entropy_of_every_row_falls_as_alpha_rises(llama):
    entropies = []
    for alpha in (0.25, 0.5, 1.0, 2.0):
        with arm.scaled(llama, alpha, 1):
            pattern = torch.softmax(scores(calls_of(llama)[1]).double(), -1)
            entropies.append(torch.special.entr(pattern).sum(-1)[..., 1:])
    for wide, narrow in itertools.pairwise(entropies):
        assert (narrow < wide).all()


def test_normalised_queries_and_keys_do_not_feel_alpha(tiny):
    view = arm.load(tiny("qwen3"))
    before = products(calls_of(view)[0])
    with pytest.warns(UserWarning, match="cancels"), arm.scaled(view, 4.0, 0):
        after = products(calls_of(view)[0])
    assert ((after - before).abs().max() / before.abs().max()) < 1e-3


def test_published_scaling_leaves_the_biases_and_so_is_no_power_of_alpha(llama):
    before = products(calls_of(llama)[1])
    with (
        pytest.warns(UserWarning, match="query and key biases are not scaled"),
        arm.scaled(llama, 2.0, 1, published=True) as record,
    ):
        after = products(calls_of(llama)[1])
    assert record.factor != record.factor
    assert ((after - 4 * before).abs().max() / before.abs().max()) > 0.01


def test_published_scaling_is_the_same_where_there_are_no_biases(tiny):
    view = arm.load(tiny("llama-wide-heads"))
    with arm.scaled(view, 2.0):
        ours = output_of(view)
    with arm.scaled(view, 2.0, published=True) as record:
        assert record.factor == 4
        assert torch.equal(output_of(view), ours)


@pytest.mark.filterwarnings("ignore:queries and keys of")
def test_after_any_intervention_the_model_is_the_same_bits(view, name):
    before, output = weights_of(view), output_of(view)
    block = None if name in SHARED else 1
    changes = [lambda: arm.scaled(view, 0.3, block), lambda: arm.scaled(view, 2.0), lambda: arm.randomised(view, 5)]
    if block is not None:
        changes.append(lambda: arm.without_head(view, 1, 3))
    for change in changes:
        with change():
            inside = output_of(view)
        assert not torch.equal(inside, output)
        assert_untouched(view, before, output)
        with pytest.raises(KeyError), change():
            raise KeyError("inside")
        assert_untouched(view, before, output)


def test_random_weights_are_those_of_the_control(llama):
    with arm.randomised(llama, 3):
        inside = output_of(llama)
    with torch.no_grad():
        twin = twin_of_model(llama.model, 3).eval().base_model(input_ids=IDS).last_hidden_state
    assert torch.equal(inside, twin)


def test_tied_weights_stay_tied(llama, tiny):
    view = arm.load(tiny("gpt2"))
    assert view.model.lm_head.weight is view.model.transformer.wte.weight
    with arm.randomised(view):
        assert view.model.lm_head.weight is view.model.transformer.wte.weight


def test_a_silenced_head_adds_nothing_and_the_others_what_they_did(view, name):
    if name in SHARED:
        with pytest.raises(RequestError, match="share them"), arm.without_head(view, 1, 0):
            pass
        return
    outputs = []
    hook = view.outputs[1].register_forward_hook(lambda module, args, output: outputs.append((args[0], output)))
    output_of(view)
    with arm.without_head(view, 1, 2):
        output_of(view)
    hook.remove()
    (mixed, whole), (_, rest) = outputs
    heads = view.heads(1)
    own = mixed[..., 2 * view.d_head : 3 * view.d_head] @ heads.W_O[2]
    assert ((whole - rest - own).abs().max() / whole.abs().max()) < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda view: arm.scaled(view, 2.0, 9), "expected a block from 0 to 2, got 9"),
        (lambda view: arm.scaled(view, float("nan")), "expected a finite alpha, got nan: choose another"),
        (lambda view: arm.without_head(view, 0, 4), "expected a head from 0 to 3, got 4"),
        (lambda view: arm.without_head(view, -1, 0), "expected a block from 0 to 2, got -1"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(llama, change, message):
    with pytest.raises(RequestError, match=message), change(llama):
        pass


def test_alpha_and_a_silenced_head_are_one_change_and_both_are_undone(llama):
    before, output = weights_of(llama), output_of(llama)
    with arm.scaled(llama, 2.0, 1), arm.without_head(llama, 0, 1):
        expected = output_of(llama)
    with changed(llama, Change(2.0, 1, (0, 1))) as note:
        assert note == ""
        assert torch.equal(output_of(llama), expected)
    assert_untouched(llama, before, output)


def test_what_alpha_cannot_change_is_noted_and_not_warned_of(tiny):
    with changed(arm.load(tiny("qwen3")), Change(2.0)) as note:
        assert "cancels" in note
    assert Change().nothing
    assert not Change(without=(0, 0)).nothing
