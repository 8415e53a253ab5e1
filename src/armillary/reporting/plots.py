"""A figure in a page; one that fails is named in its place, and the rest of the page is drawn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import plotly.graph_objects as go

from armillary.errors import reason
from armillary.reporting.kinds import Plot
from armillary.system.progress import say

BUGS = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, AssertionError)
"""What a bug in a figure raises; anything else is not the figure's."""


class FigureFailed(Exception):  # noqa: N818  (it reads as a sentence)
    """A figure that raised: a bug of Armillary, with the figure's name."""


@contextmanager
def naming(figure: str) -> Iterator[None]:
    """A bug inside becomes a FigureFailed with the figure's name, and one line on standard error."""
    try:
        yield
    except BUGS as error:
        failure = FigureFailed(
            f"This figure failed: {figure} ({type(error).__name__}: {reason(error)}). "
            "This is a bug of Armillary: please report it."
        )
        say(f"warning: {failure}")
        raise failure from error


def plotted(
    name: str, section: str, make: Callable[[], tuple[str, go.Figure, str]], words: tuple[str, str, str] = ("", "", "")
) -> Plot:
    """A figure with its finding and detail, as `make` gives them; in place of one that fails, the failure in words."""
    try:
        with naming(name):
            finding, drawn, detail = make()
    except FigureFailed as failure:
        return Plot(name, section, str(failure), None, *words)
    return Plot(name, section, finding, drawn, *words, detail)
