"""GGUF files: dequantised once into the cache, refused when cut or damaged."""

import gguf
import pytest
import torch
import transformers

from armillary.errors import SourceError
from armillary.models import load

WIDTH, BLOCKS, HEADS = 32, 2, 4


def write_gguf(path):
    """A tiny model of random weights, with a byte-pair tokenizer of few tokens."""
    tokens = ["<unk>", "<s>", "</s>", "a", "b", "c", "ab", "Ġ"]
    generator = torch.Generator().manual_seed(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(48)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,), "output": (len(tokens), WIDTH)}
    for block in range(BLOCKS):
        shapes |= {f"blk.{block}.{name}": (WIDTH, WIDTH) for name in ("attn_q", "attn_output")}
        shapes |= {f"blk.{block}.{name}": (WIDTH // 2, WIDTH) for name in ("attn_k", "attn_v")}
        shapes |= {f"blk.{block}.{name}": (48, WIDTH) for name in ("ffn_gate", "ffn_up")}
        shapes |= {f"blk.{block}.{name}": (WIDTH,) for name in ("attn_norm", "ffn_norm")}
        shapes[f"blk.{block}.ffn_down"] = (WIDTH, 48)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", (torch.randn(shape, generator=generator) / 4).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


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


@pytest.mark.parametrize("keep", [4, 100, 2000, -1, -3000])
def test_a_cut_gguf_file_is_refused_and_leaves_no_entry(file, cache, keep):
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(SourceError) as raised:
        load(file)
    assert "\n" not in str(raised.value)
    assert "truncated or damaged" in str(raised.value)
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
