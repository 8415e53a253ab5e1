"""Constituents and their shares on surveys of tiny models and of the real ones."""

from dataclasses import replace

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError, SourceError
from armillary.models.attention import products
from armillary.probes.constituents import call_of, part_scores, shares
from armillary.probes.inputs import known_parts
from armillary.probes.windows import ReadPlan
from armillary.results.schema.naming import PARTS

TEXT = "The armillary sphere shows where the stars stand, and how they move over the year."


def test_one_head_is_that_row_of_all_heads(view, run, windows):
    whole = arm.constituents(view, run, windows[0], block=1)
    one = arm.constituents(view, run, windows[0], block=1, head=2)
    assert one.sizes["head"] == 1
    assert np.array_equal(one.sel(head=2), whole.sel(head=2))
    assert list(whole.part_query.values) == list(PARTS)


def test_without_the_mean_the_other_four_parts_stay(view, run, windows):
    whole = arm.constituents(view, run, windows[0], block=0)
    without = arm.constituents(view, run, windows[0], block=0, mean=False)
    assert list(without.part_key.values) == ["position", "residual"]
    assert np.allclose(without, whole.sel(part_query=["position", "residual"], part_key=["position", "residual"]))


def test_without_rotation_the_mean_of_keys_changes_no_attention_and_with_it_does(view, run, learned, windows):
    for one, its_run, constant in ((*learned, True), (view, run, False)):
        parts = arm.constituents(one, its_run, windows[0], block=1).sel(part_key="mean").sum("part_query")
        assert (float(parts.std("key").max()) < 1e-6 * float(abs(parts).max())) == constant


def test_the_rotated_mean_of_a_rotary_model_knows_distance_alone(view, run, windows):
    """The mean is the same everywhere, so its own scores depend on t − t' only."""
    parts = arm.constituents(view, run, windows[0], block=1).sel(part_query="mean", part_key="mean").values
    for distance in range(-5, 6):
        diagonal = np.diagonal(parts, distance, 1, 2)
        assert np.ptp(diagonal, axis=1).max() < 1e-4 * np.abs(parts).max()


def shares_by_loops(view, known_of, windows, block, head, first=1):
    """Shares from the nine parts of the scores written out, each window split by what `known_of` gives for it."""
    sums = np.zeros((3, 3))
    for number, ids in enumerate(windows):
        call = call_of(view, ids, block)
        parts = part_scores(view, call, known_of(number, call.input[0].double().numpy()))[head]
        total = parts.sum((0, 1))
        for t in range(first + 1, len(ids)):
            for a, b in np.ndindex(3, 3):
                sums[a, b] += np.cov(parts[a, b, t, first : t + 1], total[t, first : t + 1], ddof=0)[0, 1]
    return sums / sums.sum()


def test_shares_are_those_of_parts_by_the_means_of_all_other_windows(view, run, windows):
    """The means without a window are made from the inputs of all the others, read once more."""
    found = shares(view, run, windows=4)
    tokens = run.results["corpus"].tokens.values.astype(np.int64)
    chosen = np.linspace(0, 23, 4).round().astype(int)
    inputs = np.stack([call_of(view, ids, 1).input[0].double().numpy() for ids in tokens])
    known, shifts = known_parts(view, run, 1, 16), run.results["corpus"]["shift"].values

    def without(states, number):
        others = np.delete(states, chosen[number], 0).mean(0)
        mean = others[1:].mean(0)
        return replace(known, mean=mean, position=others - mean)

    expected = shares_by_loops(view, lambda number, x: without(inputs, number), tokens[chosen], 1, 3)
    assert np.allclose(found.share.isel(block=1, head=3), expected, atol=1e-6)
    assert np.allclose(found.share.sum(("part_query", "part_key")), 1)
    each = [
        np.sqrt(np.mean(found.share_null.isel(block=1, part_query=a, part_key=b) ** 2)) for a, b in ((1, 1), (0, 2))
    ]
    se = found.share_se.isel(block=1, head=3)
    assert float(se[1, 1]) >= each[0]
    assert 0 < float(se[0, 2]) < np.hypot(each[1], float(se[0, 2])), "a part without position has no error of the basis"
    moved = np.stack([np.concatenate([x[:1], np.roll(x[1:], s, 0)]) for x, s in zip(inputs, shifts, strict=True)])
    null = shares_by_loops(view, lambda number, x: without(moved, number), tokens[chosen], 1, 3)
    assert np.allclose(found.share_null.isel(block=1, head=3), null, atol=1e-6)


def test_texts_that_the_run_did_not_read_are_split_by_all_that_it_knows(view, run, windows):
    rng = np.random.default_rng(3)
    texts = rng.integers(3, 60, (4, 16))
    known = known_parts(view, run, 1, 16)
    plan = ReadPlan(list(texts), np.arange(4), np.ones(4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("armillary.probes.constituents.read_plan", lambda *given: plan)
        found = shares(view, run, ["a", "b", "c", "d"])
    expected = shares_by_loops(view, lambda number, x: known, texts, 1, 3)
    assert np.allclose(found.share.isel(block=1, head=3), expected, atol=1e-6)


def test_position_zero_counts_in_shares_where_the_run_kept_it(view, windows):
    kept = arm.survey(view, windows, first="keep", progress=False)
    dropped = arm.survey(view, windows, progress=False)
    assert not np.allclose(shares(view, kept, windows=3).share, shares(view, dropped, windows=3).share)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v, r, w: arm.constituents(v, r, w[0], block=2), "expected a block from 0 to 1, got 2"),
        (lambda v, r, w: arm.constituents(v, r, w[0], block=0, head=4), "expected a head from 0 to 3, got 4"),
        (
            lambda v, r, w: arm.constituents(v, r, np.tile(w[0], 2), block=0),
            "expected at most 16 tokens, the length of the run's windows, got 32: shorten",
        ),
        (lambda v, r, w: arm.constituents(v, r, [], block=0), "empty prompt"),
        (lambda v, r, w: arm.constituents(v, r, "a text", block=0), "has no tokenizer"),
        (lambda v, r, w: shares(v, r, "a text"), "expected a list of texts"),
        (lambda v, r, w: shares(v, r, windows=0), "expected at least 1 window, got 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(view, run, windows, call, message):
    with pytest.raises(RequestError, match=message):
        call(view, run, windows)


def test_a_run_of_another_model_is_refused(view, learned, windows):
    other = learned[1]
    for ask in (
        lambda: arm.constituents(view, other, windows[0], block=0),
        lambda: shares(view, other),
        lambda: arm.qk_smoothness(view, other),
        lambda: arm.weight_dissection(view, other),
    ):
        message = (
            r"expected the model of this run \(BertModel, sha256 \w{12}…\), got LlamaModel \(sha256 \w{12}…\): survey"
        )
        with pytest.raises(SourceError, match=message):
            ask()


@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_real_constituents_add_up_to_the_logits_on_every_head(name, calls_of):
    view = arm.load(name)
    run = arm.survey(view, "python-docs", contexts=6, length=24, progress=False)
    for call in calls_of(view, view.tokenizer(TEXT)["input_ids"]):
        own = products(call)[0].double().numpy()
        found = part_scores(view, call, known_parts(view, run, call.block, own.shape[-1]))
        error = np.abs(found.sum((1, 2)) - own).max((1, 2)) / np.abs(own).max((1, 2))
        assert (error < 1e-5).all()
        if call.block in (0, 3, view.n_blocks - 1):
            assert np.array_equal(arm.constituents(view, run, TEXT, block=call.block), found)
