"""Weights as pages of their files: the same numbers, in the dtype of the files, and no copy of them in memory."""

import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import armillary as arm
from armillary.models.sources.pages import paged, stored_dtype
from families import tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("paged")
    tiny_model("llama").save_pretrained(path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))  # what the file does not hold
    return path


def mapped(file):
    """From where to where pages of a file stand in this process, and what may be done to them."""
    rows = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(file))]
    return [(*(int(end, 16) for end in row[0].split("-")), row[1]) for row in rows]


def test_stored_weights_have_the_dtype_of_the_file_and_its_numbers(folder):
    stored, plain = arm.load(folder, dtype="stored"), arm.load(folder, dtype="float32", check=False)
    assert arm.load(folder, dtype="auto", check=False).dtype == torch.bfloat16
    assert stored.dtype == torch.float32
    for (name, own), (other, same) in zip(stored.model.named_parameters(), plain.model.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(own, same)
    assert stored.provenance["model_sha256"] == plain.provenance["model_sha256"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says where pages of a file stand")
def test_stored_weights_are_pages_that_nobody_can_write_to(folder):
    view = arm.load(folder, dtype="stored", check=False)
    places = mapped(folder / "model.safetensors")
    assert {rights for _, _, rights in places} == {"r--s"}
    for parameter in view.model.parameters():
        assert any(start <= parameter.data_ptr() < end for start, end, _ in places)


def test_most_numbers_decide_the_dtype(tmp_path):
    file = tmp_path / "model.safetensors"
    tensors = {"a": torch.ones(3, 4, dtype=torch.bfloat16), "b": torch.ones(2), "c": torch.ones(50, dtype=torch.int64)}
    save_file(tensors | {"none": torch.ones(0, 3)}, file, metadata={"format": "pt"})
    assert stored_dtype([file]) == torch.bfloat16
    found = paged([file])
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert found["none"].shape == (0, 3)


def test_a_type_that_cannot_be_read_in_place_is_left_to_transformers(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file({"a": torch.ones(4, dtype=torch.float8_e4m3fn)}, file)
    assert paged([file]) is None
    assert stored_dtype([file]) is None


def test_a_random_control_needs_no_pages(folder):
    assert arm.load(folder, dtype="stored", random_weights=1, check=False).dtype == torch.bfloat16
