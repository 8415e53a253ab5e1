"""transformers' Trainer with the LocAteR penalty in its loss."""

from typing import Any

import torch
from transformers import Trainer

from armillary.errors import Number
from armillary.training.locater import locater_penalty, refuse_kappa


class LocaterTrainer(Trainer):
    """A Trainer that adds `locater_penalty` to the loss of every update, once, however many batches it is made of.

    `kappa_scale` and `kappa_trace` are the penalty's; everything else is as in transformers. The logged loss is that
    of the task alone, the penalty stands beside it, and an evaluation knows no penalty.
    """

    def __init__(self, *args: Any, kappa_scale: Number = 0.0, kappa_trace: Number = 0.0, **kwargs: Any) -> None:
        refuse_kappa("kappa_scale", kappa_scale)
        refuse_kappa("kappa_trace", kappa_trace)
        super().__init__(*args, **kwargs)
        self.kappas = {"kappa_scale": kappa_scale, "kappa_trace": kappa_trace}
        self.seen = {"loss": 0.0, "penalty": 0.0}
        self.since: int | None = None

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss of the task, and in training the penalty's share of this batch."""
        found = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        loss, outputs = found
        if model.training:
            # A loss that the model has already divided by the update's tokens is not divided again by its batches.
            whole = self.model_accepts_loss_kwargs and num_items_in_batch is not None
            batches = self.current_gradient_accumulation_steps
            self._remember("loss", loss, 1 if whole else batches)
            if any(self.kappas.values()):
                penalty = locater_penalty(model, **self.kappas)
                self._remember("penalty", penalty, batches)
                loss = loss + (penalty / batches if whole else penalty)
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """As in transformers, with the task's loss and the penalty in the place of their sum."""
        if "loss" in logs and self.since is not None and self.since < self.state.global_step:
            updates = self.state.global_step - self.since
            means = {name: value / updates for name, value in self.seen.items()}
            logs["loss"] = means["loss"]
            if any(self.kappas.values()):
                logs["penalty"] = means["penalty"]
            self.seen, self.since = dict.fromkeys(self.seen, 0.0), None
        super().log(logs, start_time)

    def _remember(self, name: str, value: torch.Tensor, batches: int) -> None:
        if self.since is None:
            self.since = self.state.global_step
        self.seen[name] += float(value.detach()) / batches
