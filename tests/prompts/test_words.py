"""Which tokens make which word, for tokenizers that mark spaces, continuations, or neither."""

import numpy as np
import pytest

import armillary as arm
from armillary.prompts.words import words_of


class Fake:
    """A tokenizer of given pieces: ids are their numbers; ▁ and Ġ are spaces, ## is taken off."""

    def __init__(self, pieces, special=()):
        self.pieces, self.all_special_ids = pieces, [pieces.index(piece) for piece in special]

    def convert_ids_to_tokens(self, ids):
        return [self.pieces[index] for index in ids]

    def get_vocab(self):
        return {piece: index for index, piece in enumerate(self.pieces)}

    def decode(self, ids):
        text = "".join(self.pieces[index] for index in ids)
        return text.replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n").replace("##", "")


@pytest.mark.parametrize(
    ("pieces", "special", "words"),
    [
        (["The", "Ġarm", "illary", "Ġsphere", ",", "Ġdoesn", "'", "t"], [], "The armillary sphere , doesn ' t"),
        (["<s>", "▁The", "▁arm", "illary", "</s>"], ["<s>", "</s>"], "<s> The armillary </s>"),
        (
            ["[CLS]", "arm", "##illa", "##ry", "stars", ".", "[SEP]"],
            ["[CLS]", "[SEP]"],
            "[CLS] armillary stars . [SEP]",
        ),
        (["whole", "words"], [], "whole words"),
        (["ĠcafÃ", "©", "Ġx"], [], "cafÃ© x"),
        (["The", "Ġ", "1", "2"], [], "The 12"),
    ],
)
def test_words_are_what_stands_between_spaces_and_signs(pieces, special, words):
    found = words_of(Fake(pieces, special), list(range(len(pieces))))
    assert " ".join(found.texts) == words
    assert found.word_index[0] == 0
    assert (np.diff(found.word_index) >= 0).all()
    assert found.word_index[-1] == len(found.texts) - 1


def test_a_special_token_never_joins_its_neighbours():
    found = words_of(Fake(["<s>", "ab", "cd", "Ġx"], ["<s>"]), [1, 0, 2])
    assert found.word_index.tolist() == [0, 1, 2]


def test_words_are_escaped():
    assert words_of(Fake(["a\x07", "Ġb"]), [0, 1]).texts == ("a\\x07", "b")


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_real_tokenizers_give_the_words_of_the_text(name):
    tokenizer = arm.load(name, check=False).tokenizer
    ids = tokenizer("Unbelievable armillary spheres: three, two!")["input_ids"]
    found = words_of(tokenizer, ids)
    plain = [word.lower() for word in found.texts if word not in ("[CLS]", "[SEP]")]
    assert plain == ["unbelievable", "armillary", "spheres", ":", "three", ",", "two", "!"]
    assert len(found.word_index) == len(ids) > len(found.texts)
