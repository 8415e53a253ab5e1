"""Heads as stores: tokens and numbers against the full products of every family, their stability, and bad input."""

import dataclasses
import re

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from threadpoolctl import threadpool_limits

import armillary as arm
from armillary.errors import NonFiniteError, RequestError, SourceError, StoreError
from armillary.models import load
from armillary.models.attention import attention_calls
from armillary.probes.stores.lexicons import Vocabulary, vocabulary
from armillary.probes.stores.nouns import NOUNS
from armillary.results.schema.stores import SIDE_NAMES
from armillary.results.store_answers import store_answers
from families import TINY, tiny_model
from word_stores import TOKENIZER, centred, cosines, groups_of, view_of, word_tokenizer

pytestmark = pytest.mark.usefixtures("few_draws")


SOME = ("gpt2", "bert", "albert", "opt-post-norm", "llama", "gemma2", "qwen3", "olmo2", "llama-wide-heads")


def full_products(view, block, head, folded):
    """W_QK and W_VO of one head, d_model × d_model."""
    heads, norm = view.heads(block), view.attention_norm(block)
    W_Q, W_K, W_V, W_O = (getattr(heads, name)[head].double().numpy() for name in ("W_Q", "W_K", "W_V", "W_O"))
    if folded and norm is not None:
        fold = centred(view.d_model, norm.kind == "layer") @ np.diag(norm.gain.double().numpy())
        W_Q, W_K, W_V = fold @ W_Q, fold @ W_K, fold @ W_V
    if folded and view.norm_place in ("branch", "sandwich"):
        W_O = W_O @ np.diag(view.norm(block, "after_attention").gain.double().numpy())
    return heads.scale * W_Q @ W_K.T, W_V @ W_O


@pytest.mark.parametrize("family", TINY)
def test_triplets_of_every_family_are_those_of_the_full_products(family):
    view = view_of(family)
    stores = groups_of(view)["stores"]
    for block in range(view.n_blocks):
        for head in range(view.n_heads):
            for place, W in enumerate(full_products(view, block, head, True)):
                of = stores.isel(block=block, head=head, store=place)
                value = np.linalg.svd(W, compute_uv=False)
                assert of.singular_value.values == pytest.approx(value[:5], rel=1e-8)
                covered = np.cumsum(value**2)[: of.sizes["mode"]] / np.sum(value**2)
                assert of.coverage.values == pytest.approx(covered, abs=1e-8)
                assert of.triplets_90 == 1 + np.argmax(covered >= 0.9)
    assert (stores.plane == 1).all()
    assert stores.score.notnull().all()


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("family", SOME)
def test_tokens_are_those_nearest_to_numpys_singular_vectors(family, folded):
    view = view_of(family)
    stores = groups_of(view, folded=folded)["stores"]
    norm, final = view.attention_norm(1), view.norm_final() if folded else None
    centring = folded and norm is not None and norm.kind == "layer"
    inwards, outwards, centring_out = view.embeddings, view.embeddings, centring
    if view.W_U is not None and len(view.W_U) == view.d_model:
        outwards, centring_out = view.W_U.T, final is not None and final.kind == "layer"
        outwards = outwards if final is None else outwards * final.gain
    for place, W in enumerate(full_products(view, 1, 2, folded)):
        left, _, right = np.linalg.svd(W)
        for side, vector in ((2 * place, left[:, 0]), (2 * place + 1, right[0])):
            of = stores.isel(block=1, head=2, side=side, triplet=0)
            own = cosines(*((outwards, vector, centring_out) if side == 3 else (inwards, vector, centring)))[:67]
            tops = {tuple(np.argsort(-own)[:5]), tuple(np.argsort(own)[:5])}
            assert {tuple(end) for end in of.token.values} == tops
            assert np.abs(of.score.values).max() == pytest.approx(np.abs(own).max(), abs=1e-5)
            assert of.text.values[0, 0] == TOKENIZER.decode([int(of.token[0, 0])])


def test_left_and_right_vectors_keep_their_common_sign():
    view = view_of("llama")
    stores = groups_of(view)["stores"].isel(block=0, head=1)
    _, W = full_products(view, 0, 1, True)
    left, _, right = np.linalg.svd(W)
    reads = cosines(view.embeddings, left[:, 2], False), cosines(view.W_U.T * view.norm_final().gain, right[2], False)
    sign = 1 if reads[1].max() > -reads[1].min() else -1
    for side, own in zip(("input", "output"), reads, strict=True):
        of = stores.sel(side=side, triplet=3, end="positive", rank=1)
        assert int(of.token) == np.argmax(sign * own)
        assert float(of.score) == pytest.approx((sign * own).max(), abs=1e-5)
    right_side = stores.sel(side=["key", "output"])
    assert (right_side.score.sel(end="positive", rank=1) >= -right_side.score.sel(end="negative", rank=1)).all()


def same(one, other, names=("token", "score", "plane", "singular_value", "peak")):
    for name in names:
        if one[name].dtype.kind == "i":
            assert np.array_equal(one[name], other[name]), name
        else:
            assert one[name].values == pytest.approx(other[name].values, abs=1e-9, nan_ok=True), name


def test_tokens_do_not_depend_on_seed_or_threads():
    view = view_of("gpt2")
    stores = groups_of(view)["stores"]
    same(stores, groups_of(view, seed=7)["stores"])
    assert not np.array_equal(stores.peak_null, groups_of(view, seed=7)["stores"].peak_null)
    for threads in (1, 2):
        with threadpool_limits(threads):
            torch.set_num_threads(threads)
            same(stores, groups_of(view)["stores"])
    torch.set_num_threads(1)


def test_tokens_do_not_depend_on_the_signs_that_lapack_gives(monkeypatch):
    view = view_of("bert")
    stores = groups_of(view)["stores"]
    svd = np.linalg.svd

    def flipped(matrix):
        left, value, right = svd(matrix)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(value))
        return left * signs, value, signs[:, None] * right

    monkeypatch.setattr(np.linalg, "svd", flipped)
    same(stores, groups_of(view)["stores"])


def degenerate(view, rotation):
    """Head 0 of block 0 with W_VO = Σ σ u vᵀ, the 2nd to 4th σ equal; the three triplets mixed by a rotation."""
    rng = np.random.default_rng(0)
    d_model, d_head = view.d_model, view.d_head
    left, right = (np.linalg.qr(rng.standard_normal((d_model, d_head)))[0] for _ in range(2))
    value = np.array([5.0, 3.0, 3.0, 3.0, 1.0, 0.5, 0.3, 0.2])
    mixed = np.eye(d_head)
    mixed[1:4, 1:4] = rotation
    attention = view.blocks[0].attention.self
    attention.value.weight[:d_head] = torch.from_numpy((left @ mixed * value).T).float()
    output = view.blocks[0].attention.output.dense
    output.weight[:, :d_head] = torch.from_numpy(right @ mixed).float()
    return view


def test_equal_singular_values_are_read_as_a_plane_whatever_directions_stand_for_it():
    rotations = [np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0] for seed in range(4)]
    found = [groups_of(degenerate(view_of("bert"), turn), folded=False)["stores"] for turn in rotations]
    head = found[0].isel(block=0, head=0)
    assert head.plane.sel(store="W_VO").values.tolist() == [1, 3, 3, 3, 1]
    plane = head.sel(side=["input", "output"]).isel(triplet=[1, 2, 3])
    assert (plane.token.sel(end="negative") == -1).all()
    assert (plane.text.sel(end="negative") == "").all()
    assert plane.score.sel(end="positive").notnull().all()
    assert (plane.token == plane.token.isel(triplet=0)).all()
    for other in found[1:]:
        for name in ("token", "score", "peak", "peak_null", "coherence"):
            assert head[name].values == pytest.approx(other.isel(block=0, head=0)[name].values, abs=1e-5, nan_ok=True)


def test_a_head_of_rank_zero_or_one_has_no_further_triplets():
    view = view_of("bert")
    attention = view.blocks[0].attention.self
    attention.query.weight[:8] = 0
    attention.value.weight[1:8] = 0
    groups = groups_of(view)
    head = groups["stores"].isel(block=0, head=0)
    assert head.plane.values.tolist() == [[0] * 5, [1, 0, 0, 0, 0]]
    assert np.isnan(head.coverage.sel(store="W_QK")).all()
    assert np.isnan(head.triplets_99.sel(store="W_QK"))
    queries = head.sel(side=["query", "key"])
    assert (queries.token == -1).all()
    assert (queries.text == "").all()
    assert np.isnan(queries.peak_z).all()
    assert np.isnan(queries.peak_subspace_z).all()
    assert (head.token.sel(side="output", triplet=1) >= 0).all()
    assert (head.token.sel(side="output", triplet=2) == -1).all()
    assert head.triplets_99.sel(store="W_VO") == 1
    words = groups["store_words"].isel(block=0, head=0)
    assert (words.key_word == -1).all()
    assert np.isnan(words.specificity_keys_z)
    assert np.isnan(words.key_score).all()


def test_random_weights_are_as_readable_as_random_directions():
    view = load(tiny_model("llama", hidden_size=64, num_attention_heads=8), tokenizer=TOKENIZER, check=False)
    stores = groups_of(view)["stores"]
    for name in ("peak", "coherence"):
        assert abs(float(stores[f"{name}_z"].mean())) < 0.4
        assert abs(float(stores[f"{name}_subspace_z"].mean())) < 0.4
        assert float((stores[name] > stores[f"{name}_null"]).mean()) < 0.05


def test_what_a_run_holds_of_attention_inputs_gives_coverage_and_null_spaces_on_text(tmp_path):
    view = load(tiny_model("gpt2"), tokenizer=TOKENIZER, check=False)
    windows = np.random.default_rng(0).integers(3, 67, (24, 16))
    run = arm.survey(view, windows, covariance="attention", first="keep", outliers="keep", progress=False)
    inputs, calls = [], []
    with torch.no_grad(), attention_calls(view, calls.append):
        view.run(windows)
    inputs = [call.input.double().numpy().reshape(-1, view.d_model) for call in calls]
    for folded in (True, False):
        stores = arm.stores(view, run, folded=folded, progress=False).results["stores"].to_dataset()
        for block, head in ((0, 1), (2, 3)):
            of, heads, norm = stores.isel(block=block, head=head), view.heads(block), view.attention_norm(block)
            W_Q, W_K, W_V, W_O = (getattr(heads, name)[head].double().numpy() for name in ("W_Q", "W_K", "W_V", "W_O"))
            x = inputs[block]
            for side, W in (("query", W_Q), ("key", W_K), ("input", W_V)):
                basis = np.linalg.qr(W)[0]
                blind = 1 - np.sum((x @ basis) ** 2) / np.sum(x**2)
                assert float(of.null_share.sel(side=side)) == pytest.approx(blind, abs=1e-4)
                around = x - x.mean(0)
                blind = 1 - np.sum((around @ basis) ** 2) / np.sum(around**2)
                assert float(of.null_share_centred.sel(side=side)) == pytest.approx(blind, abs=1e-4)
            assert np.isnan(of.null_share.sel(side="output"))
            assert of.null_share_null.sel(side="key") == 1 - view.d_head / view.d_model
            right = np.linalg.svd(full_products(view, block, head, folded)[1])[2][: view.d_head]
            written = (x - folded * norm.bias.double().numpy()) @ W_V @ W_O
            energy = np.mean((written @ right.T) ** 2, axis=0)
            assert of.coverage_text.values == pytest.approx(np.cumsum(energy) / energy.sum(), abs=1e-4)


def test_without_a_run_nothing_is_said_of_text():
    view = view_of("gpt2")
    assert "null_share" not in groups_of(view)["stores"]
    run = arm.survey(view, np.random.default_rng(0).integers(3, 67, (8, 8)), progress=False)
    assert "null_share" not in arm.stores(view, run, progress=False).results["stores"]


def test_what_is_kept_is_of_all_heads_and_opens_again(tmp_path):
    view = view_of("llama")
    kept = arm.stores(view, out=tmp_path / "run", block=1, head=2, progress=False)
    assert (tmp_path / "run" / "stores.nc").exists()
    assert (tmp_path / "run" / "report.html").exists()
    opened = arm.open(tmp_path / "run").results["stores"].to_dataset()
    assert opened.sizes["block"] == 3
    same(opened, groups_of(view)["stores"])
    assert opened.attrs["folded"] == "true"
    with pytest.raises(StoreError, match="already holds one"):
        arm.stores(view, out=tmp_path / "run", progress=False)
    again = arm.stores(view, kept, folded=False, progress=False)
    assert again.results["stores"].attrs["folded"] == "false"
    with pytest.raises(SourceError, match="expected the model of"):
        arm.stores(view_of("gpt2"), kept, progress=False)
    alone = arm.stores(view, block=1, head=2, progress=False).results["stores"].to_dataset()
    assert alone.block.values.tolist() == [1]
    assert alone["head"].values.tolist() == [2]
    same(alone, opened.sel(block=[1], head=[2]))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"block": 3}, "expected a block from 0 to 2, got 3"),
        ({"block": -1}, "expected a block from 0 to 2, got -1"),
        ({"head": 4, "block": 0}, "expected a head from 0 to 3, got 4"),
        ({"triplets": 0}, "expected triplets of each head from 1 to 8, got 0"),
        ({"triplets": 9}, "expected triplets of each head from 1 to 8, got 9"),
    ],
)
def test_what_the_model_does_not_have_is_refused(asked, message, tmp_path):
    for out in (None, tmp_path / "run"):
        with pytest.raises(RequestError, match=f"^{re.escape(message)}$"):
            arm.stores(view_of("llama"), out=out, progress=False, **asked)


def test_a_model_without_a_tokenizer_is_refused():
    message = (
        "expected a tokenizer to read directions as tokens, got none with LlamaForCausalLM: "
        "give it to load as tokenizer=, or use `armillary weights`, which needs none"
    )
    with pytest.raises(RequestError, match=f"^{re.escape(message)}$"):
        arm.stores(load(tiny_model("llama"), check=False), progress=False)


def test_an_unknown_family_is_refused():
    view = dataclasses.replace(view_of("llama"), family=None)
    with pytest.raises(RequestError, match=r"^expected a known family for stores, got 'llama', of which only hidden"):
        arm.stores(view, progress=False)


def test_weights_and_embeddings_that_are_not_finite_are_refused_by_name():
    view = view_of("gpt2")
    view.model.transformer.h[1].attn.c_proj.weight[3, 2] = float("nan")
    with pytest.raises(NonFiniteError, match="NaN or infinite in W_O of block 1: the checkpoint is damaged"):
        arm.stores(view, progress=False)
    view = view_of("gpt2")
    view.model.transformer.wte.weight[5, 1] = float("inf")
    with pytest.raises(NonFiniteError, match="got 1 of 2144 that are NaN or infinite in the embeddings: "):
        arm.stores(view, progress=False)


@pytest.mark.parametrize("family", ["qwen3", "gemma3_text", "olmo2"])
def test_normalised_queries_and_keys_are_said_beside_the_numbers(family):
    note = groups_of(view_of(family))["stores"].attrs["note"]
    assert note.startswith("queries and keys are normalised, so W_QK alone does not make the scores; W_QK is that of")
    assert "normalised" not in groups_of(view_of("llama"))["stores"].attrs["note"]


def test_the_attributes_say_how_directions_were_read():
    read = {family: groups_of(view_of(family))["stores"].attrs["reading"] for family in ("gpt2", "llama", "albert")}
    assert read == {
        "gpt2": "input by embeddings, output by the unembedding; gain and centring of the norms folded in",
        "llama": "input by embeddings, output by the unembedding; gain of the norms folded in",
        "albert": "input by embeddings, output by embeddings; gain and centring of the norms folded in",
    }
    plain = groups_of(view_of("gpt2"), folded=False)["stores"].attrs
    assert plain["reading"].endswith("the unembedding; weights and embeddings as stored")
    assert "transforms the state" in groups_of(view_of("bert"))["stores"].attrs["note"]


def test_tokens_beyond_the_tokenizer_are_not_read():
    view = load(tiny_model("llama", vocab_size=200), tokenizer=TOKENIZER, check=False)
    assert int(groups_of(view)["stores"].token.max()) < len(TOKENIZER)


def test_hostile_token_texts_are_escaped():
    tokenizer = word_tokenizer(["[UNK]", *(f"\x1b[{i}m\n" for i in range(66))])
    stores = groups_of(load(tiny_model("llama"), tokenizer=tokenizer, check=False))["stores"]
    assert all(text.isprintable() for text in stores.text.values.ravel())


def test_tokens_that_are_bytes_are_read_as_bytes():
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())[-67:]
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    backend.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
    texts = groups_of(load(tiny_model("llama"), tokenizer=tokenizer, check=False))["stores"].text.values.ravel()
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(texts)
    assert any(re.fullmatch("⟨[0-9A-F]{2}⟩", text) for text in texts)


def test_answers_name_every_claim_with_a_verdict_and_numbers():
    view = view_of("llama", num_hidden_layers=5)
    found = store_answers(arm.stores(view, progress=False).results)
    assert list(found) == [
        *("early_unreadable", "readability_rises", "late_readable", "keys_specificity_rises", "keys_specific_late"),
        *("values_specificity_rises", "values_specific_late"),
    ]
    assert {answer.numbers.verdict for answer in found.values()} <= {"holds", "does not hold", "not determined"}
    assert found["early_unreadable"].numbers.share < 0.1
    assert str(found["early_unreadable"]).startswith("Block 0 is unreadable: ")
    alone = store_answers(arm.stores(view, block=2, progress=False).results)
    assert alone["readability_rises"].numbers.verdict == "not determined"
    assert alone["keys_specific_late"].claim == "Block 2 has subject-specific keys"


def test_sides_and_vocabulary_are_what_the_schema_says():
    assert SIDE_NAMES == ("query", "key", "input", "output")
    known = vocabulary(view_of("llama"), True)
    assert isinstance(known, Vocabulary)
    assert known.texts(np.array([[1, -1]])).tolist() == [[NOUNS[0], ""]]
