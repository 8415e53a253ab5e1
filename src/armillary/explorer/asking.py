"""What the page asks of the model. The only file of the explorer that needs one: it is imported when that is so."""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from armillary.corpora.tokens import encoded
from armillary.errors import RequestError
from armillary.explorer import pictures
from armillary.explorer.browsing import LONGEST, Unknown, known_length
from armillary.explorer.splitting import prompt_split
from armillary.explorer.worker import Job, Told
from armillary.measures.constituents import less_key_mean
from armillary.measures.maps import row_entropy, strongest_pairs
from armillary.measures.words import word_attention
from armillary.models.hooks import hooked
from armillary.models.interventions import scaled
from armillary.models.view import View
from armillary.probes import constituents as dissecting
from armillary.probes.inputs import known_parts
from armillary.probes.reloading import refuse_another, reloaded
from armillary.prompts.continuation import continuation
from armillary.prompts.ids import Ids, prompt_ids
from armillary.prompts.prompt import prompt
from armillary.results.schema.naming import PARTS
from armillary.results.store import Run
from armillary.system.texts import escaped

KEPT = 500_000_000
"""So many bytes of maps stay in memory, the last asked for: other layers and heads of them need no pass."""

EXAMPLES, EXAMPLE_TOKENS, SHARE_WINDOWS = 4, 128, 8
CONTINUATION = 20

Key = tuple[Any, ...]
Pattern = Float[np.ndarray, "query key"]


def loaded(run: Run, tell: Told) -> "Model":
    """The run's model, from where the run says that it came; refuses another of the same name."""
    tell(f"reading the weights of {run.provenance.get('model')} and checking that they are understood")
    view = reloaded(run)
    refuse_another(run, view)
    return Model(run, view)


class Model:
    """A run's model, and what was last asked of it."""

    def __init__(self, run: Run, view: View) -> None:
        self.run, self.view = run, view
        self._kept: OrderedDict[Key, xr.Dataset] = OrderedDict()
        self._shares: xr.Dataset | None = None

    def look(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Tokens, shares by layer, and one head's maps between tokens and between words, before and after α."""
        block, head, alpha = self._where(asked)
        before = self._read(asked, 1.0, job)
        after = None if alpha == 1 else self._read(asked, alpha, job)
        both = [one for one in (before, after) if one is not None]
        drawn = {
            "shares": pictures.share_curves(before.share.values, 1 / max(before.sizes["counted"], 1)),
            "entropy": pictures.entropies(*_entropies(before, after, head), alpha),
        }
        return {
            "tokens": [str(text) for text in before.text.values],
            "counted": before.counted.values.tolist(),
            "words": [str(text) for text in before.word_text.values] if "word_text" in before else [],
            "word_index": before.word_index.values.tolist() if "word_index" in before else [],
            "entropy": [_entropy(one, block, head) for one in both],
            "figures": {name: one.to_dict() for name, one in drawn.items()},
            "maps": {
                "tokens": _maps(both, block, head, words=False),
                "words": _maps(both, block, head, words=True) if "word_index" in before else None,
            },
            "note": after.attrs["note"] if after is not None else "",
        }

    def parts(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Six panels of one head's logits: position and rest with each other, all that has the mean, and the sum."""
        block, head, _ = self._where(asked)
        ids = self._ids(asked)
        with _interruptible(self.view, job):
            found = dissecting.constituents(self.view, self.run, ids, block, head).isel(head=0)
        before = self._read(asked, 1.0, job)
        seen = before.allowed.values[block].copy()
        first = bool(known_parts(self.view, self.run, block, len(ids)).apart)
        if first:
            seen[0] = seen[:, 0] = False
        maps = _six(found)
        centred = [np.where(seen, less_key_mean(one, seen), np.nan) for one in maps.values()]
        limit = max(float(np.nanmax(np.abs(one), initial=0.0)) for one in centred)
        texts = [str(text) for text in before.text.values]
        return {
            "panels": [
                {"name": name, "share": share, "figure": pictures.constituent_map(one, texts, limit).to_dict()}
                for name, share, one in zip(maps, _shares(centred, seen), centred, strict=True)
            ],
            "limit": limit,
            "form": str(found.attrs["form"]),
            "first": first,
            "bias": "bias" in found.coords,
        }

    def goes_on(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The likeliest continuation, as the model is and with W_Q and W_K scaled; escaped."""
        _, _, alpha = self._where(asked)
        ids = self._ids(asked)
        told = {}
        for name, factor in (("before", 1.0), ("after", alpha)):
            if name == "before" or alpha != 1:
                with _interruptible(self.view, job), self._scaled(factor, asked):
                    told[name] = escaped(continuation(self.view, ids, CONTINUATION))
        return told

    def head_parts(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Shares of the nine parts of a head's logits over windows of the run, with standard errors."""
        block, head, _ = self._where(asked)
        if self._shares is None:
            with _interruptible(self.view, job):
                self._shares = dissecting.shares(self.view, self.run, windows=SHARE_WINDOWS)
        one = self._shares.isel(block=block, head=head)
        names = [f"{query} → {key}" for query in one.part_query.values for key in one.part_key.values]
        figure = pictures.part_bars(one.share.values.ravel(), one.share_se.values.ravel(), names)
        return {"figure": figure.to_dict(), "windows": int(self._shares.attrs["windows"])}

    def examples(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Pairs of tokens of the run's own windows between which a head has most attention, with the text before."""
        block, head, _ = self._where(asked)
        tokens = self.run.results["corpus"].tokens.values[:, :EXAMPLE_TOKENS].astype(np.int64)
        rows = np.unique(np.linspace(0, len(tokens) - 1, EXAMPLES).round().astype(int))
        found = []
        for row in rows:
            maps = self._window(tokens[row], job)
            texts = [str(text) for text in maps.text.values]
            best = strongest_pairs(maps.pattern.values[block, head].astype(np.float64), 3)
            pairs = [
                {"query": int(query), "key": int(key), "mass": float(mass)}
                for query, key, mass in zip(best.query, best.key, best.mass, strict=True)
            ]
            found.append({"window": int(row), "tokens": texts, "pairs": pairs})
        return {"windows": found}

    def _where(self, asked: dict[str, Any]) -> tuple[int, int, float]:
        block, head = asked["block"], asked["head"]
        blocks, heads = self.view.n_blocks, self.view.n_heads
        if not 0 <= block < blocks or not 0 <= head < heads:
            raise Unknown(
                f"expected a block from 0 to {blocks - 1} and a head from 0 to {heads - 1}, came L{block}H{head}"
            )
        return block, head, float(asked["alpha"])

    def _ids(self, asked: dict[str, Any]) -> Ids:
        """The prompt's tokens, if there are no more of them than the page and the run can show."""
        known = known_length(self.run.results)
        limit = min(known, LONGEST)
        tokenizer = self.view.tokenizer
        count = len(encoded(tokenizer, [asked["prompt"]], special=True)[0]) if tokenizer is not None else 0
        if count > limit:
            own = f"{self.view.name} itself takes {self.view.max_length or 'any number'}"
            raise RequestError(
                f"expected at most {limit} tokens (the run knows {known} positions, {own}), came {count}; "
                "shorten the prompt or survey with a larger --length"
            )
        return prompt_ids(self.view, asked["prompt"])

    def _read(self, asked: dict[str, Any], alpha: float, job: Job) -> xr.Dataset:
        """All maps of a prompt, kept for the next question about it."""
        ids = self._ids(asked)
        where = () if alpha == 1 else (alpha, asked["block"] if asked["only"] else None)

        def read() -> xr.Dataset:
            with self._scaled(alpha, asked) as record:
                maps = prompt(self.view, ids)
            split = prompt_split(self.run.results, maps.states.values)
            found = {"share": (("layer", "component"), split.share), "counted": split.counted}
            return maps.drop_vars(["logits", "states"]).assign(found).assign_attrs(note=record.note if record else "")

        return self._kept_or(("prompt", ids.tobytes(), *where), job, read)

    def _window(self, ids: Ids, job: Job) -> xr.Dataset:
        """The maps of one of the run's own windows."""
        return self._kept_or(("window", ids.tobytes()), job, lambda: prompt(self.view, ids)[["text", "pattern"]])

    def _kept_or(self, key: Key, job: Job, read: Any) -> xr.Dataset:
        if key not in self._kept:
            with _interruptible(self.view, job):
                self._kept[key] = read()
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(one.nbytes for one in self._kept.values()) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]

    def _scaled(self, alpha: float, asked: dict[str, Any]) -> Any:
        if alpha == 1:
            return nullcontext()
        return _quietly_scaled(self.view, alpha, asked["block"] if asked["only"] else None)


@contextmanager
def _quietly_scaled(view: View, alpha: float, block: int | None) -> Iterator[Any]:
    # The note goes to the page, where the warning is read; the terminal need not repeat it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change = scaled(view, alpha, block)
        record = change.__enter__()
    try:
        yield record
    finally:
        change.__exit__(None, None, None)


@contextmanager
def _interruptible(view: View, job: Job) -> Iterator[None]:
    """Between any two blocks the model looks whether anybody still waits for the answer."""
    with hooked(before=((view.blocks, lambda *_: job.check()),)):
        yield


def _maps(both: list[xr.Dataset], block: int, head: int, *, words: bool) -> dict[str, Any]:
    """One head's map, and the map under α where it was asked for, in the same colours."""
    maps = [one.pattern.values[block, head].astype(np.float64) for one in both]
    if words:
        maps = [word_attention(one, both[0].word_index.values) for one in maps]
    texts = [str(text) for text in (both[0].word_text if words else both[0].text).values]
    top = max(float(one.max()) for one in maps)
    unit = "word" if words else "token"
    return {"top": top, "figures": [pictures.attention_map(one, texts, unit, top).to_dict() for one in maps]}


def _entropies(before: xr.Dataset, after: xr.Dataset | None, head: int) -> tuple[np.ndarray, np.ndarray | None]:
    def curve(one: xr.Dataset) -> np.ndarray:
        return np.array([_entropy(one, block, head) for block in range(one.sizes["block"])])

    return curve(before), None if after is None else curve(after)


def _entropy(maps: xr.Dataset, block: int, head: int) -> float:
    return float(row_entropy(maps.pattern.values[block, head]).mean())


def _six(found: xr.DataArray) -> dict[str, Pattern]:
    """Four parts of position and rest, the five that the mean enters, and their sum, the logits."""
    names = [(query, key) for query in PARTS[1:] for key in PARTS[1:]]
    maps = {f"{query} → {key}": found.sel(part_query=query, part_key=key).values for query, key in names}
    total = found.sum(("part_query", "part_key")).values
    return maps | {"with the mean": total - sum(maps.values()), "sum: the logits": total}


def _shares(centred: list[Pattern], seen: Bool[np.ndarray, "query key"]) -> list[float]:
    """Share of each part in the variance of the last, their sum, over keys, added up over queries."""
    weight = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    total = np.nansum(weight * centred[-1] ** 2)
    return [float(np.nansum(weight * one * centred[-1]) / total) if total > 0 else float("nan") for one in centred]
