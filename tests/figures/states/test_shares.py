"""Shares of the variance are stacked with their nulls."""

import numpy as np
import pytest

from armillary.figures import FIGURES


def traces(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def test_shares_are_stacked_with_their_nulls(results):
    figure = FIGURES["variance-shares"].draw(results)
    assert figure.layout.barmode == "stack"
    assert [bar.name for bar in figure.data[:3]] == ["position", "context", "residual"]
    assert sum(np.asarray(bar.y) for bar in figure.data[:3]) == pytest.approx(100 * np.ones(5))
    assert traces(figure, "null of position")[0].y == pytest.approx(np.ones(5))
    assert traces(figure, "null of context, above position")[0].y == pytest.approx(12 * np.ones(5))
