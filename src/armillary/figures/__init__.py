"""The figures of a run. A new measure brings its figure by one entry in a file here; report and explorer follow."""

import plotly.graph_objects as go
import xarray as xr

from armillary.errors import RequestError, did_you_mean
from armillary.figures import context, depth, sweep, training
from armillary.figures.gaussian import depth as similarity
from armillary.figures.gaussian import heads as gaussian_heads
from armillary.figures.gaussian import information, logits, tokens
from armillary.figures.heads import maps as head_maps
from armillary.figures.heads import mixing
from armillary.figures.heads import names as head_names
from armillary.figures.heads import panels as six_panels
from armillary.figures.heads import position as head_position
from armillary.figures.heads import text as heads
from armillary.figures.kit.colours import THEMES
from armillary.figures.kit.figure import SECTIONS, Figure
from armillary.figures.kit.style import titled
from armillary.figures.position import grams, planes, smoothness
from armillary.figures.position import strength as position
from armillary.figures.simulation import theory, walks
from armillary.figures.sphere import angles, lens, paths
from armillary.figures.sphere import norms as norm_shapes
from armillary.figures.states import dominance, norms, outliers
from armillary.figures.states import shares as states
from armillary.figures.weights import localization, matrices, products, rotary, stores
from armillary.results.reading import has
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding

ERRORS = (
    "Bands: 95 %, each point by itself. ± and “significant” in a title: 95 %, for all layers or heads that it chooses "
    "from jointly."
)
"""How errors are to be read, in the figures and in their titles; for whoever shows them."""

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for subject in (
        *(states, norms, outliers, dominance, position, planes, grams, smoothness, context, depth),
        *(head_names, six_panels, head_position, heads, head_maps, mixing),
        *(products, matrices, rotary, localization, stores),
        *(walks, theory),
        *(paths, angles, lens, norm_shapes),
        *(information, tokens, logits, gaussian_heads, similarity),
        *(training, sweep),
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
        raise RequestError(f"expected the theme {' or '.join(THEMES)}, got {theme!r}: choose one of these")
    if name in offered:
        return titled(offered[name].draw(results), offered[name].finding(results), theme)
    if name in FIGURES:
        missing = [path for path in FIGURES[name].needs if not has(results, path)]
        command = GROUPS[missing[0].partition("/")[0]].command
        raise RequestError(f"expected a run with {', '.join(missing)} for {name}, got one without: {adding(command)}")
    raise RequestError(f"expected a figure of this run, got {name!r}: {did_you_mean(name, offered)}")


__all__ = ["ERRORS", "FIGURES", "SECTIONS", "Figure", "available", "plot"]
