"""What a task is to the loop that trains on it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.utils.data import Dataset

from armillary.measures.errors.groups import group_mean

IGNORED = -100
"""The label of a token that counts in no loss, as transformers has it."""

GROUPS = 16
"""Into how many stretches what is kept for validation falls, for an error of its loss."""

WINDOWS = 32
"""How many windows the geometry is looked at with."""

Tokens = Int[np.ndarray, "context position"]


class Examples(Dataset):
    """Examples that follow from their number alone: whatever was done before, batch n is the same batch."""

    def __init__(self, count: int, of: Callable[[Int[np.ndarray, " example"]], tuple[Tokens, Tokens]]) -> None:
        self.count, self.of = count, of

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, torch.Tensor]]:
        tokens, labels = self.of(np.asarray(indices, dtype=np.int64))
        rows = zip(torch.from_numpy(tokens), torch.from_numpy(labels), strict=True)
        return [{"input_ids": ids, "labels": wanted} for ids, wanted in rows]


@dataclass(frozen=True)
class Task:
    """All that training needs to know of what is learnt.

    `judged` gives the validation of a model by name. `fixed` are the windows whose geometry is followed. `heldout` are
    texts that were kept out of training, for a survey, and `length` the tokens of the longest window.
    """

    tokenizer: Any
    length: int
    examples: Examples
    judged: Callable[[Any], dict[str, float]]
    fixed: Tokens
    heldout: Callable[[], Iterator[str]]
    about: dict[str, Any]


def answers(model: Any, tokens: Tokens, labels: Tokens, batch: int = 64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For a few windows at a time: the loss of every labelled token (0 elsewhere), and whether it was the likeliest."""
    device = next(model.parameters()).device
    for start in range(0, len(tokens), batch):
        ids, wanted = (torch.from_numpy(part[start : start + batch]).to(device) for part in (tokens, labels))
        with torch.no_grad():
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), wanted[:, 1:], ignore_index=IGNORED, reduction="none"
        )
        yield losses.cpu().numpy(), (logits.argmax(-1) == wanted[:, 1:]).cpu().numpy()


def grouped_loss(
    losses: Float[np.ndarray, "context target"], labels: Int[np.ndarray, "context position"]
) -> dict[str, float]:
    """The mean loss over labelled tokens in nats, and its standard error over stretches of consecutive windows."""
    counted = (labels[:, 1:] != IGNORED).astype(np.float64)
    groups = min(GROUPS, len(losses))
    parts = [np.array_split(table, groups) for table in (losses * counted, counted)]
    sums, counts = (np.array([part.sum() for part in table]) for table in parts)
    found = group_mean(sums / counts, counts.astype(np.int64))
    return {"eval_loss": float(found[0]), "eval_loss_se": float(found[1])}
