"""Readers of weights: per-head matrices that act from the left (x @ W), and norms, as plain tensors."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from einops import rearrange
from jaxtyping import Float
from torch import nn
from transformers.pytorch_utils import Conv1D

from armillary.errors import BrokenContract, RequestError
from armillary.models.families import Family


@dataclass(frozen=True, repr=False)
class Heads:
    """The weights of one block's attention; W_K and W_V stand once per query head, kv_head says which they share.

    Scores before mask and soft cap are scale · (x W_Q + b_Q)(y W_K + b_K)ᵀ, with the model's own q/k norm and rotation.
    `bilinear` is False where q and k are normalised: the scores are then not a bilinear form of the inputs.
    """

    W_Q: Float[torch.Tensor, "head d_model d_head"]
    W_K: Float[torch.Tensor, "head d_model d_head"]
    W_V: Float[torch.Tensor, "head d_model d_head"]
    W_O: Float[torch.Tensor, "head d_head d_model"]
    b_Q: Float[torch.Tensor, "head d_head"]
    b_K: Float[torch.Tensor, "head d_head"]
    b_V: Float[torch.Tensor, "head d_head"]
    b_O: Float[torch.Tensor, " d_model"]
    kv_head: tuple[int, ...]
    scale: float
    softcap: float | None
    bilinear: bool

    def __repr__(self) -> str:
        heads, d_model, d_head = self.W_Q.shape
        kv_heads = len(set(self.kv_head))
        return (
            f"Heads({heads} heads on {kv_heads} key heads, d_model {d_model}, d_head {d_head}, scale {self.scale:.4g})"
        )


@dataclass(frozen=True, repr=False)
class Norm:
    """A norm as numbers: layer, (x − mean)/√(variance + eps), or rms, x/√(mean square + eps); times gain, plus bias."""

    kind: Literal["layer", "rms"]
    gain: Float[torch.Tensor, " d_model"]
    bias: Float[torch.Tensor, " d_model"]
    eps: float

    def __repr__(self) -> str:
        return f"Norm({self.kind}, d_model {len(self.gain)}, eps {self.eps:g})"

    def __call__(self, x: Float[torch.Tensor, "*batch d_model"]) -> Float[torch.Tensor, "*batch d_model"]:
        """The norm of x, in the precision of x or float32, whichever is finer."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        if self.kind == "layer":
            wide = wide - wide.mean(-1, keepdim=True)
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * self.gain + self.bias).to(x.dtype)


def norm_of(module: nn.Module, family: Family, d_model: int) -> Norm:
    """The norm that a module applies, with its effective gain (gemma stores gain − 1)."""
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    some = weight if weight is not None else next(iter(module.parameters()), torch.zeros(()))
    gain = torch.ones(d_model, dtype=some.dtype, device=some.device) if weight is None else weight.detach()
    if family.gain_plus_one:
        gain = gain.float() + 1.0
    eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    if eps is None:
        raise RequestError(f"expected a norm with an eps, got {type(module).__name__}: please report this model")
    return Norm(
        kind="layer" if isinstance(module, nn.LayerNorm) else "rms",
        gain=gain,
        bias=torch.zeros_like(gain) if bias is None else bias.detach(),
        eps=float(eps),
    )


def heads_of(
    block: nn.Module, family: Family, n_heads: int, n_kv_heads: int, d_head: int, *, differentiable: bool = False
) -> Heads:
    """The per-head weights of a block; views of the model's own tensors, copies only where heads share keys.

    With `differentiable` what is made of them passes gradients to the model's parameters.
    """
    reader = separate if family.fused is None else fused
    (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = reader(block, family, n_heads, n_kv_heads)
    W_O, b_O = _matrix(block.get_submodule(family.output))
    shapes = [tuple(W.shape) for W in (W_Q, W_K, W_V, W_O)]
    if any(shape[-1] != d_head for shape in shapes[:3]) or shapes[3][0] != n_heads * d_head:
        raise BrokenContract(
            f"expected {n_heads} heads on {n_kv_heads} key heads of width {d_head} in {type(block).__name__}, "
            f"got W_Q, W_K, W_V, W_O of shapes {shapes}: the table of families does not fit, please report it"
        )
    kv_head = tuple(head * n_kv_heads // n_heads for head in range(n_heads))
    shared = list(kv_head)
    if n_kv_heads != n_heads:
        W_K, b_K, W_V, b_V = W_K[shared], b_K[shared], W_V[shared], b_V[shared]
    attention = block.get_submodule(family.attention)
    softcap = getattr(attention, family.softcap) if family.softcap else None
    heads = Heads(
        W_Q=W_Q,
        W_K=W_K,
        W_V=W_V,
        W_O=rearrange(W_O, "(head d_head) d_model -> head d_head d_model", head=n_heads),
        b_Q=b_Q,
        b_K=b_K,
        b_V=b_V,
        b_O=b_O,
        kv_head=kv_head,
        scale=float(getattr(attention, family.scale)),
        softcap=None if softcap is None else float(softcap),
        bilinear=submodule(block, family.query_norm) is None,
    )
    return heads if differentiable else detached(heads)


def detached(heads: Heads) -> Heads:
    """The same weights as plain numbers, from which no gradient reaches the model."""
    tensors = {each.name: getattr(heads, each.name) for each in fields(heads)}
    plain: Any = {name: tensor.detach() for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
    return replace(heads, **plain)


def matrices_of(block: nn.Module, family: Family, heads: Heads) -> dict[str, torch.Tensor]:
    """The whole matrices of a block by name, [in, out]: those of the attention over all heads, then the MLP's."""
    own = [heads.kv_head.index(kv_head) for kv_head in dict.fromkeys(heads.kv_head)]
    columns = "head d_model d_head -> d_model (head d_head)"
    return {
        "query": rearrange(heads.W_Q, columns),
        "key": rearrange(heads.W_K[own], columns),
        "value": rearrange(heads.W_V[own], columns),
        "output": rearrange(heads.W_O, "head d_head d_model -> (head d_head) d_model"),
        **{f"mlp_{part}": _matrix(block.get_submodule(path))[0].detach() for part, path in family.mlp.items()},
    }


_Projection = tuple[torch.Tensor, torch.Tensor]


def separate(block: nn.Module, family: Family, n_heads: int, n_kv_heads: int) -> tuple[_Projection, ...]:
    """Weights [head d_model d_head] and biases [head d_head] of three projections, one matrix each."""
    read = []
    for path, count in ((family.query, n_heads), (family.key, n_kv_heads), (family.value, n_kv_heads)):
        weight, bias = _matrix(block.get_submodule(path))
        read.append(
            (
                rearrange(weight, "d_model (head d_head) -> head d_model d_head", head=count),
                rearrange(bias, "(head d_head) -> head d_head", head=count),
            )
        )
    return tuple(read)


def fused(block: nn.Module, family: Family, n_heads: int, n_kv_heads: int) -> tuple[_Projection, ...]:
    """The same of one matrix that holds q, k and v: stacked, or interleaved head by head."""
    if n_kv_heads != n_heads:
        raise RequestError(f"expected {n_heads} key heads in a fused matrix, got {n_kv_heads}: please report it")
    weight, bias = _matrix(block.get_submodule(family.query))
    columns = fused_columns(family)
    weights = rearrange(weight, f"d_model {columns} -> three head d_model d_head", three=3, head=n_heads)
    biases = rearrange(bias, f"{columns} -> three head d_head", three=3, head=n_heads)
    return tuple(zip(weights, biases, strict=True))


def fused_columns(family: Family) -> str:
    """How the columns of the fused matrix, and so the values it gives, fall apart."""
    return "(three head d_head)" if family.fused == "stacked" else "(head three d_head)"


def submodule(module: nn.Module, path: str | None) -> nn.Module | None:
    """The module at `path`, or None where there is none: some parts of a family depend on its config."""
    if path is None:
        return None
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return None
    return found


def _matrix(module: Any) -> _Projection:
    """Weight [in, out] and bias [out] with their gradients; a missing bias is zero, a quantised weight is unpacked."""
    packed = type(getattr(module, "weight", None)).__name__ in ("Params4bit", "Int8Params")  # of bitsandbytes
    plain = _dequantised(module) if packed else None
    if plain is None and (not isinstance(module, nn.Linear | Conv1D) or not module.weight.is_floating_point()):
        raise RequestError(
            f"expected a plain Linear or Conv1D to read weights from, got {type(module).__name__}: "
            "load the model without quantisation or adapters"
        )
    stored = module.weight if plain is None else plain
    weight = stored if isinstance(module, Conv1D) else stored.T
    bias = module.bias
    return weight, weight.new_zeros(weight.shape[1]) if bias is None else bias


def _dequantised(module: Any) -> torch.Tensor:
    """The weight of a bitsandbytes layer as plain numbers [out, in], float32; of this one matrix only."""
    weight = module.weight
    if type(weight).__name__ == "Params4bit":
        try:
            from bitsandbytes.functional import dequantize_4bit
        except ImportError as error:
            raise RequestError(
                "expected bitsandbytes to unpack 4-bit weights, got none: pip install bitsandbytes, or load the model "
                "without quantisation"
            ) from error
        return dequantize_4bit(weight.data, weight.quant_state).float()
    sizes = module.state.SCB if weight.SCB is None else weight.SCB  # a first pass moves them into the layer's state
    return weight.data.float() * (sizes.float() / 127)[:, None]
