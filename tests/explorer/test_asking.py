"""What the page learns of a prompt, against transformers' own output, closed forms and the weights as they were."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

import armillary as arm
from armillary.explorer import asking
from armillary.explorer.worker import Cancelled, Job

PROMPT = "word1 word2 <b>bold</b> word3 word4 $x^2$ word5"
ASKED = {"prompt": PROMPT, "block": 1, "head": 2, "alpha": 1.0, "only": None, "without": None, "position": None}


class Waiting(Job):
    """A question that somebody waits for, until so many blocks ran."""

    def __init__(self, blocks=10**9):
        self.left = blocks

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise Cancelled


@pytest.fixture(scope="module")
def model(run):
    return asking.loaded(run, lambda stage: None)


def theirs(model, **options):
    """What transformers itself gives for the prompt."""
    ids = torch.tensor([model.view.tokenizer(PROMPT)["input_ids"]])
    with torch.inference_mode():
        before = model.view.model.config._attn_implementation
        model.view.model.set_attn_implementation("eager")
        found = model.view.model(input_ids=ids, **options)
        model.view.model.set_attn_implementation(before)
    return found


def tokens_of(found, numbers, at=0):
    return numbers(found["tokens"]["patterns"][at])


def test_the_maps_of_a_block_are_those_of_transformers(model, numbers):
    found = model.maps(ASKED, Waiting())
    attentions = theirs(model, output_attentions=True).attentions[1][0].numpy()
    assert np.allclose(tokens_of(found, numbers), attentions, atol=1e-5)
    allowed = numbers(found["tokens"]["allowed"])
    assert np.array_equal(allowed, np.tri(len(allowed)))


def test_alpha_in_one_block_multiplies_its_scores_by_alpha_squared(model, numbers):
    scores = arm.prompt(model.view, PROMPT)
    logits = np.where(scores.allowed.values[0], 4 * scores.logits.values[0].astype(float), -np.inf)
    found = model.maps(ASKED | {"block": 0, "alpha": 2.0, "only": 0}, Waiting())
    assert np.allclose(tokens_of(found, numbers, 1), softmax(logits, axis=-1), atol=1e-5)
    assert np.allclose(tokens_of(found, numbers), scores.pattern.values[0])


def test_a_head_left_out_is_transformers_with_its_columns_of_the_output_zero(model, numbers):
    found = model.maps(ASKED | {"without": (0, 3)}, Waiting())
    lens = model.lens(ASKED | {"without": (0, 3)}, Waiting())
    output = model.view.model.model.layers[0].self_attn.o_proj.weight
    kept = output.data.clone()
    output.data[:, 24:32] = 0
    changed = theirs(model, output_attentions=True)
    output.data = kept
    assert np.allclose(tokens_of(found, numbers, 1), changed.attentions[1][0].numpy(), atol=1e-5)
    assert not np.allclose(tokens_of(found, numbers), tokens_of(found, numbers, 1), atol=1e-3)
    share = changed.logits[0, -1].softmax(-1).max().item()
    assert lens["next"][1][0]["probability"] == pytest.approx(share, rel=1e-4)


def test_the_lens_is_the_models_own_norm_and_head_on_every_layer(model):
    found = model.lens(ASKED | {"position": 3}, Waiting())
    states = theirs(model, output_hidden_states=True).hidden_states
    inner = model.view.model
    for layer in range(2):
        with torch.inference_mode():
            shares = inner.lm_head(inner.model.norm(states[layer][0, 3])).softmax(-1)
        best = shares.topk(5)
        assert [row["probability"] for row in found["layers"][0][layer]] == pytest.approx(
            best.values.tolist(), rel=1e-4
        )
        words = [model.view.tokenizer.decode([token]) for token in best.indices.tolist()]
        assert [row["text"] for row in found["layers"][0][layer]] == words
    last = theirs(model).logits[0, 3].softmax(-1).topk(10)
    assert [row["probability"] for row in found["next"][0]] == pytest.approx(last.values.tolist(), rel=1e-4)


def test_five_parts_add_up_to_the_sixth_and_that_to_the_logits(model, numbers):
    found = model.parts(ASKED, Waiting())
    maps = [numbers(panel["scores"]).astype(float) for panel in found["panels"]]
    assert len(maps) == 6
    assert np.allclose(sum(maps[:5]), maps[5], atol=1e-4, equal_nan=True)
    logits = arm.prompt(model.view, PROMPT).logits.values[1, 2].astype(float)
    for query in range(2, len(logits)):
        seen = logits[query, 1 : query + 1]
        assert np.allclose(maps[5][query, 1 : query + 1], seen - seen.mean(), atol=1e-4)
    assert sum(panel["share"] for panel in found["panels"][:5]) == pytest.approx(1)


def test_every_panel_has_a_row_and_a_column_for_every_token(model, numbers):
    found = model.parts(ASKED, Waiting())
    tokens = len(model.look(ASKED, Waiting())["tokens"])
    assert {numbers(panel["scores"]).shape for panel in found["panels"]} == {(tokens, tokens)}
    assert numbers(found["seen"]).shape == (tokens, tokens)


@pytest.mark.parametrize(("words", "parts"), [(1, 0), (2, 0), (3, 6)])
def test_a_prompt_of_one_token_is_answered_and_has_no_keys_to_compare(model, words, parts):
    asked = ASKED | {"prompt": " ".join(PROMPT.split()[:words])}
    look = model.look(asked, Waiting())
    assert len(look["tokens"]) == words
    found = model.parts(asked, Waiting())
    assert len(found["panels"]) == parts
    assert found.get("least") == (None if parts else 3)
    assert ("shares" in look["figures"]) == (words > 2)


def test_the_continuation_is_the_greedy_one_of_transformers_and_is_made_once(model):
    ids = torch.tensor([model.view.tokenizer(PROMPT)["input_ids"]])
    with torch.inference_mode():
        out = model.view.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False, pad_token_id=0
        )
    own = model.view.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    assert model.continuation(ASKED, Waiting())["before"] == own
    assert model.continuation(ASKED | {"block": 0, "head": 0, "position": 1}, Waiting(0))["before"] == own
    with pytest.raises(Cancelled):
        model.continuation(ASKED | {"alpha": 2.0}, Waiting(0))


def weights(model):
    return {name: tensor.clone() for name, tensor in model.view.model.state_dict().items()}


@pytest.mark.parametrize("question", ["look", "continuation"])
@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_a_cancelled_question_stops_between_blocks_and_leaves_nothing_behind(model, question, blocks):
    before = weights(model)
    asked = ASKED | {"alpha": 0.5, "without": (1, 1), "prompt": f"word6 word7 word{10 + blocks}"}
    with pytest.raises(Cancelled):
        getattr(model, question)(asked, Waiting(blocks))
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())
    assert not any(block._forward_pre_hooks for block in model.view.blocks)
    assert model.look(asked, Waiting())["tokens"]


@pytest.mark.parametrize("question", ["look", "maps", "parts", "travel"])
def test_another_block_and_head_of_the_same_prompt_need_no_pass(model, question):
    model.look(ASKED, Waiting())
    assert getattr(model, question)(ASKED | {"block": 0, "head": 0}, Waiting(0))


def test_paths_hold_the_share_of_variance_that_numpy_finds_in_three_directions(model):
    found = model.travel(ASKED, Waiting())
    states = theirs(model, output_hidden_states=True).hidden_states
    with torch.inference_mode():
        normed = [model.view.model.model.norm(state[0]).numpy() for state in states[:-1]] + [states[-1][0].numpy()]
    flat = np.concatenate(normed).astype(float)
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    spread = np.linalg.svd(unit - unit.mean(0), compute_uv=False) ** 2
    assert found["figures"][0]["held"] == pytest.approx(spread[:3].sum() / spread.sum(), rel=1e-3)
    assert all(drawn["figure"]["layout"]["scene"] for drawn in found["figures"])


def test_examples_are_the_strongest_pairs_of_the_runs_windows(model, run):
    found = model.examples(ASKED, Waiting())
    for window in found["windows"]:
        maps = arm.prompt(model.view, run.results["corpus"].tokens.values[window["window"]].astype(np.int64))
        pattern = maps.pattern.values[1, 2].copy()
        np.fill_diagonal(pattern, 0)
        assert window["pairs"][0]["mass"] == pytest.approx(pattern[:, 1:].max(), rel=1e-5)


def test_too_long_a_prompt_is_refused_with_both_limits(client):
    found = client.post("/api/ask/look", ASKED | {"prompt": "word1 " * 10_000})
    assert found.status_code == 400
    line = found.json()["error"]
    assert line.startswith("expected at most 16 tokens (the run's windows have 16, ")
    assert line.endswith("itself takes 40), got 10000: shorten the prompt or survey with a larger --length")


@pytest.mark.parametrize("asked", [{"head": 4}, {"without": [1, 4]}])
def test_an_unknown_head_of_the_model_is_not_found(client, asked):
    found = client.post("/api/ask/maps", ASKED | asked)
    assert found.status_code == 404
    assert found.json()["error"] == "expected a block from 0 to 1 and a head from 0 to 3, got L1H4: choose one of these"


def test_an_unknown_token_of_the_prompt_is_refused(client):
    found = client.post("/api/ask/lens", ASKED | {"position": 7})
    assert found.status_code == 400
    assert found.json()["error"] == "expected a position from 0 to 6, got 7: choose a token"


@pytest.mark.parametrize("kind", ["look", "maps", "parts", "lens", "continuation", "travel", "examples"])
def test_every_question_is_answered_over_the_wire(client, kind):
    found = client.post(f"/api/ask/{kind}", ASKED | {"alpha": 2, "without": [0, 1]})
    assert found.status_code == 200, found.text
    assert client.get("/api/model").json() == {"state": "ready", "running": 0, "waiting": 0}


def test_control_characters_come_back_escaped_and_markup_as_it_is(client, hostile):
    found = client.post("/api/ask/look", ASKED | {"prompt": " ".join(hostile) + " \x00\x1b[31m \u202e"}).json()
    assert found["tokens"][: len(hostile)] == hostile
    assert not any("\x1b" in text or "\x00" in text for text in found["tokens"])
    drawn = client.post("/api/ask/travel", ASKED | {"prompt": " ".join(hostile)}).json()["figures"][0]["figure"]
    labels = [trace["name"] for trace in drawn["data"] if trace.get("name")]
    assert labels
    assert not any("<" in label or ">" in label or "$" in label for label in labels)


class Bytes:
    """A tokenizer of single bytes, written as byte-level vocabularies write them; 256 ends a text."""

    eos_token_id = 256

    def decode(self, tokens, skip_special_tokens=False):
        return bytes(token for token in tokens if token < 256).decode(errors="replace")

    def convert_ids_to_tokens(self, token):
        return f"<0x{token:02X}>"


@pytest.mark.parametrize(
    ("cut", "text"), [(0, "so 👋"), (1, "so ⟨F0⟩⟨9F⟩⟨91⟩"), (2, "so ⟨F0⟩⟨9F⟩"), (3, "so ⟨F0⟩"), (4, "so ")]
)
def test_a_continuation_that_ends_within_a_letter_shows_its_bytes(cut, text):
    tokens = list("so 👋".encode())
    assert asking.with_last_bytes(Bytes(), tokens[: len(tokens) - cut]) == text


def test_the_continuation_of_the_page_shows_the_bytes_at_its_end(model, monkeypatch):
    whole = list("so 👋".encode())
    view = replace(model.view, tokenizer=Bytes())
    monkeypatch.setattr(asking, "continuation", lambda *_: Bytes().decode(whole[:-1]))
    monkeypatch.setattr(asking, "greedy", lambda *_: whole[:-1])
    assert asking.written(view, np.array([1, 2])) == "so ⟨F0⟩⟨9F⟩⟨91⟩"


def test_tokens_that_end_a_text_are_special_and_unknown_words_are_not(model):
    assert asking.special_positions(Bytes(), np.array([1, 2, 256])) == [2]
    assert model.look(ASKED | {"prompt": "never word1"}, Waiting())["special"] == []
