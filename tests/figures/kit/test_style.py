"""How figures look: text stays text, numbers along logarithmic axes are written out."""

import numpy as np
import plotly.graph_objects as go
import pytest

from armillary.figures.kit.style import axes, literal, ticks_between


def test_literal_shows_what_it_was_given():
    assert literal("<b>") == "&lt;b&gt;"
    assert literal("&lt;") == "&amp;lt;"
    assert literal("$x$") == "&#36;x&#36;"
    assert literal('"it\'s"') == '"it\'s"'
    assert literal("a" * 99, 10) == "a" * 9 + "…"


def test_numbers_along_a_logarithmic_axis_are_written_out_and_few():
    assert list(ticks_between(0.3, 4.0).values()) == ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]
    assert list(ticks_between(20.0, 3000.0).values()) == ["10", "30", "100", "300", "1000", "3000", "10000", "30000"]
    powers = ticks_between(1e-2, 1e14, 6)
    assert list(powers.values()) == ["10⁻²", "10¹", "10⁴", "10⁷", "10¹⁰", "10¹³"]
    assert list(powers) == pytest.approx([1e-2, 1e1, 1e4, 1e7, 1e10, 1e13])


@pytest.mark.parametrize(
    ("values", "around"),
    [([172.0, 188.0], (100, 200)), ([100.0], (50, 200)), ([3.0, 4.0, np.nan], (2, 5)), ([0.5, 80.0], None)],
)
def test_a_logarithmic_axis_shows_two_numbers_at_least(values, around):
    figure = axes(go.Figure(go.Scatter(y=values)), "position", "norm", type="log")
    if around is None:
        assert figure.layout.yaxis.range is None
    else:
        assert figure.layout.yaxis.range == pytest.approx(np.log10(around))
        assert sum(around[0] <= tick <= around[1] for tick in figure.layout.yaxis.tickvals) >= 2
