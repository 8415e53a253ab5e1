"""Windows that are read once more: spread over the groups of documents, or texts, each a document."""

import numpy as np
import pytest

from armillary.errors import RequestError
from armillary.probes.windows import read_plan, spread


def test_even_steps_go_from_the_first_window_to_the_last():
    assert spread(24, 4).tolist() == [0, 8, 15, 23]
    assert spread(3, 16).tolist() == [0, 1, 2]
    assert spread(9, 1).tolist() == [0]


def test_windows_of_a_run_visit_as_many_groups_as_there_can_be(view, run):
    plan = read_plan(view, run, None, 8)
    corpus = run.results["corpus"]
    chosen = spread(24, 8)
    assert np.array_equal(np.stack(plan.windows), corpus.tokens.values[chosen])
    assert len(plan.sizes) == len(np.unique(corpus.group.values[chosen])) == 8
    assert plan.sizes.sum() == 8


@pytest.mark.parametrize(
    ("texts", "count", "message"),
    [
        (None, 0, "expected at least 1 window, got 0: ask for more"),
        ("a text", 8, "expected a list of texts, got none or a single text: put it into a list"),
        ([], 8, "expected a list of texts, got none or a single text: put it into a list"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(view, run, texts, count, message):
    with pytest.raises(RequestError, match=message):
        read_plan(view, run, texts, count)
