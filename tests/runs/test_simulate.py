"""A run without a model: made, kept, reopened, shown in every way or refused in one line; torch is never loaded."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import armillary as arm
import made_up
from armillary.figures import available
from armillary.reporting import PAGE
from armillary.reporting.content import missing, run_report
from armillary.results import store
from armillary.results.reading import lacking, simulated

SMALL = {"walks": 20, "length": 6, "width": 8, "draws": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small simulation in a folder, with its page."""
    return arm.simulate("localization", **SMALL, out=tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture
def mixed(run, tmp_path):
    """A folder that holds the simulation and, beside it, a result of a model."""
    groups = {"norms": made_up.run_of()["norms"].to_dataset()}
    store.write(tmp_path, "states.nc", groups, {"model": "m", "corpus": "c", "contexts": 9, "length": 16, "seed": 5})
    shutil.copy(run.folder / "simulation.nc", tmp_path)
    return arm.open(tmp_path)


def test_a_run_in_memory_is_the_run_of_the_folder(run):
    memory = arm.simulate(**SMALL)
    assert memory.folder is None
    for name in ("localization_simulation", "localization_theory"):
        assert memory.results[name].to_dataset().identical(run.results[name].to_dataset().load())


def test_the_provenance_says_what_was_simulated_and_names_no_model(run):
    about = run.provenance
    assert {name: about[name] for name in SMALL} == SMALL
    assert (about["simulation"], about["seed"]) == ("localization", 0)
    assert "model" not in about
    assert "numpy" in about["versions"]


def test_the_run_calls_itself_a_simulation(run):
    assert run.title == "Simulated localization"
    assert repr(run) == (
        f"Run(Simulated localization, groups localization_simulation, localization_theory in {run.folder})"
    )
    assert run._repr_html_().startswith("<h4>Simulated localization</h4><p>20 random walks of 6 tokens of width 8 ")


def test_the_page_has_title_answers_and_every_figure_and_lacks_nothing(run):
    text = (run.folder / PAGE).read_text(encoding="utf-8")
    assert "<h1>Simulated localization</h1>" in text
    assert "a model" not in text[: text.index("<h2>Localization</h2>")]
    report = run_report(run)
    assert [plot.name for plot in report.plots] == [figure.name for figure in available(run.results)]
    assert len(report.plots) == 7
    assert all(plot.figure is not None for plot in report.plots)
    assert [answer.question for answer in report.answers] == [
        "Does the published law of localization hold?",
        "Does the softmax attend where ρ is high?",
    ]
    assert report.missing == []
    assert missing(run.results) == []


def test_the_page_says_which_command_made_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["armillary", "simulate", "localization"])
    made = arm.simulate(**SMALL, out=tmp_path / "run", report=False)
    assert not (made.folder / PAGE).exists()
    assert run_report(made).command.splitlines() == [
        "armillary simulate localization",
        f"armillary report {made.folder}",
    ]


def test_measuring_again_leaves_a_simulation_as_it_is(run, tmp_path):
    copied = shutil.copytree(run.folder, tmp_path / "run")
    again = arm.measure(copied)
    np.testing.assert_array_equal(
        again.results["localization_simulation"].rho, run.results["localization_simulation"].rho
    )
    assert again.provenance == run.provenance


def test_a_simulation_is_compared_with_nothing(run, mixed):
    message = r"^expected two runs of models, got a simulation of localization: show it by itself$"
    for pair in ((run, run), (run, mixed), (mixed, run)):
        with pytest.raises(arm.RequestError, match=message):
            arm.compare(*pair)


def test_no_model_is_added_to_a_simulation(run, tiny_llama):
    message = rf"^expected a run of .*, got {run.folder}, a simulation: give a run of this model$"
    with pytest.raises(arm.SourceError, match=message):
        arm.weights(tiny_llama, run, progress=False)


def test_beside_a_model_the_run_is_that_of_the_model(mixed):
    assert simulated(mixed.results) == ""
    assert mixed.title == "m on c"
    assert (mixed.provenance["length"], mixed.provenance["seed"]) == (16, 5)
    assert {figure.name for figure in available(mixed.results)} >= {"norms", "simulated-rho"}
    held = {name for names in lacking(mixed.results).values() for name in names}
    assert "residual" in held
    assert not {"localization_simulation", "localization_theory"} & held


def test_what_a_model_adds_is_not_missing_from_a_simulation_and_the_other_way_round(run, mixed):
    assert lacking(run.results) == {}
    assert "armillary simulate localization" not in lacking(arm.Run(made_up.run_of()).results)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "localisation"}, r"expected a simulation, got 'localisation': did you mean localization\?"),
        ({"name": "x"}, r"expected a simulation, got 'x': choose localization"),
        ({"walks": 1}, "expected the number of walks from 2 to 100000, got 1"),
        ({"length": 1}, "expected a length from 2 to 4096, got 1"),
        ({"width": 5000}, "expected a width from 2 to 4096, got 5000"),
        ({"draws": 0}, "expected the number of draws from 1 to 1000, got 0"),
        ({"seed": -1}, "expected a seed of at least 0, got -1: choose another"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_one_line(given, message):
    with pytest.raises(arm.RequestError, match=f"^{message}$"):
        arm.simulate(**given)


def test_a_folder_that_holds_a_run_is_refused_before_anything_is_simulated(run):
    message = rf"^expected a folder without a run, got {run.folder}, which already holds one: choose another --out$"
    with pytest.raises(arm.StoreError, match=message):
        arm.simulate(**SMALL, out=run.folder)


def test_simulating_drawing_and_printing_load_no_torch(tmp_path):
    code = (
        "import sys, armillary as arm\n"
        f"run = arm.simulate(walks=4, length=4, width=4, draws=1, out={str(tmp_path / 'run')!r})\n"
        "from armillary.printing.overview import overview\n"
        "overview(run)\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
