"""What holds for every figure: few curves, named axes, sliders of one layer at a time, text as text."""

import json
import re

import numpy as np
import pytest

from armillary.figures import FIGURES, available, plot
from armillary.figures.comparison import compared_curves, compared_result, run_names
from armillary.figures.kit.fields import MATRICES
from armillary.figures.kit.style import TITLE_LETTERS, literal
from armillary.results.reading import chosen, thinned
from armillary.results.store import Run

HOSTILE = [
    "<b>bold</b>",
    "<a href='javascript:alert(1)'>x</a>",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "$\\alpha$",
    "%{x}",
    "<br>" * 9,
    "a" * 500,
]
SLIDERS = ["position-spectrum", "position-gram", "position-frequencies", "context-gram"]
TAGS = {"<br>", "<extra>", "</extra>"}


def strings(value):
    """Every text in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


@pytest.mark.parametrize("name", SLIDERS)
def test_a_slider_shows_one_layer_at_a_time(run_of, name):
    figure = FIGURES[name].draw(run_of(layers=31))
    steps = figure.layout.sliders[0].steps
    assert len(steps) == (31 if name == "position-spectrum" else MATRICES)
    assert steps[0].label == "0"
    assert steps[-1].label == "30"
    shown = np.array([step.args[1] for step in steps])
    assert (shown.sum(0) == 1).all()
    assert shown.shape[1] == len(figure.data)
    assert [trace.visible for trace in figure.data] == shown[figure.layout.sliders[0].active].tolist()


@pytest.mark.parametrize("name", FIGURES)
def test_curves_to_be_distinguished_are_few(run_of, name):
    figure = FIGURES[name].draw(run_of(layers=31, outliers=60))
    names = {trace.name for trace in figure.data if trace.type == "scatter" and trace.showlegend is not False}
    assert len(names) <= 7
    panels = {trace.xaxis for trace in figure.data if trace.type != "scatter3d"}
    assert len(panels) <= 12


@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_names(results, name):
    figure = FIGURES[name].draw(results)
    if figure.data[0].type == "scatter3d":  # directions of a space of hundreds have no names
        return
    titled = len(figure.layout.annotations) >= len(list(figure.select_yaxes())) > 1  # panels say what is drawn upwards
    assert any(axis.title.text or axis.ticktext for axis in figure.select_xaxes()) or name == "position-plane"
    assert titled or any(axis.title.text or axis.ticktext for axis in figure.select_yaxes()) or name == "position-plane"


@pytest.mark.parametrize("name", FIGURES)
def test_logarithmic_axes_have_numbers_that_stand_for_themselves(results, name):
    figure = FIGURES[name].draw(results)
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        # by itself plotly writes 2, 3 ... 9 between powers of ten, small and over each other
        assert axis.type != "log" or axis.tickvals or axis.dtick == 1


@pytest.mark.parametrize("name", FIGURES)
def test_a_slider_says_layer_only_of_layers(results, name):
    for control in FIGURES[name].draw(results).layout.sliders:
        words = [f"{control.currentvalue.prefix}{step.label}" for step in control.steps]
        assert all(re.fullmatch(r"layer \d+", word) or not word.startswith("layer ") for word in words)


def hostile_run(run_of, changed):
    run = changed(
        run_of(outliers=len(HOSTILE), contexts=64),
        outliers__text=np.array(HOSTILE),
        corpus__document_name=np.array(HOSTILE),
    )
    run.attrs.update(model=HOSTILE[1], corpus=HOSTILE[2])
    return run


def check_is_text(figure):
    """No tag but our own, nothing that MathJax reads, no text that is a template."""
    for text in strings(json.loads(figure.to_json())["data"] + [json.loads(figure.to_json())["layout"]]):
        assert set(re.findall(r"</?[a-zA-Z][^>]*>", text)) <= TAGS, text
        assert not re.search(r"\$[^$]+\$", text), text
    for trace in figure.data:
        assert not any("javascript" in text or "bold" in text for text in strings(trace.hovertemplate or ""))


def test_hostile_texts_stay_text(run_of, changed):
    run = hostile_run(run_of, changed)
    seen = ""
    for figure in available(run):
        drawn = plot(run, figure.name)
        check_is_text(drawn)
        seen += drawn.to_json()
    seen = seen.encode().decode("unicode_escape", errors="ignore")
    assert "&lt;b&gt;bold" in seen
    assert "&amp;lt;b&amp;gt;" in seen
    assert "&#36;" in seen
    check_is_text(compared_curves(compared_result("norms/norm", run, run), run_names(Run(run), Run(run))))


def test_titles_fit_a_phone(results):
    for figure in available(results):
        drawn = plot(results, figure.name)
        lines = drawn.layout.title.text.split("<br>")
        assert max(map(len, lines)) <= TITLE_LETTERS
        assert " ".join(lines) == literal(figure.finding(results), 999)
        bare = figure.draw(results).layout
        assert drawn.layout.margin.t - bare.margin.t == drawn.layout.height - bare.height >= 20 * len(lines)


def test_layers_are_chosen_evenly_with_both_ends():
    assert chosen(31, 12).tolist() == [0, 3, 5, 8, 11, 14, 16, 19, 22, 25, 27, 30]
    assert chosen(3, 12).tolist() == [0, 1, 2]
    assert chosen(1, 6).tolist() == [0]
    assert thinned(10, 4).tolist() == [0, 3, 6, 9]
    assert thinned(4, 10).tolist() == [0, 1, 2, 3]
