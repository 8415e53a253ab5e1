"""The tables of training runs and sweeps: rows of data, and what is printed."""

import io

import pytest
from rich.console import Console

import made_up
from armillary.printing import overview, sweep, training
from armillary.results.store import Run


@pytest.fixture(scope="module")
def parts():
    groups = made_up.training(made_up.np.random.default_rng(0), 3)
    return {name: made_up.xr.DataTree.from_dict({f"/{name}": data}) for name, data in groups.items()}


@pytest.fixture(scope="module")
def run():
    groups = made_up.training(made_up.np.random.default_rng(0), 3)
    kept = {f"/{name}": groups[name] for name in ("training", "training_heads", "training_layers")}
    tree = made_up.xr.DataTree.from_dict(kept)
    tree.attrs.update(model="m", corpus="sums", layers=2, width=16, shape="learned", parameters=99, steps=400)
    return Run(tree)


def text_of(shown):
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(shown)
    return console.export_text()


def test_a_row_per_step_with_means_of_the_geometry(run):
    rows = training.rows(run)
    assert rows.index.tolist() == [0, 100, 200, 300, 400]
    assert rows.loc[400, "accuracy_2"] == 1
    assert rows.loc[0, "entropy"] == pytest.approx(2.0)


def test_validations_are_printed_with_what_they_mean(run):
    text = text_of(training.printed(run))
    assert text.startswith("m on sums: 2 layers of width 16, learned, 99 parameters, 400 steps")
    assert ["0.620", "0.020"] in [line.split()[2:4] for line in text.splitlines()]
    assert "A model that knows pairs of tokens alone has a loss of 2.400 nats on this text." in text
    assert "* numbers of other lengths than those learnt." in text


def test_a_run_that_holds_training_alone_is_shown_by_its_table(run):
    assert overview.overview(run).rows.equals(training.rows(run))


def test_a_sweep_is_shown_with_a_verdict_for_each_claim(parts):
    run = Run(parts["training_sweep"])
    assert len(sweep.rows(run)) == 12
    text = text_of(overview.overview(run).printed)
    assert "scale shrinks (against κ₂ = 0, same κ₁): holds" in text
    assert "entropy rises (against κ₂ = 0, same κ₁): does not hold here" in text
