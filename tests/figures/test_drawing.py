"""What is drawn: the numbers of the results, intervals and nulls, colours that can be told apart, text as text."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.fft import dctn

from armillary.figures import FIGURES, available, compare_figure, plot
from armillary.figures.kit.curves import band_outline
from armillary.figures.kit.fields import MATRICES
from armillary.figures.kit.style import NULL, PALETTE, THEMES, TITLE_LETTERS, literal, template, ticks_between
from armillary.figures.position.planes import plane
from armillary.results.reading import chosen, estimate, thinned

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


def traces(figure, name):
    return [trace for trace in figure.data if trace.name == name]


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


def test_the_band_is_students_interval(results):
    figure = FIGURES["position-share"].draw(results)
    curve, band = traces(figure, "without small-sample bias")[0], figure.data[0]
    position = results["position"]
    assert curve.y == pytest.approx(100 * position.share_corrected.values)
    margin = stats.t.ppf(0.975, 15) * 100 * position.share_corrected_se.values
    layers = curve.y.size
    assert band.fill == "toself"
    assert band.y[:layers] == pytest.approx(curve.y + margin)
    assert band.y[layers : 2 * layers][::-1] == pytest.approx(curve.y - margin)
    assert curve.customdata == pytest.approx(np.stack([curve.y - margin, curve.y + margin], 1))


def test_ranks_have_their_extremes_as_band(results):
    one = estimate(results, "position/rank_screenot")
    low, high = one.band()
    assert low.tolist() == [11] * 5
    assert high.tolist() == [13] * 5


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("position-stable-rank", "position/rank_stable_null"),
        ("position-relative-norm", "position/relative_norm_null"),
        ("position-rank", "position/rank_screenot_null"),
        ("context-similarity", "context/similarity_null"),
        ("context-clusters", "context/purity_null"),
        ("context-clusters", "context/silhouette_null"),
        ("incoherence", "context/incoherence_mean_null_rotation"),
        ("incoherence", "context/incoherence_max_null_covariance"),
        ("dimension", "depth/dimension_twonn_null"),
    ],
)
def test_nulls_are_grey_broken_lines_that_say_so(results, name, path):
    values = results[path].values
    found = [
        trace
        for trace in FIGURES[name].draw(results).data
        if trace.type == "scatter" and np.array_equal(trace.y, values)
    ]
    assert len(found) == 1
    assert found[0].line.color == NULL
    assert found[0].line.dash in ("dash", "dot")
    assert "null" in found[0].name


def test_shares_are_stacked_with_their_nulls(results):
    figure = FIGURES["variance-shares"].draw(results)
    assert figure.layout.barmode == "stack"
    assert [bar.name for bar in figure.data[:3]] == ["position", "context", "residual"]
    assert sum(np.asarray(bar.y) for bar in figure.data[:3]) == pytest.approx(100 * np.ones(5))
    assert traces(figure, "null of position")[0].y == pytest.approx(np.ones(5))
    assert traces(figure, "null of context, above position")[0].y == pytest.approx(12 * np.ones(5))


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_band_has_one_closed_shape_per_run_of_known_values(known):
    across = np.arange(len(known), dtype=float)
    high = np.where(known, 1.0, np.nan)
    xs, ys = band_outline(across, -high, high)
    runs = len(re.findall("1+", "".join("1" if one else "0" for one in known)))
    assert np.isnan(xs).sum() == runs
    assert np.array_equal(np.isnan(xs), np.isnan(ys))
    for layer in across[np.array(known)]:
        assert np.abs(xs - layer).min(where=~np.isnan(xs), initial=9) <= 0.13


def test_the_plane_is_that_of_the_singular_vectors(results):
    basis = results["residual"].position_basis.values[2]
    u, s, _ = np.linalg.svd(basis, full_matrices=False)
    flat = plane(results, 2)
    assert np.abs(flat.position) == pytest.approx(np.abs(u[:, :2] * s[:2]))
    assert len(flat.cloud) == 39  # the massive token is left out


def test_the_cloud_is_state_less_mean_less_position(results):
    residual, sample = results["residual"], results["sample"]
    modes = np.linalg.svd(residual.position_basis.values[1], full_matrices=False)[2][:2]
    where = sample.position.values[5]
    vector = sample.states.values[1, 5] - residual["mean"].values[1]
    vector = vector - residual.position_basis.sel(position=where).values[1]
    assert np.abs(plane(results, 1).cloud[4]) == pytest.approx(np.abs(modes @ vector))


def test_the_frequencies_are_scipys(results):
    figure = FIGURES["position-frequencies"].draw(results)
    expected = np.abs(dctn(results["position"].gram.values[0], type=2, norm="ortho"))[:16, :16]
    large = expected > 1e-6
    assert 10.0 ** figure.data[0].z[large] == pytest.approx(expected[large], rel=1e-4)


def test_the_blocks_are_cosines_sorted_by_document(results):
    figure = FIGURES["position-gram"].draw(results)
    matrix = figure.data[0].z
    assert matrix.shape == (24 + 32, 24 + 32)
    assert np.diagonal(matrix) == pytest.approx(np.ones(56), abs=1e-6)
    assert np.abs(matrix).max() <= 1 + 1e-6
    assert matrix == pytest.approx(matrix.T, abs=1e-6)
    basis, windows = (results["residual"][name].values[0] for name in ("position_basis", "context_basis"))
    expected = windows[0] @ basis[3] / np.linalg.norm(windows[0]) / np.linalg.norm(basis[3])
    assert matrix[3, 24] == pytest.approx(expected, abs=1e-6)


def test_windows_of_a_document_stand_together(results, changed):
    mixed = changed(results, corpus__document_index=np.arange(32) % 4)
    names = list(FIGURES["context-gram"].draw(mixed).data[0].x)
    documents = [name.split(" ", 2)[2] for name in names]
    assert documents == sorted(documents)
    assert {name.split()[1] for name in names} == {str(window) for window in range(32)}


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
def test_curves_that_must_be_told_apart_are_few(run_of, name):
    figure = FIGURES[name].draw(run_of(layers=31, outliers=60))
    names = {trace.name for trace in figure.data if trace.type == "scatter" and trace.showlegend is not False}
    assert len(names) <= 7
    panels = {trace.xaxis for trace in figure.data}
    assert len(panels) <= 12


@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_names(results, name):
    figure = FIGURES[name].draw(results)
    for axes in (figure.select_xaxes(), figure.select_yaxes()):
        assert any(axis.title.text or axis.ticktext for axis in axes) or name == "position-plane"


def test_the_palette_is_told_apart_by_colour_blind_eyes():
    """Distances of the colours as deuteranopes see them (Viénot, Brettel & Mollon 1999), in linear light."""
    from_rgb = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    without_green = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in PALETTE]) / 255
    seen = rgb**2.2 @ (np.linalg.inv(from_rgb) @ without_green @ from_rgb).T
    for first in range(5):
        for second in range(first):
            assert np.abs(seen[first] - seen[second]).max() > 0.08, (first, second)


def luminance(colour):
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("theme", THEMES)
def test_ink_and_curves_are_seen_on_their_paper(theme):
    paper = luminance(THEMES[theme]["paper"])

    def ratio(colour):
        one, two = sorted([luminance(colour), paper])
        return (two + 0.05) / (one + 0.05)

    assert ratio(THEMES[theme]["ink"]) > 7
    assert all(ratio(colour) > 2 for colour in (*PALETTE, NULL))
    assert template(theme).layout.paper_bgcolor == THEMES[theme]["paper"]


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
    check_is_text(compare_figure("norms/norm", run, run))


def test_literal_shows_what_it_was_given():
    assert literal("<b>") == "&lt;b&gt;"
    assert literal("&lt;") == "&amp;lt;"
    assert literal("$x$") == "&#36;x&#36;"
    assert literal('"it\'s"') == '"it\'s"'
    assert literal("a" * 99, 10) == "a" * 9 + "…"


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


def test_numbers_along_a_logarithmic_axis_are_written_out_and_few():
    assert list(ticks_between(0.3, 4.0).values()) == ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]
    assert list(ticks_between(20.0, 3000.0).values()) == ["10", "30", "100", "300", "1000", "3000", "10000", "30000"]
    powers = ticks_between(1e-2, 1e14, 6)
    assert list(powers.values()) == ["10⁻²", "10¹", "10⁴", "10⁷", "10¹⁰", "10¹³"]
    assert list(powers) == pytest.approx([1e-2, 1e1, 1e4, 1e7, 1e10, 1e13])
