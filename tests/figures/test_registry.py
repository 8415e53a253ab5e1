"""The registry: what is offered, in which order, and that every figure draws whatever optional results are missing."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

import armillary.figures
from armillary.errors import RequestError
from armillary.figures import FIGURES, SECTIONS, Figure, available, plot
from armillary.results.reading import has
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding
from armillary.results.store import Run

PLACES = [(figure.name, path) for figure in FIGURES.values() for path in figure.needs]


def only(results, changed, *paths):
    """The run with nothing but what is named."""
    every = [f"{group}__{name}" for group, node in results.children.items() for name in node.data_vars]
    return changed(results, **{path: None for path in every if path.replace("__", "/") not in paths})


def points(figure):
    """How many finite numbers a figure draws."""
    return sum(
        np.isfinite(np.asarray(values, dtype=float)).sum()
        for trace in figure.data
        for values in (trace.y if trace.type != "heatmap" else trace.z,)
        if values is not None
    )


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_a_whole_run(results, name):
    figure = FIGURES[name]
    drawn = figure.draw(results)
    assert isinstance(drawn, go.Figure)
    assert points(drawn) > 3
    assert drawn.layout.title.text is None
    json.loads(drawn.to_json())


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_from_what_it_needs_alone(results, changed, name):
    figure = FIGURES[name]
    bare = only(results, changed, *figure.needs)
    assert figure in available(bare)
    assert points(figure.draw(bare)) > 3
    words = figure.finding(bare)
    assert words
    assert not re.search(r"\bnan\b", words.lower())


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_numbers_that_are_not_estimable(results, changed, name):
    figure = FIGURES[name]
    measured = ("position", "context", "depth", "norms")
    every = {f"{group}__{variable}": np.nan for group in measured for variable in results.children[group].data_vars}
    empty = changed(results, **every)
    assert isinstance(figure.draw(empty), go.Figure)
    words = figure.finding(empty)
    assert not re.search(r"\bnan\b", words.lower())
    if figure.needs[0].split("/")[0] in measured:
        assert "not estimable" in words


@pytest.mark.parametrize("name", FIGURES)
def test_a_small_run_of_one_group_is_drawn(run_of, changed, name):
    small = changed(run_of(layers=2, positions=3, contexts=4, modes=2), corpus__group=0)
    drawn = FIGURES[name].draw(small)
    assert isinstance(drawn, go.Figure)
    assert not re.search(r"\bnan\b", FIGURES[name].finding(small).lower())


@pytest.mark.parametrize(("name", "path"), PLACES)
def test_a_figure_is_not_offered_where_it_lacks_a_result(results, changed, name, path):
    without = changed(results, **{path.replace("/", "__"): None})
    assert FIGURES[name] in available(results)
    assert FIGURES[name] not in available(without)
    command = GROUPS[path.partition("/")[0]].command
    message = f"expected a run with {path} for {name}, got one without: {adding(command)}"
    with pytest.raises(RequestError, match=f"^{re.escape(message)}$"):
        plot(without, name)


def test_what_figures_need_is_what_the_schema_names():
    for _, path in PLACES:
        group, _, variable = path.partition("/")
        assert variable in GROUPS[group].variables, path


def test_made_up_results_have_the_names_and_axes_of_the_schema(results):
    for group, node in results.children.items():
        for name, variable in node.data_vars.items():
            assert variable.dims == GROUPS[group].variables[name].axes, name


def test_sections_come_in_the_order_of_the_data_flow(results):
    sections = [figure.section for figure in available(results)]
    assert sections == sorted(sections, key=SECTIONS.index)
    assert set(sections) == set(SECTIONS)


def test_one_entry_brings_a_figure_and_unknown_sections_come_last(results, monkeypatch):
    extra = Figure("new", "later", ("norms/norm",), lambda _: "A finding", lambda _: go.Figure(), "t", "f", "s")
    monkeypatch.setitem(FIGURES, "new", extra)
    assert available(results)[-1] is extra
    assert plot(results, "new").layout.title.text == "A finding"


def test_every_figure_says_what_it_shows_how_and_whence():
    for name, figure in FIGURES.items():
        assert name == figure.name
        assert name.replace("-", "").isalnum()
        assert figure.section in SECTIONS
        assert figure.needs
        assert figure.text.endswith(".")
        assert figure.formula
        assert figure.source


def test_a_wrong_name_lists_what_there_is(results, changed):
    bare = only(results, changed, "norms/norm")
    with pytest.raises(RequestError, match=r"^expected a figure of this run, got 'x': choose norms$"):
        plot(bare, "x")
    with pytest.raises(RequestError, match=r"^expected the theme light or dark, got 'pink': choose one of these$"):
        plot(bare, "norms", "pink")


def test_a_misspelt_name_is_answered_with_the_near_ones(results):
    message = r"^expected a figure of this run, got 'positionshare': did you mean position-share( or [a-z0-9 -]+)?\?$"
    with pytest.raises(RequestError, match=message):
        Run(results).plot("positionshare")


def test_a_run_without_heads_is_told_which_command_adds_them(results):
    states = results.filter(lambda node: node.name not in ("heads", "mixing", "taxonomy"))
    assert "head-grid" not in {figure.name for figure in available(states)}
    message = r"got one without: `armillary survey --heads` makes a run with it$"
    with pytest.raises(RequestError, match=message):
        plot(states, "head-grid")
    with pytest.raises(RequestError, match=r"got one without: `armillary heads RUN` adds it$"):
        plot(states, "head-names")


def test_a_run_plots_by_name(results):
    figure = Run(results).plot("position-share", "dark")
    assert figure.layout.title.text.startswith("Position explains up to")
    assert figure.layout.paper_bgcolor is None
    assert figure.layout.template.layout.paper_bgcolor == "#14171c"


def test_figures_stay_small_at_the_size_of_a_real_run(run_of):
    large = run_of(layers=31, positions=511, contexts=256, d_model=64, samples=512, outliers=400, modes=127)
    for name, figure in FIGURES.items():
        assert len(figure.draw(large).to_json()) < 3e6, name


def test_has_asks_for_group_and_variable(results):
    assert has(results, "norms/norm")
    assert not has(results, "norms/nothing")
    assert not has(results, "nothing/norm")


def test_the_module_lists_its_public_names():
    assert set(armillary.figures.__all__) <= set(dir(armillary.figures))
