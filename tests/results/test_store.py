"""A run on disk: round trips, refusals in words, and a file that stays whole whatever happens to the next."""

import json
import os
import re
import shutil

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import armillary as arm
from armillary.errors import StoreError
from armillary.results import store
from armillary.results.netcdf import Netcdf
from armillary.results.schema import FORMAT, GROUPS
from armillary.system.texts import escaped

SIZES = {axis: size for size, axis in enumerate(
    ["layer", "block", "position", "context", "group", "group_", "document", "sample", "d_model", "d_model_",
     "component", "mode"], start=2)} | {"outlier": 0, "component": 3}  # fmt: skip
HOSTILE = [
    "a\0b",
    "\ud800",
    "line\nbreak\r\t",
    "🦆",
    "\u202eevil",
    "<script>alert(1)</script>",
    "back\\slash",
    "\\x00",
    "",
    "é",
]


def dataset_of(name, rng):
    """A group with numbers of the right shape, as the schema has it."""
    variables = {}
    for variable, row in GROUPS[name].variables.items():
        shape = tuple(SIZES.get(axis, 3) for axis in row.axes)
        kinds = {"text": str, "index": np.int64, "token id": np.int32, "true or false": bool}
        values = rng.normal(size=shape).astype(np.float32)
        variables[variable] = (row.axes, values.astype(kinds.get(row.unit, np.float32)))
    whole = xr.Dataset(variables)
    names = ["position", "context", "residual"]
    return whole.assign_coords(component=names) if "component" in whole.dims else whole


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    return {name: dataset_of(name, rng) for name in GROUPS}


@pytest.fixture
def folder(groups, tmp_path):
    store.write(tmp_path / "run", "states.nc", groups, {"model": "m", "corpus": "c", "seed": 3})
    return tmp_path / "run"


def changed(folder, groups, name, dataset, **attributes):
    store.write(folder, "states.nc", {**groups, name: dataset}, attributes)
    return folder


def test_what_was_written_is_read(groups, folder):
    run = arm.open(folder)
    assert run.folder == folder
    assert set(run.results.children) == set(groups)
    for name, dataset in groups.items():
        xr.testing.assert_identical(run.results[name].to_dataset().load(), dataset)
        for variable in dataset.data_vars:
            kind = dataset[variable].dtype.kind
            assert kind == "U" or run.results[name][variable].dtype == dataset[variable].dtype
    assert arm.open(str(folder)).provenance == run.provenance
    assert repr(run) == f"Run(m on c, groups {', '.join(groups)} in {folder})"
    assert "position_basis" in run._repr_html_()


def test_attributes_read_as_they_were_written(groups, tmp_path):
    given = {
        "yes": True,
        "no": np.bool_(False),
        "count": np.int64(7),
        "plain": 8,
        "share": np.float32(0.5),
        "text": "a ≤ b",
        "empty": "",
        "path": tmp_path,
        "nothing": None,
    }
    store.write(tmp_path, "states.nc", {"norms": groups["norms"]}, given)
    read = arm.open(tmp_path).provenance
    assert read == {
        "yes": "true",
        "no": "false",
        "count": 7,
        "plain": 8,
        "share": 0.5,
        "text": "a ≤ b",
        "empty": "",
        "path": str(tmp_path),
        "armillary_format": FORMAT,
    }
    assert json.loads(
        json.dumps({key: value if isinstance(value, str) else float(value) for key, value in read.items()})
    )


def test_a_run_without_optional_variables_is_whole(groups, folder):
    residual = groups["residual"].drop_vars(["first", "covariance"])
    assert "first" not in arm.open(changed(folder, groups, "residual", residual)).results["residual"]


def test_a_group_that_the_schema_does_not_know_is_left_alone(groups, folder):
    other = xr.Dataset({"x": ("y", [1.0])})
    assert float(arm.open(changed(folder, groups, "later", other)).results["later"].x[0]) == 1


@pytest.mark.parametrize("version", [FORMAT + 1, 0, None])
def test_another_format_is_refused(folder, version):
    file = Netcdf(folder / "states.nc", {} if version is None else {"armillary_format": version})
    file.close()
    message = (
        f"{folder / 'states.nc'} has format {version}, expected {FORMAT}: survey again, "
        "or open it with the version that made it"
    )
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.open(folder)


def test_a_missing_variable_is_named(groups, folder):
    changed(folder, groups, "position", groups["position"].drop_vars("relative_norm"))
    message = f"{folder / 'states.nc'} lacks /position/relative_norm: the file is incomplete or older, "
    message += f"run armillary measure {folder}"
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.open(folder)
    changed(folder, groups, "residual", groups["residual"].drop_vars("mean"))
    message = f"{folder / 'states.nc'} lacks /residual/mean: the file is incomplete or older, survey again"
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.open(folder)


def test_components_of_other_names_are_refused(groups, folder):
    changed(folder, groups, "variance", groups["variance"].assign_coords(component=["position", "topic\n", "residual"]))
    message = f"{folder / 'states.nc'}: /variance names its components position, topic\\n, residual, expected "
    message += "position, context, residual: survey again"
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.open(folder)
    changed(folder, groups, "variance", groups["variance"].drop_vars("component"))
    with pytest.raises(StoreError, match="names its components 0, 1, 2, expected"):
        arm.open(folder)


def test_measuring_again_does_not_advise_itself(groups, tmp_path):
    alone = groups["position"].drop_vars("relative_norm")
    path = store.write(tmp_path, "states.nc", {"position": alone}, {"model": "m"})
    before = path.read_bytes()
    message = f"{path} lacks /position/relative_norm, which what it kept does not give: survey again"
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.measure(tmp_path)
    assert path.read_bytes() == before, "nothing is written over a run that stays incomplete"


def test_other_axes_are_refused(groups, folder):
    turned = groups["variance"].assign(share=groups["variance"].share.transpose())
    changed(folder, groups, "variance", turned)
    message = (
        f"{folder / 'states.nc'}: /variance/share has axes ('component', 'layer'), "
        "expected ('layer', 'component'): survey again"
    )
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        arm.open(folder)


def refusal(folder):
    with pytest.raises(StoreError) as raised:
        arm.open(folder)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{folder / 'states.nc'} is not a results file of Armillary (")
    assert message.endswith("): restore it or survey again")
    return message


@pytest.mark.parametrize(
    "content", [b"", b"not a file of numbers at all\n" * 99, b"\x89HDF\r\n\x1a\n", np.random.default_rng(0).bytes(5000)]
)
def test_garbage_is_refused(tmp_path, content):
    (tmp_path / "states.nc").write_bytes(content)
    refusal(tmp_path)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_refused(folder, share):
    whole = (folder / "states.nc").read_bytes()
    (folder / "states.nc").write_bytes(whole[: int(len(whole) * share)])
    refusal(folder)


def test_another_programs_hdf5_file_is_refused(tmp_path):
    with h5py.File(tmp_path / "states.nc", "w") as file:
        file["x"] = np.arange(3)
    with pytest.raises(StoreError, match=rf"^{re.escape(str(tmp_path))}/states.nc "):
        arm.open(tmp_path)


def test_a_folder_without_results_says_what_it_is_and_what_to_do(tmp_path):
    run = tmp_path / "run"
    make = r"`armillary survey MODEL --out`$"
    with pytest.raises(StoreError, match=rf"^expected the folder of a run, got .*run, which does not exist: .*{make}"):
        arm.open(run)
    run.mkdir()
    with pytest.raises(StoreError, match=rf"got .*run, which holds no results: make a run with {make}"):
        arm.open(run)
    (run / "heads.nc").touch()
    with pytest.raises(StoreError, match=r"got .*heads.nc, a file: give its folder, .*run$"):
        arm.open(run / "heads.nc")
    (run / "heads.nc").unlink()
    (run / "part").mkdir()
    with pytest.raises(StoreError, match=r"got .*run, one part of a survey: join all parts with `armillary merge`$"):
        arm.open(run)
    (run / "checkpoint").mkdir()
    with pytest.raises(StoreError, match=r"got .*run, whose survey was interrupted: resume it with --resume$"):
        arm.open(run)


def test_a_write_that_fails_half_way_leaves_the_older_file(groups, folder, monkeypatch):
    before = (folder / "states.nc").read_bytes()

    write = Netcdf.add

    def full(self, groups):
        write(self, dict([*groups.items()][:1]))
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Netcdf, "add", full)
    message = f"cannot write {folder / 'states.nc'} (No space left on device): free some space or choose another --out"
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$"):
        store.write(folder, "states.nc", groups, {})
    assert (folder / "states.nc").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["states.nc"]
    assert arm.open(folder).provenance["seed"] == 3


def test_a_bug_while_writing_is_not_dressed_as_a_full_disk(groups, folder, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(Netcdf, "add", broken)
    with pytest.raises(ZeroDivisionError):
        store.write(folder, "states.nc", groups, {})
    assert [path.name for path in folder.iterdir()] == ["states.nc"]


def test_a_folder_that_may_not_be_written_is_named(groups, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*/file/run/states.nc \(Not a directory\)"):
        store.write(tmp_path / "file" / "run", "states.nc", groups, {})


def test_a_run_can_be_moved(folder, tmp_path):
    shutil.move(folder, tmp_path / "elsewhere")
    assert arm.open(tmp_path / "elsewhere").provenance["seed"] == 3


def unescaped(text):
    letters = r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[\\nrt])"
    return re.sub(letters, lambda found: found[0].encode().decode("unicode_escape"), text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=20) | st.text("\\xnutU0a1\n\0", max_size=12))
def test_an_escaped_text_is_printable_and_can_be_taken_back(text):
    safe = escaped(text)
    assert safe.isprintable()
    assert safe.encode("utf-8").decode("utf-8") == safe
    assert unescaped(safe) == text


def test_printable_letters_stay_as_they_are():
    for text in ("plain words", "🦆", "é", "<script>alert(1)</script>", "中文"):
        assert escaped(text) == text
    assert escaped("\u202e") == r"\u202e"
    assert escaped("\0\n") == r"\x00\n"


def test_hostile_texts_survive_a_round_trip(groups, tmp_path):
    texts = [escaped(text) for text in HOSTILE]
    corpus = groups["corpus"].drop_vars("document_name")
    corpus = corpus.assign(document_name=("document", np.array(texts, dtype=str)))
    store.write(tmp_path, "states.nc", {"corpus": corpus}, {"corpus": texts[2]})
    run = arm.open(tmp_path)
    read = [str(text) for text in run.results["corpus"].document_name.values]
    assert read == texts
    assert [unescaped(text) for text in read] == HOSTILE
    assert run.provenance["corpus"] == texts[2]
