"""The logit lens: what every state of one text decodes to."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from armillary.figures.kit.fields import BAR, heatmap, ruler
from armillary.figures.kit.figure import Figure
from armillary.figures.kit.style import panels, token
from armillary.figures.kit.units import drawn
from armillary.figures.kit.words import NOT_ESTIMABLE, number
from armillary.results.reading import array, has, numbers
from armillary.system.texts import in_quotes

COLUMNS, LETTERS = 14, 9
"""How many tokens a grid shows, the last ones, and how much of a text a cell has room for."""


def last_counted(results: xr.DataTree) -> int:
    """The last token that is no special one."""
    if not has(results, "travel/counted"):
        return -1 + array(results, "travel/top_text").sizes["position"]
    return int(np.flatnonzero(array(results, "travel/counted").values.astype(bool))[-1])


def grid(results: xr.DataTree) -> go.Figure:
    """Layers upward, the last tokens of the text across: what each state decodes to, coloured by its probability."""
    texts, probability = array(results, "travel/top_text").values, drawn(results, "travel/top_probability")
    layers, positions = texts.shape[:2]
    shown = np.arange(max(0, positions - COLUMNS), positions)
    cells = [[token(text, LETTERS) for text in row] for row in texts[:, shown, 0]]
    beside = [[choices(texts[layer, at], probability[layer, at]) for at in shown] for layer in range(layers)]
    words = [token(text, LETTERS) for text in array(results, "travel/text").values[shown]]
    height = 120 + 22 * layers
    hover = "layer %{y}, position %{x}<br>%{customdata}<extra></extra>"
    more = {"x": shown, "text": cells, "texttemplate": "%{text}", "customdata": beside, "hovertemplate": hover}
    trace = heatmap(probability[:, shown, 0], "", (0.0, 100.0), signed=False, **more)
    figure = panels(height=height + BAR).add_trace(trace.update(colorbar=ruler("probability, %", height)))
    figure.update_layout(margin={"t": BAR, "b": 70})
    ticks = {"tickmode": "array", "tickvals": shown, "ticktext": words, "title_text": "token"}
    figure.update_xaxes(**ticks, showgrid=False, zeroline=False)
    return figure.update_yaxes(title_text="layer", dtick=max(1, layers // 16), showgrid=False, zeroline=False)


def choices(texts: np.ndarray, probability: np.ndarray) -> str:
    """The likeliest tokens [choice] of one state with their probabilities [choice], a line each."""
    pairs = zip(texts, probability, strict=True)
    return "<br>".join(f"‘{token(text)}’ {number(float(share))} %" for text, share in pairs)


def lens_finding(results: xr.DataTree) -> str:
    """What the last token decodes to in the end, and from which layer on."""
    position = last_counted(results)
    probability = numbers(results, "travel/top_probability")[-1, position, 0]
    if not np.isfinite(probability):
        return f"What states decode to is {NOT_ESTIMABLE}"
    word = in_quotes(str(array(results, "travel/top_text").values[-1, position, 0]), 24)
    settled = int(numbers(results, "travel/settled")[position])
    late = settled == len(array(results, "travel/top_text")) - 1
    since = "in the last layer alone (" if late else f"from layer {settled} on (finally "
    return f"The last token decodes to {word} {since}{number(100 * probability)} %)"


FIGURES = (
    Figure(
        "travel-lens",
        "sphere",
        ("travel/top_text", "travel/top_probability", "travel/settled", "travel/text"),
        lens_finding,
        grid,
        "What every state decodes to when the model's own final norm and head read it as if it were the last: the "
        f"likeliest token, coloured by its probability. Point at a cell for the next ones. The last {COLUMNS} tokens "
        "of the text. A decoder's state stands for the token after it, a masked-language model's for its own token.",
        "softmax of the head's logits of the state of layer l at a position",
        "nostalgebraist (2020), the logit lens",
    ),
)
