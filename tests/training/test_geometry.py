"""Geometry on fixed windows: what the measures give on the model's own weights, maps and states."""

import numpy as np
import pytest
import torch

import armillary
from armillary.errors import RequestError
from armillary.measures.localization.law import measured_shares
from armillary.measures.smoothness import gram, low_frequency_share
from armillary.training.geometry import geometry
from families import tiny_model

TOKENS = torch.randint(2, 67, (6, 12), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", params=["gpt2", "llama", "opt-post-norm"])
def model(request):
    return tiny_model(request.param)


@pytest.fixture(scope="module")
def found(model):
    return geometry(model, TOKENS)


def test_spectra_are_those_of_whole_matrices(model, found):
    view = armillary.load(model, check=False)
    for block in range(view.n_blocks):
        heads = view.heads(block)
        W = (heads.scale * heads.W_Q @ heads.W_K.mT).double().numpy()
        eigenvalues = np.linalg.eigvals(W)
        np.testing.assert_allclose(found.eigenvalue_mean_qk[block], eigenvalues.mean(-1).real, atol=1e-6)
        variance = (eigenvalues**2).mean(-1) - eigenvalues.mean(-1) ** 2
        np.testing.assert_allclose(found.eigenvalue_variance_qk[block], variance.real, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.frobenius_qk[block], np.linalg.norm(W, axis=(1, 2)), rtol=1e-5)
        np.testing.assert_allclose(found.trace_qk[block], np.trace(W, axis1=1, axis2=2), rtol=1e-4, atol=1e-5)


def test_entropy_and_rho_are_those_of_the_models_own_attention(model, found):
    config, before = model.config, model.config._attn_implementation
    config._attn_implementation = "eager"
    maps = model(input_ids=TOKENS, output_attentions=True).attentions
    config._attn_implementation = before
    for block, pattern in enumerate(maps):
        p = pattern.double().numpy()[:, :, 1:]
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(-1).mean((0, 2))
        np.testing.assert_allclose(found.entropy[block], entropy, rtol=1e-4, atol=1e-6)
        # Scores up to a constant are the logarithms of the last row, and ρ does not see the constant.
        for head in range(p.shape[1]):
            expected = measured_shares(np.log(pattern[:, head, -1].double().numpy())).rho
            np.testing.assert_allclose(found.rho[block, head], expected, atol=1e-9)


def test_layers_are_described_by_their_states(model, found):
    states = [
        state.double().numpy()[:, 1:] for state in model(input_ids=TOKENS, output_hidden_states=True).hidden_states
    ]
    for layer, state in enumerate(states[:-1]):  # the last passes the final norm where there is one
        assert float(found.norm[layer]) == pytest.approx(np.linalg.norm(state, axis=-1).mean(), rel=1e-5)
        basis = state.mean(0) - state.mean((0, 1))
        spectrum = np.linalg.svd(basis, compute_uv=False)
        assert float(found.rank_stable[layer]) == pytest.approx(np.sum(spectrum**2) / spectrum[0] ** 2, rel=1e-4)
        assert float(found.low_frequency_share[layer]) == pytest.approx(low_frequency_share(gram(basis))[10], rel=1e-3)
        unit = state / np.linalg.norm(state, axis=-1, keepdims=True)
        cosines = np.einsum("ctd,csd->cts", unit, unit)
        off = ~np.eye(cosines.shape[1], dtype=bool)
        assert float(found.similarity[layer]) == pytest.approx(cosines[:, off].mean(), abs=1e-5)


def test_the_qk_gradient_is_what_differentiation_gives(model):
    """The document's loss on the model's own attention inputs, its softmax clipped, differentiated in a whole W_QK."""
    found, view, inputs = geometry(model, TOKENS, gradient=True), armillary.load(model, check=False), []
    hooks = [
        module.register_forward_pre_hook(
            lambda _, args, kwargs: inputs.append((*args, *kwargs.values())[0].double()), with_kwargs=True
        )
        for module in view.attentions
    ]
    model(input_ids=TOKENS)
    for hook in hooks:
        hook.remove()
    for block, tokens in enumerate(inputs):
        heads, matrices = view.heads(block), view.matrices(block)
        fed = torch.eye(view.d_model, dtype=torch.float64)
        if "mlp_gate" not in matrices:
            fed = fed + (matrices["mlp_in"].double() @ matrices["mlp_out"].double())
        states, last, target = tokens[:, :-1], tokens[:, -2], tokens[:, -1]
        for head in range(view.n_heads):
            W = (heads.W_Q[head] @ heads.W_K[head].T).double().requires_grad_(True)
            scores = heads.scale * torch.einsum("cd,de,cte->ct", last, W, states)
            shares = ((1 + scores - scores.mean(-1, keepdim=True)) / scores.shape[-1]).clamp(0, 1)
            mixed = torch.einsum("ct,ctd->cd", shares, states) @ (heads.W_V[head] @ heads.W_O[head]).double()
            loss = 0.5 * (target - (mixed + last) @ fed).square().sum(-1).mean()
            (slope,) = torch.autograd.grad(loss, W)
            assert float(found.gradient_qk[block, head]) == pytest.approx(float(slope.norm()), rel=1e-6)
    assert {f"gradient_{term}" for term in ("first", "second", "third")} <= set(found.data_vars)
    assert "gradient_qk" not in geometry(model, TOKENS)


def test_a_model_in_training_stays_in_training_and_draws_no_random_number():
    model = tiny_model("gpt2").train()
    before = torch.get_rng_state()
    one, other = geometry(model, TOKENS), geometry(model, TOKENS.numpy())
    assert model.training
    assert torch.equal(before, torch.get_rng_state())
    assert one.identical(other)


def test_windows_that_say_nothing_are_refused():
    with pytest.raises(RequestError, match=r"expected at least 2 windows of at least 3 tokens, got an array of shape "):
        geometry(tiny_model("gpt2"), TOKENS[:1])
