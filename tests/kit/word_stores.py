"""Tiny models whose tokenizer has whole words, read as stores."""

import numpy as np
import tokenizers
import transformers

from armillary.models import load
from armillary.probes.stores.groups import Asked, store_groups
from armillary.probes.stores.nouns import NOUNS
from families import tiny_model


def word_tokenizer(words):
    vocabulary = {word: index for index, word in enumerate(words)}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


TOKENIZER = word_tokenizer(["[UNK]", *NOUNS[:60], *(f"word{i}" for i in range(6))])


def view_of(family, **changes):
    return load(tiny_model(family, **changes), tokenizer=TOKENIZER, check=False)


def groups_of(view, inputs=None, **asked):
    return store_groups(view, Asked(**asked), inputs, lambda done: None)


def centred(d_model, on=True):
    return np.eye(d_model) - on * np.ones((d_model, d_model)) / d_model


def cosines(vectors, direction, centring):
    vectors = vectors.double().numpy()
    vectors = vectors @ centred(vectors.shape[1], centring)
    norms = np.linalg.norm(vectors, axis=1)
    return vectors @ direction / np.where(norms > 0, norms, 1)  # the padding token's vector is zero
