"""What is interrupted, killed or damaged goes on to the same bits."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import StoreError
from armillary.surveys.checkpoint import checked_manifest, signed
from armillary.surveys.sums.shelf import Damaged, Kept, Shelf
from small_survey import assert_same_bits, interrupted


def test_an_interrupted_run_is_resumed_to_the_same_bits(view, text, tmp_path, monkeypatch):
    interrupted(view, text[:50], tmp_path, monkeypatch, shards=3)
    with pytest.raises(
        StoreError, match=r"^expected a folder without a run, got .*, which holds an unfinished one: add --resume"
    ):
        arm.survey(view, text[:50], out=tmp_path, progress=False)
    with pytest.raises(
        StoreError,
        match=r"^expected the folder of a run, got .*, whose survey was interrupted: resume it with --resume$",
    ):
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


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_run_killed_at_random_moments_is_resumed_to_the_same_bits(tmp_path, kills):
    script = Path(__file__).with_name("kill_and_resume.py")
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), str(kills)], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kills} killed and resumed, all the same bits" in done.stdout
