"""A survey stops at the error that was asked for, and the error it stops at is the one that its table shows."""

from itertools import pairwise

import numpy as np
import pytest

import armillary as arm
from armillary.surveys.plan import Plan
from armillary.surveys.preparing import prepared
from armillary.surveys.settings import Settings
from armillary.surveys.stopping import GROWTH, Until, windows_for

TEXT = np.random.default_rng(0).integers(3, 97, (400, 8))
OPTIONS = {"progress": False, "shard_tokens": 128}


def survey(view, wanted, **options):
    return arm.survey(view, TEXT, until_se=wanted, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole(tiny_llama):
    return survey(tiny_llama, 1e-9)


def largest(run):
    return float(run.results["position"].share_corrected_se.max())


def test_an_error_that_is_never_reached_reads_everything_and_says_what_would_do(whole):
    error = largest(whole)
    needed = windows_for(1e-9, error, 400)
    assert whole.provenance["stopped"].startswith("read all 400 windows: a layer's position share has an SE of ")
    assert whole.provenance["stopped"].endswith(f"about {needed} windows would do")
    assert needed == np.ceil(400 * (error / 1e-9) ** 2)


def test_it_stops_at_the_first_look_that_satisfies_it(tiny_llama, whole):
    wanted = 1.4 * largest(whole)
    run = survey(tiny_llama, wanted)
    read = run.provenance["contexts"]
    assert 64 <= read < 400
    assert run.results["corpus"].sizes["context"] == read
    assert largest(run) <= wanted
    words = f"stopped after {read} of 400 windows: no layer's position share has an SE above {largest(run):.2g}"
    assert run.provenance["stopped"] == f"{words} (--until-se {wanted:g})"
    again = survey(tiny_llama, wanted)
    for name, node in run.results.children.items():
        assert node.to_dataset().equals(again.results[name].to_dataset()), name


def test_before_it_stopped_the_error_was_too_large(tiny_llama, whole):
    wanted = 1.4 * largest(whole)
    plan = prepared(tiny_llama, TEXT, Settings.of(until_se=wanted, shard_tokens=128)).plan
    seen = []

    class Watched(Until):
        def error_of(self, state, windows):
            seen.append((windows, super().error_of(state, windows)))
            return seen[-1][1]

    from armillary.surveys.engines.local import local

    local(tiny_llama, plan, lambda windows: None, enough=Watched(plan, wanted))
    assert [error <= wanted for _, error in seen] == [False] * (len(seen) - 1) + [True]
    assert all(later >= GROWTH * before for (before, _), (later, _) in pairwise(seen))


def test_whatever_was_read_is_a_sample_of_every_group(tiny_llama):
    plan = prepared(tiny_llama, TEXT, Settings.of(until_se=0.1, shard_tokens=128)).plan
    sizes = np.bincount(plan.groups)
    for read in (100, 200, 300):
        shares = np.bincount(plan.groups[:read], minlength=len(sizes)) / sizes
        assert np.abs(shares - read / 400).max() < 0.2
    assert sorted(map(bytes, plan.tokens)) == sorted(map(bytes, TEXT))


def test_the_first_windows_of_a_plan_keep_their_shifts():
    plan = Plan(TEXT, np.arange(400) // 25, 3, "drop", "drop", "residual", "all", 4)
    np.testing.assert_array_equal(plan.first_windows(130).shifts, plan.shifts[:130])


def test_outliers_are_filled_as_in_the_table(tiny_llama, monkeypatch):
    from armillary.surveys import shard
    from armillary.surveys.sums import outliers

    for module in (shard, outliers):
        monkeypatch.setattr(module, "massive", lambda ratios: (ratios > 1.25).any(0))
    run = survey(tiny_llama, 1e-9)
    assert run.results["residual"].holes.item() > 5
    assert f"an SE of {largest(run):.2g} " in run.provenance["stopped"]


def test_no_more_tokens_are_read_than_allowed(tiny_llama):
    chosen = Settings.of(contexts=64, length=128, max_tokens=1000)
    assert chosen.windows == 7
    assert Settings.of(contexts=5, length=128, max_tokens=1000).windows == 5
