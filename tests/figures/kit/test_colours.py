"""Colours: one meaning each, distinguishable by the colour-blind, readable on light and dark."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import armillary.figures
from armillary.figures.kit import colours
from armillary.figures.kit.style import template
from armillary.results.schema.naming import KINDS

FOLDER = Path(armillary.figures.__file__).parent
EVERY = [*colours.MEANINGS.values(), *colours.HEADS.values(), *colours.SERIES]


def channels(colour):
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def as_deuteranopes_see(colour):
    """The colour in linear light as deuteranopes see it (Viénot, Brettel & Mollon 1999)."""
    from_rgb = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    without_green = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    return (np.linalg.inv(from_rgb) @ without_green @ from_rgb) @ channels(colour) ** 2.2


def luminance(colour):
    rgb = channels(colour)
    return np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def lab(colour):
    """Lightness, red over green and yellow over blue (CIE 1976, D65)."""
    linear = np.where(
        channels(colour) <= 0.04045, channels(colour) / 12.92, ((channels(colour) + 0.055) / 1.055) ** 2.4
    )
    to_xyz = [[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.95030]]
    x, y, z = np.cbrt(to_xyz @ linear / [0.95047, 1.0, 1.08883])  # all of ours are lighter than its linear part
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def themed(colour, theme):
    return colours.ON_DARK.get(colour, colour) if theme == "dark" else colour


def apart(one, other):
    """How different two colours look: 2 is just seen side by side."""
    return float(np.linalg.norm(lab(one) - lab(other)))


TOGETHER = {
    "components": ("position", "context", "residual"),
    "estimates": ("position", "estimate", "published", "threshold"),
    "runs": ("run-1", "run-2"),
}


@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)
def test_meanings_drawn_together_are_distinguished_by_colour_blind_eyes(names):
    seen = [as_deuteranopes_see(colours.MEANINGS[name]) for name in names]
    for first in range(len(seen)):
        for second in range(first):
            assert np.abs(seen[first] - seen[second]).max() > 0.08, (names[first], names[second])


def of_curves(figure):
    """The colours of a figure's lines and dots."""
    given = [colour for t in figure.data if "scatter" in t.type for colour in (t.line.color, t.marker.color)]
    return sorted({colour for colour in given if isinstance(colour, str) and re.fullmatch("#[0-9A-Fa-f]{6}", colour)})


@pytest.mark.parametrize("theme", colours.THEMES)
def test_colours_that_a_figure_draws_together_look_apart_on_a_light_and_on_a_dark_page(results, theme):
    most = 0
    for figure in armillary.figures.available(results):
        drawn = of_curves(figure.draw(results))
        most = max(most, len(drawn))
        for one, other in combinations(drawn, 2):
            assert apart(themed(one, theme), themed(other, theme)) > 25, (figure.name, one, other)
    assert most >= 7


@pytest.mark.parametrize("theme", colours.THEMES)
def test_colours_of_a_series_and_of_kinds_look_apart_on_a_light_and_on_a_dark_page(theme):
    for table in (colours.SERIES, colours.HEADS.values(), colours.REGIMES.values(), (colours.RUN_1, colours.RUN_2)):
        for one, other in combinations({*table, colours.NULL}, 2):
            assert apart(themed(one, theme), themed(other, theme)) > 25, (one, other)


def test_the_first_five_of_a_series_are_distinguished_by_colour_blind_eyes():
    seen = [as_deuteranopes_see(colour) for colour in colours.series(5)]
    for first in range(5):
        for second in range(first):
            assert np.abs(seen[first] - seen[second]).max() > 0.08, (first, second)


def test_meanings_kinds_and_series_have_a_colour_each():
    for table in (colours.MEANINGS.values(), colours.HEADS.values(), colours.SERIES):
        assert len(set(table)) == len(list(table))
    assert list(colours.HEADS) == list(KINDS)
    assert colours.series(3) == colours.SERIES[:3]


@pytest.mark.parametrize("theme", colours.THEMES)
def test_ink_and_curves_are_seen_on_their_paper(theme):
    page = colours.THEMES[theme]
    assert contrast(page["ink"], page["paper"]) > 7
    assert all(contrast(page[name], page["paper"]) > 4.5 for name in ("soft", "link", "accent", "alarm"))
    assert contrast(page["on-accent"], page["accent"]) > 4.5
    assert all(contrast(colour, page["paper"]) > 2 for colour in EVERY)
    assert template(theme).layout.paper_bgcolor == page["paper"]


@pytest.mark.parametrize("component", ["position", "context", "residual"])
def test_nulls_are_seen_on_bars(component):
    assert contrast(colours.NULL_ON_BARS, colours.pale(colours.MEANINGS[component])) > 2


def test_no_colour_is_written_elsewhere_in_figures():
    for path in FOLDER.rglob("*.py"):
        if path.name != "colours.py":
            assert not re.search(r"#[0-9A-Fa-f]{6}|PALETTE|SERIES\[", path.read_text()), path


def test_position_context_and_nulls_have_their_colour_in_every_figure(results):
    meanings = {"position": colours.POSITION, "context": colours.CONTEXT, "plug-in": colours.PUBLISHED}
    shown = {name: set() for name in meanings}
    for figure in armillary.figures.available(results):
        for trace in figure.draw(results).data:
            if trace.type == "bar":
                assert trace.marker.color == colours.pale(colours.MEANINGS[trace.name])
            for name, colour in meanings.items():
                if trace.type == "scatter" and trace.name in (name, f"{name} vectors"):
                    assert colour in (trace.line.color, trace.marker.color), figure.name
                    shown[name].add(figure.name)
            if trace.type == "scatter" and str(trace.name).startswith("null"):
                assert {trace.line.color, trace.marker.line.color} & {colours.NULL, colours.NULL_ON_BARS}, figure.name
    assert shown["position"]
    assert shown["context"]
    assert len(shown["plug-in"]) == 3


def test_the_style_sheet_has_every_meaning_and_both_pages():
    sheet = colours.css_variables()
    assert sheet.startswith(":root{")
    assert sheet.endswith("}")
    variables = dict(re.findall(r"--([a-z0-9-]+):([^;]+);", sheet))
    assert {name: variables[name] for name in colours.MEANINGS} == colours.MEANINGS
    assert variables["head-induction"] == colours.HEADS["induction"]
    assert variables["paper"] == f"light-dark({colours.LIGHT['paper']},{colours.DARK['paper']})"
    assert set(colours.LIGHT) == set(colours.DARK) <= set(variables)


def test_the_table_is_plain_data():
    table = json.loads(json.dumps(colours.table()))
    assert table["meanings"] == colours.MEANINGS
    assert table["heads"] == colours.HEADS
    assert table["light"] == colours.LIGHT
    assert table["dark"] == colours.DARK
    assert table["series"] == list(colours.SERIES)
    middle = len(table["scales"]["diverging"]) // 2
    assert luminance(table["scales"]["diverging"][middle]) == max(map(luminance, table["scales"]["diverging"]))
    assert sorted(table["scales"]["sequential"], key=luminance) == table["scales"]["sequential"]


def test_pale_and_transparent_keep_the_hue():
    assert colours.pale("#000000") == "#595959"
    assert colours.pale("#FFFFFF") == "#FFFFFF"
    assert colours.transparent("#0072B2") == "rgba(0,114,178,0.22)"
