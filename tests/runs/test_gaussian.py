"""`arm.gaussian`: everything that the lens adds to a run, kept in its folder, with its page and tables."""

import io

import numpy as np
import pytest
from rich.console import Console

import armillary as arm
from armillary.figures import available
from armillary.printing.gaussian import head_rows, layer_rows, printed, printed_heads
from armillary.probes.lens import groups
from families import tiny_model

ADDED = {
    "gaussian",
    "gaussian_tokens",
    "gaussian_logits",
    "gaussian_kept",
    "gaussian_mixing",
    "gaussian_depth",
    "gaussian_stacks",
}


@pytest.fixture(scope="module")
def view():
    return arm.load(tiny_model("llama"), check=False)


@pytest.fixture(scope="module")
def run(view, tmp_path_factory):
    """The tiny model's run with the lens; fewer random stacks than usual, and the weights must stay as they were."""
    rng = np.random.default_rng(0)
    text = 5 + rng.integers(0, 9, size=(24, 20)).cumsum(1) % 50
    out = tmp_path_factory.mktemp("runs") / "run"
    surveyed = arm.survey(view, text, out=out, progress=False)
    before = [parameter.detach().clone() for parameter in view.model.parameters()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "DEPTH", 3)
        patch.setattr(groups, "DRAWN", 3)
        found = arm.gaussian(view, surveyed, directions=2, windows=16, progress=False)
    assert all((old == new).all() for old, new in zip(before, view.model.parameters(), strict=True))
    return found


def shown(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()


def test_the_run_keeps_what_the_lens_shows_and_its_page_follows(run):
    assert set(run.results.children) >= ADDED
    assert (run.folder / "gaussian.nc").exists()
    assert "gaussian-information" in (run.folder / "report.html").read_text(encoding="utf-8")
    assert {figure.name for figure in available(run.results) if figure.section == "gaussian"} == {
        *("gaussian-conditional", "gaussian-marginal"),
        *("gaussian-information", "gaussian-logits", "gaussian-ratio", "gaussian-tails"),
        *("gaussian-kept", "gaussian-mixing", "gaussian-depth", "gaussian-stacks"),
    }


def test_every_number_is_finite_and_says_what_it_rests_on(run):
    for name in ADDED:
        dataset = run.results[name].to_dataset()
        if name == "gaussian_depth":  # random weights are one draw and have no range
            assert np.isnan(dataset.similarity_low.sel(variant="random weights")).all()
            dataset = dataset.drop_sel(variant="random weights")
        assert all(np.isfinite(dataset[variable]).all() for variable in dataset.data_vars), name
        assert dataset.attrs["groups"] > 4
    assert run.results["gaussian"].attrs["directions"] == 2
    assert run.results["gaussian_logits"].distance.values.tolist() == [0, 1, 8]


def test_the_similarity_is_that_of_the_states_and_the_control_is_another_model(run):
    depth = run.results["gaussian_depth"].to_dataset()
    assert depth.variant.values.tolist() == ["model", "random weights", "α = 0.5", "α = 2"]
    own, control = depth.similarity.values[:2]
    assert own[0] != pytest.approx(control[0], abs=1e-4)
    layers = depth.similarity.sel(variant=["model", "α = 2"]).values
    assert layers[0, 2] != pytest.approx(layers[1, 2], abs=1e-6)


def test_tables_have_a_row_per_layer_and_per_head(run):
    table = shown(printed(run))
    assert "as jointly Gaussian tokens: 2 directions, 16 windows, 12 groups of documents" in table
    assert len(layer_rows(run)) == 4 * 4
    assert len(head_rows(run)) == 3 * 4 * 3
    assert "L1H3" in shown(printed_heads(run))
    assert {"variance_predicted", "kept_query_key", "entropy_gap"} <= set(head_rows(run).columns)
