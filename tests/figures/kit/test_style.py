"""How figures look: text stays text, numbers along logarithmic axes are written out."""

import pytest

from armillary.figures.kit.style import literal, ticks_between


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
