"""LocAteR of Bao, Hataya and Karakida (2024): a penalty on the eigenspectrum of every head's W_QK, differentiable."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import nn

from armillary.errors import Number, RequestError
from armillary.models.families import family_of
from armillary.models.view import View

PerHead = Float[torch.Tensor, "head"]


def locater_penalty(
    model: nn.Module | View, kappa_scale: Number = 0.0, kappa_trace: Number = 0.0
) -> Float[torch.Tensor, ""]:
    """κ₁ tr(W_QKᵀ W_QK) + κ₂ (tr W_QK − 1)², summed over all heads of all blocks; a scalar to add to a loss.

    W_QK = W_Q W_Kᵀ as in the document: without the scale of the scores, biases and rotation. κ₁ is `kappa_scale`, κ₂
    `kappa_trace`. Only matrices of d_head × d_head are formed. Any transformers model of the families table will do, or
    a View; keys that several heads share count with each of them, and a module that runs as several blocks with each.
    """
    for name, kappa in (("kappa_scale", kappa_scale), ("kappa_trace", kappa_trace)):
        refuse_kappa(name, kappa)
    view = trained_view(model)
    total = torch.zeros((), device=view.device, dtype=view.dtype)
    for block in range(view.n_blocks):
        heads = view.heads(block, differentiable=True)
        if kappa_scale:
            total = total + kappa_scale * squared_norms(heads.W_Q, heads.W_K).sum().to(total)
        if kappa_trace:
            total = total + kappa_trace * (traces(heads.W_Q, heads.W_K) - 1).square().sum().to(total)
    return total


def squared_norms(
    W_Q: Float[torch.Tensor, "head d_model d_head"], W_K: Float[torch.Tensor, "head d_model d_head"]
) -> PerHead:
    """tr(W_QKᵀ W_QK) = tr(W_QᵀW_Q W_KᵀW_K) of every head."""
    return ((W_Q.mT @ W_Q) * (W_K.mT @ W_K)).sum((-2, -1))


def traces(W_Q: Float[torch.Tensor, "head d_model d_head"], W_K: Float[torch.Tensor, "head d_model d_head"]) -> PerHead:
    """tr W_QK = Σ W_Q ∘ W_K of every head."""
    return (W_Q * W_K).sum((-2, -1))


def trained_view(model: Any) -> View:
    """A View of a model that is being trained, itself or wrapped for several devices; RequestError outside the table.

    Nothing is checked, moved or put into another mode: this is called at every step.
    """
    if isinstance(model, View):
        model.known_family("the LocAteR penalty")
        return model
    while isinstance(getattr(model, "module", None), nn.Module):
        model = model.module
    if not hasattr(model, "base_model") or not hasattr(model, "config"):
        raise RequestError(f"expected a transformers model, got {type(model).__name__}: give a PreTrainedModel")
    view = View(type(model).__name__, model, None, family_of(model.config), {})
    view.known_family("what is trained")
    return view


def refuse_kappa(name: str, kappa: Any) -> None:
    """Refuse a strength that is negative, infinite or no number."""
    number = isinstance(kappa, int | float) and not isinstance(kappa, bool)
    if not number or not math.isfinite(kappa) or kappa < 0:
        raise RequestError(f"expected {name} as a finite number of at least 0, got {kappa!r}: choose another")
