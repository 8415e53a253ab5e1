"""What the page asks of the model. The only file of the explorer that needs one: it is imported when asked."""

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
from armillary.explorer.browsing import known_length, longest_prompt, refuse_head
from armillary.explorer.splitting import prompt_split
from armillary.explorer.worker import Job, Tell
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
from armillary.results.reading import has, require
from armillary.results.schema.naming import PARTS
from armillary.results.store import Run
from armillary.system.texts import escaped

KEPT = 500_000_000
"""Bytes of maps that stay in memory, the last asked for: other layers and heads of them need no pass."""

EXAMPLES, EXAMPLE_TOKENS, SHARE_WINDOWS = 4, 128, 8
CONTINUATION = 20

Key = tuple[Any, ...]
Pattern = Float[np.ndarray, "query key"]


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
        both = [maps for maps in (before, after) if maps is not None]
        drawn = {"entropy": pictures.entropies(*_entropies(before, after, head), alpha)}
        if "share" in before:
            drawn["shares"] = pictures.share_curves(before.share.values, 1 / max(before.sizes["counted"], 1))
        return {
            "tokens": [str(text) for text in before.text.values],
            "counted": before.counted.values.tolist(),
            "words": [str(text) for text in before.word_text.values] if "word_text" in before else [],
            "word_index": before.word_index.values.tolist() if "word_index" in before else [],
            "entropy": [_entropy(maps, block, head) for maps in both],
            "figures": {name: figure.to_dict() for name, figure in drawn.items()},
            "maps": {
                "tokens": _maps(both, block, head, words=False),
                "words": _maps(both, block, head, words=True) if "word_index" in before else None,
            },
            "note": after.attrs["note"] if after is not None else "",
        }

    def parts(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Six panels of one head's logits: four QK terms of position and residual, those of the mean, and the sum."""
        require(self.run.results, "attention")
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
        centred = [np.where(seen, less_key_mean(scores, seen), np.nan) for scores in maps.values()]
        limit = max(float(np.nanmax(np.abs(scores), initial=0.0)) for scores in centred)
        texts = [str(text) for text in before.text.values]
        return {
            "panels": [
                {"name": name, "share": share, "figure": pictures.constituent_map(scores, texts, limit).to_dict()}
                for name, share, scores in zip(maps, _shares(centred, seen), centred, strict=True)
            ],
            "limit": limit,
            "form": str(found.attrs["form"]),
            "first": first,
            "bias": "bias" in found.coords,
        }

    def continuation(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """The greedy continuation, unchanged and with W_Q and W_K scaled; escaped."""
        _, _, alpha = self._where(asked)
        ids = self._ids(asked)
        texts = {}
        for name, factor in (("before", 1.0), ("after", alpha)):
            if name == "before" or alpha != 1:
                with _interruptible(self.view, job), self._scaled(factor, asked):
                    texts[name] = escaped(continuation(self.view, ids, CONTINUATION))
        return texts

    def head_parts(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Shares of the nine QK terms of a head's logits over windows of the run, with standard errors."""
        require(self.run.results, "attention", "corpus")
        block, head, _ = self._where(asked)
        if self._shares is None:
            with _interruptible(self.view, job):
                self._shares = dissecting.shares(self.view, self.run, windows=SHARE_WINDOWS)
        terms = self._shares.isel(block=block, head=head)
        names = [f"{query} → {key}" for query in terms.part_query.values for key in terms.part_key.values]
        figure = pictures.part_bars(terms.share.values.ravel(), terms.share_se.values.ravel(), names)
        return {"figure": figure.to_dict(), "windows": int(self._shares.attrs["windows"])}

    def examples(self, asked: dict[str, Any], job: Job) -> dict[str, Any]:
        """Pairs of tokens of the run's own windows between which a head has most attention, with the text around."""
        require(self.run.results, "corpus")
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
        refuse_head(asked["block"], asked["head"], self.view.n_blocks, self.view.n_heads)
        return asked["block"], asked["head"], float(asked["alpha"])

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

    def _read(self, asked: dict[str, Any], alpha: float, job: Job) -> xr.Dataset:
        """All maps of a prompt, kept for the next question about it."""
        ids = self._ids(asked)
        where = () if alpha == 1 else (alpha, asked["block"] if asked["only"] else None)

        def read() -> xr.Dataset:
            with self._scaled(alpha, asked) as record:
                maps = prompt(self.view, ids)
            kept = maps.drop_vars(["logits", "states"]).assign_attrs(note=record.note if record else "")
            if not has(self.run.results, "residual/position_basis"):
                return kept.assign(counted=np.arange(len(ids)))
            split = prompt_split(self.run.results, maps.states.values)
            return kept.assign(share=(("layer", "component"), split.share), counted=split.counted)

        return self._kept_or(("prompt", ids.tobytes(), *where), job, read)

    def _window(self, ids: Ids, job: Job) -> xr.Dataset:
        """The maps of one of the run's own windows."""
        return self._kept_or(("window", ids.tobytes()), job, lambda: prompt(self.view, ids)[["text", "pattern"]])

    def _kept_or(self, key: Key, job: Job, read: Any) -> xr.Dataset:
        if key not in self._kept:
            with _interruptible(self.view, job):
                self._kept[key] = read()
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(maps.nbytes for maps in self._kept.values()) > KEPT:
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
    patterns = [maps.pattern.values[block, head].astype(np.float64) for maps in both]
    if words:
        patterns = [word_attention(pattern, both[0].word_index.values) for pattern in patterns]
    texts = [str(text) for text in (both[0].word_text if words else both[0].text).values]
    top = max(float(pattern.max()) for pattern in patterns)
    unit = "word" if words else "token"
    figures = [pictures.attention_map(pattern, texts, unit, top).to_dict() for pattern in patterns]
    return {"top": top, "figures": figures}


def _entropies(before: xr.Dataset, after: xr.Dataset | None, head: int) -> tuple[np.ndarray, np.ndarray | None]:
    def curve(maps: xr.Dataset) -> np.ndarray:
        return np.array([_entropy(maps, block, head) for block in range(maps.sizes["block"])])

    return curve(before), None if after is None else curve(after)


def _entropy(maps: xr.Dataset, block: int, head: int) -> float:
    return float(row_entropy(maps.pattern.values[block, head]).mean())


def _six(found: xr.DataArray) -> dict[str, Pattern]:
    """Four QK terms of position and residual, the five with the mean together, and their sum, the logits."""
    names = [(query, key) for query in PARTS[1:] for key in PARTS[1:]]
    maps = {f"{query} → {key}": found.sel(part_query=query, part_key=key).values for query, key in names}
    total = found.sum(("part_query", "part_key")).values
    return maps | {"terms with the mean": total - sum(maps.values()), "sum: the logits": total}


def _shares(centred: list[Pattern], seen: Bool[np.ndarray, "query key"]) -> list[float]:
    """Share of each term in the variance of the last, their sum, over keys, summed over queries."""
    weight = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    total = np.nansum(weight * centred[-1] ** 2)
    return [float(np.nansum(weight * term * centred[-1]) / total) if total > 0 else float("nan") for term in centred]
