"""Which windows and tokens count, and what is refused: each with what to do."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError
from armillary.probes.lens.sample import Sample, frame, refuse_few, sample_of
from armillary.results.store import tree_of


def sample(contexts=16, length=10, groups=8):
    tokens = np.zeros((contexts, length), dtype=np.int64)
    return Sample(tokens, np.ones((contexts, length), dtype=bool), np.arange(contexts) * groups // contexts)


def test_position_0_does_not_count_where_the_run_left_it_out(lens_view, lens_run):
    found = sample_of(lens_view, lens_run, 12, 2)
    assert found.tokens.shape == (12, 20)
    assert not found.kept[:, 0].any()
    assert found.kept[:, 1:].all()
    assert found.length == 19
    assert found.distances.tolist() == [1, 2, 4, 8]
    assert found.groups == pytest.approx(12)


def test_fewer_windows_are_spread_over_the_groups():
    assert sample().only(4).group.tolist() == [0, 1, 2, 3]
    assert sample().only(99).tokens.shape == (16, 10)


def test_leading_directions_are_those_of_the_covariance_and_more_are_read(lens_run):
    directions, share = frame(lens_run, 3)
    covariance = lens_run.results["residual"].covariance.values[1].astype(float)
    values = np.linalg.eigvalsh(covariance)
    np.testing.assert_allclose(directions[1] @ covariance @ directions[1].T, np.diag(values[:-13:-1]), atol=1e-4)
    assert share[1] == pytest.approx(values[-3:].sum() / values.sum(), rel=1e-5)


def test_few_documents_and_few_windows_are_refused_with_the_number_needed():
    text = (
        "expected windows of at least 4 groups of documents, got 3: survey more contexts, or a corpus of more documents"
    )
    with pytest.raises(RequestError, match=text):
        refuse_few(sample(groups=3), 2)
    text = (
        "expected 8 windows beside the largest group for 20 directions of two tokens, got 7: survey more contexts, or "
        "ask for fewer directions"
    )
    with pytest.raises(RequestError, match=text):
        refuse_few(sample(contexts=8), 20)
    refuse_few(sample(contexts=8), 8)


def test_states_that_do_not_vary_in_enough_directions_are_refused_with_their_rank(lens_run):
    states = lens_run.results["residual"].to_dataset().copy()
    flat = states.covariance.values.copy()
    values, vectors = np.linalg.eigh(flat[1])
    flat[1] = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    states["covariance"] = (states.covariance.dims, flat)
    run = arm.Run(tree_of({"residual": states}, lens_run.provenance))
    text = (
        "expected states that vary in 4 directions, got 2 at layer 1, whose covariance is not positive definite in "
        "more: ask for --directions 2"
    )
    with pytest.raises(RequestError, match=text):
        frame(run, 4)


def test_a_run_without_states_says_which_command_makes_them(lens_view, lens_run):
    alone = arm.Run(tree_of({"corpus": lens_run.results["corpus"].to_dataset()}, lens_run.provenance))
    with pytest.raises(
        RequestError, match="expected a run with /residual, got one without: `armillary survey` makes a run with it"
    ):
        sample_of(lens_view, alone, 8, 2)


def test_a_number_of_directions_that_the_model_does_not_have_is_refused(lens_view, lens_run):
    with pytest.raises(RequestError, match="expected directions from 1 to 32, got 33"):
        sample_of(lens_view, lens_run, 8, 33)
