"""A tiny model and a run of it, full of names and tokens that a careless page would take for markup."""

import shutil

import tokenizers
import torch
import transformers

import armillary as arm
from armillary.results import store

HOSTILE = ["<img/src=x/onerror=alert(1)>", "</script><script>alert(2)</script>", "<b>bold</b>", "$x^2$", "&lt;", "%{y}"]
WORDS = [f"word{i}" for i in range(50)]
NAME = "<img src=x onerror=alert(3)>"


def saved_model(folder):
    """A folder, its name hostile too, with a tiny random model and a tokenizer of whole words."""
    torch.set_num_threads(1)
    path = folder / NAME
    vocabulary = {word: index for index, word in enumerate(["[UNK]", *HOSTILE, *WORDS])}
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, max_position_embeddings=40, initializer_range=0.3, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(path)
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(path)
    return str(path)


def texts(folder):
    """Documents with hostile names and words."""
    path = folder / "texts"
    path.mkdir()
    for number in range(6):
        words = [(HOSTILE + WORDS)[(number * 7 + i * (number + 3)) % 56] for i in range(70)]
        (path / f"<b onclick=alert({number})>{number}.txt").write_text(" ".join(words))
    return str(path)


def surveyed(folder, **options):
    """A run of the tiny model, with heads unless told otherwise."""
    view = arm.load(saved_model(folder))
    given = {"contexts": 12, "length": 16, "heads": True, "progress": False, "report": False} | options
    return arm.survey(view, texts(folder), out=folder / "run", **given)


def named(folder):
    """The tiny run with every kind of result: states, heads, and kinds of heads."""
    return arm.heads(surveyed(folder), progress=False)


def holding(run, folder, *files):
    """A copy of a run with some of its files alone: states.nc, heads.nc, names.nc."""
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(run.folder / file, folder / file)
    return arm.open(folder)


def unmarked(run, folder, *files):
    """The same, without any provenance but the format of the files."""
    found = holding(run, folder, *files)
    groups = {name: node.to_dataset() for name, node in found.results.children.items()}
    return arm.Run(store.tree_of(groups, {}), found.folder)
