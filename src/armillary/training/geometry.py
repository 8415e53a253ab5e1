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


class LayerGeometry(NamedTuple):
    """Of the states of a layer: positional basis, norm, similarity of tokens."""

    rank_stable: float
    low_frequency_share: float
    norm: float
    similarity: float
    collapse: float


def geometry(model: Any, tokens: Tokens) -> xr.Dataset:
    """The geometry of a model on these windows: what `GeometryCallback` measures, once, for a loop of one's own.

    `model` is a transformers model of the families table, or a View; `tokens` are windows of equal length, three
    tokens long at least, several of them. One pass without gradients; the model's mode is as it was afterwards. W_QK
    has the scale of the scores. Position 0 is left out of everything but attention. Everything is plug-in: compare one
    step with another, not with a survey.
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
