"""Before the pass: the windows are drawn and put in order, the plan is made, the memory it needs is known."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from armillary.corpora import Groups, Windows, corpus, groups, windows
from armillary.models.view import View
from armillary.surveys.memory import Shape, needed
from armillary.surveys.plan import Plan, batch_size
from armillary.surveys.settings import Settings


@dataclass(frozen=True)
class Prepared:
    """A survey that can begin: what was asked for, what will be read, and what tells it from every other survey.

    `grouping` says how documents were put into groups, `memory` how many bytes the pass will need beyond the model,
    `rest` whether its total lies on disk while a shard runs, as it must where memory is short.
    """

    chosen: Settings
    windows: Windows
    grouping: str
    plan: Plan
    memory: int
    rest: bool
    fingerprint: str


def prepared(view: View, source: Any, chosen: Settings) -> Prepared:
    """Draw the windows that the settings ask for and plan the pass."""
    if chosen.heads:
        view.known_family("heads")
    drawn, grouped = ordered(draw(view, source, chosen))
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
        contexts=chosen.contexts,
        length=chosen.length,
        seed=chosen.seed,
        bos=chosen.bos,  # type: ignore[arg-type]  # checked by Settings
        crossing=chosen.crossing,
        documents=chosen.documents,
        per_document=chosen.per_document,
        vocab_size=view.backbone.get_input_embeddings().num_embeddings,
        max_length=view.max_length,
    )


def ordered(drawn: Windows) -> tuple[Windows, Groups]:
    """The windows sorted by group, document and offset, and their groups in that order."""
    rule = groups(drawn)
    order = np.lexsort((drawn.offset, drawn.document, rule.index))
    moved = replace(drawn, tokens=drawn.tokens[order], document=drawn.document[order], offset=drawn.offset[order])
    return moved, replace(rule, index=rule.index[order])


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
    )


def shape_of(view: View, plan: Plan) -> Shape:
    """What the pass will hold: in a post-norm model the attentions receive the residual stream itself."""
    apart = plan.sites == "all" and view.attentions is not None and view.norm_place != "post"
    heads = view.n_blocks * view.n_heads if plan.heads else 0
    return Shape(view.n_blocks + 1, view.d_model, view.n_blocks if apart else 0, heads)


def identity(view: View) -> str:
    """What of the model must agree for two passes to give the same numbers."""
    keys = ("model_sha256", "dtype", "device", "attn_implementation", "random_weights")
    return hashlib.sha256(repr([view.provenance.get(key) for key in keys]).encode()).hexdigest()
