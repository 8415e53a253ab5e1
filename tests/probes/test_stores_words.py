"""Words as queries, keys and updates of heads: against the model's own scores, and what is no word."""

import re

import numpy as np
import pytest
import torch

import armillary as arm
from armillary.errors import RequestError
from armillary.models import load
from armillary.models.attention import attention_calls
from armillary.probes.stores.lexicons import vocabulary, word_tokens, words_of
from armillary.probes.stores.nouns import NOUNS, SUBJECTS
from families import tiny_model
from word_stores import TOKENIZER, cosines, groups_of, view_of, word_tokenizer

pytestmark = pytest.mark.usefixtures("few_draws")


def test_an_update_is_what_the_models_own_attention_writes_for_the_word():
    view = load(tiny_model("llama", attention_bias=False), tokenizer=TOKENIZER, check=False)
    words = groups_of(view, words=["eye", "money"])["store_words"]
    for word in ("eye", "money"):
        read = []
        with torch.no_grad():
            handle = view.outputs[0].register_forward_hook(lambda *call, into=read: into.append(call[2]))
            view.run(np.array([TOKENIZER(word)["input_ids"]]))
            handle.remove()
        written = read[0][0, 0].double().numpy()
        own = cosines(view.W_U.T * view.norm_final().gain, written / np.linalg.norm(written), False)
        of = words.sel(word=word).isel(block=0)
        assert of.update_token.values.tolist() == np.argsort(-own)[:5].tolist()
        assert of.update_score.values == pytest.approx(np.sort(own)[:-6:-1], abs=1e-5)


def test_keys_are_ranked_by_the_models_own_scores():
    """One token asks another at the same position: the model's own logits, free of rotation and bias."""
    view = load(tiny_model("llama", attention_bias=False), tokenizer=TOKENIZER, check=False)
    nouns = list(NOUNS[:12])
    words = groups_of(view, words=nouns)["store_words"].isel(block=0)
    ids, calls = np.array([TOKENIZER(noun)["input_ids"] for noun in nouns]), []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.run(ids)
    query, key = calls[0].query[:, :, 0].double().numpy(), calls[0].key[:, :, 0].double().numpy()
    for head in range(view.n_heads):
        kv_head = view.heads(0).kv_head[head]
        scores = view.heads(0).scale * query[:, head] @ key[:, kv_head].T
        np.fill_diagonal(scores, -np.inf)
        order = np.argsort(-scores, axis=1)[:, :5]
        of = words.isel(head=head)
        assert np.array_equal(of.key_word, order)
        assert of.key_score.values == pytest.approx(np.take_along_axis(scores, order, 1), rel=1e-3, abs=1e-3)


def test_words_are_read_by_the_vocabulary_where_they_or_a_block_are_asked_for():
    view = view_of("llama")
    whole = groups_of(view)["store_words"]
    assert "value_text" not in whole
    assert whole.word.values.tolist() == list(NOUNS[:60])
    assert whole.subject_keys.sizes == {"block": 3, "head": 4}
    some = groups_of(view, words=["eye", "day", "eye"], block=2)["store_words"]
    assert some.word.values.tolist() == ["eye", "day"]
    assert some.value_text.shape == (1, 4, 2, 5)
    assert some.key_word.values[0, 0].tolist() == [[1, -1, -1, -1, -1], [0, -1, -1, -1, -1]]
    assert np.isnan(some.specificity_keys_z).all()
    assert "subject_keys" not in some
    assert "value_text" in groups_of(view, block=0)["store_words"]


def test_specific_keys_are_found_where_queries_meet_the_keys_of_their_subject():
    view = view_of("llama")
    weights = view.blocks[1].self_attn
    embedding = view.backbone.get_input_embeddings().weight
    subjects = np.repeat(np.arange(6), 10)
    centres = torch.randn(8, view.d_model, generator=torch.Generator().manual_seed(0))
    embedding[1:61] = centres[subjects] + 0.3 * embedding[1:61]
    basis = torch.linalg.qr(centres[:6].T)[0].T
    weights.q_proj.weight[:8], weights.k_proj.weight[:8] = 0, 0
    weights.q_proj.weight[:6], weights.k_proj.weight[:6] = basis, basis
    words = groups_of(view, folded=False)["store_words"]
    assert float(words.subject_keys.sel(block=1, head=0)) > 0.9
    assert float(words.subject_keys_null.sel(block=1, head=0)) == pytest.approx(0.17, abs=0.02)
    assert float(words.subject_keys_z.sel(block=1, head=0)) > 4
    assert float(words.specificity_keys_z.sel(block=1, head=0)) > 4


def test_a_model_whose_tokenizer_knows_no_noun_has_no_words():
    view = load(tiny_model("llama"), tokenizer=word_tokenizer(["[UNK]", *(f"x{i}" for i in range(60))]), check=False)
    assert set(groups_of(view)) == {"stores"}


def test_a_word_of_several_tokens_is_the_mean_of_theirs_and_counted():
    view = view_of("llama")
    known = vocabulary(view, True)
    words = words_of(view, known, ["eye day", "money"])
    ids = TOKENIZER("eye day")["input_ids"]
    mean = known.input.vectors[ids].mean(0)
    assert words.input[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert words.divided == 1
    groups = groups_of(view, words=["eye day", "money"])
    assert groups["store_words"].word_tokens.values.tolist() == [2, 1]
    assert "1 of 2 words have several tokens, averaged" in groups["store_words"].attrs["note"]


def test_a_word_is_taken_with_a_blank_before_it_unless_it_is_shorter_without():
    class Tokenizer:
        unk_token_id = None

        def __call__(self, texts, **options):
            known = {" time": [4], "time": [7], " café": [1, 2, 3], "café": [5, 6], " ": [8], "": []}
            return {"input_ids": [known[text] for text in texts]}

    assert word_tokens(Tokenizer(), "time", 9) == (4,)
    assert word_tokens(Tokenizer(), "café", 9) == (5, 6)
    assert word_tokens(Tokenizer(), "", 9) == ()
    assert word_tokens(Tokenizer(), "time", 4) == ()


@pytest.mark.parametrize("word", ["unheard", "  ", "río"])
def test_a_word_without_tokens_is_refused(word):
    message = (
        f"expected a word that the tokenizer knows, got {word.strip()!r}, which gives no token or an unknown one: "
        "choose another word"
    )
    with pytest.raises(RequestError, match=f"^{re.escape(message)}$"):
        arm.stores(view_of("llama"), words=["eye", word], progress=False)


def test_no_words_at_all_are_refused():
    message = "expected words, got an empty list: name some, or leave them out for the built-in list"
    with pytest.raises(RequestError, match=f"^{message}$"):
        arm.stores(view_of("llama"), words=[], progress=False)


def test_the_built_in_list_has_a_hundred_nouns_once_each():
    assert len(NOUNS) == len(set(NOUNS)) == 100
    assert {len(nouns) for nouns in SUBJECTS.values()} == {10}
    assert all(noun.isalpha() and noun.islower() for noun in NOUNS)
