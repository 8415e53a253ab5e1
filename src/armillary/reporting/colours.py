"""The colours of report and explorer: the one place where pages take them from the figures."""

from typing import Any

from plotly.colors import get_colorscale, sample_colorscale

from armillary.figures.kit.style import DARK, LIGHT, NULL, PALETTE, POSITIVE, SIGNED
from armillary.results.schema.naming import KINDS

POSITION, CONTEXT, RESIDUAL = PALETTE[:3]
ESTIMATE, RUN_1, RUN_2 = PALETTE[0], PALETTE[0], PALETTE[1]
MEANINGS = {"position": POSITION, "context": CONTEXT, "residual": RESIDUAL, "null": NULL,
            "run-1": RUN_1, "run-2": RUN_2}  # fmt: skip
HEADS = dict(zip(KINDS, PALETTE, strict=False))
PAGES = {
    "light": LIGHT | {"soft": "#59636e", "line": "#d6dbe1", "panel": "#f5f7f9", "link": "#00609a", "accent": "#0072b2",
                      "on-accent": "#ffffff", "alarm": "#a33b00"},
    "dark": DARK | {"soft": "#a3adb9", "line": "#363d47", "panel": "#1c2128", "link": "#7cc0ee", "accent": "#56b4e9",
                    "on-accent": "#0d1014", "alarm": "#f0975f"},
}  # fmt: skip


def css_variables() -> str:
    """The table as CSS: one variable per colour, which follows the page's colour scheme."""
    fixed = MEANINGS | {f"head-{kind}": colour for kind, colour in HEADS.items()}
    light, dark = PAGES.values()
    themed = {name: f"light-dark({light[name]},{dark[name]})" for name in light}
    return ":root{color-scheme:light dark;" + "".join(f"--{n}:{value};" for n, value in (fixed | themed).items()) + "}"


def table() -> dict[str, Any]:
    """The table as plain data for a script."""
    scales = {"sequential": POSITIVE, "diverging": SIGNED}
    shades = {name: sample_colorscale(get_colorscale(scale), 11) for name, scale in scales.items()}
    return {"meanings": MEANINGS, "heads": HEADS, "scales": shades, **PAGES}
