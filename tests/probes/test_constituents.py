"""Constituents and their shares on surveys of tiny models and of the real ones."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError, SourceError
from armillary.models.attention import products
from armillary.probes.constituents import part_scores, shares
from armillary.probes.inputs import known_parts
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


def test_shares_are_those_of_the_parts_written_out(view, run, windows):
    found = shares(view, run, windows=4)
    chosen = np.linspace(0, 23, 4).round().astype(int)
    tokens = run.results["corpus"].tokens.values[chosen]
    sums = np.zeros((3, 3))
    for ids in tokens:
        parts = arm.constituents(view, run, ids, block=1).sel(head=3).values
        total = parts.sum((0, 1))
        for t in range(2, 16):
            for a, b in np.ndindex(3, 3):
                sums[a, b] += np.cov(parts[a, b, t, 1 : t + 1], total[t, 1 : t + 1], ddof=0)[0, 1]
    assert np.allclose(found.share.isel(block=1, head=3), sums / sums.sum())
    assert np.allclose(found.share.sum(("part_query", "part_key")), 1)
    assert (found.share_se > 0).all()


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
