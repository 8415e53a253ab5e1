"""The colours of report and explorer: the one place where pages take them from the figures."""

from typing import Any

from plotly.colors import get_colorscale

from armillary.figures.kit.fields import ROOTED
from armillary.figures.kit.style import DARK, LIGHT, NULL, PALETTE, POSITIVE, SIGNED, THEMES, template
from armillary.results.schema.naming import KINDS

MEANINGS = dict(zip(("position", "context", "residual"), PALETTE, strict=False)) | {"null": NULL}
"""What a colour means in figures and pages alike."""

PAGES = {
    "light": {"soft": "#59636e", "line": "#d6dbe1", "panel": "#f5f7f9", "accent": "#0072b2", "link": "#00609a",
              "alarm": "#a33b00"},
    "dark": {"soft": "#a3adb9", "line": "#363d47", "panel": "#1b2027", "accent": "#56b4e9", "link": "#7cc0ee",
             "alarm": "#f0975f"},
}  # fmt: skip


def table() -> dict[str, dict[str, str]]:
    """Every colour of a page by name, for a light and for a dark page."""
    return {theme: MEANINGS | {name: ground[name] for name in ("paper", "ink")} | PAGES[theme] for theme, ground in
            (("light", LIGHT), ("dark", DARK))}  # fmt: skip


def css_variables() -> str:
    """The table as CSS: one variable per colour, which follows the page's colour scheme."""
    light, dark = table().values()
    return ":root{" + "".join(f"--{name}:light-dark({light[name]},{dark[name]});" for name in light) + "}"


def templates() -> dict[str, Any]:
    """What plotly.js needs to draw a figure on a light and on a dark page."""
    return {theme: template(theme).to_plotly_json() for theme in THEMES}


def scales() -> dict[str, list[list[Any]]]:
    """The colour scales of fields as stops from 0 to 1: sequential, its square root for attention, diverging."""
    named = {"sequential": POSITIVE, "rooted": ROOTED, "diverging": SIGNED}
    return {name: [list(stop) for stop in stops(scale)] for name, scale in named.items()}


def stops(scale: Any) -> Any:
    """A colour scale as plotly gives it, by name or by its stops."""
    return get_colorscale(scale) if isinstance(scale, str) else scale


def kinds() -> dict[str, str]:
    """The colour of each kind of head."""
    return dict(zip(KINDS, PALETTE, strict=False))
