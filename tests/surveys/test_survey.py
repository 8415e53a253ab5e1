"""A whole survey on tiny models: parity, reproducibility, folders, refusals."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
import transformers

import armillary as arm
from armillary.errors import BrokenContract, RequestError, StoreError
from armillary.models.states import reading
from armillary.surveys.checkpoint import checked_manifest, signed
from armillary.surveys.sums.shelf import Damaged, Kept, Shelf
from armillary.system.locking import alone


def llama(seed=0, **changes):
    options = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    } | changes
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return arm.load(transformers.LlamaForCausalLM(transformers.LlamaConfig(**options)))


@pytest.fixture(scope="module")
def view():
    torch.set_num_threads(1)
    return llama()


@pytest.fixture(scope="module")
def text():
    return np.random.default_rng(0).integers(3, 97, (300, 16))


def arrays(run):
    return {f"{g}/{n}": v.values for g, node in run.results.children.items() for n, v in node.data_vars.items()}


def assert_same_bits(ours, theirs):
    ours, theirs = arrays(ours), arrays(theirs)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype, name
        equal_nan = value.dtype.kind == "f"
        assert np.array_equal(value, theirs[name], equal_nan=equal_nan), name


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
    assert said.startswith(f"warning: cannot write {tmp_path / 'report.html'} (")
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


def interrupted(view, text, folder, monkeypatch, shards=1):
    from armillary.surveys.engines import local as engines

    real, calls = engines.shard_state, []

    def stopping(*arguments):
        if len(calls) == shards:
            raise KeyboardInterrupt
        calls.append(1)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(engines, "shard_state", stopping)
        patch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
        patch.setattr("armillary.surveys.total.CHECKPOINT_SECONDS", 0.0)
        patch.setattr("armillary.surveys.total.PART", 0)
        with pytest.raises(KeyboardInterrupt):
            arm.survey(view, text, out=folder, progress=False)


def test_an_interrupted_run_is_resumed_to_the_same_bits(view, text, tmp_path, monkeypatch):
    interrupted(view, text[:50], tmp_path, monkeypatch, shards=3)
    with pytest.raises(
        StoreError, match=r"^expected a folder without a run, got .*, which holds an unfinished one: add --resume"
    ):
        arm.survey(view, text[:50], out=tmp_path, progress=False)
    with pytest.raises(StoreError, match=r"^expected a run in .*, got none of .*states.nc.*: .*--resume"):
        arm.open(tmp_path)
    with pytest.raises(
        StoreError, match=r"^expected an unfinished run of this model, text and settings in .*, got one of others"
    ):
        arm.survey(view, text[:50], out=tmp_path, seed=4, resume=True, progress=False)
    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
    resumed = arm.survey(view, text[:50], out=tmp_path, resume=True, progress=False, report=False)
    assert_same_bits(resumed, arm.survey(view, text[:50], progress=False))


def shards_run(monkeypatch):
    """Which windows go through the model from now on, by the first of each shard."""
    from armillary.surveys import shard, total
    from armillary.surveys.engines import local as engines

    real, begun = shard.shard_state, []

    def counting(batches, plan, *rest):
        batches = list(batches)
        begun.append(next(i for i, part in enumerate(plan.shards) if batches[0].contexts.start in part))
        return real(batches, plan, *rest)

    monkeypatch.setattr(engines, "shard_state", counting)
    monkeypatch.setattr(total, "shard_state", counting)
    return begun


def flipped(path, at):
    """One byte of a file changed."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << at % 8
    path.write_bytes(content)


@pytest.fixture
def unbroken(view, text, monkeypatch):
    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
    return arm.survey(view, text[:50], progress=False)


def test_a_damaged_group_of_documents_runs_again_alone(view, text, tmp_path, monkeypatch, unbroken, capsys):
    interrupted(view, text[:50], tmp_path, monkeypatch, shards=4)
    groups = next((tmp_path / "checkpoint").glob("finished-*.bin"))
    manifest = (tmp_path / "checkpoint/manifest.json").read_text().partition("\n")[2]
    place = json.loads(manifest)["tensors"]["/state/residual/positions/sums/2"]
    flipped(groups, place[1] + 40)
    begun = shards_run(monkeypatch)
    resumed = arm.survey(view, text[:50], out=tmp_path, resume=True, progress=False, report=False)
    assert "checksum of finished-00001.bin differs: group 2 of documents runs again" in " ".join(
        capsys.readouterr().err.split()
    )
    corpus = resumed.results["corpus"].group.values
    assert begun[0] == int(np.flatnonzero(corpus == 2)[0] // 10)
    assert begun[1:] == [4, 5]
    assert_same_bits(resumed, unbroken)


def test_a_damaged_total_costs_the_shards_since_the_checkpoint_before(
    view, text, tmp_path, monkeypatch, unbroken, capsys
):
    interrupted(view, text[:50], tmp_path, monkeypatch, shards=4)
    newest = sorted((tmp_path / "checkpoint").glob("total-*.bin"))[-1]
    flipped(newest, newest.stat().st_size // 2)
    begun = shards_run(monkeypatch)
    resumed = arm.survey(view, text[:50], out=tmp_path, resume=True, progress=False, report=False)
    assert "newest checkpoint is damaged" in capsys.readouterr().err
    assert begun == [3, 4, 5]
    assert_same_bits(resumed, unbroken)


@pytest.mark.parametrize("damage", ["truncated", "not a manifest", "gone"])
def test_a_checkpoint_of_which_nothing_is_left_starts_from_the_first_window(
    view, text, tmp_path, monkeypatch, unbroken, capsys, damage
):
    interrupted(view, text[:50], tmp_path, monkeypatch)
    for path in (tmp_path / "checkpoint").iterdir():
        if damage == "truncated":
            path.write_bytes(path.read_bytes()[:100])
        elif path.suffix == ".json":
            path.write_text(signed('{"structure": [1, "two"], "shards": {}}'))
        elif damage == "gone":
            path.unlink()
    resumed = arm.survey(view, text[:50], out=tmp_path, resume=True, progress=False, report=False)
    assert "the survey starts from its first window" in capsys.readouterr().err
    assert_same_bits(resumed, unbroken)
    assert [path.name for path in tmp_path.iterdir()] == ["states.nc"]


@pytest.mark.parametrize("flips", [50, pytest.param(1000, marks=pytest.mark.nightly)])
def test_one_flipped_byte_of_a_checkpoint_is_always_noticed(view, text, tmp_path, monkeypatch, flips):
    interrupted(view, text[:50], tmp_path, monkeypatch, shards=2)
    folder, draw = tmp_path / "checkpoint", np.random.default_rng(0)
    places = {path: live(folder, path.name) for path in folder.glob("*.bin")}
    places = {path: bytes_there for path, bytes_there in places.items() if bytes_there.size}
    manifest = folder / "manifest.json"
    for _ in range(flips):
        path = list(places)[draw.integers(len(places))]
        at = int(draw.choice(places[path]))
        flipped(path, at)
        with pytest.raises(Damaged):
            check_all(folder)
        flipped(path, at)
    for at in range(0, manifest.stat().st_size, 997):
        flipped(manifest, at)
        with pytest.raises(ValueError, match=r"checksum|codec"):
            checked_manifest(manifest)
        flipped(manifest, at)
    check_all(folder)
    checked_manifest(manifest)


def check_all(folder):
    for place in json.loads((folder / "manifest.json").read_text().partition("\n")[2])["tensors"].values():
        Kept(Shelf(folder), place[0], place[1], place[2], tuple(place[3]), tuple(place[4])).check()


def live(folder, name):
    """The bytes of a file that a tensor of the manifest lies in."""
    tensors = json.loads((folder / "manifest.json").read_text().partition("\n")[2])["tensors"].values()
    sizes = {"float64": 8, "float32": 4, "int64": 8}
    spans = [
        range(at, at + sizes[dtype] * int(np.prod(shape))) for file, at, dtype, shape, _ in tensors if file == name
    ]
    return np.concatenate([np.array(span, dtype=int) for span in spans]) if spans else np.zeros(0, int)


def test_a_total_at_rest_on_disk_gives_the_same_bits(view, text, tmp_path, monkeypatch, unbroken):
    # The fixture's survey is in memory; with so little allowed all sums wait on disk for the next shard.
    monkeypatch.setattr("armillary.surveys.memory.AMPLE", 0.0)
    resting = arm.survey(view, text[:50], out=tmp_path / "run", progress=False, report=False)
    assert_same_bits(resting, unbroken)
    assert_same_bits(arm.survey(view, text[:50], progress=False), unbroken)
    interrupted(view, text[:50], tmp_path / "stopped", monkeypatch, shards=3)
    resumed = arm.survey(view, text[:50], out=tmp_path / "stopped", resume=True, progress=False, report=False)
    assert_same_bits(resumed, unbroken)


def test_finished_groups_go_to_disk_once_there_is_no_room(view, text, monkeypatch, unbroken):
    monkeypatch.setattr("armillary.surveys.shelving.ROOM", 100_000)
    monkeypatch.setattr("armillary.surveys.rooms.LARGE", 10_000)
    assert_same_bits(arm.survey(view, text[:50], progress=False), unbroken)


def test_sums_that_a_disk_does_not_give_back_are_one_line(view, text, tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.surveys.shelving.ROOM", 0)
    monkeypatch.setattr("armillary.surveys.sums.shelf.zlib.crc32", lambda content: len(content) * os.urandom(1)[0] + 1)
    with pytest.raises(
        StoreError, match=r"^cannot read back sums .*a checksum of finished-00001.bin differs.*--resume"
    ):
        arm.survey(view, text[:20], out=tmp_path, progress=False)


def test_more_memory_than_allowed_is_refused(view, text):
    message = (
        r"^expected a survey that takes at most 1e-05 GB beyond the model \(--max-memory\), got one that takes .*: use"
    )
    with pytest.raises(RequestError, match=message):
        arm.survey(view, text[:50], max_memory=1e-5, progress=False)


def test_sigterm_leaves_a_checkpoint_of_the_shards_that_are_done(view, text, tmp_path, monkeypatch, unbroken, capsys):
    from armillary import cli
    from armillary.surveys.engines import local as engines

    real, begun = engines.shard_state, []

    def terminated(*given):
        begun.append(1)
        if len(begun) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*given)

    def command(**_):
        with monkeypatch.context() as patch:
            patch.setattr(engines, "shard_state", terminated)
            arm.survey(view, text[:50], out=tmp_path, progress=False)

    monkeypatch.setattr(cli, "app", lambda **_: interrupt_as_typer_does(command))
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert ended.value.code == 130
    assert "resumes from its last checkpoint with --resume" in capsys.readouterr().err
    again = shards_run(monkeypatch)
    assert_same_bits(arm.survey(view, text[:50], out=tmp_path, resume=True, progress=False, report=False), unbroken)
    assert again == [3, 4, 5]


def interrupt_as_typer_does(command):
    """What a typer application returns where it does not leave by itself."""
    try:
        command()
    except KeyboardInterrupt:
        return 130


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


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_run_killed_at_random_moments_is_resumed_to_the_same_bits(tmp_path, kills):
    script = Path(__file__).with_name("kill_and_resume.py")
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), str(kills)], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kills} killed and resumed, all the same bits" in done.stdout


def test_a_survey_that_will_not_fit_is_refused_before_it_starts(view, text, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 1000})())
    message = r"^expected .* GB of free memory for this survey, got 0.0 GB: use .*--sites residual"
    with pytest.raises(RequestError, match=message):
        arm.survey(view, text, progress=False)


def test_a_full_disk_leaves_no_half_file(view, text, tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot write .*states.nc .*free some space or choose another --out"):
            arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_measure_that_fails_while_the_states_are_written_leaves_no_half_file(view, text, tmp_path, monkeypatch):
    def fails(groups):
        raise ZeroDivisionError("in a measure")

    monkeypatch.setattr("armillary.results.measuring.measured", fails)
    with pytest.raises(ZeroDivisionError, match="in a measure"):
        arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_disk_that_fills_up_while_the_measures_are_made_says_so(view, text, tmp_path, monkeypatch):
    from armillary.results.netcdf import Netcdf

    real, steps = Netcdf.add, []

    def full(self, groups):
        real(self, groups)
        steps.append(list(groups))
        if len(steps) == 2:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Netcdf, "add", full)
    with pytest.raises(StoreError, match=r"cannot write .*states.nc \(No space left on device\): free some space"):
        arm.survey(view, text[:20], out=tmp_path / "run", progress=False)
    assert "residual" in steps[0]
    assert "position" in steps[1]
    assert list((tmp_path / "run").iterdir()) == []


def test_a_full_disk_at_a_checkpoint_says_so(view, text, tmp_path, monkeypatch):
    from armillary.surveys.checkpoint import Checkpoint

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("armillary.surveys.plan.SHARD_TOKENS", 160)
    monkeypatch.setattr("armillary.surveys.total.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(Checkpoint, "place", full)
    with pytest.raises(StoreError, match=r"cannot write the checkpoint .*No space left on device.*free some space"):
        arm.survey(view, text[:50], out=tmp_path / "run", progress=False)


def test_a_folder_that_cannot_be_made_is_named(view, text, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot make the folder .*choose another --out"):
        arm.survey(view, text[:20], out=tmp_path / "file" / "run", progress=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": 5}, r"expected a setting of a survey, got 'context': did you mean contexts\?"),
        ({"nonsense": 5}, r"expected a setting of a survey, got 'nonsense': choose contexts, length, seed"),
        ({"first": "maybe"}, r"expected a value that first takes, got 'maybe': choose drop, keep"),
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
