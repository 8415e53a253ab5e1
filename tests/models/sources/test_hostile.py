"""A model's files are a stranger's: what they declare is held against limits, nothing they name is fetched or run."""

import contextlib
import json
import socket
import struct

import pytest
import tokenizers
import transformers
from safetensors.numpy import load_file

from armillary.errors import SourceError
from armillary.models import load
from armillary.models.sources import loading
from armillary.models.sources.border import Reading
from armillary.models.sources.declared import TOKENS, refuse_unstored
from armillary.models.sources.gguf import dequantised


@pytest.fixture
def folder(tiny, tmp_path, cache):
    tiny("llama").save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def changed_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refusal(source, **options):
    with pytest.raises(SourceError) as raised:
        load(source, **options)
    line = str(raised.value)
    assert "\n" not in line
    assert line.startswith("expected ")
    return line


@pytest.fixture
def no_network(monkeypatch):
    """Every attempt to reach another machine is noted and fails."""
    tried = []

    def refused(self, address, *_):
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: refused(None, address))
    return tried


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("kernel", ["someone/kernel", "kernels-community/flash-attn", "flash_attention_2", ["x"]])
def test_attention_that_would_be_fetched_is_refused(folder, no_network, key, kernel):
    changed_config(folder, **{key: kernel})
    line = refusal(folder)
    assert "expected attention that is part of transformers" in line
    assert "take that line out, or allow it with trust_remote_code=True" in line
    assert no_network == []


def test_attention_of_a_part_of_the_model_is_refused_too(folder):
    changed_config(folder, text_config={"attn_implementation": "someone/kernel"})
    assert "'someone/kernel', which would be fetched and run" in refusal(folder)


@pytest.mark.parametrize("kind", ["eager", "sdpa", None])
def test_built_in_attention_is_taken(folder, kind):
    changed_config(folder, attn_implementation=kind)
    assert load(folder).model.config.num_hidden_layers == 3


def test_a_local_folder_is_loaded_without_any_request(folder, no_network):
    (folder / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": "someone/model", "peft_type": "LORA"})
    )
    changed_config(folder, _name_or_path="someone/model")
    with contextlib.suppress(SourceError):
        load(folder)
    assert no_network == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_hidden_layers": 10**9}, "expected num_hidden_layers of at most 2048"),
        ({"hidden_size": 2**40}, "expected hidden_size of at most"),
        ({"vocab_size": "many"}, "got an error"),
        ({"num_attention_heads": 0}, "got an error"),
        ({"architectures": {"a": 1}, "model_type": []}, "got an error"),
        ({"rope_parameters": "x"}, "got an error"),
        ({"tokenizer_class": 1, "auto_map": {"AutoConfig": "evil.Config"}}, "got custom code"),
    ],
)
def test_a_config_that_declares_nonsense_is_refused_in_one_line(folder, changes, words):
    changed_config(folder, **changes)
    assert words in refusal(folder)


@pytest.mark.parametrize("dtype", [None, "stored"])
def test_a_config_of_many_more_numbers_than_the_weight_files_hold_is_refused_before_they_are_made_up(
    folder, monkeypatch, dtype
):
    changed_config(folder, hidden_size=4096, intermediate_size=11008)
    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("read"))
    line = refusal(folder, dtype=dtype)
    stored = sum(weight.size for weight in load_file(folder / "model.safetensors").values())
    assert line.startswith(f"expected a config of about the {stored} numbers that the weights in {folder} hold, got ")
    assert line.endswith(": fetch it again")


@pytest.mark.parametrize(
    ("declared", "packed", "refused"),
    [(2 * 10**9, {}, False), (3 * 10**9, {}, True), (3 * 10**9, {"quantization_config": {"bits": 4}}, False),
     (10**11, {"quantization_config": {"bits": 4}}, True), (3 * 10**9, {"quantization_config": None}, True)],
)  # fmt: skip
def test_a_head_may_lack_and_numbers_may_be_packed(tmp_path, declared, packed, refused):
    with pytest.raises(SourceError) if refused else contextlib.nullcontext():
        refuse_unstored(packed, declared, 10**9, tmp_path)


def with_tokenizer(folder, vocabulary):
    """A tokenizer of whole words in a folder."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="a"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="a").save_pretrained(folder)
    return folder / "tokenizer.json"


@pytest.mark.parametrize("far", [TOKENS, 2**31, 2**32 - 1])
def test_a_token_whose_id_is_far_away_is_refused(folder, monkeypatch, far):
    path = with_tokenizer(folder, {"a": 0, "b": 1})
    path.write_text(path.read_text().replace('"b": 1', f'"b": {far}'))
    monkeypatch.setattr(loading, "provenance_of", lambda *_: pytest.fail("2³² ids are written in minutes"))
    assert refusal(folder) == (f"expected ids of tokens below {TOKENS} in {folder}, got {far}: fetch the file again")


def test_ids_may_have_gaps(folder):
    with_tokenizer(folder, {"a": 0, "b": 1_000_000})
    assert load(folder).tokenizer.get_vocab()["b"] == 1_000_000


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"tokenizer_class": "T5Tokenizer", "extra_ids": 10**9}, "expected extra_ids of at most 16384"),
        ({"tokenizer_class": "PegasusTokenizer", "offset": 10**9}, "expected offset of at most 16384"),
        ({"added_tokens_decoder": {"2000000000": {"content": "c"}}}, "below 2097152"),
        ({"added_tokens_decoder": {"9" * 5000: {"content": "c"}}}, f"got {'9' * 30}:"),
    ],
)
def test_tokens_that_would_be_made_without_end_are_refused_before_a_library_reads_them(
    folder, monkeypatch, config, words
):
    path = with_tokenizer(folder, {"a": 0})
    path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: pytest.fail("read"))
    line = refusal(folder)
    assert words in line
    assert line.endswith(": fetch the file again")


@pytest.mark.parametrize("config", [{"model_max_length": "x"}, {"model_max_length": {}}])
def test_a_tokenizer_that_cannot_read_even_an_empty_text_is_refused(folder, config):
    path = with_tokenizer(folder, {"a": 0}).with_name("tokenizer_config.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    line = refusal(folder)
    assert line.startswith(f"expected a tokenizer in {folder}, got an error (")
    assert line.endswith("): give tokenizer=...")


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_a_model_in_place_of_a_tokenizer_is_refused(folder, monkeypatch, file):
    with_tokenizer(folder, {"a": 0})
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": "GPTJModel"}))
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: pytest.fail("read"))
    assert refusal(folder) == (
        f"expected a tokenizer as tokenizer_class in {path}, got 'GPTJModel': take that line out"
    )


def test_a_control_whose_weights_no_machine_holds_is_refused(folder):
    changed_config(folder, hidden_size=2**18, intermediate_size=2**24)
    assert "whose weights fit into" in refusal(folder, random_weights=0)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "\xff", '{"a": ' + "9" * 5000 + "}"])
def test_a_config_that_is_no_plain_json_is_refused(folder, text):
    (folder / "config.json").write_text(text, encoding="latin-1")
    assert "got something else" in refusal(folder)


def test_a_config_that_is_far_too_long_is_refused(folder):
    (folder / "config.json").write_text('{"a": "' + "x" * (11 << 20) + '"}')
    assert "expected a file of at most 10 MB" in refusal(folder)


@pytest.mark.parametrize("head", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff" * 64, b'{"a": 1}', b"{}"])
def test_a_head_of_safetensors_that_lies_is_refused(folder, head):
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head)
    refusal(folder)


def test_shards_lie_beside_their_index(folder):
    (folder / "model.safetensors").rename(folder.parent / "elsewhere.safetensors")
    index = {"weight_map": {"model.norm.weight": "../elsewhere.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "expected a weight_map with names of files" in refusal(folder)


def gguf_file(path, tensors=0, values=0, body=b""):
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, values) + body)
    return path


def text(letters):
    return struct.pack("<Q", len(letters)) + letters


ONE = text(b"l.block_count") + struct.pack("<II", 4, 1) + text(b"a")


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"tensors": 2**60}, "it declares 1152921504606846976 tensors"),
        ({"values": 2**40}, "it declares 1099511627776 values"),
        ({"values": 1, "body": struct.pack("<Q", 2**50) + bytes(9)}, "it declares 1125899906842624 letters"),
        ({"values": 1, "body": text(b"a") + struct.pack("<IIQ", 9, 0, 2**50)}, "it declares 1125899906842624 entries"),
        ({"values": 1, "body": text(b"a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000}, "of type 9"),
        ({"values": 1, "body": text(b"a") + struct.pack("<I", 77)}, "a value of type 77"),
        ({"values": 1, "body": text(b"l.block_count") + struct.pack("<II", 4, 2**31)}, "l.block_count of at most 2048"),
        ({"values": 1, "body": text(b"l.block_count") + struct.pack("<II", 4, 9)}, "9 blocks and 0 tensors"),
        ({"tensors": 1, "body": bytes(24)}, "it declares no number of blocks"),
        ({"tensors": 1, "values": 1, "body": ONE + struct.pack("<I", 900) + bytes(40)}, "of 900 axes"),
        ({"tensors": 1, "values": 1, "body": ONE + struct.pack("<IQQIQ", 2, 2**40, 2**40, 0, 0)}, "larger than"),
        ({"tensors": 1, "values": 1, "body": ONE + struct.pack("<IQIQ", 1, 1, 99, 0) + bytes(9)}, "of type 99"),
    ],
)  # fmt: skip
def test_a_gguf_file_that_declares_more_than_it_holds_is_refused(tmp_path, cache, about, words):
    with pytest.raises(SourceError) as raised:
        dequantised(gguf_file(tmp_path / "a.gguf", **about))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_bug_of_our_own_is_not_dressed_as_a_bad_file():
    class OwnError(Exception):
        pass

    with pytest.raises(OwnError), Reading("x"):
        raise OwnError
    with pytest.raises(KeyboardInterrupt), Reading("x"):
        raise KeyboardInterrupt
    with (
        pytest.raises(SourceError, match=r"^expected a file, got an error \(Exception: no\): fetch it again$"),
        Reading("a file"),
    ):
        raise Exception("no\nmore")
