"""GGUF files: dequantised once into the cache, refused when cut or damaged."""

import pytest
import torch
import transformers
from tiny_gguf import write_gguf

from armillary.errors import SourceError
from armillary.models import load


@pytest.fixture
def file(tmp_path, cache):
    return write_gguf(tmp_path / "tiny.gguf")


def entries(cache):
    return [path for path in (cache / "gguf").glob("*") if path.is_dir()] if cache.exists() else []


def test_a_gguf_file_gives_the_logits_of_transformers_and_is_dequantised_once(file, cache, monkeypatch):
    view = load(file)
    direct = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    ids = torch.tensor([[1, 3, 4, 6]])
    with torch.no_grad():
        assert torch.equal(view.model(ids).logits, direct.eval()(ids).logits)
    assert view.tokenizer("ab")["input_ids"][-1] == 6
    assert view.provenance["model_kind"] == "gguf"
    assert len(entries(cache)) == 1
    monkeypatch.setattr("armillary.models.sources.gguf._convert", lambda *_: pytest.fail("dequantised twice"))
    again = load(file)
    assert again.provenance == view.provenance
    assert not hasattr(again.config, "quantization_config")


def test_a_conversion_writes_no_bar_into_a_log(file, capfd):
    from transformers import modeling_gguf_pytorch_utils as reader

    drawn = reader.tqdm
    load(file)
    assert capfd.readouterr() == ("", "")
    assert reader.tqdm is drawn


@pytest.mark.parametrize("keep", [4, 100, 2000, -1, -3000])
def test_a_cut_gguf_file_is_refused_and_leaves_no_entry(file, cache, keep):
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(SourceError) as raised:
        load(file)
    assert "\n" not in str(raised.value)
    assert "truncated or damaged" in str(raised.value)
    assert not entries(cache)


@pytest.mark.parametrize("value", ["vocab_size", "embedding_length", "rope.dimension_count"])
def test_a_gguf_file_whose_values_declare_more_than_its_tensors_is_refused_before_memory_is_taken(
    file, cache, monkeypatch, value
):
    raw = bytearray(file.read_bytes())
    at = raw.index(f"llama.{value}".encode()) + len(f"llama.{value}") + 4  # after the name, and the type of the value
    raw[at : at + 4] = (1 << 28).to_bytes(4, "little")
    file.write_bytes(raw)
    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(SourceError) as raised:
        load(file)
    line = str(raised.value)
    assert line.startswith(f"expected a config of about the 16032 numbers that the weights in {file} hold, got one ")
    assert line.endswith(": fetch it again")
    assert not entries(cache)


@pytest.mark.parametrize("text", [b"", b"no gguf at all", b"GGUF" + bytes(range(256)) * 4])
def test_garbage_is_refused(tmp_path, cache, text):
    (tmp_path / "bad.gguf").write_bytes(text)
    with pytest.raises(SourceError, match=r"expected a (complete )?GGUF file at .*bad\.gguf, got"):
        load(tmp_path / "bad.gguf")
    assert not entries(cache)


def test_a_gguf_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(SourceError, match=r"none\.gguf, got No such file.*: check the path"):
        load(tmp_path / "none.gguf")


def test_a_conversion_that_fails_leaves_no_entry(file, cache, monkeypatch):
    monkeypatch.setattr(
        "transformers.AutoTokenizer.from_pretrained", lambda *_, **__: (_ for _ in ()).throw(ValueError("x"))
    )
    with pytest.raises(SourceError, match=r"transformers can read at .*tiny\.gguf, got an error \(x\): fetch it again"):
        load(file)
    assert not entries(cache)


def test_a_tensor_of_another_shape_than_the_model_has_is_one_line(file, cache):
    raw = file.read_bytes()
    width = raw.index(b"llama.feed_forward_length") + len("llama.feed_forward_length") + 4
    file.write_bytes(raw[:width] + (40).to_bytes(4, "little") + raw[width + 4 :])
    with pytest.raises(SourceError, match=r"transformers can read at .*tiny\.gguf, got an error .*: fetch it again"):
        load(file)
    assert not entries(cache)
