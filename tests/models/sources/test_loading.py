"""Where models come from, and what is refused: one line says what was expected, what was got and what to do."""

import json

import pytest
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file

from armillary.errors import BrokenContract, RequestError, SourceError
from armillary.models import NAMED, load


def one_line(raised):
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith("expected ")
    return message


def small_tokenizer():
    words = {word: index for index, word in enumerate(["[UNK]", "[PAD]", "a", "b", "the"])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


@pytest.fixture
def folder(tiny, tmp_path, cache):
    tiny("llama").save_pretrained(tmp_path / "small")
    small_tokenizer().save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def changed_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_folder_gives_model_tokenizer_and_provenance(folder, tiny):
    view = load(folder)
    assert torch.equal(view.W_E, tiny("llama").model.embed_tokens.weight)
    assert view.tokenizer("a the")["input_ids"] == [2, 4]
    assert not view.model.training
    assert not any(weight.requires_grad for weight in view.model.parameters())
    assert view.backbone is view.model.model
    kept = view.provenance
    assert all(isinstance(value, str) for value in kept.values())
    assert kept["model"] == str(folder)
    assert kept["model_kind"] == "folder"
    assert len(kept["model_sha256"]) == 64
    assert kept["model_type"] == "llama"
    assert kept["architecture"] == "LlamaForCausalLM"
    assert int(kept["n_parameters"]) == sum(weight.numel() for weight in view.model.parameters())
    assert kept["dtype"] == "float32"
    assert "sha256:" in kept["tokenizer"]
    assert kept["random_weights"] == ""


def test_the_hash_follows_the_weights(folder):
    before = load(folder).provenance["model_sha256"]
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] += 1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert load(folder).provenance["model_sha256"] != before


def test_the_architecture_decides_on_the_head(tiny, tmp_path, cache):
    for name, head in (("bert", True), ("gpt2", True), ("roberta", True)):
        tiny(name).save_pretrained(tmp_path / name)
        view = load(tmp_path / name)
        assert type(view.model) is type(tiny(name))
        assert (view.W_U is not None) == head
    tiny("bert").base_model.save_pretrained(tmp_path / "plain")
    view = load(tmp_path / "plain")
    assert type(view.model).__name__ == "BertModel"
    assert view.W_U is None
    assert view.backbone is view.model


def test_dtypes_have_names(folder):
    assert load(folder, dtype="bfloat16").dtype == torch.bfloat16
    assert load(folder, dtype="bf16").dtype == torch.bfloat16
    assert load(folder, dtype=torch.float64).dtype == torch.float64
    assert load(folder, dtype="auto").dtype == torch.float32
    with pytest.raises(RequestError, match="a dtype such as float32"):
        load(folder, dtype="int8")


def test_devices_that_do_not_exist_are_refused(folder):
    assert str(load(folder, device="cpu").device) == "cpu"
    with pytest.raises(RequestError, match="device of this machine"):
        load(folder, device="nowhere")
    with pytest.raises(RequestError, match="got both"):
        load(folder, device="cpu", device_map="auto")


def test_device_map_goes_through_accelerate(folder):
    assert load(folder, device_map={"": "cpu"}).n_blocks == 3


def test_a_loaded_model_is_taken_as_it_is(tiny):
    model = tiny("gpt2").train().requires_grad_(True)
    view = load(model, tokenizer=small_tokenizer())
    assert view.model is model
    assert not model.training
    assert all(weight.requires_grad for weight in model.parameters())
    assert view.tokenizer("a b")["input_ids"] == [2, 3]
    assert view.provenance["model_kind"] == "loaded model"
    again = load(tiny("gpt2")).provenance["model_sha256"]
    assert view.provenance["model_sha256"] == again
    assert load(tiny("gpt2", seed=1)).provenance["model_sha256"] != again
    with pytest.raises(RequestError, match="transformers model, got Linear"):
        load(torch.nn.Linear(2, 2))


def test_a_random_weight_control_has_the_config_the_tokenizer_and_the_seed(folder):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    twin = load(folder, random_weights=1)
    assert torch.equal(torch.rand(3), expected)
    assert twin.provenance["random_weights"] == "seed 1"
    assert twin.config.to_dict() == load(folder).config.to_dict()
    assert twin.tokenizer is not None
    assert torch.equal(twin.W_E, load(folder, random_weights=1).W_E)
    assert not torch.equal(twin.W_E, load(folder, random_weights=2).W_E)
    assert not torch.equal(twin.W_E, load(folder).W_E)
    assert twin.provenance["model_sha256"] != load(folder).provenance["model_sha256"]


def test_a_random_weight_control_needs_no_weights_and_keeps_the_models_own_initialisation(folder, tiny):
    (folder / "model.safetensors").unlink()
    twin = load(folder, random_weights=0)
    assert 0.015 < float(twin.W_E.std()) < 0.025
    model = tiny("llama")
    other = load(model, random_weights=0)
    assert other.model is not model
    assert torch.equal(other.W_E, twin.W_E)


def test_no_tokenizer_files_leave_a_view_without_tokenizer(tiny, tmp_path, cache):
    tiny("llama").save_pretrained(tmp_path / "bare")
    view = load(tmp_path / "bare")
    assert view.tokenizer is None
    assert view.provenance["tokenizer"].startswith("none")
    with pytest.raises(SourceError) as raised:
        load(tmp_path / "bare", tokenizer=str(tmp_path / "bare"))
    assert "no tokenizer files" in one_line(raised)


def test_a_tokenizer_may_come_from_elsewhere(folder, tiny):
    assert load(tiny("llama"), tokenizer=folder).tokenizer("b")["input_ids"] == [3]


def test_a_name_that_is_almost_right_is_named(monkeypatch, tmp_path, tiny):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as raised:
        load("smolm2")
    assert "'smolm2': did you mean smollm2?" in one_line(raised)
    tiny("llama").save_pretrained(tmp_path / "checkpoints" / "run-7")
    with pytest.raises(SourceError) as raised:
        load("./checkpoints/run-8")
    assert "'./checkpoints/run-8': did you mean run-7?" in one_line(raised)
    with pytest.raises(SourceError) as raised:
        load("/no/such/folder")
    assert "built-in models are smollm2, minilm" in one_line(raised)


def test_a_folder_without_config_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError) as raised:
        load(tmp_path / "empty")
    assert "config.json" in one_line(raised)
    (tmp_path / "empty" / "model.gguf").touch()
    with pytest.raises(SourceError, match=r"give the path of model\.gguf in it"):
        load(tmp_path / "empty")


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_a_config_that_is_no_json_object_is_refused(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "config.json" in one_line(raised)


def test_a_file_that_is_no_model_is_refused(folder):
    with pytest.raises(SourceError) as raised:
        load(folder / "model.safetensors")
    assert "give the folder that holds it" in one_line(raised)


def test_a_model_type_that_transformers_lacks_is_refused(folder):
    changed_config(folder, model_type="from_the_future")
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "from_the_future" in one_line(raised)


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: b"garbage" * 50, lambda data: b""])
def test_damaged_safetensors_are_refused(folder, damage):
    file = folder / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "truncated or damaged" in one_line(raised)


def test_a_missing_shard_is_named(tiny, tmp_path, cache):
    tiny("llama").save_pretrained(tmp_path / "many", max_shard_size="10KB")
    assert load(tmp_path / "many").n_blocks == 3
    shard = sorted((tmp_path / "many").glob("*.safetensors"))[1]
    shard.unlink()
    with pytest.raises(SourceError) as raised:
        load(tmp_path / "many")
    assert shard.name in one_line(raised)


def test_weights_that_would_be_filled_at_random_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.self_attn.q_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SourceError) as raised:
        load(folder)
    message = one_line(raised)
    assert "layers.1.self_attn.q_proj.weight" in message
    assert "1 of them" in message


def test_weights_of_another_shape_are_refused(folder):
    changed_config(folder, intermediate_size=64)
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "checkpoint in" in one_line(raised)


def test_no_weights_at_all_are_refused(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "no weights" in one_line(raised)


def test_a_head_without_weights_is_left_out_and_a_pooler_may_lack(tiny, tmp_path, cache):
    tiny("bert").save_pretrained(tmp_path / "headless")
    file = tmp_path / "headless" / "model.safetensors"
    body = {name: weight for name, weight in load_file(file).items() if not name.startswith("cls.")}
    save_file(body, file, metadata={"format": "pt"})
    view = load(tmp_path / "headless")
    assert view.W_U is None
    assert "head" in view.provenance["note"]
    changed_config(tmp_path / "headless", architectures=["BertModel"])
    view = load(tmp_path / "headless")
    assert view.provenance["note"] == ""
    assert view.model.pooler is not None


def test_pickles_are_refused_unless_allowed_and_then_read_weights_only(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "--allow-pickle" in one_line(raised)
    assert load(folder, allow_pickle=True).n_blocks == 3


class Evil:
    def __reduce__(self):
        return print, ("code of a pickle ran",)


def test_a_pickle_with_code_is_not_run_even_when_pickles_are_allowed(folder, capsys):
    torch.save({"model.norm.weight": Evil()}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(SourceError) as raised:
        load(folder, allow_pickle=True)
    one_line(raised)
    assert "ran" not in capsys.readouterr().out


def test_custom_code_is_refused_unless_trusted(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    changed_config(folder, auto_map={"AutoModelForCausalLM": "own.Own"})
    (folder / "own.py").write_text("raise SystemExit('custom code ran')")
    with pytest.raises(SourceError) as raised:
        load(folder)
    assert "--trust-remote-code" in one_line(raised)
    with pytest.raises(SystemExit, match="custom code ran"):
        load(folder, trust_remote_code=True)


def test_encoder_decoders_are_refused_and_their_parts_are_not():
    config = transformers.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2)
    model = transformers.T5ForConditionalGeneration(config)
    with pytest.raises(SourceError) as raised:
        load(model)
    assert "get_encoder" in one_line(raised)
    assert load(model.get_encoder()).n_blocks == load(model.get_decoder()).n_blocks == 2


def test_a_broken_contract_reaches_the_caller_of_load(folder):
    changed_config(folder, attention_chunk_size=4)
    with pytest.raises(BrokenContract):
        load(folder)
    assert load(folder, check=False).n_blocks == 3


def test_built_in_models_say_where_they_come_from_and_what_a_user_may_do():
    assert [row.name for row in NAMED.values()] == list(NAMED) == ["smollm2", "minilm"]
    for row in NAMED.values():
        assert row.source.startswith("wheel:")
        assert len(row.sha256) == 64
        assert all((row.licence, row.size, row.description))


def test_a_view_shows_itself(folder):
    view = load(folder)
    assert repr(view).endswith("llama, 3 blocks × 4 heads, d_model 32, float32 on cpu)")
    assert "<table>" in view._repr_html_()
    assert repr(view.heads(0)) == "Heads(4 heads on 2 key heads, d_model 32, d_head 8, scale 0.3536)"
    assert repr(view.norm(0)) == "Norm(rms, d_model 32, eps 1e-06)"
