"""Two runs on one screen: planted changes come first, in 80 columns."""

import io
import json
import re

import numpy as np
from rich.console import Console

import made_up
from armillary.printing.changes import LARGEST, changes, on_one_screen
from armillary.printing.differences import as_json
from armillary.results.comparing import compare
from armillary.results.store import Run
from armillary.results.two_runs import HEADLINES
from two_runs_made_up import shown


def moved(results, group, name, layer, by):
    """The results with one number changed."""
    values = results[group][name].values.copy()
    values[layer] += by
    return made_up.changed(results, **{f"{group}__{name}": values})


def compared(*planted):
    one, other = (made_up.run_of().drop_nodes("residual") for _ in range(2))  # no angles between bases that are made up
    for group, name, layer, by in planted:
        other = moved(other, group, name, layer, by)
    return compare(Run(one), Run(other))


def screen(comparison, width=80):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(on_one_screen(comparison))
    return out.getvalue()


def test_a_planted_change_is_found_where_it_was_planted_in_the_units_that_are_shown():
    found = {each.path: each for each in changes(compared(("position", "share_corrected", 2, 0.5)))}
    share = found["position/share_corrected"]
    assert share.differs == 1
    assert share.at == "layer 2"
    one, other = (float(part) for part in share.clearest.split(" → "))
    assert np.isclose(other - one, 50, rtol=0.02)
    assert all(each.differs == 0 for path, each in found.items() if path != "position/share_corrected")


def test_headlines_come_first_then_the_largest_changes_once_per_result():
    text = screen(compared(("norms", "norm", 1, 1e4), ("heads", "distance", (1, 0), 5.0)))
    lines = text.splitlines()
    headline, rest = (next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Headline", "Larg"))
    assert headline < next(i for i, line in enumerate(lines) if line.startswith("residual norm")) < rest
    assert lines[rest].startswith("Largest other changes, by their standard errors (1 of 1)")
    assert any(line.startswith("mean distance") for line in lines[rest:])
    assert len(HEADLINES) == 6
    assert LARGEST == 10


def test_the_screen_fits_80_columns_and_cuts_nothing():
    text = screen(compared(("norms", "norm", 1, 1e4), ("heads", "distance", (1, 0), 5.0)))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "…" not in text
    assert text.count("\nresult ") == 2  # one heading a table: no table is cut in two


def test_two_equal_runs_differ_nowhere():
    text = screen(compared())
    assert text.count("Largest other changes") == 0
    assert "results that have an error are identical." in text


def test_no_two_results_of_a_table_have_one_name():
    labels = [each.label for each in changes(compared())]
    assert len(labels) > 20
    assert len(set(labels)) == len(labels)


def test_heads_that_change_kind_are_counted_and_the_first_are_named():
    one, other = (made_up.run_of().drop_nodes("residual") for _ in range(2))
    assert "\nNone of 16 heads changes kind.\n" in screen(compare(Run(one), Run(other)))
    kind = other["taxonomy"].kind.values.copy()
    kind[kind == "sink"], kind[kind == "local"], kind[kind == "uniform"] = "local", "", "sink"
    text = " ".join(screen(compare(Run(one), Run(made_up.changed(other, taxonomy__kind=kind)))).split())
    assert re.search(
        r"6 of 16 heads change kind, 0 significantly: (L\dH\d [a-z -]+ → [a-z -]+, ){2}.* and 3 more\.",
        text,
    )


def test_all_results_have_a_table_of_the_heads_that_change_kind_with_intervals():
    one = made_up.run_of().drop_nodes("residual")
    kind, local = (one["taxonomy"][name].values.copy() for name in ("kind", "local"))
    kind[2, 1], local[2, 1], kind[0, 1] = "local", 0.99, ""
    comparison = compare(Run(one), Run(made_up.changed(one, taxonomy__kind=kind, taxonomy__local=local)))
    head = comparison["kinds"].to_dataset().isel(named=0)
    ends = f"{100 * float(head.difference_low):.1f} to {100 * float(head.difference_high):.1f}"
    text = shown(comparison, width=80)
    assert "2 of 16 heads change kind, 1 significantly." in text
    row = next(line for line in text.splitlines() if line.startswith("L2H1"))
    assert row.split() == ["L2H1", "induction", "→", "local", "local", "56.0", "99.0", *f"{ends}*".split()]
    row = next(line for line in text.splitlines() if line.startswith("L0H1"))
    assert "induction → no kind" in row
    assert "*" not in row
    held = json.loads(as_json(comparison))["kinds"]
    assert len(held) == comparison["kinds"].sizes["named"] == 12
    assert [row["changed"] for row in held] == [True] * 2 + [False] * 10
    assert (held[0]["kind_one"], held[0]["kind_other"], held[0]["score"]) == ("induction", "local", "local")
    assert "change kind" not in shown(compare(Run(one), Run(one)))
