"""Figures of heads as stores: what their triplets cover, how readable they are by block, and the clearest head."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from jaxtyping import Float

from armillary.figures.kit.colours import NULL, series
from armillary.figures.kit.curves import layer_axis
from armillary.figures.kit.fields import BAR, heatmap, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import axes, panels, token
from armillary.figures.kit.words import NOT_ESTIMABLE, counted, largest, number
from armillary.measures.stores.depth import legible
from armillary.results.reading import array, chosen, numbers
from armillary.results.schema.stores import PRODUCT_NAMES, SIDE_NAMES
from armillary.results.store_answers import block_medians, block_numbers, block_readable

CURVES = 6
"""Blocks whose coverage is drawn."""

FEW = 0.25
"""Triplets are few where they are at most this part of all."""

SIDES = {"query": "queries (W_QK)", "key": "keys (W_QK)", "input": "inputs (W_VO)", "output": "outputs (W_VO)"}
LETTERS = 11
"""Letters of a token that a cell holds on a phone."""


def coverage(results: xr.DataTree) -> go.Figure:
    """The mean coverage of some blocks' heads by the number of triplets; dashed, that of equal singular values."""
    figure = panels(2, 1, PRODUCT_NAMES, height=640)
    values, blocks = 100 * numbers(results, "stores/coverage"), block_numbers(results)
    some = chosen(len(blocks), CURVES)
    modes = np.arange(1, values.shape[-1] + 1)
    for row in range(len(PRODUCT_NAMES)):
        equal = go.Scatter(x=modes, y=100 * modes / modes[-1], mode="lines", name="equal singular values")
        equal.update(line={"color": NULL, "dash": "dash"}, showlegend=row == 0, legendgroup="equal")
        figure.add_trace(equal, row + 1, 1)
        for colour, block in zip(series(len(some)), some, strict=True):
            name = f"block {blocks[block]}"
            curve = go.Scatter(x=modes, y=known_mean(values[block, :, row]), mode="lines", name=name, legendgroup=name)
            curve.update(line={"color": colour}, showlegend=row == 0, hovertemplate="%{x}: %{y:.1f} %")
            figure.add_trace(curve, row + 1, 1)
    return axes(figure, "triplets", "energy covered, %", range=[0, 103])


def known_mean(values: Float[np.ndarray, "head mode"]) -> Float[np.ndarray, " mode"]:
    """The mean over the heads that have triplets; NaN where none has."""
    known = values[np.isfinite(values).all(axis=1)]
    return known.mean(axis=0) if len(known) else np.full(values.shape[1], np.nan)


def coverage_finding(results: xr.DataTree) -> str:
    """How many triplets the median head needs."""
    modes = array(results, "stores/coverage").sizes["mode"]
    needed = numbers(results, "stores/triplets_90").reshape(-1, len(PRODUCT_NAMES))
    needed = needed[np.isfinite(needed).all(axis=1)]
    if not len(needed):
        return f"The coverage of heads by triplets is {NOT_ESTIMABLE}"
    of_vo = float(np.median(needed[:, 1]))
    verdict = "A few triplets make a head" if of_vo <= FEW * modes else "No few triplets make a head"
    return f"{verdict}: 90 % of W_VO takes {number(of_vo)} of {modes}"


def readability(results: xr.DataTree) -> go.Figure:
    """The median z-score of the top token by block, one curve for each side; random directions below the line."""
    figure, blocks = panels(height=430), block_numbers(results)
    for place, (side, colour) in enumerate(zip(SIDE_NAMES, series(len(SIDE_NAMES)), strict=True)):
        values = block_medians(results, "stores/peak_z", side=place)
        curve = go.Scatter(x=np.arange(len(blocks)), y=values, mode="lines+markers", name=SIDES[side])
        figure.add_trace(curve.update(line={"color": colour}, hovertemplate="block %{x}: z = %{y:.2f}"))
    point = float(np.max(numbers(results, "stores/peak_point_z")))
    for height, name, dash in (
        (0.0, "random directions, mean", "dash"),
        (point, "random directions, 99 % point", "dot"),
    ):
        line = go.Scatter(x=[0, max(len(blocks) - 1, 1)], y=[height] * 2, mode="lines", name=name)
        figure.add_trace(line.update(line={"color": NULL, "dash": dash}, hoverinfo="skip"))
    layer_axis(figure, len(blocks))
    return axes(figure, "block", "peak of the top token, z")


def readability_finding(results: xr.DataTree) -> str:
    """In how many blocks triplets are readable beyond doubt, and where most."""
    found = [legible(block_readable(results, block)) for block in range(len(block_numbers(results)))]
    share = np.array([each.share for each in found])
    if not np.isfinite(share).any():
        return f"The readability of triplets is {NOT_ESTIMABLE}"
    readable, best = np.array([each.verdict == "holds" for each in found]), largest(share)
    most = f"block {block_numbers(results)[best]} ({100 * share[best]:.0f} %)"
    if not readable.any():
        return f"No block is significantly readable; most triplets in {most}"
    return f"Triplets are readable in {counted(readable, 'block')}, most in {most}"


def clearest(results: xr.DataTree) -> tuple[int, int]:
    """The place of the head whose output triplets are the most readable; the first where nothing is known."""
    scores = numbers(results, "stores/peak_z", side=SIDE_NAMES.index("output"))
    known = np.where(np.isfinite(scores).any(axis=-1), np.nanmean(np.nan_to_num(scores), axis=-1), -np.inf)
    block, head = np.unravel_index(int(known.argmax()), known.shape)
    return int(block), int(head)


def head_name(results: xr.DataTree, block: int, head: int) -> str:
    """A head by the numbers of its block and its own."""
    variable = array(results, "stores/peak_z")
    places = [variable.coords[axis].values if axis in variable.coords else range(9999) for axis in ("block", "head")]
    return f"L{places[0][block]}H{places[1][head]}"


def triplet_tokens(results: xr.DataTree) -> go.Figure:
    """The tokens of one head's W_VO, read in above and written below: a row for each end of each triplet."""
    block, head = clearest(results)
    scores = np.abs(numbers(results, "stores/score", block=block, head=head))
    texts = array(results, "stores/text").isel(block=block, head=head).values.astype(str)
    rows = [f"{triplet} {sign}" for triplet in range(1, scores.shape[1] + 1) for sign in "+−"]
    height = 170 + 2 * 26 * len(rows)
    figure = panels(2, 1, ("read in", "written"), height=height, gap=60)
    figure.update_layout(margin={"t": BAR + 20})
    top = float(np.nanmax(scores[2:], initial=0.0)) or 1.0
    for row, side in enumerate((2, 3), 1):
        cells = [[token(text, LETTERS) for text in line] for line in texts[side].reshape(len(rows), -1)]
        trace = heatmap(scores[side].reshape(len(rows), -1), "|cosine|", (0.0, top), False, y=rows, text=cells)
        trace.update(texttemplate="%{text}", textfont={"size": 11}, hovertemplate="%{text}: %{z:.3f}<extra></extra>")
        figure.add_trace(trace.update(showscale=row == 1, colorbar=ruler("|cosine|", height, 20)), row, 1)
    figure.update_xaxes(showticklabels=False, showgrid=False, ticks="")
    return axes(figure, "tokens, nearest first", "triplet and end", autorange="reversed", showgrid=False)


def triplet_tokens_finding(results: xr.DataTree) -> str:
    """The clearest head and how clear it is."""
    block, head = clearest(results)
    score = float(np.mean(numbers(results, "stores/peak_z", block=block, head=head, side=SIDE_NAMES.index("output"))))
    if not np.isfinite(score):
        return f"The tokens of the clearest head are {NOT_ESTIMABLE}"
    readable = score > float(numbers(results, "stores/peak_point_z")[SIDE_NAMES.index("output")])
    clear = "reads clearly" if readable else "is no clearer than random directions"
    return f"The clearest head, {head_name(results, block, head)}, {clear}: mean peak z = {number(score)}"


FIGURES = (
    Figure(
        "store-readability",
        "weights",
        ("stores/peak_z", "stores/peak_point_z", "stores/peak", "stores/peak_null"),
        readability_finding,
        readability,
        "Singular vectors of every head read as tokens, by embeddings where heads read and by the unembedding, where "
        "there is one, where they write. Medians over heads and triplets; 0 is what random directions give, as do the "
        "singular vectors of fresh weights. The run says whether norms were folded in.",
        "peak: (top token's cosine − mean over the vocabulary) / its standard deviation; z: against 1000 random "
        "directions. Readable: significantly more than 5 % of triplets exceed the 99 % point; 1 % of random ones do",
        "Traveling Words (2023), whose claim is about early and late blocks; docs/measures.md",
    ),
    Figure(
        "store-coverage",
        "weights",
        ("stores/coverage", "stores/triplets_90"),
        coverage_finding,
        coverage,
        "How much of a head's squared Frobenius norm its first singular triplets hold: means over the heads of some "
        "blocks. The steeper, the fewer directions a head works with. No error: the weights are known.",
        "Σ σ² of the first k triplets over Σ σ² of all",
        "Traveling Words (2023); docs/measures.md",
    ),
    Figure(
        "store-tokens",
        "weights",
        ("stores/score", "stores/text", "stores/peak_z", "stores/peak_point_z"),
        triplet_tokens_finding,
        triplet_tokens,
        "The head whose written directions have the clearest tokens, chosen among all heads. A row is one end of a "
        "singular triplet of W_VO: a state near the tokens above makes the head write towards the tokens below of the "
        "same row. Where singular values are nearly equal, a plane has one row.",
        "x W_VO = Σ σ ⟨x, u⟩ v; tokens by cosine with u and v; the token nearest to v's line is at its positive end",
        "Traveling Words (2023); docs/measures.md",
    ),
)
