"""All heads of a run at once: values with errors, labels such as L10H7, and the two ways to draw them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float, Int

from armillary.figures.kit.colours import ESTIMATE
from armillary.figures.kit.curves import layer_axis
from armillary.figures.kit.fields import heatmap
from armillary.figures.kit.style import panels
from armillary.figures.kit.words import at, largest
from armillary.results.reading import Estimate, array, draws, numbers, optional

PerHead = Float[np.ndarray, "block head"]


def per_head(results: xr.DataTree, path: str, **place: int) -> Estimate:
    """One number of every head with its standard error, block after block."""
    value = numbers(results, path, **place).ravel()
    se = optional(results, f"{path}_se", **place)
    unknown = np.full_like(value, np.nan)
    return Estimate("head", value, unknown if se is None else se.ravel(), unknown, unknown, draws(results, path))


def labels(results: xr.DataTree, path: str) -> list[str]:
    """Every head by name, block after block: head 7 of block 10 is L10H7."""
    sizes = array(results, path).sizes
    return [f"L{block}H{head}" for block in range(sizes["block"]) for head in range(sizes["head"])]


def starts_of(results: xr.DataTree, path: str, axis: str) -> Int[np.ndarray, " bin"]:
    """The first distance or position of each bin; numbered from 0 where the run does not say."""
    variable = array(results, path)
    return np.asarray(variable.coords[axis].values if axis in variable.coords else range(variable.sizes[axis]))


def least_and_most(one: Estimate, names: list[str], unit: str = "") -> tuple[str, str]:
    """The lowest and the highest head with margins that hold for all heads at once: "0.3 ± 0.1 (L2H4)"."""
    low, high = (f"{at(one, head, unit)} ({names[head]})" for head in (largest(-one.value), largest(one.value)))
    return low, high


def margins(results: xr.DataTree, path: str, **place: int) -> PerHead:
    """Half the 95 % interval of every head by itself, as block by head; NaN where no error is known."""
    blocks = array(results, path).sizes["block"]
    return per_head(results, path, **place).margin().reshape(blocks, -1)


def head_field(
    values: PerHead, margin: PerHead, bar: str, limits: tuple[float, float], signed: bool = True
) -> go.Heatmap:
    """One number of every head as colours, with its 95 % margin where the reader points."""
    error = " ± %{customdata:.2g}" if np.isfinite(margin).any() else ""
    hover = {"customdata": margin, "hovertemplate": f"L%{{y}}H%{{x}}: %{{z:.3g}}{error}<extra></extra>"}
    return heatmap(values, bar, limits, signed).update(**hover)


def head_axes(figure: go.Figure, blocks: int, heads: int) -> go.Figure:
    """Heads from left to right, block 0 on top, whole numbers along both."""
    layer_axis(figure, heads)
    figure.update_xaxes(range=[-0.5, heads - 0.5], showgrid=False, zeroline=False)
    step = -(-blocks // 12)
    return figure.update_yaxes(range=[blocks - 0.5, -0.5], tick0=0, dtick=step, showgrid=False, zeroline=False)


def field_height(blocks: int) -> int:
    """Height of a grid of heads in pixels, by the number of its rows."""
    return 110 + int(np.clip(26 * blocks, 120, 480))


def spread(blocks: int, heads: int) -> Float[np.ndarray, " dot"]:
    """Where the dots of all heads stand: around their block's number, in the order of the heads."""
    beside = np.linspace(-0.32, 0.32, heads) if heads > 1 else np.zeros(1)
    return (np.arange(blocks)[:, None] + beside).ravel()


def dots(
    one: Estimate, across: Float[np.ndarray, " dot"], names: list[str], some: Int[np.ndarray, " some"], colour: str
) -> go.Scatter:
    """Some heads as dots with the 95 % interval of each by itself."""
    low, high = (side[some] for side in one.band())
    known = bool(np.isfinite(low).any())
    trace = go.Scatter(x=across[some], y=one.value[some], mode="markers", text=[names[head] for head in some])
    trace.update(marker={"color": colour, "size": 6}, customdata=np.stack([low, high], -1) if known else None)
    if known:
        bars = {"type": "data", "array": np.nan_to_num(one.margin()[some]), "thickness": 1, "width": 0}
        trace.update(error_y=bars | {"color": colour})
    interval = " (%{customdata[0]:.4g} to %{customdata[1]:.4g})" if known else ""
    return trace.update(hovertemplate="%{text}: %{y:.4g}" + interval + "<extra></extra>", showlegend=False)


def dots_by_block(results: xr.DataTree, paths: dict[str, str], height: int) -> go.Figure:
    """A panel per result, one dot per head over the blocks, with room for as many rows as there are results."""
    figure = panels(len(paths), 1, tuple(paths) if len(paths) > 1 else (), height=height)
    for row, path in enumerate(paths.values(), 1):
        sizes, one = array(results, path).sizes, per_head(results, path)
        across = spread(sizes["block"], sizes["head"])
        figure.add_trace(dots(one, across, labels(results, path), np.arange(one.value.size), ESTIMATE), row, 1)
        layer_axis(figure, sizes["block"])
    return figure
