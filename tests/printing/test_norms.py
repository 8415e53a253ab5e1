"""The table of norms, as rows and on a terminal of 80 columns."""

import io

import pytest
from rich.console import Console

import made_up
from armillary.errors import RequestError
from armillary.printing.norms import norm_rows, printed
from armillary.results.store import Run


@pytest.fixture(scope="module")
def run():
    return Run(made_up.run_of(layers=3))


def shown(table):
    console = Console(width=80, markup=False, highlight=False, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def test_every_norm_has_a_row_of_all_its_numbers(run):
    frame = norm_rows(run)
    assert frame.index.tolist() == ["attention 0", "mlp 0", "attention 1", "mlp 1", "final"]
    assert frame.loc["final", "gain_largest"] == 4
    assert frame.loc["final", "kind"] == "LayerNorm"
    assert {"radius_before_sd", "along_ones"} <= set(frame.columns)


def test_the_table_names_norms_and_says_what_the_last_one_does_to_logits(run):
    text = shown(printed(run))
    assert text.startswith("Norms of m\n")
    assert "attention 1" in text
    assert "–" in text
    said = " ".join(text.split())
    assert "In 75.0 % of states (SE 2.0) the likeliest token also has the largest cosine with the state." in said
    assert max(map(len, text.splitlines())) <= 80


def test_without_sampled_states_and_a_head_nothing_is_said_of_them(run):
    names = ("radius_before", "radius_before_sd", "radius_after", "radius_after_sd", "along_ones")
    bare = {f"norm_geometry__{name}": None for name in (*names, "argmax_agreement", "argmax_agreement_se")}
    said = " ".join(shown(printed(Run(made_up.changed(run.results, **bare)))).split())
    assert "sampled tokens" not in said
    assert "likeliest" not in said


def test_a_run_without_norms_is_told_which_command_adds_them(run):
    bare = Run(run.results.filter(lambda node: node.name == "norms"))
    with pytest.raises(
        RequestError,
        match=r"^expected a run with /norm_geometry, got one without: `armillary weights MODEL --run RUN` adds",
    ):
        norm_rows(bare)
