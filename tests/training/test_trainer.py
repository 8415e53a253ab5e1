"""The penalty inside transformers' Trainer: counted once per update, whatever an update is made of."""

import pytest
import torch
from transformers import TrainingArguments

from armillary.errors import RequestError
from armillary.training.locater import locater_penalty
from armillary.training.trainer import LocaterTrainer
from families import tiny_model

KAPPAS = {"kappa_scale": 0.01, "kappa_trace": 0.5}


def examples(count):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(2, 67, (count, 10), generator=generator)
    return [{"input_ids": row, "labels": row} for row in ids]


def trained(tmp_path, batch, accumulation, kappas=KAPPAS, steps=2, **options):
    model = tiny_model("llama").requires_grad_(True)
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=steps,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulation,
        learning_rate=0.05,
        optim="sgd",
        max_grad_norm=0,
        report_to="none",
        disable_tqdm=True,
        logging_steps=1,
        save_strategy="no",
        train_sampling_strategy="sequential",
        use_cpu=True,
        **options,
    )
    trainer = LocaterTrainer(model=model, args=arguments, train_dataset=examples(16), **kappas)
    trainer.train()
    return model, trainer.state.log_history


def test_an_update_of_four_batches_has_the_penalty_once(tmp_path):
    whole, log = trained(tmp_path, 8, 1)
    parts, again = trained(tmp_path, 2, 4)
    for one, other in zip(whole.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    for key in ("loss", "penalty"):
        assert [row[key] for row in log if "loss" in row] == pytest.approx(
            [row[key] for row in again if "loss" in row], rel=1e-5
        )


def test_the_logged_loss_is_the_tasks_and_the_penalty_stands_beside_it(tmp_path):
    _, log = trained(tmp_path, 8, 1, steps=1)
    model = tiny_model("llama")
    ids = torch.stack([example["input_ids"] for example in examples(8)])
    assert log[0]["loss"] == pytest.approx(float(model(input_ids=ids, labels=ids).loss), rel=1e-5)
    assert log[0]["penalty"] == pytest.approx(locater_penalty(model, **KAPPAS).item(), rel=1e-5)


def test_without_a_penalty_it_trains_as_transformers_does(tmp_path):
    model, log = trained(tmp_path, 8, 1, kappas={}, steps=1)
    plain = tiny_model("llama").requires_grad_(True)
    ids = torch.stack([example["input_ids"] for example in examples(8)])
    plain(input_ids=ids, labels=ids).loss.backward()
    with torch.no_grad():
        for weight in plain.parameters():
            weight.sub_(0.05 * weight.grad)
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    assert "penalty" not in log[0]


def test_a_bad_strength_is_refused_before_anything_is_trained():
    with pytest.raises(RequestError, match="expected kappa_trace as a finite number of at least 0, got -1"):
        LocaterTrainer(kappa_trace=-1)
