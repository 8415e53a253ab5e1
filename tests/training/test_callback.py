"""GeometryCallback in somebody's own Trainer: measured, sent to reporters, kept, and warned of."""

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from armillary.errors import RequestError
from armillary.training.callback import FILE, GeometryCallback, collapses, read_records
from armillary.training.geometry import geometry
from families import tiny_model

IDS = torch.randint(2, 67, (16, 10), generator=torch.Generator().manual_seed(0))


class Reporter(TrainerCallback):
    def __init__(self):
        self.seen = []

    def on_log(self, args, state, control, logs=None, **_):
        self.seen.append((state.global_step, dict(logs)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, reporter = tmp_path_factory.mktemp("trainer"), Reporter()
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=5,
        per_device_train_batch_size=4,
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
    )
    model = tiny_model("gpt2").requires_grad_(True)
    rows = [{"input_ids": row, "labels": row} for row in IDS]
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[reporter])
    callback = GeometryCallback(every=2).follow(trainer)
    trainer.train()
    return callback, reporter, folder, model


def test_it_measures_at_the_start_every_so_often_and_at_the_end(trained):
    callback, _, folder, model = trained
    found = callback.dataset()
    assert found.step.values.tolist() == [0, 2, 4, 5]
    assert found.rho.dims == ("step", "block", "head", "key")
    last = geometry(model, IDS)
    for name in last.data_vars:
        np.testing.assert_allclose(found[name][-1], last[name], rtol=1e-6)
    assert [record["step"] for record in read_records(folder / FILE)] == [0, 2, 4, 5]


def test_reporters_are_sent_means_through_the_trainers_log(trained):
    callback, reporter, *_ = trained
    sent = {step: logs for step, logs in reporter.seen if "geometry_entropy" in logs}
    assert sorted(sent) == [0, 2, 4, 5]
    assert sent[4]["geometry_entropy"] == pytest.approx(float(callback.dataset().entropy.sel(step=4).mean()))


def test_collapse_of_entropy_and_of_rank_is_said(trained):
    found = trained[0].dataset().isel(step=0)
    assert collapses(found) == []
    sharp = found.assign(entropy_relative=0 * found.entropy_relative, collapse=0 * found.collapse)
    assert collapses(sharp) == [
        "entropy collapse: head 0 of block 0 attends to one token for nearly every query",
        "rank collapse: the tokens of a window are nearly one vector in layer 0",
    ]


def test_a_line_that_was_cut_is_left_out(tmp_path):
    path = tmp_path / FILE
    assert read_records(path) == []
    path.write_text('{"step": 0}\n{"step": 1', encoding="utf-8")
    assert read_records(path) == [{"step": 0}]


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(RequestError, match="expected a number of steps of at least 1, got 0: choose another"):
        GeometryCallback(every=0)
    with pytest.raises(RequestError, match="expected a training that has begun, got no measurement yet: train first"):
        GeometryCallback().dataset()
