"""Before the pass: the windows are drawn and put in order, the plan is made, the memory it needs is known."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from armillary.corpora import Groups, Windows, corpus, groups, windows
from armillary.models.view import View
from armillary.surveys.memory import Shape, needed
from armillary.surveys.plan import Plan, batch_size, shard_windows
from armillary.surveys.settings import Settings
from armillary.surveys.stopping import FEWEST_WINDOWS

ROUND = 2
"""How many shards a round has, in a pass that may stop early."""


@dataclass(frozen=True)
class Prepared:
    """A survey that can begin: what was asked for, what will be read, and what tells it from every other survey.

    `grouping` says how documents were put into groups, `memory` how many bytes the pass will need beyond the model,
    `rest` whether its total lies on disk while a shard runs, as it must where memory is short, `stopped` why it read
    no more windows.
    """

    chosen: Settings
    windows: Windows
    grouping: str
    plan: Plan
    memory: int
    rest: bool
    fingerprint: str
    stopped: str = ""

    def first_windows(self, count: int, why: str) -> "Prepared":
        """The survey of the first windows alone, and why it is not that of all."""
        drawn = self.windows
        if count < len(drawn.tokens):
            appearing, document = np.unique(drawn.document[:count], return_inverse=True)
            drawn = replace(
                drawn,
                tokens=drawn.tokens[:count],
                document=document.astype(np.int64),
                offset=drawn.offset[:count],
                documents=tuple(drawn.documents[index] for index in appearing),
                provenance=drawn.provenance | {"contexts": count},
            )
        return replace(self, windows=drawn, plan=self.plan.first_windows(count), stopped=why)


def prepared(view: View, source: Any, chosen: Settings) -> Prepared:
    """Draw the windows that the settings ask for and plan the pass."""
    if chosen.heads:
        view.known_family("heads")
    drawn, grouped = ordered(draw(view, source, chosen), rounds=chosen if chosen.until_se else None)
    plan = plan_of(drawn, grouped.index, chosen)
    memory, rest = needed(plan, shape_of(view, plan), chosen.max_memory)
    return Prepared(
        chosen=chosen,
        windows=drawn,
        grouping=grouped.rule,
        plan=plan,
        memory=memory,
        rest=rest,
        fingerprint=plan.fingerprint(identity(view)),
    )


def draw(view: View, source: Any, chosen: Settings) -> Windows:
    """The windows that the settings ask for."""
    text = source if hasattr(source, "name") and not isinstance(source, str | Path) else corpus(source)
    return windows(
        text,
        view.tokenizer,
        contexts=chosen.windows,
        length=chosen.length,
        seed=chosen.seed,
        bos=chosen.bos,  # type: ignore[arg-type]  # checked by Settings
        crossing=chosen.crossing,
        documents=chosen.documents,
        per_document=chosen.per_document,
        vocab_size=view.backbone.get_input_embeddings().num_embeddings,
        max_length=view.max_length,
    )


def ordered(drawn: Windows, rounds: Settings | None = None) -> tuple[Windows, Groups]:
    """The windows sorted by group, document and offset, and their groups in that order.

    With settings for `rounds` a pass may stop early, so windows are dealt to rounds of a few shards first, by lot and
    in each group alike: whatever was read when it stops is a sample of all.
    """
    rule = groups(drawn)
    turn = np.zeros(len(rule.index)) if rounds is None else round_of(rule.index, drawn.tokens.shape[1], rounds)
    order = np.lexsort((drawn.offset, drawn.document, rule.index, turn))
    moved = replace(drawn, tokens=drawn.tokens[order], document=drawn.document[order], offset=drawn.offset[order])
    return moved, replace(rule, index=rule.index[order])


def round_of(index: np.ndarray, length: int, chosen: Settings) -> np.ndarray:
    """The round of each window: every group has its share of each, in an order drawn by lot."""
    count = len(index)
    rounds = max(1, count // max(FEWEST_WINDOWS, ROUND * shard_windows(length, chosen.shard_tokens)))
    lot = np.random.default_rng([chosen.seed, 3]).permutation(count)
    turn = np.empty(count, dtype=np.int64)
    for group in np.unique(index):
        members = lot[index[lot] == group]
        turn[members] = np.arange(len(members)) * rounds // len(members)
    return turn


def plan_of(drawn: Windows, index: np.ndarray, chosen: Settings) -> Plan:
    """What the pass will do."""
    return Plan(
        tokens=drawn.tokens,
        groups=index,
        seed=chosen.seed,
        first=chosen.first,
        outliers=chosen.outliers,
        scatter=chosen.covariance,
        sites=chosen.sites,
        batch=batch_size(drawn.tokens.shape[1], chosen.batch),
        heads=chosen.heads,
        shard_tokens=chosen.shard_tokens,
    )


def shape_of(view: View, plan: Plan) -> Shape:
    """What the pass will hold: in a post-norm model the attentions receive the residual stream itself."""
    apart = reads_attention(view, plan) and view.norm_place != "post"
    heads = view.n_blocks * view.n_heads if plan.heads else 0
    return Shape(view.n_blocks + 1, view.d_model, view.n_blocks if apart else 0, heads)


def reads_attention(view: View, plan: Plan) -> bool:
    """Whether what the attentions receive is part of a run."""
    return plan.sites == "all" and view.attentions is not None


def identity(view: View) -> str:
    """What of the model must agree for two passes to give the same numbers."""
    keys = ("model_sha256", "dtype", "device", "attn_implementation", "random_weights")
    return hashlib.sha256(repr([view.provenance.get(key) for key in keys]).encode()).hexdigest()
