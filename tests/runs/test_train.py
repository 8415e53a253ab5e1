"""Training as a user starts it: the run, the model in it, what is refused, and a stop that changes nothing."""

import json
import math

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.errors import RequestError, StoreError
from armillary.runs import train as training
from armillary.training import loop

TINY = {"layers": 1, "heads": 2, "width": 16, "steps": 12, "batch": 8, "problems": 20, "dropout": 0.1}
TINY |= {"log_every": 2, "validate_every": 4, "save_every": 4, "geometry_every": 6, "warmup": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    torch.set_num_threads(1)
    return arm.train("addition", out=tmp_path_factory.mktemp("train") / "run", progress=False, **TINY)


def test_a_run_holds_curves_accuracies_and_geometry(run):
    curves, geometry = (run.results[name].to_dataset() for name in ("training", "training_heads"))
    assert curves.step.values.tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert np.isfinite(curves.loss.values[1:]).all()
    assert np.flatnonzero(np.isfinite(curves.loss_validation)).tolist() == [0, 2, 4, 6]
    assert curves.accuracy.shape == (7, 5)
    assert curves.trained.values.tolist() == [False, True, True, True, False]
    assert geometry.step.values.tolist() == [0, 6, 12]
    assert geometry.rho.shape == (3, 1, 2, 15)
    assert run.results["training_layers"].rank_stable.shape == (3, 2)
    assert run.provenance["trained"] == "addition"


def test_the_model_in_it_is_read_like_any_other(run):
    view = arm.load(run.folder / "model")
    assert (view.n_blocks, view.d_model, view.max_length) == (1, 16, 18)
    text = json.loads((run.folder / "heldout.jsonl").read_text().splitlines()[0])["text"]
    assert view.tokenizer.decode(view.tokenizer(text)["input_ids"]) == text
    surveyed = arm.survey(view, run.folder / "heldout.jsonl", contexts=20, length=15, progress=False)
    assert surveyed.results["position"].sizes["layer"] == 2


def test_a_run_is_opened_shown_and_reported_by_itself(run):
    again = arm.open(run.folder)
    assert again.title == run.title
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "training-loss" in page
    assert "training-accuracy" in page
    assert "Not in this run" not in page
    assert not (run.folder / "checkpoints").exists()


class KilledError(Exception):
    """Stands for kill -9 between two steps."""


def test_a_killed_run_resumes_to_the_same_curve(run, tmp_path, monkeypatch):
    plain = loop.Loop.training_step

    def dying(self, *args, **kwargs):
        if self.state.global_step == 7:
            raise KilledError
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(loop.Loop, "training_step", dying)
    with pytest.raises(KilledError):
        arm.train("addition", out=tmp_path / "run", progress=False, report=False, **TINY)
    monkeypatch.setattr(loop.Loop, "training_step", plain)
    (tmp_path / "run/checkpoints/checkpoint-9").mkdir()  # cut while it was written
    again = arm.train("addition", out=tmp_path / "run", resume=True, progress=False, report=False, **TINY)
    for group in ("training", "training_heads", "training_layers"):
        assert again.results[group].to_dataset().equals(run.results[group].to_dataset())
    one, other = (arm.load(folder / "model").model.state_dict() for folder in (run.folder, tmp_path / "run"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_folder_that_holds_a_run_is_refused(run, tmp_path):
    with pytest.raises(StoreError, match="which already holds one: choose another --out"):
        arm.train("addition", out=run.folder, **TINY)
    (tmp_path / "settings.json").write_text(json.dumps({"steps": 3}))
    with pytest.raises(StoreError, match="which holds an interrupted training: resume it with --resume"):
        arm.train("addition", out=tmp_path, **TINY)
    with pytest.raises(RequestError, match="expected the settings of the interrupted training, task 'text', got 'add"):
        arm.train("addition", out=tmp_path, resume=True, **TINY)
    with pytest.raises(StoreError, match=r"expected an interrupted training in .*, got none: train without --resume"):
        arm.train("addition", out=tmp_path / "none", resume=True, **TINY)


def test_a_loss_that_is_no_number_stops_with_the_step_and_the_last_good_checkpoint(tmp_path, monkeypatch):
    plain = loop.LocaterTrainer.compute_loss

    def broken(self, *args, **kwargs):
        found = plain(self, *args, **kwargs)
        return found * math.nan if self.state.global_step == 9 else found

    monkeypatch.setattr(loop.LocaterTrainer, "compute_loss", broken)
    with pytest.raises(RequestError) as caught:
        arm.train("addition", out=tmp_path / "run", progress=False, **TINY)
    last = tmp_path / "run/checkpoints/checkpoint-8"
    assert str(caught.value) == (
        f"expected a finite loss, got nan at step 10: the last good checkpoint is {last}; train anew with a lower "
        "--learning-rate"
    )
    assert (last / "model.safetensors").exists()


def test_a_diverging_loss_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "RECENT", 2)
    with pytest.raises(RequestError, match=r"expected a loss below 2 times the first, .*, got .* at step \d+: "):
        arm.train("addition", out=tmp_path / "run", progress=False, **{**TINY, "learning_rate": 30.0, "clip": 0.0})


def test_a_text_is_learnt_by_any_shape(tmp_path):
    for shape in ("rotary", "post-norm"):
        found = arm.train(
            "locater",
            out=tmp_path / shape,
            shape=shape,
            progress=False,
            report=False,
            **{**TINY, "context": 8, "vocabulary": 300, "kappa_scale": 1},
        )
        assert np.isfinite(found.results["training"].penalty.values[1:]).all()
        assert float(found.results["training"].bigram_entropy) > 0
        assert arm.load(tmp_path / shape / "model").family is not None


def test_tasks_follow_from_settings():
    assert training.task_of(training.settings_of("addition", **TINY)).length == 18


@pytest.mark.nightly
def test_the_quick_preset_of_a_text_ends_below_its_bigram_entropy(tmp_path):
    found = arm.train("shakespeare-chars", out=tmp_path / "run", progress=False).results["training"].to_dataset()
    assert float(found.loss_validation[-1] + 3 * found.loss_validation_se[-1]) < float(found.bigram_entropy)
