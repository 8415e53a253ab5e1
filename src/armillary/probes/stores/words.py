"""Words sent through every head by their embeddings alone: which words they find as keys, and what is written."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from armillary.measures.stores.lexicon import one_end
from armillary.measures.stores.peaks import unit
from armillary.measures.stores.specificity import (
    FEWEST,
    fit_of,
    matching,
    random_matching,
    scores_of,
    top_others,
    without_self,
)
from armillary.probes.stores.lexicons import Vocabulary, Words
from armillary.probes.stores.readings import TOP
from armillary.probes.stores.weights import BlockWeights, Store
from armillary.system.threads import one_core_each, side_by_side

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]


RANDOM = 120
"""Random heads of each block's null, shared out among its heads; ten of each at least."""


def block_words(
    weights: BlockWeights,
    stores: dict[int, Store],
    words: Words,
    known: Vocabulary,
    *,
    seeds: list[int],
    every_token: bool,
) -> xr.Dataset:
    """One block's heads asked for every word; with `every_token` their values are read by the whole vocabulary too."""
    states, heads = np.sqrt(weights.query.shape[1]) * words.input, list(stores)
    pairs = zip(weights.value, weights.output, strict=True)
    with one_core_each():
        written = np.stack([states @ value @ output.T for value, output in pairs])
    spectra = [np.stack([store.products[place].value for store in stores.values()]) for place in (0, 1)]
    work: list[Callable[[], Variables]] = [
        partial(token_variables, "update", written.sum(axis=0)[None], known),
        partial(key_variables, weights, heads, words, spectra[0], [*seeds, 0]),
        partial(value_variables, written[heads], words, spectra[1], [*seeds, 1]),
    ]
    if every_token:
        work += [partial(token_variables, "value", written[head][None], known) for head in heads]
    update, keys, values, *read = side_by_side(lambda part: part(), work)
    found = {name: (dims[1:], array[0]) for name, (dims, array) in update.items()} | keys | values
    for name, (dims, _) in (read[0] if read else {}).items():
        found[name] = (dims, np.concatenate([part[name][1] for part in read]))
    return xr.Dataset(found)


def token_variables(name: str, written: Float[np.ndarray, "head word d_model"], known: Vocabulary) -> Variables:
    """The tokens of the vocabulary nearest to what is written for every word."""
    shape, dims = (*written.shape[:2], TOP), ("head", "word", "rank")
    found = one_end(unit(written.reshape(-1, written.shape[2])), known.output, TOP)
    return {
        f"{name}_token": (dims, found.token.reshape(shape)),
        f"{name}_score": (dims, found.score.reshape(shape)),
    }


def key_variables(
    weights: BlockWeights, heads: list[int], words: Words, value: Float[np.ndarray, "head mode"], seeds: list[int]
) -> Variables:
    """The strongest keys of every word among the others of the list, x W_QK yᵀ, and how well they fit the word."""
    states = np.sqrt(words.input.shape[1]) * words.input
    scores = np.stack(
        [weights.scale * (states @ weights.query[head]) @ (states @ weights.key[head]).T for head in heads]
    )
    chosen = np.stack([top_others(each, TOP) for each in scores])
    own = (scores.argmax(axis=2) == np.arange(len(states))).mean(axis=1)
    return {
        "key_word": (("head", "word", "rank"), chosen),
        "key_score": (("head", "word", "rank"), np.stack(list(map(scores_of, scores, chosen)))),
        "self_share": (("head",), own),
        **fits("keys", chosen, words, (words.input, value, seeds)),
    }


def value_variables(
    written: Float[np.ndarray, "head word d_model"],
    words: Words,
    value: Float[np.ndarray, "head mode"],
    seeds: list[int],
) -> Variables:
    """The other words of the list nearest to what every head writes for a word, and how well they fit it."""
    chosen = np.stack([top_others(unit(each) @ words.output.T, TOP) for each in written])
    return {
        "value_word": (("head", "word", "rank"), chosen),
        **fits("values", chosen, words, (words.output, value, seeds)),
    }


def fits(
    what: str,
    chosen: Int[np.ndarray, "head word rank"],
    words: Words,
    null: tuple[Float[np.ndarray, "word d_model"], Float[np.ndarray, "head mode"], list[int]],
) -> Variables:
    """How well the words chosen fit, by the cosine of embeddings and, in the built-in list, by subject.

    `null` has what random heads need: the words as they are found, the heads' singular values, seeds.
    """
    similarity = {"specificity": without_self(words.input @ words.input.T)}
    if words.subject is not None:
        similarity["subject"] = without_self((words.subject[:, None] == words.subject).astype(np.float64))
    found_as, value, seeds = null
    draws = max(RANDOM // len(value), 10) if len(words.texts) >= FEWEST else 0
    kinds = np.stack(list(similarity.values()))
    moments = random_matching(words.input, found_as, value, kinds, TOP, draws, np.random.default_rng(seeds))
    found: Variables = {}
    for (name, similar), (mean, sd) in zip(similarity.items(), moments, strict=True):
        fit, other, z = np.array([matching(fit_of(similar, each)) for each in chosen]).T
        columns = {"": fit, "_null": other, "_z": (z - mean) / sd}
        found |= {f"{name}_{what}{ending}": (("head",), column) for ending, column in columns.items()}
    return found


def word_dataset(blocks: list[xr.Dataset], along: dict[str, list[int]], words: Words, known: Vocabulary) -> xr.Dataset:
    """The blocks along one axis, the words' own neighbours beside them, and the texts of all tokens."""
    whole = xr.concat(blocks, dim="block", data_vars="all", join="outer")
    cosines = words.input @ words.input.T
    near = top_others(cosines, TOP)
    whole = whole.assign(
        word_tokens=("word", np.array([len(ids) for ids in words.tokens])),
        neighbour=(("word", "rank"), near),
        neighbour_score=(("word", "rank"), scores_of(cosines, near)),
    )
    for name in ("update", "value"):
        if f"{name}_token" in whole:
            tokens = whole[f"{name}_token"]
            whole[f"{name}_text"] = (tokens.dims, known.texts(tokens.values))
    ranks = np.arange(1, whole.sizes["rank"] + 1)
    return whole.assign_coords(along | {"word": list(words.texts), "rank": ranks})
