"""LocAteR: the penalty is what its formula says, and its gradients are the corrected closed forms."""

import pytest
import torch
import transformers

import armillary
from armillary.errors import RequestError
from armillary.models.families import FAMILIES
from armillary.training.locater import locater_penalty, refuse_kappa
from families import TINY, tiny_model


def trained(name):
    model = tiny_model(name).double()
    return model.requires_grad_(True)


def value(model, kappa_scale, kappa_trace):
    return locater_penalty(model, kappa_scale, kappa_trace).item()


def dense(view, kappa_scale, kappa_trace):
    """The penalty by its formula, from whole d_model × d_model matrices."""
    total = 0.0
    for block in range(view.n_blocks):
        heads = view.heads(block)
        W = heads.W_Q @ heads.W_K.mT
        trace = W.diagonal(dim1=-2, dim2=-1).sum(-1)
        total += float(kappa_scale * (W * W).sum() + kappa_trace * ((trace - 1) ** 2).sum())
    return total


@pytest.mark.parametrize("name", sorted(TINY))
def test_the_penalty_is_that_of_whole_matrices_for_every_family(name):
    model = trained(name)
    view = armillary.load(model, check=False)
    assert value(model, 0.3, 2.0) == pytest.approx(dense(view, 0.3, 2.0), rel=1e-10)
    assert value(view, 0.3, 2.0) == pytest.approx(dense(view, 0.3, 2.0), rel=1e-10)


@pytest.mark.parametrize("name", ["gpt2", "bloom", "gpt_neox", "llama", "qwen3", "opt-post-norm", "albert", "gemma3"])
def test_gradients_are_finite_differences(name):
    """Fused and interleaved matrices, grouped queries, one module for many blocks: the right entries are reached."""
    model = trained(name)
    locater_penalty(model, 0.3, 2.0).backward()
    generator = torch.Generator().manual_seed(1)
    touched = [weight for weight in model.parameters() if weight.grad is not None and weight.grad.abs().max() > 0]
    assert touched
    for weight in touched[:4]:
        direction = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        direction /= direction.norm()
        step, values = 1e-5, []
        for sign in (1, -1):
            with torch.no_grad():
                weight.add_(sign * step * direction)
                values.append(value(model, 0.3, 2.0))
                weight.sub_(sign * step * direction)
        numeric = (values[0] - values[1]) / (2 * step)
        assert float((weight.grad * direction).sum()) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt_neox"])
def test_gradients_are_the_corrected_closed_forms(name):
    """2 W_Q W_KᵀW_K and 2 (tr − 1) W_K, and for keys the same with Q and K exchanged, added up where heads share."""
    model = trained(name)
    view = armillary.load(model, check=False)
    kappa_scale, kappa_trace = 0.7, 1.3
    locater_penalty(model, kappa_scale, kappa_trace).backward()
    heads = view.heads(1)
    trace = (heads.W_Q * heads.W_K).sum((-2, -1))[:, None, None]
    query = 2 * kappa_scale * heads.W_Q @ (heads.W_K.mT @ heads.W_K) + 2 * kappa_trace * (trace - 1) * heads.W_K
    key = 2 * kappa_scale * heads.W_K @ (heads.W_Q.mT @ heads.W_Q) + 2 * kappa_trace * (trace - 1) * heads.W_Q
    shared = torch.zeros(view.n_kv_heads, *key.shape[1:], dtype=key.dtype)
    shared.index_add_(0, torch.tensor(heads.kv_head), key)

    # The gradient of a matrix is read head by head as the matrix itself is.
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.grad if weight.grad is not None else torch.zeros_like(weight))
    found = view.heads(1)
    first = [heads.kv_head.index(kv_head) for kv_head in range(view.n_kv_heads)]
    torch.testing.assert_close(found.W_Q, query, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(found.W_K[first], shared, rtol=1e-8, atol=1e-8)


def test_descent_on_the_trace_reaches_one_from_below_zero():
    """The published gradient, off by tr/2, runs away from a negative trace; the corrected one does not."""
    model = trained("llama")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "q_proj.weight" in name or "k_proj.weight" in name:
                weight.mul_(0.1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(80):
        optimizer.zero_grad()
        penalty = locater_penalty(model, 0.0, 1.0)
        penalty.backward()
        optimizer.step()
    assert penalty.item() < 1e-6


def test_reading_weights_otherwise_leaves_no_gradient():
    view = armillary.load(trained("gpt2"), check=False)
    assert not view.heads(0).W_Q.requires_grad
    assert not view.matrices(0)["mlp_in"].requires_grad
    assert view.heads(0, differentiable=True).W_Q.requires_grad


def test_a_wrapped_model_is_unwrapped():
    model = trained("gpt2")
    wrapped = torch.nn.Module()
    wrapped.module = model
    assert value(wrapped, 1.0, 1.0) == value(model, 1.0, 1.0)


@pytest.mark.parametrize("kappa", [-1, -1e-9, float("nan"), float("inf")])
def test_a_strength_that_is_no_number_of_at_least_zero_is_refused(kappa):
    with pytest.raises(RequestError) as caught:
        locater_penalty(tiny_model("gpt2"), kappa_trace=kappa)
    assert str(caught.value) == (
        f"expected kappa_trace as a finite number of at least 0, got {kappa!r}: choose another"
    )


@pytest.mark.parametrize("kappa", ["1", None, True])
def test_a_strength_that_is_no_number_is_refused(kappa):
    with pytest.raises(RequestError, match="expected kappa_scale as a finite number of at least 0, got "):
        refuse_kappa("kappa_scale", kappa)


def test_a_model_outside_the_table_is_refused():
    config = transformers.GPTNeoConfig(
        vocab_size=11, hidden_size=8, num_layers=1, num_heads=2, attention_types=[[["global"], 1]]
    )
    assert config.model_type not in FAMILIES
    model = transformers.GPTNeoForCausalLM(config)
    with pytest.raises(RequestError, match="expected a known family for what is trained, got 'gpt_neo'"):
        locater_penalty(model, 1.0, 1.0)
    with pytest.raises(RequestError, match="expected a transformers model, got Linear: give a PreTrainedModel"):
        locater_penalty(torch.nn.Linear(2, 2), 1.0)
