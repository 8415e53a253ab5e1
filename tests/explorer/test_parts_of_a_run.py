"""Every kind of result stands alone in the explorer: what is there is shown, and what is not names its command."""

from dataclasses import replace

import pytest

import tiny_run
from armillary.figures import FIGURES, available

FILES = ("states.nc", "heads.nc", "names.nc")
ASKED = {"prompt": "word1 word2 word3", "block": 1, "head": 2, "alpha": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return tiny_run.named(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(params=FILES, scope="module")
def part(request, whole, tmp_path_factory):
    return tiny_run.holding(whole, tmp_path_factory.mktemp("part") / "run", request.param), request.param


@pytest.fixture(scope="module")
def page(part, client_of):
    return client_of(part[0])


def test_a_part_of_a_run_says_what_it_holds_and_what_adds_the_rest(page, part):
    run, file = part
    facts = page.get("/api/run").json()
    assert facts["layers"] == (3 if file == "states.nc" else 0)
    assert (facts["blocks"], facts["heads"]) == ((2, 0) if file == "states.nc" else (2, 4))
    assert bool(facts["measures"]) == (file != "states.nc")
    assert facts["longest"] == (16 if file == "states.nc" else 512)
    assert facts["opens"] == ("layers" if file == "states.nc" else "heads")
    assert [figure["name"] for figure in facts["figures"]] == [figure.name for figure in available(run.results)]
    commands = {"states.nc": "survey", "heads.nc": "survey --heads", "names.nc": "heads RUN"}
    added = [sentence.split("`")[1] for sentence in facts["missing"]]
    own = [f"armillary {command}" for name, command in commands.items() if name != file]
    asked = ("weights MODEL --run RUN", "travel MODEL TEXT --run RUN", "stores MODEL --run RUN", "gaussian RUN")
    assert added == [*own, *(f"armillary {command}" for command in asked)]
    assert facts["empty"]["layers"] == "Not in this run. `armillary survey` makes a run with it."
    assert facts["empty"]["heads"] == "Not in this run. `armillary survey --heads` makes a run with it."


def test_every_figure_measure_and_head_of_a_part_is_shown(page):
    facts = page.get("/api/run").json()
    paths = [f"figures/{figure['name']}" for figure in facts["figures"]]
    paths += [f"measures/{measure['name']}" for measure in facts["measures"]]
    paths += [f"layers/1/{name}" for name in facts["pictures"]]
    paths += ["heads/1/3"] if facts["heads"] else []
    assert paths
    assert {path: page.get(f"/api/{path}").status_code for path in paths} == dict.fromkeys(paths, 200)


def test_a_head_of_names_alone_has_its_scores_and_qk_terms_and_says_what_adds_the_rest(client_of, whole, tmp_path):
    page = client_of(tiny_run.holding(whole, tmp_path / "run", "names.nc"))
    found = page.get("/api/heads/1/3").json()
    assert [picture["title"] for picture in found["figures"]] == ["QK terms: share of the logits' variance"]
    assert found["missing"] == [
        "Attention on text: not in this run. `armillary survey --heads` makes a run with it.",
        "Weights: not in this run. `armillary weights MODEL --run RUN` adds it.",
        "Readings: not in this run. `armillary stores MODEL --run RUN` adds it.",
    ]
    assert [row["name"] for row in found["rows"]] == [
        f"taxonomy/{name}" for name in ("induction", "duplicate", "previous", "sink", "local")
    ]


@pytest.mark.parametrize(
    ("file", "path", "line"),
    [
        ("heads.nc", "layers/0/gram", "expected a run with /residual, got one without: "),
        ("heads.nc", "figures/norms", "expected a run with /norms/norm for norms, got one without: "),
        ("names.nc", "measures/heads/entropy", "expected a measure of heads, got 'heads/entropy': choose taxonomy/"),
        ("states.nc", "figures/head-names", "expected a run with /taxonomy/kind for head-names, got one without: "),
        ("states.nc", "heads/0/0", "expected a run with /heads, got one without"),
    ],
)
def test_what_a_part_does_not_hold_is_refused_with_the_command_that_adds_it(
    client_of, whole, tmp_path, file, path, line
):
    error = client_of(tiny_run.holding(whole, tmp_path / "run", file)).get(f"/api/{path}").json()["error"]
    assert error.startswith(line)
    assert error.endswith(("` adds it", "` makes a run with it")) or "choose" in error


def test_a_part_is_asked_what_its_model_alone_can_tell(page, part):
    held = part[1] == "states.nc"
    look = page.post("/api/ask/look", ASKED).json()
    assert ("shares" in look["figures"]) == held
    assert look["counted"] == ([1, 2] if held else [0, 1, 2])
    assert page.post("/api/ask/continuation", ASKED).json()["before"]
    refused = {kind: page.post(f"/api/ask/{kind}", ASKED) for kind in ("parts", "examples")}
    lacking = {"parts": "attention", "examples": "corpus"}
    for kind, found in refused.items():
        assert found.status_code == (200 if held else 400)
        if not held:
            assert found.json()["error"].startswith(f"expected a run with /{lacking[kind]}, got one without")
            assert found.json()["error"].endswith(": `armillary survey` makes a run with it")


def test_a_run_without_provenance_is_browsed_and_says_why_its_model_cannot_be_asked(client_of, whole, tmp_path):
    page = client_of(tiny_run.unmarked(whole, tmp_path / "run", "heads.nc"))
    assert page.get("/api/run").json()["about"] == {}
    assert page.get("/api/heads/0/0").status_code == 200
    found = page.post("/api/ask/look", ASKED)
    assert found.status_code == 400
    assert found.json()["error"] == "expected a run that records its model, got one without model: survey again"


def test_a_figure_that_fails_is_named_and_the_others_are_shown(client_of, whole, tmp_path, monkeypatch):
    def lost(_):
        raise KeyError("lost")

    page = client_of(tiny_run.holding(whole, tmp_path / "run", "heads.nc"))
    monkeypatch.setitem(FIGURES, "head-grid", replace(FIGURES["head-grid"], draw=lost))
    found = page.get("/api/figures/head-grid")
    assert found.status_code == 500
    assert found.json()["error"] == (
        "This figure failed: head-grid (KeyError: 'lost'). This is a bug of Armillary: please report it."
    )
    assert page.get("/api/figures/head-distances").status_code == 200


def test_the_glossary_and_the_colours_are_those_of_the_report(client_of, whole, tmp_path):
    from armillary.figures.kit.colours import css_variables
    from armillary.reporting.glossary import TERMS

    page = client_of(tiny_run.holding(whole, tmp_path / "run", "names.nc"))
    assert page.get("/api/glossary").json() == TERMS
    assert page.get("/colours.css").text == css_variables()
    themes = page.get("/api/themes").json()
    assert set(themes["scales"]) == {"sequential", "diverging"}
    assert set(themes["templates"]) == {"light", "dark"}
    assert themes["meanings"]["null"] in css_variables()
