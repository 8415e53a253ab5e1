"""Figures as files for papers: SVG, PDF or PNG, drawn by kaleido in a browser that is installed."""

from importlib.util import find_spec
from pathlib import Path

from armillary.errors import RequestError, reason
from armillary.results.store import Run, opened
from armillary.system.files import write_bytes

FORMATS = ("svg", "pdf", "png")
WIDTH = 800
"""Width of a picture in pixels; a PNG has twice as many dots each way."""


def figure(run: Run | str | Path, name: str, out: str | Path | None = None, theme: str = "light") -> Path:
    """Write one figure of a run, with its finding as title, and return the path of the file.

    The ending of `out` chooses the format: .svg, .pdf or .png; without `out` it is NAME.svg in the current folder.
    `theme` is light or dark. `run.plot(name)` gives the same figure to look at. Needs the extra `static` and Chromium
    or Chrome.
    """
    path = Path(out) if out is not None else Path(f"{name}.svg")
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise RequestError(f"expected a file name that ends in .{', .'.join(FORMATS)}, got {path}: change its ending")
    picture = drawn(opened(run), name, kind, theme)
    write_bytes(path, picture)
    return path


def drawn(run: Run, name: str, kind: str, theme: str) -> bytes:
    """The picture; what is missing is named, be it the package or the browser."""
    picture = run.plot(name, theme)
    if find_spec("kaleido") is None:
        raise RequestError("expected kaleido to draw to a file, got no such package: pip install 'armillary[static]'")
    try:
        return bytes(picture.to_image(format=kind, width=WIDTH, scale=2 if kind == "png" else 1))
    except RuntimeError as error:  # kaleido's and plotly's own, for a browser that is missing or does not start
        raise RequestError(
            f"expected Chromium or Chrome to draw to a file, got none that starts ({reason(error)}): "
            "install one, or download the picture from the report"
        ) from error
