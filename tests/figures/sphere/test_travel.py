"""What the figures of a text's way say and show; what a reader sees where he points."""

import numpy as np
import pytest

import made_up
from armillary.figures import FIGURES
from armillary.figures.sphere.paths import TOKENS

CONTROL = "random-weight control"
TITLES = {
    "travel-paths": {
        "clear": ({}, f"Tokens travel 40° over the sphere on average; {CONTROL} 20°"),
        "alone": ({"travel__length_null": None}, "Tokens travel 40° over the sphere on average"),
        "open": ({"travel__length": np.nan}, "The length of the paths is not estimable"),
    },
    "travel-paths-own": {
        "clear": ({}, "Three directions of their own hold 35 % of the states’ variance"),
        "open": (
            {"travel__path_share_own": np.nan},
            "How much of the paths three directions hold is not estimable",
        ),
    },
    "travel-angles": {
        "clear": (
            {"travel__angle": np.array([np.nan, 3, 9, 4, 5])[:, None]},
            f"Tokens turn most into layer 2, by 9° on average; {CONTROL} 5°",
        ),
        "alone": ({"travel__angle_null": None}, "Tokens turn most into layer 1, by 10° on average"),
        "open": ({"travel__angle": np.nan}, "The angles between layers are not estimable"),
    },
    "travel-lens": {
        "clear": (
            {"travel__settled": 2, "travel__top_text": " stone"},
            "The last token decodes to ‘ stone’ from layer 2 on (finally 50 %)",
        ),
        "late": (
            {"travel__settled": 4, "travel__top_text": " stone"},
            "The last token decodes to ‘ stone’ in the last layer alone (50 %)",
        ),
        "long": (
            {"travel__settled": 2, "travel__top_text": "a" * 99},
            f"The last token decodes to ‘{'a' * 23}…’ from layer 2 on (finally 50 %)",
        ),
        "open": ({"travel__top_probability": np.nan}, "What states decode to is not estimable"),
    },
    "travel-umap": {
        "clear": ({}, "UMAP places 120 states among the token embeddings; distances say nothing"),
        "open": ({"travel__umap": np.nan}, "The places of states by UMAP are not estimable"),
    },
}


@pytest.fixture(scope="module")
def results():
    return made_up.run_of()


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in TITLES.items() for case in cases])
def test_a_title_says_what_the_run_shows(results, name, case):
    values, expected = TITLES[name][case]
    changed = made_up.changed(results, **values)
    assert FIGURES[name].finding(changed) == expected
    assert len(expected.split()) <= 15
    FIGURES[name].draw(changed)


@pytest.mark.parametrize("name", ["travel-paths", "travel-paths-own"])
def test_paths_lie_on_the_unit_sphere_with_a_dot_for_every_layer(results, name):
    drawn = FIGURES[name].draw(results)
    lines = [trace for trace in drawn.data if trace.mode == "lines" and trace.name]
    dots = [trace for trace in drawn.data if trace.mode == "markers" and trace.name != "token embeddings"]
    assert len(lines) == len(dots) == 12
    for trace in (*lines, *dots):
        assert np.stack([trace.x, trace.y, trace.z]).T ** 2 @ np.ones(3) == pytest.approx(np.ones(len(trace.x)))
    assert {len(trace.x) for trace in dots} == {5}
    assert dots[-1].name == "23: &#36;x&#36; &#36;y&#36;"


def test_a_dot_says_layer_token_and_what_it_decodes_to(results):
    dots = FIGURES["travel-paths"].draw(results).data[-1]
    assert list(dots.customdata[1]) == ["1", "&#36;x&#36; &#36;y&#36;", " → ‘&lt;b&gt;bold&lt;/b&gt;’ 50 %"]
    lacking = {f"travel__{name}": None for name in ("top_text", "top_probability")}
    bare = FIGURES["travel-paths"].draw(made_up.changed(results, **lacking)).data[-1]
    assert list(bare.customdata[1]) == ["1", "&#36;x&#36; &#36;y&#36;", ""]


def test_the_reader_looks_at_the_side_where_the_paths_are(results):
    above = made_up.changed(results, travel__coordinate=np.array([0.1, 0.1, 5.0]))
    eye = FIGURES["travel-paths"].draw(above).layout.scene.camera.eye
    assert eye.z > 1.2 > abs(eye.x) + abs(eye.y)


def test_ends_are_labelled_and_a_state_without_a_place_is_not(results):
    drawn = FIGURES["travel-paths"].draw(results)
    assert [label.text for label in drawn.layout.scene.annotations][-1] == "&#36;x&#36; &#36;y&#36;"
    nowhere = FIGURES["travel-paths"].draw(made_up.changed(results, travel__coordinate=0.0))
    assert not nowhere.layout.scene.annotations


def test_of_paths_that_end_together_the_last_token_alone_is_labelled(results):
    together = made_up.changed(results, travel__coordinate=np.array([1.0, 2.0, 3.0]), travel__umap=1.0)
    for name in ("travel-paths", "travel-umap"):
        drawn = FIGURES[name].draw(together)
        assert [label.text for label in drawn.layout.scene.annotations] == ["&#36;x&#36; &#36;y&#36;"], name
        assert len({trace.name for trace in drawn.data if trace.mode == "markers"}) == 13, "the legend has them all"


def test_every_place_where_paths_end_has_a_label(results):
    places = np.array([[1.0, 0.8, 0.0], [1.0, -0.8, 0.0], [1.0, 0.0, 0.8], [1.0, 0.0, -0.8]])
    drawn = FIGURES["travel-paths"].draw(made_up.changed(results, travel__coordinate=np.tile(places, (6, 1))))
    labelled = [[label.x, label.y, label.z] for label in drawn.layout.scene.annotations]
    assert labelled == pytest.approx(places / np.linalg.norm(places, axis=1, keepdims=True))


def test_without_embeddings_the_paths_are_drawn_alone(results):
    values = {"travel__cloud": None, "travel__cloud_text": None}
    drawn = FIGURES["travel-paths"].draw(made_up.changed(results, **values))
    assert "token embeddings" not in {trace.name for trace in drawn.data}


def test_the_grid_shows_the_last_tokens_and_their_next_choices(results):
    drawn = FIGURES["travel-lens"].draw(results)
    (cells,) = drawn.data
    assert cells.z.shape == (5, 14)
    assert cells.x.tolist() == list(range(10, 24))
    assert (cells.z == 50).all()
    assert cells.text[2][0] == "&amp;lt;b&amp;gt;"
    assert cells.customdata[0][0] == "‘ the’ 50 %<br>‘&lt;b&gt;bold&lt;/b&gt;’ 25 %<br>‘&amp;lt;b&amp;gt;’ 12.5 %"
    assert drawn.layout.xaxis.ticktext[0] == " the"


def test_without_marks_of_special_tokens_the_last_token_is_the_last(results):
    bare = made_up.changed(results, travel__counted=None)
    assert FIGURES["travel-lens"].finding(bare).startswith("The last token decodes to ")


def test_angles_show_the_mean_every_token_and_the_control(results):
    drawn = FIGURES["travel-angles"].draw(results)
    named = {trace.name: trace for trace in drawn.data}
    assert named["mean over tokens"].y[1:].tolist() == [10] * 4
    assert named[CONTROL].y[1:].tolist() == [5] * 4
    assert sum(trace.showlegend is False for trace in drawn.data) == 23


@pytest.mark.parametrize("name", ["travel-paths", "travel-paths-own", "travel-umap"])
def test_no_two_paths_look_alike(name):
    drawn = FIGURES[name].draw(made_up.run_of(positions=24)).data
    lines = {(t.line.color, t.line.dash) for t in drawn if t.mode == "lines" and t.name}
    dots = {(t.marker.color, t.marker.symbol) for t in drawn if t.mode == "markers" and t.legendgroup}
    assert len(lines) == len(dots) == TOKENS
