"""A model as the rest of the project sees it: states, attentions, per-head weights; the model itself runs untouched."""

import html
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from armillary.errors import RequestError, refuse_outside
from armillary.models.families import Family, NormSite, PositionKind
from armillary.models.weights import Heads, Norm, heads_of, matrices_of, norm_of, submodule

Inputs = Int[torch.Tensor, "batch position"] | Int[np.ndarray, "batch position"] | Mapping[str, Any]
"""What a model is given: token ids, or its inputs by name."""


@dataclass(frozen=True, repr=False, eq=False)
class View:
    """A loaded transformer. State ℓ is what block ℓ receives; state n what the last block gives, before the final norm.

    Forward pre-hooks on `blocks` and `attentions` read states and attention inputs. Blocks are counted by call: a model
    that runs one module n times repeats it here, so a hook must count its calls. `recipe` are the arguments of `load`
    by which another process gets the same model; None where it was given as it is.
    """

    name: str
    model: Any
    tokenizer: Any
    family: Family | None
    provenance: dict[str, str]
    recipe: dict[str, Any] | None = None

    @cached_property
    def backbone(self) -> Any:
        """The model without its head."""
        body = self.model.base_model
        inner = submodule(body, self.family.text_model) if self.family else None
        return body if inner is None else inner

    @torch.inference_mode()
    def run(self, inputs: Inputs, *, head: bool = False, **options: Any) -> Any:
        """One forward pass, the only call of the model: of the backbone, or with `head` of the whole model.

        `inputs` are token ids, or whatever the model takes, by name; they are moved to its device. Options go to the
        model's own forward; nothing is cached from token to token unless `use_cache` asks for it.
        """
        given = inputs if isinstance(inputs, Mapping) else {"input_ids": inputs}
        placed = {name: torch.as_tensor(value).to(self.device) for name, value in given.items()}
        model = self.model if head else self.backbone
        return model(**placed, **({"use_cache": False} | options))

    @property
    def config(self) -> Any:
        """The config of the backbone."""
        return self.backbone.config

    @property
    def n_blocks(self) -> int:
        """How many blocks run in one pass."""
        return int(self.config.num_hidden_layers)

    @property
    def d_model(self) -> int:
        """The width of the residual stream."""
        return int(self.config.hidden_size)

    @property
    def n_heads(self) -> int:
        """Query heads per block."""
        heads = getattr(self.config, "num_attention_heads", None)
        if heads is None:
            raise RequestError(
                f"expected a model with attention heads, got {self.config.model_type!r}: survey its hidden states only"
            )
        return int(heads)

    @property
    def n_kv_heads(self) -> int:
        """Key and value heads per block; fewer than n_heads under grouped-query attention."""
        return int(getattr(self.config, "num_key_value_heads", None) or self.n_heads)

    @property
    def d_head(self) -> int:
        """The width of a head, from the config where it says so."""
        return int(getattr(self.config, "head_dim", None) or self.d_model // self.n_heads)

    @property
    def device(self) -> torch.device:
        """Where token ids go: the device of the embedding."""
        return self.backbone.get_input_embeddings().weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights."""
        return self.model.dtype

    @property
    def position(self) -> PositionKind | None:
        """How the model knows positions; None for an unknown family."""
        return self.family.position if self.family else None

    @cached_property
    def max_length(self) -> int | None:
        """The longest window the model can take, or None where nothing bounds it."""
        if self.family is not None and self.family.position_embeddings is not None:
            table = self.backbone.get_submodule(self.family.position_embeddings)
            # Tables with a padding row count real positions from the row after it; others say how far they shift.
            skipped = table.padding_idx + 1 if table.padding_idx is not None else getattr(table, "offset", 0)
            return int(table.num_embeddings - skipped)
        if self.family is not None and self.family.position != "rope":
            return None
        longest = getattr(self.config, "max_position_embeddings", None)
        return int(longest) if longest is not None and longest > 0 else None

    @cached_property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The blocks in the order of their calls, n_blocks of them."""
        if self.family is None:
            modules = _equal_modules(self.backbone, self.n_blocks)
        else:
            modules = list(self.backbone.get_submodule(self.family.blocks))
        if not modules:
            raise RequestError(
                f"expected a list of {self.n_blocks} equal blocks in {type(self.backbone).__name__}, got none: "
                f"add a row for {self.config.model_type!r} to the table of families"
            )
        return tuple(modules[block * len(modules) // self.n_blocks] for block in range(self.n_blocks))

    @cached_property
    def attentions(self) -> tuple[nn.Module, ...] | None:
        """Per block the module that receives `hidden_states`, the attention's input after its norm; None if unknown."""
        if self.family is None:
            return None
        return tuple(block.get_submodule(self.family.attention) for block in self.blocks)

    @cached_property
    def outputs(self) -> tuple[nn.Module, ...] | None:
        """Per block the projection whose output is the attention's, before residual and norm; None if unknown."""
        if self.family is None:
            return None
        return tuple(block.get_submodule(self.family.output) for block in self.blocks)

    @property
    def final_norm(self) -> nn.Module | None:
        """The norm after the last block; None in post-norm models and unknown families."""
        return submodule(self.backbone, self.family.final_norm) if self.family else None

    @property
    def norm_place(self) -> str | None:
        """Where norms stand: pre, post, branch or sandwich (see Family); None if unknown."""
        return self.family.place if self.family else None

    def heads(self, block: int, *, differentiable: bool = False) -> Heads:
        """The per-head weights of a block's attention; with `differentiable` gradients reach the model through them."""
        family, sizes = self.known_family("per-head weights"), (self.n_heads, self.n_kv_heads, self.d_head)
        return heads_of(self._block(block), family, *sizes, differentiable=differentiable)

    def matrices(self, block: int) -> dict[str, Float[torch.Tensor, "inputs outputs"]]:
        """The whole matrices of a block, acting from the left: query, key, value, output, mlp_in, mlp_gate, mlp_out."""
        return matrices_of(self._block(block), self.known_family("weights"), self.heads(block))

    def attention_norm(self, block: int) -> Norm | None:
        """The norm whose output a block's attention reads, wherever it stands; None where it reads no norm's output.

        In post-norm models this is the last norm of the block before, and for block 0 that of the embedding.
        """
        family = self.known_family("norms")
        if family.place != "post":
            return self.norm(block, "before_attention")
        if block > 0:
            return self.norm(block - 1, "after_mlp")
        module = submodule(self.backbone, family.embedding_norm)
        return None if module is None else norm_of(module, family, self.d_model)

    def norm(self, block: int, site: NormSite = "before_attention") -> Norm | None:
        """The norm at a site of a block; None where this model has none there."""
        family = self.known_family("norms")
        module = submodule(self._block(block), family.norms.get(site))
        return None if module is None else norm_of(module, family, self.d_model)

    def norm_final(self) -> Norm | None:
        """The final norm as numbers; None in post-norm models."""
        family = self.known_family("norms")
        return None if self.final_norm is None else norm_of(self.final_norm, family, self.d_model)

    @property
    def W_E(self) -> Float[torch.Tensor, "vocab d_embedding"]:
        """The embedding as stored; a model may scale it (embedding_scale) or widen it to d_model."""
        return self.backbone.get_input_embeddings().weight.detach()

    @property
    def embedding_scale(self) -> float:
        """What the model multiplies embeddings with before block 0; 1 for most."""
        return float(getattr(self.backbone.get_input_embeddings(), "scalar_embed_scale", 1.0))

    @property
    def embeddings(self) -> Float[torch.Tensor, "vocab d_model"]:
        """Every token in the hidden space, before positions, norm and scale; widened where embeddings are narrower.

        A bias of the widening is common to all tokens and not counted.
        """
        widening: Any = submodule(self.backbone, self.known_family("embeddings").widening)
        return self.W_E if widening is None else self.W_E @ widening.weight.detach().T

    @property
    def W_U(self) -> Float[torch.Tensor, "d_embedding vocab"] | None:
        """The unembedding; None without a head. Masked-language heads transform the state before it."""
        head = self.model.get_output_embeddings()
        return None if head is None else head.weight.detach().T

    def rotation(
        self, block: int, positions: Int[torch.Tensor, "batch position"]
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Cosines and sines [batch position rotated] of the model's own rotary for a block; None without rotation."""
        family = self.known_family("rotation")
        attention = self._block(block).get_submodule(family.attention)
        if family.rotary is None or not getattr(attention, "use_rope", True):
            return None
        rotary = self.backbone.get_submodule(family.rotary)
        like = torch.empty(0, dtype=self.dtype, device=positions.device)
        # Some models rotate local and global layers at different speeds and ask which of the two is meant.
        if "layer_type" in inspect.signature(rotary.forward).parameters:
            return rotary(like, positions, attention.layer_type)
        return rotary(like, positions)

    def known_family(self, what: str) -> Family:
        """The family's row; RequestError where there is none to read `what` by."""
        if self.family is None:
            raise RequestError(
                f"expected a known family for {what}, got {self.config.model_type!r}, of which only hidden states can "
                "be read: add a row to the table of families"
            )
        return self.family

    def _block(self, block: int) -> nn.Module:
        refuse_outside("a block", block, 0, self.n_blocks - 1)
        return self.blocks[block]

    def __repr__(self) -> str:
        kind = str(self.config.model_type)
        shape = f"{self.n_blocks} blocks × {self.n_heads} heads" if self.family else f"{self.n_blocks} blocks"
        shape += f", d_model {self.d_model}" if self.family else f", d_model {self.d_model}, unknown family: no heads"
        return f"View({self.name!r}: {kind}, {shape}, {str(self.dtype).removeprefix('torch.')} on {self.device})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>"
            for key, value in self.provenance.items()
        )
        return f"<div><b>{html.escape(repr(self))}</b><table>{rows}</table></div>"


def _equal_modules(backbone: nn.Module, count: int) -> list[nn.Module]:
    """The first, outermost list of `count` modules of one type: the blocks of a model we do not know."""
    lists = [
        (name.count("."), list(module))
        for name, module in backbone.named_modules()
        if isinstance(module, nn.ModuleList)
    ]
    fitting = [pair for pair in lists if len(pair[1]) == count and len({type(block) for block in pair[1]}) == 1]
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else []


def refuse_unloaded(view: Any) -> None:
    """Refuse what is not a model as `load` gives it: its name, its folder, a model of transformers."""
    if not isinstance(view, View):
        shown = repr(str(view)) if isinstance(view, str | PathLike) else type(view).__name__
        raise RequestError(f"expected a model as `arm.load` gives it, got {shown}: load it with arm.load(...) first")
