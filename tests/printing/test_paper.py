"""The paper's own numbers come out as the paper prints them; what a run lacks is not offered."""

import csv
import io
import json
import sys

import numpy as np
import pytest
import xarray as xr
from rich.console import Console
from typer.testing import CliRunner

import armillary as arm
import made_up
from armillary.cli import app, main
from armillary.printing.paper import TABLES, offered, paper_table, printed
from armillary.results import store
from armillary.results.reading import row_of
from armillary.results.store import Run, tree_of

GPT2 = [15, 13, 14, 12, 13, 11, 10, 10, 10, 10, 9, 9, 12]
BERT = [15, 16, 18, 16, 12, 11, 9, 9, 11, 11, 11, 12, 12]
NORMS = [0.465, 0.546, 0.660, 0.759, 0.877, 0.977, 0.973, 0.967, 0.953, 0.901, 0.777, 0.658, 0.596]


def run_of(model="gpt2", corpus="OpenWebText", layers=13, random_weights="", context=None, **position):
    """A run that holds the given results of /position and /context."""
    groups = {
        "residual": xr.Dataset({"mean": (("layer", "d_model"), np.zeros((layers, 2)))}),
        "position": xr.Dataset({name: ("layer", np.array(values)) for name, values in position.items()}),
    }
    if context:
        groups["context"] = xr.Dataset({name: ("layer", np.array(values)) for name, values in context.items()})
    about = {"model": model, "corpus": corpus, "contexts": 6400, "random_weights": random_weights}
    return Run(tree_of(groups, about))


def shown(runs, name, width=200):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(printed(runs, name, width))
    return out.getvalue()


def cells_of(text, row=0):
    rows = [line for line in text.splitlines() if line.startswith("│")]
    return [cell.strip() for cell in rows[row].split("│")[1:-1]]


def test_table_1_is_whole_at_80_columns():
    runs = [run_of(rank_screenot=GPT2, relative_norm=np.linspace(0.1, 0.9, 13), context={"similarity_within": GPT2})]
    narrow = shown(runs, "summary", 80)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    means = paper_table(runs, "summary").filter(like="_mean").iloc[0]
    assert all(any(f"{mean:.{digits}f}" in narrow for digits in (2, 3)) for mean in means.dropna())


def test_table_1_has_the_published_means_and_spreads():
    runs = [run_of(rank_screenot=GPT2), run_of("bert", relative_norm=NORMS, rank_screenot=BERT)]
    text = shown(runs, "summary")
    assert cells_of(text, 0) == ["gpt2", "OpenWebText", "6400", "11.38 (1.86)", "– (–)"]
    assert cells_of(text, 1)[-1].startswith("0.778 (0.17")
    assert "not a standard error" in text
    assert "spread over layers" in text


def test_the_spread_is_the_standard_deviation_over_layers():
    table = paper_table([run_of(rank_screenot=GPT2)], "ranks")
    assert table["mean"].item() == pytest.approx(np.mean(GPT2))
    assert table["spread_over_layers"].item() == pytest.approx(np.std(GPT2, ddof=0))


def test_tables_4_to_6_have_a_row_per_model_and_a_column_per_layer():
    runs = [run_of(rank_screenot=GPT2, relative_norm=NORMS), run_of("bert", "WikiText", rank_screenot=BERT)]
    table = paper_table(runs, "ranks")
    assert table.index.tolist() == [
        ("rank_screenot", "gpt2", "OpenWebText", 6400),
        ("rank_screenot", "bert", "WikiText", 6400),
    ]
    assert table.columns.tolist() == [*(f"layer_{i}" for i in range(13)), "mean", "spread_over_layers"]
    assert table.iloc[1, :13].tolist() == BERT
    assert cells_of(shown(runs, "ranks"))[4:] == [*map(str, GPT2), "11.38", "1.86"]
    assert cells_of(shown(runs[:1], "position"))[4:17] == [f"{value:.3f}" for value in NORMS]


def test_layers_that_are_not_determined_are_left_out_of_the_mean():
    table = paper_table([run_of(layers=3, rank_stable_corrected=[np.nan, 2.0, 4.0])], "ranks")
    assert table["mean"].item() == 3
    assert table["spread_over_layers"].item() == 1
    nothing = paper_table([run_of(layers=3, rank_stable_corrected=[np.nan] * 3)], "ranks")
    assert np.isnan(nothing["mean"].item())
    assert "nan" not in shown([run_of(layers=3, rank_stable_corrected=[np.nan] * 3)], "ranks")


def test_a_shallower_model_has_empty_cells_where_it_has_no_layers():
    runs = [run_of(rank_stable=np.ones(13)), run_of("tiny", layers=2, rank_stable=[2.0, np.nan])]
    assert cells_of(shown(runs, "ranks"), 1)[4:8] == ["2.00", "–", "", ""]


def test_low_frequency_shares_are_those_up_to_each_k():
    shares = np.linspace(0, 1, 21) + np.zeros((2, 1))
    run = run_of(layers=2)
    run.results["position"] = xr.Dataset({"low_frequency_share": (("layer", "frequency"), shares)})
    table = paper_table([run], "low-frequency")
    assert table.index.get_level_values("result").tolist() == [f"low_frequency_share_{k}" for k in (1, 3, 5, 10)]
    np.testing.assert_allclose(table.layer_1, [0.05, 0.15, 0.25, 0.5])
    few = run_of(layers=2)
    few.results["position"] = xr.Dataset({"low_frequency_share": (("layer", "frequency"), shares[:, :4])})
    assert len(paper_table([few], "low-frequency")) == 2


def test_similarity_and_incoherence_stand_in_their_own_table_and_in_table_1():
    names = ("similarity_within", "similarity_between", "incoherence_mean", "incoherence_max")
    run = run_of(layers=2, context={name: [0.1 * i, 0.3 * i] for i, name in enumerate(names, 1)})
    assert offered(run) == ["summary", "similarity"]
    table = paper_table([run], "similarity")
    assert set(table.index.get_level_values("result")) == set(names)
    assert paper_table([run], "summary").similarity_within_mean.item() == pytest.approx(0.2)
    assert "0.20 (0.10)" in shown([run], "summary")


def test_a_table_that_a_run_cannot_fill_is_not_offered():
    run = run_of(rank_stable=np.ones(13))
    assert offered(run) == ["ranks"]
    with pytest.raises(arm.RequestError) as refused:
        paper_table([run], "similarity")
    assert str(refused.value).startswith(
        "expected a run with results for the table similarity, got the run, which lacks /context/similarity_between, "
    )
    assert str(refused.value).endswith(": choose ranks")
    with pytest.raises(arm.RequestError, match=r"^expected a table of the run, got 'nonsense': choose ranks$"):
        paper_table([run], "nonsense")
    with pytest.raises(arm.RequestError, match=r"^expected a table of the run, got 'rank': did you mean ranks\?$"):
        paper_table([run], "rank")


def test_a_run_without_tables_says_so_and_a_whole_one_offers_decomposition():
    bare = Run(tree_of({"taxonomy": xr.Dataset()}, {}))
    with pytest.raises(arm.RequestError, match=r": choose another run, this one has no table$"):
        paper_table([bare], "ranks")
    with pytest.raises(arm.RequestError, match=r", got 'nonsense': choose decomposition, "):
        paper_table([Run(made_up.run_of())], "nonsense")


def test_a_result_is_called_by_its_label():
    headings = {
        line.path + "".join(map(str, line.at.values())): line.heading for part in TABLES.values() for line in part
    }
    assert headings["position/rank_screenot"] == "ScreeNOT rank"
    assert headings["position/rank_stable"] == "stable rank, plug-in"
    assert headings["position/rank_stable_corrected"] == "stable rank, bias-corrected"
    assert headings["position/rank_stable_null"] == "stable rank, null"
    assert headings["position/share_null"] == "position share, null"
    assert headings["position/low_frequency_share_null10"] == "low-frequency share, null, K = 10"
    assert headings["context/similarity_null"] == "similarity, null"
    assert headings["context/incoherence_max_null_rotation"] == "largest |cosine| of position and context, null"
    for line in (line for part in TABLES.values() for line in part):
        assert row_of(line.path).text, f"{line.path} is in the schema"


def test_a_random_twin_is_called_one():
    assert "gpt2 (random weights)" in shown([run_of(rank_stable=np.ones(13), random_weights="seed 0")], "ranks")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_many_layers_are_broken_into_panels_that_fit(width):
    run = run_of(layers=31, rank_stable=np.arange(31) + 0.25)
    text = shown([run], "ranks", width)
    assert max(map(len, text.splitlines())) <= width
    for layer in range(31):
        assert f" {layer}.25 " in text
    heads = [line.split("┃") for line in text.splitlines() if " result " in line]
    assert any("mean" in head[-3] and "spread" in head[-2] for head in heads), "mean and spread stand together"


def test_hostile_names_stay_text():
    text = shown([run_of("[bold]m[/bold]", rank_stable=np.ones(13))], "ranks", 250)
    assert "[bold]m[/bold]" in text


def test_every_table_is_named_in_the_help():
    words = CliRunner().invoke(app, ["show", "--help"]).output.replace(",", " ").replace(".", " ").split()
    assert {"decomposition", *TABLES} <= set(words)


@pytest.fixture
def armillary(monkeypatch, capfd):
    """`armillary show` on runs that were never written: exit code, standard output, standard error."""

    def run(runs, *arguments):
        monkeypatch.setattr(store, "open", lambda folder: runs[str(folder)])
        monkeypatch.setattr(sys, "argv", ["armillary", "show", *runs, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return run


def test_show_prints_the_table_of_several_runs(armillary):
    runs = {"one": run_of(rank_screenot=GPT2), "two": run_of("bert", rank_screenot=BERT)}
    code, out, _ = armillary(runs, "--table", "ranks")
    assert code == 0
    assert "ScreeNOT rank" in out
    assert "bert" in out
    code, out, _ = armillary(runs, "--table", "ranks", "--json")
    assert [row["layer_0"] for row in json.loads(out)] == [15, 15]
    code, out, _ = armillary(runs, "--table", "summary", "--csv")
    assert [row["rank_screenot_mean"] for row in csv.DictReader(out.splitlines())] == [
        str(np.mean(GPT2)),
        str(np.mean(BERT)),
    ]


def test_show_refuses_what_there_is_not_in_one_line(armillary):
    runs = {"one": run_of(rank_screenot=GPT2), "two": run_of("bert", rank_screenot=BERT)}
    code, out, err = armillary(runs)
    assert (code, out) == (2, "")
    assert err == "armillary: expected one run for the table decomposition, got 2: choose another --table\n"
    code, out, err = armillary(runs, "--table", "similarity")
    assert (code, out) == (2, "")
    assert err.startswith("armillary: expected a run with results for the table similarity, got the run, which lacks /")
