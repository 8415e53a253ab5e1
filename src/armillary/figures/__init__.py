"""The figures of a run. A new measure brings its figure by one entry in a file here; report and explorer follow."""

import plotly.graph_objects as go
import xarray as xr

from armillary.errors import RequestError
from armillary.figures import (
    context,
    depth,
)
from armillary.figures.comparison import compare_figure
from armillary.figures.heads import maps as head_maps
from armillary.figures.heads import mixing
from armillary.figures.heads import names as head_names
from armillary.figures.heads import panels as six_panels
from armillary.figures.heads import position as head_position
from armillary.figures.heads import text as heads
from armillary.figures.kit.figure import SECTIONS, Figure
from armillary.figures.kit.style import THEMES, titled
from armillary.figures.position import grams, planes, smoothness
from armillary.figures.position import strength as position
from armillary.figures.states import outliers
from armillary.figures.states import shares as states
from armillary.results.reading import has

ERRORS = "Bands: 95 % in each layer by itself. ± in a title: 95 % for all layers at once."
"""How errors are to be read, in the figures and in their titles; for whoever shows them."""

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for subject in (
        *(states, outliers, position, planes, grams, smoothness, context, depth),
        *(head_names, six_panels, head_position, heads, head_maps, mixing),
    )
    for figure in subject.FIGURES
}
"""Every figure by name, in the order in which a section shows them."""


def available(results: xr.DataTree) -> list[Figure]:
    """The figures whose results a run holds, by section in the order of SECTIONS, unknown sections last."""
    offered = [figure for figure in FIGURES.values() if all(has(results, path) for path in figure.needs)]
    order = {section: place for place, section in enumerate(SECTIONS)}
    return sorted(offered, key=lambda figure: order.get(figure.section, len(order)))


def plot(results: xr.DataTree, name: str, theme: str = "light") -> go.Figure:
    """One figure by name with its finding as title, for a light or a dark page."""
    offered = {figure.name: figure for figure in available(results)}
    if theme not in THEMES:
        raise RequestError(f"no theme {theme!r}: choose {' or '.join(THEMES)}")
    if name in offered:
        return titled(offered[name].draw(results), offered[name].finding(results), theme)
    if name in FIGURES:
        missing = ", ".join(path for path in FIGURES[name].needs if not has(results, path))
        raise RequestError(f"the figure {name} needs {missing}, which this run lacks: survey again")
    raise RequestError(f"no figure {name!r}: this run has {', '.join(offered) or 'none'}")


__all__ = ["ERRORS", "FIGURES", "SECTIONS", "Figure", "available", "compare_figure", "plot"]
