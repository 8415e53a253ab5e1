"""Parts of a survey that are merged give the bits of one pass; what does not belong together is refused by name."""

import shutil

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError, StoreError
from armillary.surveys.parts import numbers_of

TEXT = np.random.default_rng(0).integers(3, 97, (60, 16))
OPTIONS = {"progress": False, "report": False, "shard_tokens": 64}


def part(view, out, shard, text=TEXT, **options):
    return arm.survey(view, text, out=out, shard=shard, **{**OPTIONS, **options})


def bits(run):
    groups = {name: node.to_dataset() for name, node in run.results.children.items()}
    arrays = {f"{name}/{each}": held[each].values for name, held in groups.items() for each in held.data_vars}
    return {name: array.tobytes() if array.dtype.kind in "biuf" else array.tolist() for name, array in arrays.items()}


@pytest.fixture(scope="module")
def parts(tiny_llama, tmp_path_factory):
    base = tmp_path_factory.mktemp("parts")
    for number in (1, 2, 3):
        part(tiny_llama, base / str(number), f"{number}/3")
    return [base / str(number) for number in (1, 2, 3)]


def test_merged_parts_are_the_unsplit_run_to_the_bit(tiny_llama, parts, tmp_path):
    whole = arm.survey(tiny_llama, TEXT, out=tmp_path / "whole", **OPTIONS)
    merged = arm.merge([parts[2], parts[0], parts[1]], out=tmp_path / "merged", progress=False, report=False)
    assert bits(merged) == bits(whole)
    own = {"created", "shard", "command"}
    assert {k: v for k, v in merged.provenance.items() if k not in own} == {
        k: v for k, v in whole.provenance.items() if k not in own
    }
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == ["states.nc"]


def test_heads_and_texts_of_tokens_are_merged_too(tmp_path):
    import tiny_run

    view, text = arm.load(tiny_run.saved_model(tmp_path)), tiny_run.texts(tmp_path)
    options = {"contexts": 12, "length": 16, "heads": True, "shard_tokens": 32, "progress": False, "report": False}
    whole = arm.survey(view, text, out=tmp_path / "whole", **options)
    for number in (1, 2):
        arm.survey(view, text, out=tmp_path / str(number), shard=f"{number}/2", **options)
    merged = arm.merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "merged", progress=False, report=False)
    assert bits(merged) == bits(whole)


def test_a_missing_part_is_named(parts, tmp_path):
    message = r"^expected all 3 parts of the survey, got all but 2/3: run it with --shard, and give all folders$"
    with pytest.raises(StoreError, match=message):
        arm.merge([parts[0], parts[2]], out=tmp_path / "merged")
    with pytest.raises(StoreError, match=r"got all but 1/3, 3/3: run them with"):
        arm.merge([parts[1]], out=tmp_path / "merged")
    with pytest.raises(StoreError, match=r"^expected folders of the parts of a survey, got none: give those of"):
        arm.merge([], out=tmp_path / "merged")


def test_a_part_given_twice_is_named(parts, tmp_path):
    with pytest.raises(StoreError, match=r"^expected each part once, got part 2/3 in .*2 and in .*2: give one"):
        arm.merge([*parts, parts[1]], out=tmp_path / "merged")


@pytest.mark.parametrize("other", [{"text": TEXT - 1}, {"outliers": "keep"}, {"shard": "2/4"}])
def test_parts_of_different_surveys_are_refused(tiny_llama, parts, tmp_path, other):
    part(tiny_llama, tmp_path / "other", **{"shard": "2/3", **other})
    with pytest.raises(StoreError, match=r"^expected parts of one survey, got another model, text, settings or number"):
        arm.merge([parts[0], tmp_path / "other", parts[2]], out=tmp_path / "merged")


def test_what_is_no_part_is_refused(parts, tmp_path):
    with pytest.raises(StoreError, match=r"^expected a finished part of a survey in .*nowhere, got none .*: give"):
        arm.merge([tmp_path / "nowhere"], out=tmp_path / "merged")
    shutil.copytree(parts[0], tmp_path / "begun")
    (tmp_path / "begun/part/part.json").unlink()
    with pytest.raises(StoreError, match=r"its survey was interrupted, resume it with --resume$"):
        arm.merge([tmp_path / "begun"], out=tmp_path / "merged")


@pytest.mark.parametrize("name", ["shard-000001.safetensors", "pilot.safetensors", "windows.safetensors", "part.json"])
def test_one_flipped_byte_of_any_file_of_a_part_is_noticed(parts, tmp_path, name):
    shutil.copytree(parts[0], tmp_path / "damaged")
    path = tmp_path / "damaged/part" / name
    content = bytearray(path.read_bytes())
    content[-len(content) // 3] ^= 4
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"(cannot read .*{name}|expected a finished part).*--resume$"):
        arm.merge([tmp_path / "damaged", *parts[1:]], out=tmp_path / "merged", progress=False)


def test_an_interrupted_part_goes_on_where_it_stopped(tiny_llama, parts, tmp_path, monkeypatch):
    from armillary.surveys import parts as room

    shutil.copytree(parts[1], tmp_path / "begun")
    place = tmp_path / "begun/part"
    (place / "part.json").unlink()
    files = sorted(place.glob("shard-*"))
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-9])
    with pytest.raises(StoreError, match=r"which holds one or a part of one: add --resume to go on with a part, or"):
        part(tiny_llama, tmp_path / "begun", "2/3")
    ran, run_shard = [], room.run_shard
    monkeypatch.setattr(room, "run_shard", lambda *given: (ran.append(given[2]), run_shard(*given))[1])
    part(tiny_llama, tmp_path / "begun", "2/3", resume=True)
    assert len(ran) == 2
    whole = arm.survey(tiny_llama, TEXT, **OPTIONS)
    merged = arm.merge([parts[0], tmp_path / "begun", parts[2]], out=tmp_path / "merged", progress=False, report=False)
    assert bits(merged) == bits(whole)


def test_a_part_of_another_survey_is_not_resumed(tiny_llama, parts, tmp_path):
    shutil.copytree(parts[1], tmp_path / "other")
    with pytest.raises(StoreError, match=r"^expected a part of this survey in .*, got one of another model, text or"):
        part(tiny_llama, tmp_path / "other", "2/3", resume=True, outliers="keep")


def test_every_shard_has_one_part():
    for shards in (3, 7, 8):
        for count in range(1, shards + 1):
            held = [number for part in range(1, count + 1) for number in numbers_of(part, count, shards)]
            assert held == list(range(shards))
    with pytest.raises(RequestError, match=r"^expected at most 3 parts, one for each shard of this survey, got 4"):
        numbers_of(1, 4, 3)


def test_a_part_needs_a_folder(tiny_llama):
    with pytest.raises(RequestError, match=r"^expected a folder for a part of a survey, got none: give out$"):
        part(tiny_llama, None, "1/2")
