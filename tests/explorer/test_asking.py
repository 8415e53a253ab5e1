"""What the page learns of a prompt, against transformers' own output, closed forms and the weights as they were."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

import armillary as arm
from armillary.explorer import asking
from armillary.explorer.worker import Cancelled, Job

PROMPT = "word1 word2 <b>bold</b> word3 word4 $x^2$ word5"
ASKED = {"prompt": PROMPT, "block": 1, "head": 2, "alpha": 1.0, "only": False}


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


def test_the_map_is_that_of_transformers(model, numbers):
    view = model.view
    ids = torch.tensor([view.tokenizer(PROMPT)["input_ids"]])
    with torch.inference_mode():
        before = view.model.config._attn_implementation
        view.model.set_attn_implementation("eager")
        theirs = view.model(input_ids=ids, output_attentions=True).attentions[1][0, 2].numpy()
        view.model.set_attn_implementation(before)
    found = model.look(ASKED, Waiting())
    assert np.allclose(numbers(found["maps"]["tokens"]["figures"][0]["data"][0]["z"]), theirs, atol=1e-5)


def test_alpha_in_one_block_multiplies_its_scores_by_alpha_squared(model, numbers):
    scores = arm.prompt(model.view, PROMPT)
    logits = np.where(scores.allowed.values[0], 4 * scores.logits.values[0, 1].astype(float), -np.inf)
    found = model.look(ASKED | {"block": 0, "head": 1, "alpha": 2.0, "only": True}, Waiting())
    after = numbers(found["maps"]["tokens"]["figures"][1]["data"][0]["z"])
    assert np.allclose(after, softmax(logits, axis=-1), atol=1e-5)


def test_five_parts_add_up_to_the_sixth_and_that_to_the_logits(model, numbers):
    found = model.parts(ASKED, Waiting())
    maps = [numbers(panel["figure"]["data"][0]["z"]).astype(float) for panel in found["panels"]]
    assert len(maps) == 6
    assert np.allclose(sum(maps[:5]), maps[5], atol=1e-4, equal_nan=True)
    logits = arm.prompt(model.view, PROMPT).logits.values[1, 2].astype(float)
    for query in range(2, len(logits)):
        seen = logits[query, 1 : query + 1]
        assert np.allclose(maps[5][query, 1 : query + 1], seen - seen.mean(), atol=1e-4)
    assert sum(panel["share"] for panel in found["panels"][:5]) == pytest.approx(1)


def test_the_continuation_is_the_greedy_one_of_transformers(model):
    ids = torch.tensor([model.view.tokenizer(PROMPT)["input_ids"]])
    with torch.inference_mode():
        out = model.view.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False, pad_token_id=0
        )
    theirs = model.view.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    assert model.continuation(ASKED, Waiting())["before"] == theirs


def weights(model):
    return {name: tensor.clone() for name, tensor in model.view.model.state_dict().items()}


@pytest.mark.parametrize("question", ["look", "continuation"])
@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_a_cancelled_question_stops_between_blocks_and_leaves_nothing_behind(model, question, blocks):
    before = weights(model)
    asked = ASKED | {"alpha": 0.5, "prompt": f"word6 word7 word{10 + blocks}"}
    with pytest.raises(Cancelled):
        getattr(model, question)(asked, Waiting(blocks))
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())
    assert not any(block._forward_pre_hooks for block in model.view.blocks)
    assert model.look(asked, Waiting())["maps"]["tokens"]


def test_another_head_of_the_same_prompt_needs_no_pass(model):
    model.look(ASKED, Waiting())
    assert model.look(ASKED | {"block": 0, "head": 0}, Waiting(0))["tokens"]


def test_examples_are_the_strongest_pairs_of_the_runs_windows(model, run):
    found = model.examples(ASKED, Waiting())
    for window in found["windows"]:
        maps = arm.prompt(model.view, run.results["corpus"].tokens.values[window["window"]].astype(np.int64))
        pattern = maps.pattern.values[1, 2].copy()
        np.fill_diagonal(pattern, 0)
        assert window["pairs"][0]["mass"] == pytest.approx(pattern[:, 1:].max(), rel=1e-5)


def test_the_parts_of_a_head_add_up_to_all(model, numbers):
    found = model.head_parts(ASKED, Waiting())
    assert numbers(found["figure"]["data"][0]["x"]).sum() == pytest.approx(100)


def test_too_long_a_prompt_is_refused_with_both_limits(client):
    found = client.post("/api/ask/look", ASKED | {"prompt": "word1 " * 10_000})
    assert found.status_code == 400
    line = found.json()["error"]
    assert line.startswith("expected at most 16 tokens (the run's windows have 16, ")
    assert line.endswith("itself takes 40), got 10000: shorten the prompt or survey with a larger --length")


def test_an_unknown_head_of_the_model_is_not_found(client):
    found = client.post("/api/ask/look", ASKED | {"head": 4})
    assert found.status_code == 404
    assert found.json()["error"] == "expected a block from 0 to 1 and a head from 0 to 3, got L1H4: choose one of these"


@pytest.mark.parametrize("kind", ["look", "parts", "continuation", "head-parts", "examples"])
def test_every_question_is_answered_over_the_wire(client, kind):
    found = client.post(f"/api/ask/{kind}", ASKED | {"alpha": 2})
    assert found.status_code == 200, found.text
    assert client.get("/api/model").json() == {"state": "ready", "running": 0, "waiting": 0}


def test_control_characters_and_markup_come_back_escaped_for_plotly(client, hostile):
    found = client.post("/api/ask/look", ASKED | {"prompt": " ".join(hostile) + " \x00\x1b[31m \u202e"}).json()
    assert found["tokens"][: len(hostile)] == hostile
    for map_ in found["maps"]["tokens"]["figures"]:
        shown = [*map_["data"][0]["x"], *map_["layout"]["xaxis"]["ticktext"]]
        assert not any("<" in text or ">" in text or "$" in text for text in shown)
