"""Texts that allow no error: the numbers are there, the errors are NaN, and table and report say why."""

import io

import numpy as np
import pytest
from rich.console import Console

import armillary as arm
from armillary.printing.layers import printed
from armillary.reporting.content import reading


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


def test_a_single_window_is_refused_with_what_to_do(tiny_llama):
    with pytest.raises(
        arm.RequestError, match=r"^expected ready windows of at least 2 x 2 tokens, got 1 x 12: give more$"
    ):
        arm.survey(tiny_llama, text(2, 1), progress=False)
