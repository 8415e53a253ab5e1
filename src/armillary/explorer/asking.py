"""What the page asks of the model. The only file of the explorer that needs one: it is imported when asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from armillary.corpora.tokens import encoded, token_text
from armillary.errors import RequestError
from armillary.explorer import answers
from armillary.explorer.browsing import known_length, longest_prompt
from armillary.explorer.heads import refuse_head
from armillary.explorer.keeping import Kept
from armillary.explorer.splitting import prompt_split
from armillary.explorer.worker import Job, Tell
from armillary.models.attention import AttentionCall
from armillary.models.decoding import has_head
from armillary.models.hooks import hooked
from armillary.models.interventions import Change, changed
from armillary.models.view import View
from armillary.probes import constituents as dissecting
from armillary.probes.inputs import known_parts
from armillary.probes.reloading import refuse_another, reloaded
from armillary.probes.travel import followed
from armillary.prompts.continuation import continuation, greedy
from armillary.prompts.ids import Ids, prompt_ids
from armillary.prompts.lens import token_lens
from armillary.prompts.prompt import prompt
from armillary.results.reading import has, require
from armillary.results.store import Run
from armillary.system.texts import escaped

KEPT = 500_000_000
"""Bytes of maps that stay in memory: other layers and heads of them need no pass."""

EXAMPLES, EXAMPLE_TOKENS = 4, 128
CONTINUATION, NEXT, LENS = 20, 10, 5
"""Tokens of a continuation; candidates for the next token; and for what a layer decodes to."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
LETTER = 4
"""What stands for bytes that are no whole letter, and the most bytes of one."""

UNCHANGED = Change()

RECORDED = ("model", "model_kind", "model_sha256", "random_weights", "dtype", "device", "revision")
"""What a run must record for its model to be loaded again."""


def loaded(run: Run, tell: Tell) -> "Model":
    """The run's model, loaded from the run's provenance; refuses another of the same name."""
    lacking = [name for name in RECORDED if name not in run.provenance]
    if lacking:
        raise RequestError(f"expected a run that records its model, got one without {lacking[0]}: survey again")
    tell(f"reading the weights of {run.provenance['model']} and checking that they are understood")
    view = reloaded(run)
    refuse_another(run, view)
    return Model(run, view)


class Pass(NamedTuple):
    """One pass: its maps and states, and the attention calls of the untouched model, which its QK terms need."""

    maps: xr.Dataset
    calls: list[AttentionCall]

    def size(self) -> int:
        """Its bytes, nearly."""
        tensors = [tensor for call in self.calls for tensor in (call.input, call.query, call.key, call.value)]
        return int(self.maps.nbytes) + sum(tensor.nbytes for tensor in tensors)


class Model:
    """A run's model, and what was last asked of it. `asked` is what `app.asked_for` gives."""

    def __init__(self, run: Run, view: View) -> None:
        self.run, self.view = run, view
        self._passes = Kept(KEPT, Pass.size)
        self._texts = Kept(100_000, len)

    def look(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The prompt's tokens and words, its shares by layer, and every head's entropy before and after a change."""
        found = answers.look(self._both(asked, job))
        can = {"decodes": has_head(self.view), "continues": has_head(self.view) and self.view.model.can_generate()}
        special = special_positions(self.view.tokenizer, self._ids(asked))
        return found | can | {"blocks": self.view.n_blocks, "heads": self.view.n_heads, "special": special}

    def maps(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The attention of every head of a block, between tokens and between words, before and after a change."""
        block, _ = self._where(asked)
        return answers.maps(self._both(asked, job), block)

    def parts(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Six panels of one head's logits: four QK terms of position and residual, those of the mean, and the sum."""
        require(self.run.results, "attention")
        block, head = self._where(asked)
        ids = self._ids(asked)
        before = self._read(ids, UNCHANGED, job)
        known = known_parts(self.view, self.run, block, len(ids))
        seen = before.maps.allowed.values[block].copy()
        if known.apart:
            seen[0] = seen[:, 0] = False
        if seen.sum(1).max() < 2:
            return {"panels": [], "least": 2 + known.apart}
        call = before.calls[block]
        scores = dissecting.part_scores(self.view, call, known)[head]
        bilinear = self.view.heads(block).bilinear
        found = answers.parts(scores, seen)
        return found | {"first": known.apart, "bias": call.bias is not None, "bilinear": bilinear}

    def lens(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """What the states of one token decode to in every layer: the last layer has the model's own next token."""
        ids = self._ids(asked)
        position = len(ids) - 1 if asked["position"] is None else asked["position"]
        if position >= len(ids):
            raise RequestError(f"expected a position from 0 to {len(ids) - 1}, got {position}: choose a token")
        found = []
        for change in self._changes(asked):
            states = self._read(ids, change, job).maps.states.values[:, position]
            with _interruptible(self.view, job):
                found.append(answers.ranked(*token_lens(self.view, states, NEXT)))
        return {
            "position": position,
            "next": [layers[-1] for layers in found],
            "layers": [[choices[:LENS] for choices in layers] for layers in found],
        }

    def continuation(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The greedy continuation, unchanged and after a change; escaped. Made once for each prompt and change."""
        ids = self._ids(asked)

        def made(change: Change) -> str:
            with _interruptible(self.view, job), changed(self.view, change):
                return written(self.view, ids)

        texts = [self._texts((ids.tobytes(), change), partial(made, change)) for change in self._changes(asked)]
        return dict(zip(("before", "after"), texts, strict=False))

    def travel(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The paths of the prompt's last tokens over the sphere, in two sets of three directions."""
        self.view.known_family("the final norm")
        ids = self._ids(asked)
        return answers.travel(followed(self.view, ids, self._read(ids, UNCHANGED, job).maps.states.values))

    def examples(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Pairs of tokens of the run's own windows between which a head has most attention, with the text around."""
        require(self.run.results, "corpus")
        block, head = self._where(asked)
        tokens = self.run.results["corpus"].tokens.values[:, :EXAMPLE_TOKENS].astype(np.int64)
        rows = np.unique(np.linspace(0, len(tokens) - 1, EXAMPLES).round().astype(int))
        found = {int(row): self._window(tokens[row], job) for row in rows}
        return {"windows": [answers.strongest(window, maps, block, head) for window, maps in found.items()]}

    def _where(self, asked: dict[str, Any]) -> tuple[int, int]:
        refuse_head(asked["block"], asked["head"], self.view.n_blocks, self.view.n_heads)
        return asked["block"], asked["head"]

    def _changes(self, asked: dict[str, Any]) -> list[Change]:
        """The model as it is, and as the question changes it."""
        change = Change(asked["alpha"], asked["only"], asked["without"])
        if change.without is not None:
            refuse_head(*change.without, self.view.n_blocks, self.view.n_heads)
        return [UNCHANGED] if change.nothing else [UNCHANGED, change]

    def _ids(self, asked: dict[str, Any]) -> Ids:
        """The prompt's tokens, if there are no more of them than the page and the run can show."""
        limit, tokenizer = longest_prompt(self.run.results), self.view.tokenizer
        count = len(encoded(tokenizer, [asked["prompt"]], special=True)[0]) if tokenizer is not None else 0
        if count > limit:
            raise RequestError(
                f"expected at most {limit} tokens ({self._limits()}), got {count}: "
                "shorten the prompt or survey with a larger --length"
            )
        return prompt_ids(self.view, asked["prompt"])

    def _limits(self) -> str:
        known = known_length(self.run.results)
        own = f"{self.view.name} itself takes {self.view.max_length or 'any number'}"
        return f"the run's windows have {known}, {own}" if known else own

    def _both(self, asked: dict[str, Any], job: Job) -> list[xr.Dataset]:
        """The maps of the prompt, and beside them those of the changed model."""
        ids = self._ids(asked)
        return [self._read(ids, change, job).maps for change in self._changes(asked)]

    def _read(self, ids: Ids, change: Change, job: Job) -> Pass:
        """All maps and states of a prompt, kept for the next question about it."""
        return self._passes(("prompt", ids.tobytes(), change), lambda: self._pass(ids, change, job))

    def _pass(self, ids: Ids, change: Change, job: Job) -> Pass:
        calls: list[AttentionCall] = []
        with _interruptible(self.view, job), changed(self.view, change) as note:
            maps = prompt(self.view, ids, receive=calls.append if change.nothing else None)
        kept = maps.drop_vars("logits").assign_attrs(note=note)
        if not has(self.run.results, "residual/position_basis"):
            return Pass(kept.assign(counted=np.arange(len(ids))), calls)
        split = prompt_split(self.run.results, maps.states.values)
        return Pass(kept.assign(share=(("layer", "component"), split.share), counted=split.counted), calls)

    def _window(self, ids: Ids, job: Job) -> xr.Dataset:
        """The maps of one of the run's own windows."""

        def read() -> Pass:
            with _interruptible(self.view, job):
                return Pass(prompt(self.view, ids)[["text", "pattern"]], [])

        return self._passes(("window", ids.tobytes()), read).maps


def special_positions(tokenizer: Any, ids: Ids) -> list[int]:
    """Where a prompt has tokens that mark its ends, or a mask: they are tokens and no words."""
    marks = {getattr(tokenizer, f"{name}_token_id", None) for name in ("bos", "eos", "cls", "sep", "mask")}
    return [place for place, token in enumerate(ids.tolist()) if token in marks]


def written(view: View, ids: Ids) -> str:
    """The greedy continuation, escaped; where it ends within a letter, with the bytes of that."""
    text = continuation(view, ids, CONTINUATION)
    if not text.endswith(REPLACEMENT):
        return escaped(text)
    room = CONTINUATION if view.max_length is None else min(CONTINUATION, view.max_length - len(ids))
    return with_last_bytes(view.tokenizer, greedy(view, ids, room))  # rare, so made twice


def with_last_bytes(tokenizer: Any, tokens: list[int]) -> str:
    """Tokens as text, escaped; the last ones, where they are no whole letter, as their chips would show them."""
    texts = [str(tokenizer.decode(tokens[: len(tokens) - odd], skip_special_tokens=True)) for odd in range(LETTER)]
    odd = next((odd for odd, text in enumerate(texts) if not text.endswith(REPLACEMENT)), 0)
    return escaped(texts[odd]) + "".join(token_text(tokenizer, token) for token in tokens[len(tokens) - odd :])


@contextmanager
def _interruptible(view: View, job: Job) -> Iterator[None]:
    """Between any two blocks the model looks whether anybody still waits for the answer."""
    with hooked(before=((view.blocks, lambda *_: job.check()),)):
        yield
