"""The built-in task by examples on a model: its answers, and where the examples' tokens look, beside its control."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from armillary.errors import RequestError
from armillary.measures.maps import ShotMass, shot_mass
from armillary.models.attention import AttentionCall, probabilities
from armillary.models.interventions import randomised
from armillary.models.view import View
from armillary.prompts.continuation import continuation
from armillary.prompts.examples import CLUES, FewShot, fewshot
from armillary.prompts.ids import Ids, prompt_ids
from armillary.system.progress import progress_of
from armillary.system.texts import escaped

_LOOKS = {
    "diagonal": "at themselves",
    "within": "at other tokens of their own example",
    "across": "at tokens of other examples",
    "outside": "at tokens of no example: the opening, a BOS, the question",
}


def fewshot_answers(
    view: View,
    shots: Sequence[int] = (3, 5, 8),
    *,
    words: Sequence[str] | None = None,
    tokens: int = 16,
    seed: int = 0,
    progress: bool = False,
) -> xr.Dataset:
    """Answers to the built-in task and, per block, where the tokens of the examples look, beside the control.

    continuation(shots, word): the first line of the greedy continuation. mass_diagonal, _within, _across, _outside
    (shots, block): mean over words, heads and tokens of examples; the four add up to 1. _null: the same of the
    random-weight control of `seed`. _se: spread over words / √words; prompts share examples, so it is a lower bound.
    """
    asked = list(CLUES) if words is None else list(words)
    if not asked or not len(shots):
        raise RequestError("expected at least one word and one number of shots, got none: give both")
    prompts = {count: [fewshot(word, count, seed) for word in asked] for count in shots}
    lines, masses, nulls = [], [], []
    with progress_of(f"{view.name}, {len(asked)} words", 2 * len(shots) * len(asked), show=progress) as report:
        for made in prompts.values():
            answered = [_answer(view, asked_for, tokens, report) for asked_for in made]
            lines.append([line for line, _ in answered])
            masses.append([mass for _, mass in answered])
        with randomised(view, seed):
            for made in prompts.values():
                nulls.append([_answer(view, asked_for, 0, report)[1] for asked_for in made])
    return _dataset(view, list(shots), asked, lines, np.array(masses), np.array(nulls))


def shot_index(view: View, asked: FewShot) -> tuple[Ids, Int[np.ndarray, "position"]]:
    """The prompt's token ids, and for each the number of its example, −1 outside of examples."""
    if not getattr(view.tokenizer, "is_fast", False):
        raise RequestError(
            "expected a fast tokenizer, which says where its tokens stand in the text, got none: give tokenizer=..."
        )
    ids = prompt_ids(view, asked.text)
    offsets = view.tokenizer(asked.text, return_offsets_mapping=True)["offset_mapping"]
    index = np.full(len(ids), -1)
    for number, (start, end) in enumerate(asked.spans):
        index[[left < end and right > start and right > left for left, right in offsets]] = number
    return ids, index


def _answer(
    view: View, asked: FewShot, tokens: int, report: Callable[[int], None]
) -> tuple[str, Float[np.ndarray, "block look"]]:
    """The first line of the continuation, and where the tokens of examples look in each block."""
    ids, index = shot_index(view, asked)
    found = np.zeros((view.n_blocks, len(ShotMass._fields)))

    def receive(call: AttentionCall) -> None:
        found[call.block] = shot_mass(probabilities(call)[0].mean(0).cpu().numpy(), index)

    text = continuation(view, ids, tokens, receive=receive)
    report(1)
    return escaped(text.strip().split("\n")[0].strip()), found


def _dataset(
    view: View,
    shots: list[int],
    words: list[str],
    lines: list[list[str]],
    masses: Float[np.ndarray, "shots word block look"],
    nulls: Float[np.ndarray, "shots word block look"],
) -> xr.Dataset:
    error = masses.std(1, ddof=1) / np.sqrt(len(words)) if len(words) > 1 else np.full_like(masses[:, 0], np.nan)
    found = xr.Dataset(
        {"continuation": (("shots", "word"), np.array(lines, dtype=str))},
        coords={"shots": shots, "word": [escaped(word) for word in words]},
        attrs={"model": view.name},
    )
    for column, name in enumerate(ShotMass._fields):
        for ending, values in (("", masses.mean(1)), ("_se", error), ("_null", nulls.mean(1))):
            about = {"units": "1", "long_name": f"attention of the examples' tokens {_LOOKS[name]}"}
            found[f"mass_{name}{ending}"] = (("shots", "block"), values[..., column], about)
    return found
