"""A simulation in the explorer: its figures are shown, and what needs a model is refused without loading torch."""

import pytest

import armillary as arm
from armillary.figures import available


@pytest.fixture(scope="module")
def run():
    return arm.simulate(walks=10, length=5, width=4, draws=1)


@pytest.fixture(scope="module")
def page(run, client_of):
    return client_of(run)


def test_the_page_knows_that_it_shows_a_simulation(page):
    facts = page.get("/api/run").json()
    assert facts["title"] == "Simulated localization"
    assert facts["simulation"] == "localization"
    assert (facts["layers"], facts["blocks"], facts["heads"]) == (0, 0, 0)
    assert facts["missing"] == []
    assert facts["opens"] == "figures"
    line = "Not in this run: a simulation has no model. Its figures show what it holds."
    assert facts["empty"] == dict.fromkeys(("layers", "figures", "heads"), line)


def test_every_figure_is_shown(page, run):
    names = [figure.name for figure in available(run.results)]
    assert [figure["name"] for figure in page.get("/api/run").json()["figures"]] == names
    assert {name: page.get(f"/api/figures/{name}").status_code for name in names} == dict.fromkeys(names, 200)


def test_there_is_no_model_to_ask(page):
    found = page.post("/api/ask/look", {"prompt": "a word", "block": 0, "head": 0, "alpha": 1})
    assert found.status_code == 400
    assert found.json()["error"] == "expected a run of a model, got a simulation: it has no model to ask"
