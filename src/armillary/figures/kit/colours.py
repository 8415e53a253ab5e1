"""What a colour means: one table for figures, report and explorer.

Hues of Okabe & Ito, which the colour-blind distinguish, their yellow darkened and a violet added, all of them readable
on white and on black. Nulls are grey and broken lines besides.
"""

from plotly.colors import get_colorscale, sample_colorscale

from armillary.results.schema.naming import KINDS

POSITION, CONTEXT, RESIDUAL = "#0072B2", "#D55E00", "#009E73"
"""The three components of the decomposition, in every figure."""

ESTIMATE, PUBLISHED = "#7566C4", "#CC79A7"
"""The main estimate, bias-corrected where there is a choice; and what a document's own formula gives: plug-in."""

NULL, THRESHOLD = "#888888", "#E69F00"
"""Nulls and references; the value from which something gets a name."""

NULL_ON_BARS = "#5A5A5A"
"""The grey of nulls is lost on coloured bars."""

RUN_1, RUN_2 = "#8C6D00", "#8F7EE0"
"""The first and the second run of a comparison; before and after."""

MEANINGS = {
    "position": POSITION,
    "context": CONTEXT,
    "residual": RESIDUAL,
    "estimate": ESTIMATE,
    "published": PUBLISHED,
    "null": NULL,
    "threshold": THRESHOLD,
    "run-1": RUN_1,
    "run-2": RUN_2,
}
"""Every meaning by the name that pages use."""

SERIES = ("#56B4E9", "#E69F00", "#009E73", "#7566C4", "#CC79A7", "#8C6D00", "#0072B2")
"""Colours of what has no meaning of its own, such as tokens or single heads, in this order."""

HEADS = dict(zip(KINDS, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"), strict=True))
"""Every kind of head by the word that is stored; a head without a kind has the colour of nulls."""

REGIMES = {
    **{"late": "#0072B2", "middle": "#D55E00", "early": "#009E73", "uniform": "#E69F00"},
    "vanishing": NULL,
}
"""Where on the window a head is predicted to let keys pass."""

SEQUENTIAL, DIVERGING = "Cividis", "RdBu_r"
"""Scales of fields that begin at zero, and of fields that have a zero in the middle, by plotly's names."""

ALONG_POSITION = [[0, "#B9DDF2"], [0.5, "#3A9BD1"], [1, "#00507E"]]
"""The colour of position, darker from the first position to the last."""

ALONG_DEPTH = [[0, "#C9C2F2"], [0.5, "#8E80DC"], [1, "#43349C"]]
"""The colour of estimates, darker from the first block to the last."""

ROOTED = [[(share / 20) ** 2, sample_colorscale(SEQUENTIAL, share / 20)[0]] for share in range(21)]
"""The sequential scale by square root: attention of a few per cent is seen. Values stay as they are."""

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2024",
    "grid": "#e3e6ea",
    "soft": "#59636e",
    "line": "#d6dbe1",
    "panel": "#f5f7f9",
    "link": "#00609a",
    "accent": "#0072b2",
    "on-accent": "#ffffff",
    "alarm": "#a33b00",
    "yes": "#00704f",
    "no": "#b04a00",
    "unclear": "#5b5f8a",
}
DARK = {
    "paper": "#14171c",
    "ink": "#e6e9ee",
    "grid": "#2f353d",
    "soft": "#a3adb9",
    "line": "#363d47",
    "panel": "#1c2128",
    "link": "#7cc0ee",
    "accent": "#56b4e9",
    "on-accent": "#0d1014",
    "alarm": "#f0975f",
    "yes": "#3ccf9f",
    "no": "#f29a5c",
    "unclear": "#b4b8e8",
}
THEMES = {"light": LIGHT, "dark": DARK}
"""Paper, text and lines of a light and of a dark page."""


def pale(colour: str) -> str:
    """A colour for bars, on which darker lines are seen on a light and on a dark page."""
    return "#" + "".join(f"{round(0.65 * channel + 0.35 * 255):02X}" for channel in channels(colour))


def dim(colour: str) -> str:
    """The same for a dark page, on which lighter lines are seen."""
    return "#" + "".join(f"{round(0.6 * channel):02X}" for channel in channels(colour))


def transparent(colour: str, opacity: float = 0.22) -> str:
    """A colour for bands, through which the page is seen."""
    return f"rgba({','.join(map(str, channels(colour)))},{opacity})"


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a hexadecimal colour, 0 to 255."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


ON_DARK = {
    POSITION: "#3B97DE",
    "#56B4E9": "#C4E8FF",
    CONTEXT: "#F08A45",
    RESIDUAL: "#2FC79B",
    ESTIMATE: "#A79AF0",
    PUBLISHED: "#E39BC4",
    NULL: "#A6A6A6",
    NULL_ON_BARS: "#E8E8E8",
    RUN_1: "#F2E88A",  # pale, for between it and the threshold's orange there is no shade of its hue
    "#00507E": "#1F77AC",
    "#43349C": "#6553CC",
    **{pale(colour): dim(colour) for colour in (POSITION, CONTEXT, RESIDUAL)},
}
"""Brighter shades of the same hues for a dark page, on which the others are lost; bars get darker, nulls lighter."""


def series(count: int) -> tuple[str, ...]:
    """Colours for as many curves without a meaning of their own, seven at most."""
    return SERIES[:count]


def css_variables() -> str:
    """The table as variables of a style sheet: --position, --head-induction, --paper, the last light or dark."""
    fixed = MEANINGS | {f"head-{kind}": colour for kind, colour in HEADS.items()}
    themed = {name: f"light-dark({LIGHT[name]},{DARK[name]})" for name in LIGHT}
    return ":root{color-scheme:light dark;" + "".join(f"--{n}:{value};" for n, value in (fixed | themed).items()) + "}"


def table() -> dict[str, object]:
    """The table as plain data for a script: meanings, heads, series, scales, light and dark."""
    scales = {"sequential": SEQUENTIAL, "diverging": DIVERGING}
    return {
        "meanings": dict(MEANINGS),
        "heads": dict(HEADS),
        "series": list(SERIES),
        "scales": {name: shades(scale) for name, scale in scales.items()},
        "light": dict(LIGHT),
        "dark": dict(DARK),
        "darker": dict(ON_DARK),
    }


def shades(scale: str) -> list[str]:
    """The colours of one of plotly's scales, evenly spaced, as hexadecimal numbers."""
    found = sample_colorscale(get_colorscale(scale), 11, colortype="tuple")
    return ["#" + "".join(f"{round(255 * channel):02x}" for channel in colour) for colour in found]
