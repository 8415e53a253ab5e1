"""What a run of weights says to the claims: a verdict and numbers for each, in words, as far as it holds them."""

import numpy as np
import pytest

import armillary as arm
from armillary.results.store import tree_of
from armillary.results.weight_answers import weight_answers
from families import tiny_model


@pytest.fixture(scope="module")
def run():
    return arm.weights(arm.load(tiny_model("llama"), random_weights=7, check=False), progress=False)


def without(run, *groups):
    held = {str(name): node.to_dataset() for name, node in run.results.children.items()}
    return tree_of({name: held[name] for name in held if name not in groups}, {})


def test_fresh_weights_are_aligned_like_random_ones_and_no_smaller_than_their_own_initialisation(run):
    found = weight_answers(run.results)
    assert list(found) == [
        *("aligned_like_random", "query_below_glorot", "query_below_control"),
        *("mlp_in_below_glorot", "mlp_in_below_control"),
    ]
    assert found["aligned_like_random"].numbers.verdict == "holds"
    assert found["query_below_control"].numbers.energy == pytest.approx(1, abs=0.3)
    words = str(found["aligned_like_random"])
    assert words.startswith("W_Q and W_K are aligned like random matrices in most heads: holds (0 % of heads aligned")
    assert "; median |z| " in words
    assert "; control 0 % and " in words
    assert "of singular values below)" in str(found["mlp_in_below_glorot"])


def test_without_the_control_the_claims_stand_by_themselves(run):
    found = weight_answers(without(run, "weights_twin", "matrix_spectra_twin", "matrices_twin"))
    assert list(found) == ["aligned_like_random", "query_below_glorot", "mlp_in_below_glorot"]
    assert "control" not in "".join(map(str, found.values()))


def test_a_run_without_weights_answers_nothing(run):
    assert weight_answers(without(run, *map(str, run.results.children))) == {}


def test_heads_of_which_nothing_is_known_determine_nothing(run):
    groups = {str(name): node.to_dataset().copy(deep=True) for name, node in run.results.children.items()}
    groups["weights"]["trace_qk_z"][:] = np.nan
    answer = weight_answers(tree_of(groups, {}))["aligned_like_random"]
    assert answer.numbers.verdict == "not determined"
    assert "not determined (– % of heads aligned otherwise; median |z| nan" in str(answer)
