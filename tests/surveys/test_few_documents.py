"""Texts that allow no error: the numbers are there, the errors are NaN, and table and report say why."""

import io

import numpy as np
import pytest
from rich.console import Console

import armillary as arm
from armillary.printing.layers import printed
from armillary.reporting.content import reading, run_report


def text(seed, windows):
    return np.random.default_rng(seed).integers(3, 60, (windows, 12))


def shown(run):
    out = io.StringIO()
    Console(width=120, file=out).print(printed(run))
    return " ".join(out.getvalue().split())


FEW = {
    "three documents of one window": (text(0, 3), "they need 4 groups of documents, and there are 3"),
    "two windows": (text(1, 2), "they need 4 groups of documents, and there are 2"),
}


@pytest.mark.parametrize(("windows", "reason"), FEW.values(), ids=FEW)
def test_too_few_groups_give_numbers_without_errors_and_say_why(tiny_llama, windows, reason):
    run = arm.survey(tiny_llama, windows, progress=False)
    assert np.isfinite(run.results["norms"].norm).all()
    assert np.isnan(run.results["norms"].norm_se).all()
    assert np.isnan(run.results["position"].share_corrected_se).all()
    assert reason in shown(run)
    assert reason in reading(run)


@pytest.fixture(scope="module")
def single(tiny_llama):
    """A survey of one window, its heads measured too."""
    return arm.survey(tiny_llama, text(2, 1), heads=True, progress=False)


def test_a_single_window_keeps_what_it_can_tell(single):
    for path in ("norms/norm", "heads/entropy", "depth/anisotropy", "mixing/similarity_output"):
        assert np.isfinite(single.results[path]).all()
        assert np.isnan(single.results[f"{path}_se"]).all()


@pytest.mark.parametrize("group", ["variance", "position", "attention_variance", "context"])
def test_a_single_window_separates_no_position(single, group):
    assert all(np.isnan(variable).all() for variable in single.results[group].data_vars.values())


def test_a_single_window_says_why_in_table_and_report(single):
    reason = "ne window: position, context and residual cannot be separated, and nothing has an error"
    assert reason in shown(single)
    assert "SE" not in shown(single).split()
    assert "1 window of 12 tokens" in shown(single)
    assert reason in reading(single)
    content = {answer.question: answer.text for answer in run_report(single).answers}
    assert any("not estimable" in text.lower() for text in content.values())
    assert "too weak" not in content["Is the positional basis low-rank?"]


def test_no_window_at_all_is_refused(tiny_llama):
    with pytest.raises(
        arm.RequestError, match=r"^expected ready windows of at least 1 x 2 tokens, got 0 x 12: give more$"
    ):
        arm.survey(tiny_llama, text(2, 0), progress=False)
