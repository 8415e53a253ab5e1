"""A whole survey on tiny models: parity, reproducibility, folders, refusals."""

import contextlib

import numpy as np
import psutil
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import BrokenContract, RequestError, StoreError
from armillary.models.states import reading
from armillary.system.locking import alone
from small_survey import arrays, assert_same_bits


def test_captured_sums_are_those_of_the_models_own_hidden_states(view, text):
    run = arm.survey(view, text[:40], progress=False)
    order = run.results["corpus"].tokens.values
    with torch.no_grad():
        out = view.backbone(input_ids=torch.from_numpy(order).long(), output_hidden_states=True)
    for layer in range(3):
        states = out.hidden_states[layer][:, 1:].double().numpy()
        one = run.results["residual"].to_dataset().isel(layer=layer)
        assert np.allclose(one["mean"], states.mean((0, 1)), atol=1e-6)
        assert np.allclose(one.position_basis, states.mean(0) - states.mean((0, 1)), atol=1e-6)
        assert np.allclose(one.context_basis, states.mean(1) - states.mean((0, 1)), atol=1e-6)
        centred = (states - states.mean((0, 1))).reshape(-1, 32)
        assert np.allclose(one.covariance, centred.T @ centred / len(centred), atol=1e-5)
    sample = run.results["sample"].to_dataset()
    picked = out.hidden_states[1].numpy()[sample.context.values, sample.position.values]
    assert np.allclose(sample.states[1], picked, atol=1e-6)


def test_the_last_state_is_read_before_the_final_norm(view, text):
    tokens = torch.from_numpy(text[:4]).long()
    with torch.no_grad(), reading(view) as read:
        last = view.backbone(input_ids=tokens).last_hidden_state
    residual, attention = read.take(3)
    assert len(residual) == 4
    assert len(attention) == 3
    assert torch.allclose(view.final_norm(residual[-1]), last, atol=1e-6)
    assert torch.allclose(view.blocks[0].input_layernorm(residual[0]), attention[0], atol=1e-6)


def test_no_hook_outlives_the_pass(view, text):
    def hooks():
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in view.model.modules())

    before = hooks()
    arm.survey(view, text[:8], progress=False)
    assert hooks() == before
    with pytest.raises(ZeroDivisionError), reading(view):
        raise ZeroDivisionError
    assert hooks() == before


def test_a_model_that_skips_a_block_is_refused(view, text):
    with torch.no_grad(), reading(view) as read:
        view.backbone(input_ids=torch.from_numpy(text[:2]).long())
        with pytest.raises(BrokenContract, match=r"expected 5 blocks to run in one pass, \w+ 3"):
            read.take(5)


def test_another_batch_size_agrees_and_the_same_one_gives_the_same_bits(view, text):
    one = arm.survey(view, text[:70], batch=8, progress=False)
    assert_same_bits(one, arm.survey(view, text[:70], batch=8, progress=False))
    other = arm.survey(view, text[:70], batch=3, progress=False)
    for name, value in arrays(one).items():
        if value.dtype.kind == "f":
            scale = np.nanmax(np.abs(value), initial=0) or 1
            near = 1e-4 if name.endswith("_null_covariance") else 1e-5  # simulated in float32
            assert np.nanmax(np.abs(value - arrays(other)[name]), initial=0) <= near * scale, name
            assert np.array_equal(np.isnan(value), np.isnan(arrays(other)[name])), name
        else:
            assert np.array_equal(value, arrays(other)[name]), name


def test_a_post_norm_model_gives_the_residual_stream_as_attention_input(text):
    config = transformers.BertConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    run = arm.survey(arm.load(transformers.BertModel(config)), text[:20], progress=False)
    residual, attention = run.results["residual"], run.results["attention"]
    assert np.array_equal(attention.position_basis, residual.position_basis[:2])
    assert attention.position_null.dims == ("block", "position", "d_model")


def test_an_unknown_family_still_gets_its_residual_stream(text):
    config = transformers.Starcoder2Config(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
    )
    view = arm.load(transformers.Starcoder2Model(config))
    assert view.family is None
    run = arm.survey(view, text[:20], progress=False)
    assert run.results["residual"].sizes["layer"] == 3
    assert "attention" not in run.results.children


def test_a_run_on_disk_is_the_run_in_memory(view, text, tmp_path):
    written = arm.survey(view, text[:40], out=tmp_path / "run", progress=False, report=False)
    assert_same_bits(written, arm.survey(view, text[:40], progress=False))
    again = arm.open(tmp_path / "run")
    assert_same_bits(again, written)
    assert again.provenance["corpus_sha256"] == written.provenance["corpus_sha256"]
    assert not (tmp_path / "run" / "checkpoint").exists()
    for key in ("model_sha256", "versions", "command", "seed", "dtype", "outlier_rule", "groups", "bos", "created"):
        assert key in again.provenance, key


def test_a_folder_that_holds_a_run_is_not_touched(view, text, tmp_path):
    arm.survey(view, text[:20], out=tmp_path, progress=False, report=False)
    before = (tmp_path / "states.nc").read_bytes()
    with pytest.raises(
        StoreError, match=r"^expected a folder without a run, got .*, which already holds one: choose another --out"
    ):
        arm.survey(view, text[20:40], out=tmp_path, progress=False)
    with pytest.raises(StoreError, match=r"which already holds one"):
        arm.survey(view, text[20:40], out=tmp_path, resume=True, progress=False)
    assert (tmp_path / "states.nc").read_bytes() == before
    resumed = arm.survey(view, text[:20], out=tmp_path, resume=True, progress=False, report=False)
    assert resumed.provenance["contexts"] == 20
    assert (tmp_path / "states.nc").read_bytes() == before


def test_a_run_that_is_written_gets_its_page(view, text, tmp_path, capsys):
    arm.survey(view, text[:20], out=tmp_path, progress=False)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    (tmp_path / "report.html").unlink()
    arm.survey(view, text[:20], out=tmp_path, resume=True, progress=False)
    assert (tmp_path / "report.html").exists()
    assert capsys.readouterr() == ("", "")


def test_a_disk_that_refuses_the_page_costs_the_page_alone(view, text, tmp_path, capsys):
    (tmp_path / "report.html").mkdir()
    run = arm.survey(view, text[:20], out=tmp_path, progress=False)
    assert_same_bits(run, arm.open(tmp_path))
    said = capsys.readouterr().err
    assert said.startswith(f"warning: expected a file to write, got the folder {tmp_path / 'report.html'}")
    assert said.endswith(f"the results are complete, `armillary report {tmp_path}` tries again\n")


def test_results_are_written_before_the_page_is_drawn(view, text, tmp_path, monkeypatch):
    drawn = []

    def fails(run):
        drawn.append(run)
        raise ValueError("a figure fails")

    monkeypatch.setattr("armillary.reporting.run_report", fails)
    with contextlib.suppress(ValueError):
        arm.survey(view, text[:20], out=tmp_path, progress=False)
    assert drawn
    assert_same_bits(arm.open(tmp_path), arm.survey(view, text[:20], progress=False))


def test_more_memory_than_allowed_is_refused(view, text):
    message = (
        r"^expected a survey that takes at most 1e-05 GB beyond the model \(--max-memory\), got one that takes .*: use"
    )
    with pytest.raises(RequestError, match=message):
        arm.survey(view, text[:50], max_memory=1e-5, progress=False)


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"device_map": {"": "cpu"}}, {"device_map": "auto"}])
def test_half_precision_and_a_device_map_are_surveyed_in_float32_sums(tmp_path, text, options):
    config = transformers.LlamaConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    plain = arm.survey(arm.load(tmp_path), text[:20], progress=False).results["residual"]
    found = arm.survey(arm.load(tmp_path, **options), text[:20], progress=False).results["residual"]
    near = 0.02 if "dtype" in options else 1e-6
    assert np.allclose(found["mean"], plain["mean"], atol=near)
    assert np.allclose(found.position_basis, plain.position_basis, atol=near)


def test_two_surveys_do_not_share_a_folder(view, text, tmp_path):
    with (
        alone(tmp_path / "checkpoint", "a survey"),
        pytest.raises(
            StoreError, match=r"^expected a folder that no other process writes to, got .*a survey is running"
        ),
    ):
        arm.survey(view, text[:20], out=tmp_path, progress=False)
    arm.survey(view, text[:20], out=tmp_path, progress=False, report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["states.nc"]


def test_a_survey_that_will_not_fit_is_refused_before_it_starts(view, text, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 1000})())
    message = r"^expected .* GB of free memory for this survey, got 0.0 GB: use .*--sites residual"
    with pytest.raises(RequestError, match=message):
        arm.survey(view, text, progress=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": 5}, r"expected a setting of a survey, got 'context': did you mean contexts\?"),
        ({"nonsense": 5}, r"expected a setting of a survey, got 'nonsense': choose contexts, length, seed"),
        ({"first": "maybe"}, r"expected drop or keep for --first, got 'maybe': choose drop, keep"),
        ({"batch": 0}, r"expected batch of at least 1, got 0: choose a larger one"),
        ({"length": 2}, r"expected length of at least 3, got 2: choose a larger one"),
        (
            {"sites": "residual", "covariance": "attention"},
            r"expected sites=all with covariance=attention, got sites=residual",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(view, text, changes, message):
    with pytest.raises(RequestError, match=message):
        arm.survey(view, text, progress=False, **changes)


def test_help_shows_every_setting():
    import inspect

    shown = inspect.signature(arm.survey).parameters
    assert {"contexts", "length", "first", "outliers", "covariance", "out", "resume"} <= set(shown)
    assert shown["contexts"].default == 64


def test_covariances_of_the_attention_inputs_are_kept_on_request(view, text):
    run = arm.survey(view, text[:20], covariance="attention", progress=False)
    assert run.results["attention"].covariance.dims == ("block", "d_model", "d_model_")
    assert "covariance" not in arm.survey(view, text[:20], progress=False).results["attention"].data_vars
