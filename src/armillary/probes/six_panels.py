"""Single heads in one window as examples: their scores by what makes them, the scores themselves, the attention."""

from itertools import product

import numpy as np
import xarray as xr
from einops import einsum
from jaxtyping import Float, Int, Shaped

from armillary.attention.patterns import allowed_keys, rows
from armillary.corpora.tokens import token_text
from armillary.models.attention import AttentionCall
from armillary.models.parts import query_key_parts
from armillary.models.view import View
from armillary.probes.constituents import call_of
from armillary.probes.control import shared_prefix
from armillary.probes.inputs import Known, input_parts, known_parts
from armillary.probes.repeats import repeated_windows
from armillary.results.measuring import described
from armillary.results.schema.naming import EXAMPLES, PARTS
from armillary.results.store import Run

POSITIONS = 64
"""How many positions are kept at most, from the first on."""

COPY = 16
"""Tokens in a copy of the window in which heads that repeat are shown: few enough for their names beside a panel."""

Panel = Float[np.ndarray, "query key"]


def six_panels(view: View, run: Run, share: xr.DataArray, *, context: int = 0) -> xr.Dataset:
    """The scores of one head in one of the run's windows: four parts without the mean, the logits, and the pattern.

    The head is the one with the largest `share` of position · position; its block and number are variables. The model
    reads the whole window, of which the first 64 positions are kept. Cells that a query may not see are NaN.
    """
    block, head = most_positional(share)
    ids = run.results["corpus"].tokens.values[context].astype(np.int64)
    panels = panels_of(view, run, ids, block, head)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: (("query", "key"), values) for name, values in panels.items()
    }
    texts = token_texts(view, ids)
    numbers = {name: ((), np.array(value)) for name, value in (("block", block), ("head", head), ("context", context))}
    return described("six_panels", xr.Dataset(variables | {"text": (("query",), texts)} | numbers))


def head_examples(view: View, run: Run, repeats: xr.Dataset) -> xr.Dataset:
    """The same of the clearest induction, previous-token and duplicate-token head, in a window where these act.

    The window is random tokens of the run's text, repeated once; the heads are those of the highest scores of the
    repeated-token test, whether or not these give them a kind.
    """
    tokens = run.results["corpus"].tokens.values.astype(np.int64)
    prefix, seed = shared_prefix(tokens), int(run.provenance["seed"])
    copy = min(COPY, (tokens.shape[1] - len(prefix)) // 2)
    ids = repeated_windows(view, tokens, prefix, windows=1, copy=copy, seed=seed)[0]
    places = [best_of(repeats[f"{kind}_repeats"]) for kind in EXAMPLES]
    each = [panels_of(view, run, ids, block, head) for block, head in places]
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: (("example", "query", "key"), np.stack([panels[name] for panels in each])) for name in each[0]
    }
    variables |= {"text": (("query",), token_texts(view, ids)), "kind": (("example",), np.array(EXAMPLES, dtype=str))}
    variables |= {
        name: (("example",), np.array([place[axis] for place in places])) for axis, name in enumerate(("block", "head"))
    }
    return described("head_examples", xr.Dataset(variables))


def best_of(scores: xr.DataArray) -> tuple[int, int]:
    """Block and head of the highest mean score."""
    mean = scores.mean("repeat").transpose("block", "head").values
    block, head = np.unravel_index(np.where(np.isfinite(mean), mean, -np.inf).argmax(), mean.shape)
    return int(block), int(head)


def panels_of(view: View, run: Run, ids: Int[np.ndarray, " position"], block: int, head: int) -> dict[str, Panel]:
    """The panels of one head in one window, of its first positions; cells that a query may not see are NaN."""
    known, call = known_parts(view, run, block, len(ids)), call_of(view, ids, block)
    kept = min(len(ids), POSITIONS)
    allowed = allowed_keys(call, slice(0, kept))[0, 0, :, :kept].cpu().numpy()
    panels = head_parts(view, call, known, head, kept)
    panels |= {"logits": head_logits(view, call, head, kept), "pattern": head_pattern(call, head, kept)}
    return {name: np.where(allowed, values, np.nan).astype(np.float32) for name, values in panels.items()}


def token_texts(view: View, ids: Int[np.ndarray, " position"]) -> Shaped[np.ndarray, " query"]:
    """The texts of the tokens that are kept, escaped."""
    return np.array([token_text(view.tokenizer, int(token)) for token in ids[:POSITIONS]], dtype=str)


def most_positional(share: xr.DataArray) -> tuple[int, int]:
    """Block and head with the largest share of position · position; heads whose scores do not vary have none."""
    found = share.sel(part_query="position", part_key="position").transpose("block", "head").values
    block, head = np.unravel_index(np.where(np.isfinite(found), found, -np.inf).argmax(), found.shape)
    return int(block), int(head)


def head_parts(view: View, call: AttentionCall, known: Known, head: int, kept: int) -> dict[str, Panel]:
    """What each pair of position and residual adds to the logits of one head, float64."""
    query, key = query_key_parts(view, call.block, input_parts(call.input[0], known), call.rotation)
    pattern = "part_query query d, part_key key d -> part_query part_key query key"
    scores = einsum(query[:, head, :kept], key[:, head, :kept], pattern).cpu().numpy()
    places = {name: PARTS.index(name) for name in PARTS[1:]}
    pairs = product(places, repeat=2)
    return {f"{of_query}_{of_key}": scores[places[of_query], places[of_key]] for of_query, of_key in pairs}


def head_logits(view: View, call: AttentionCall, head: int, kept: int) -> Panel:
    """The model's own logits of one head, without writing out those of all."""
    query, key = call.query[0, head, :kept], call.key[0, view.heads(call.block).kv_head[head], :kept]
    return (query @ key.T * call.scaling).float().cpu().numpy()


def head_pattern(call: AttentionCall, head: int, kept: int) -> Panel:
    """The attention of the first queries of one head; the softmax counts all keys, also those that are not kept."""
    found = np.zeros((kept, call.key.shape[2]))
    for part in rows(call, range(kept)):
        found[part.queries, part.keys] = part.probabilities()[0, head].cpu().numpy()
    return found[:, :kept]
