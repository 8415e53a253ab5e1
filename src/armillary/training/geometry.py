"""The geometry of a model on a few fixed windows, cheap enough to be looked at while it trains."""

from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int

from armillary.attention.mixing import collapse, similarity
from armillary.attention.pattern_sums import SCALARS, pattern_sums, signals
from armillary.attention.patterns import rows
from armillary.errors import RequestError
from armillary.measures.decomposition import decomposition
from armillary.measures.localization.gradient import gradient_norms
from armillary.measures.localization.walk import traces, xi_eta
from armillary.measures.position import singular_values, stable_rank
from armillary.measures.smoothness import basis_share
from armillary.measures.spectra.products import eigenvalue_moments
from armillary.models.attention import AttentionCall, attention_calls
from armillary.models.states import reading
from armillary.models.view import View
from armillary.results.measuring import described
from armillary.results.schema.training import LOW, OF_HEADS, OF_LAYERS
from armillary.training.locater import trained_view

Tokens = Int[torch.Tensor, "context position"] | Int[np.ndarray, "context position"]


class HeadGeometry(NamedTuple):
    """Of every head of a block: traces and eigenvalues of W_QK, ξ, η, entropy, and ρ at every key."""

    trace_qk: Float[np.ndarray, " head"]
    frobenius_qk: Float[np.ndarray, " head"]
    eigenvalue_mean_qk: Float[np.ndarray, " head"]
    eigenvalue_variance_qk: Float[np.ndarray, " head"]
    xi: Float[np.ndarray, " head"]
    eta: Float[np.ndarray, " head"]
    entropy: Float[np.ndarray, " head"]
    entropy_relative: Float[np.ndarray, " head"]
    signal_propagation: Float[np.ndarray, " head"]
    rho: Float[np.ndarray, "head key"]


class HeadGradient(NamedTuple):
    """Of every head of a block: norms of the QK gradient (3) of Bao et al. and of its three terms."""

    gradient_qk: Float[np.ndarray, " head"]
    gradient_first: Float[np.ndarray, " head"]
    gradient_second: Float[np.ndarray, " head"]
    gradient_third: Float[np.ndarray, " head"]


class LayerGeometry(NamedTuple):
    """Of the states of a layer: positional basis, norm, similarity of tokens."""

    rank_stable: float
    low_frequency_share: float
    norm: float
    similarity: float
    collapse: float


def geometry(model: Any, tokens: Tokens, *, gradient: bool = False) -> xr.Dataset:
    """The geometry of a model on these windows: what `GeometryCallback` measures, once, for a loop of one's own.

    `model` is a transformers model of the families table, or a View; `tokens` are windows of equal length, three
    tokens long at least, several of them. One pass without gradients; the model's mode is as it was afterwards. W_QK
    has the scale of the scores. Position 0 is left out of everything but attention. Everything is plug-in: compare one
    step with another, not with a survey. With `gradient` also the QK gradient (3) of Bao et al. and its three terms.
    """
    view, windows = trained_view(model), torch.as_tensor(tokens)
    if windows.ndim != 2 or windows.shape[0] < 2 or windows.shape[1] < 3:
        raise RequestError(
            f"expected at least 2 windows of at least 3 tokens, got an array of shape {tuple(windows.shape)}: "
            "give token ids [context, position]"
        )
    calls, states = passed(view, windows)
    heads = [head_geometry(view, block, call) for block, call in enumerate(calls)]
    layers = [layer_geometry(state[:, 1:]) for state in states]
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name in HeadGeometry._fields:
        axes = ("block", "head", "key") if name == "rho" else ("block", "head")
        found[name] = (axes, np.stack([getattr(block, name) for block in heads]))
    if gradient:
        terms = [head_gradient(view, block, call) for block, call in enumerate(calls)]
        found |= {
            name: (("block", "head"), np.stack([getattr(block, name) for block in terms]))
            for name in HeadGradient._fields
        }
    for name in LayerGeometry._fields:
        found[name] = (("layer",), np.array([getattr(layer, name) for layer in layers]))
    return described(OF_HEADS, described(OF_LAYERS, xr.Dataset(found)))


def passed(view: View, windows: torch.Tensor) -> tuple[list[AttentionCall], list[torch.Tensor]]:
    """The attention calls and the states of one pass in evaluation mode."""
    training, calls = view.model.training, list[AttentionCall]()
    view.model.eval()
    try:
        with reading(view, attention=False) as read, attention_calls(view, calls.append):
            view.run(windows)
        states, _ = read.take(view.n_blocks)
    finally:
        view.model.train(training)
    return calls, states


def head_geometry(view: View, block: int, call: AttentionCall) -> HeadGeometry:
    """What the weights and the attention of a block's heads say."""
    heads = view.heads(block)
    query, key = (W.double().cpu() for W in (heads.W_Q * heads.scale, heads.W_K))
    grams = [(one.mT @ other).numpy() for one, other in ((query, query), (key, key), (key, query))]
    trace, trace_square, energy = traces(*grams)
    xi, eta = xi_eta(trace, trace_square)
    mean, variance = eigenvalue_moments(trace, trace_square, view.d_model)
    scalars = dict(zip(SCALARS, pattern_sums(call).scalars.mean(0).T.cpu().numpy(), strict=True))
    length = call.query.shape[2]
    (last,) = rows(call, range(length - 1, length))
    return HeadGeometry(
        trace_qk=trace,
        frobenius_qk=np.sqrt(energy),
        eigenvalue_mean_qk=mean,
        eigenvalue_variance_qk=variance,
        xi=xi,
        eta=eta,
        entropy=scalars["entropy"],
        entropy_relative=scalars["entropy_relative"],
        signal_propagation=scalars["signal_propagation"],
        rho=signals(last).double().nanmean(0).cpu().numpy(),
    )


def head_gradient(view: View, block: int, call: AttentionCall) -> HeadGradient:
    """The QK gradient (3) of each head by itself: attention inputs are the tokens, the last of a window the target.

    W_V is the head's W_V W_O and W_F = I + W_in W_out; I alone where the MLP is gated, which has no linear part.
    """
    heads, matrices = view.heads(block), view.matrices(block)
    tokens = call.input.double().cpu()
    states, target = tokens[:, :-1], tokens[:, -1]

    def fed(x: torch.Tensor) -> torch.Tensor:
        if "mlp_gate" in matrices:
            return x
        return x + x @ matrices["mlp_in"].double().cpu() @ matrices["mlp_out"].double().cpu()

    missed, found = fed(states[:, -1]) - target, []
    for head in range(view.n_heads):
        W_Q, W_K, W_V, W_O = (W[head].double().cpu() for W in (heads.W_Q, heads.W_K, heads.W_V, heads.W_O))
        query = heads.scale * states[:, -1] @ W_Q @ W_K.mT
        scores, moved = (states @ query[:, :, None])[..., 0], fed(states @ W_V @ W_O)
        x, omega, z, short = (part.numpy() for part in (states, scores, moved, missed))
        found.append(gradient_norms(x, omega, z, short, temperature=1 / heads.scale))
    return HeadGradient(*(np.array(column) for column in zip(*found, strict=True)))


def layer_geometry(state: Float[torch.Tensor, "context position d_model"]) -> LayerGeometry:
    """What the states of a layer say, on the windows as they are."""
    wide = state.float()
    norms, kept = torch.linalg.vector_norm(wide, dim=-1), torch.ones(wide.shape[:2], dtype=torch.bool)
    basis = decomposition(wide.double().cpu().numpy()).position_basis
    return LayerGeometry(
        rank_stable=stable_rank(singular_values(basis)),
        low_frequency_share=float(basis_share(basis)[LOW]),
        norm=float(norms.mean()),
        similarity=float(similarity(wide, norms, kept.to(norms.device)).mean()),
        collapse=float(collapse(wide, kept.to(norms.device)).mean()),
    )
