"""Weights, stores and a followed text in the explorer: every figure, and of weights every number of a head."""

import pytest

import armillary as arm
import tiny_run
from armillary.figures import available


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    view = arm.load(tiny_run.saved_model(tmp_path_factory.mktemp("tiny")))
    found = arm.weights(view, progress=False)
    found = arm.stores(view, found, words=["word1", "word2", "word3"], progress=False)
    return arm.travel(view, "word1 word2 word3", found, progress=False)


@pytest.fixture(scope="module")
def page(run, client_of):
    return client_of(run)


def test_every_figure_of_the_registry_is_shown(page, run):
    names = [figure.name for figure in available(run.results)]
    assert {name.partition("-")[0] for name in names} >= {"qk", "matrix", "rotary", "localization", "store", "travel"}
    assert [figure["name"] for figure in page.get("/api/run").json()["figures"]] == names
    assert {name: page.get(f"/api/figures/{name}").status_code for name in names} == dict.fromkeys(names, 200)


def test_heads_are_known_by_their_weights_alone(page):
    facts = page.get("/api/run").json()
    assert (facts["blocks"], facts["heads"]) == (2, 4)
    assert facts["opens"] == "heads"
    names = [measure["name"] for measure in facts["measures"]]
    assert names[0] == "weights/trace_qk"
    assert {"weights/trace_qk_z", "weights/symmetry", "localization/xi"} <= set(names)
    assert {name: page.get(f"/api/measures/{name}").status_code for name in names} == dict.fromkeys(names, 200)
    head = page.get("/api/heads/1/3").json()
    assert head["name"] == "L1H3"
    assert [row["name"] for row in head["rows"]] == names
