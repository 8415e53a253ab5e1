"""Figures of the documentation site in a real browser: their slider, their title, their names on a phone."""

import sys
from pathlib import Path

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

import made_up
import waiting
from armillary.figures import FIGURES
from armillary.figures.kit.colours import ON_DARK
from armillary.reporting.page import asset
from armillary.results.store import Run

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from making import drawing  # noqa: E402

NAMES = ("head-examples", "context-gram", "position-share", "variance-shares")
PLOT = "document.querySelector('#made-up-{} .armillary-plot')"
COVERED = """(kind) => {
  const texts = [...document.querySelectorAll(kind)];
  const boxes = texts.map((one) => one.getBoundingClientRect()).filter((box) => box.width);
  return boxes.some((one, i) => boxes.slice(0, i).some((two) => one.left < two.right && two.left < one.right
    && one.top < two.bottom - 3 && two.top < one.bottom - 3));
}"""
"""Whether two texts of a kind lie on each other."""


@pytest.fixture(scope="module")
def run():
    """A made-up run with long names of tokens and documents."""
    results = made_up.run_of(contexts=64)
    count = results["head_examples"].sizes["query"]
    texts = np.array([f" repertoire{place}" for place in range(count)])
    documents = results["corpus"].sizes["document"]
    names = np.array([f"train: A document's <title> {place}" for place in range(documents)])
    return Run(made_up.changed(results, head_examples__text=texts, corpus__document_name=names))


@pytest.fixture(scope="module")
def address(run, tmp_path_factory):
    """A page with some figures, as the site has them."""
    patch = pytest.MonkeyPatch()
    patch.setattr(drawing, "opened", lambda _: run)
    figures = "".join(drawing.shown("runs/made-up", name).astext() for name in NAMES)
    patch.undo()
    scripts = [
        get_plotlyjs(),
        drawing.themes(),
        asset("fitted.js"),
        (DOCS / "static/figures.js").read_text(encoding="utf-8"),
    ]
    style = (DOCS / "static/site.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{style}</style>'
    page = tmp_path_factory.mktemp("site") / "page.html"
    loaded = "".join(f"<script>{script}</script>" for script in scripts)
    page.write_text(f"<!doctype html><html><head>{head}</head><body>{figures}{loaded}</body></html>", encoding="utf-8")
    return page.as_uri()


def show(page, name):
    page.locator(f"#made-up-{name}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#made-up-{name} .armillary-plot[data-drawn]", timeout=60_000)
    return page.locator(f"#made-up-{name}")


@pytest.mark.parametrize("name", ["head-examples", "context-gram"])
def test_the_title_follows_the_slider_which_says_what_it_shows(run, address, visit, name):
    seen = visit(address)
    figure, layout = show(seen.page, name), FIGURES[name].draw(run.results).layout
    slider = figure.locator('input[type="range"]')
    slider.focus()
    seen.page.keyboard.press("Home")
    for step, title in zip(layout.sliders[0].steps, layout.meta["titles"], strict=True):
        said = figure.locator(".finding").inner_text().replace("\u00a0", " ")
        assert said == title
        assert figure.locator("output").inner_text() == f"{layout.sliders[0].currentvalue.prefix}{step.label}"
        seen.page.keyboard.press("ArrowRight")
    assert seen.problems == []


@pytest.mark.parametrize("width", [390, 1280])
def test_names_and_captions_fit_a_phone(address, visit, width):
    page = visit(address, width, 844).page
    for name in ("head-examples", "context-gram"):
        show(page, name)
    page.set_viewport_size({"width": 390, "height": 844})  # it was a phone, or the window is made as narrow now
    for name in ("head-examples", "context-gram"):
        waiting.until(page, f"{PLOT.format(name)}.querySelector('.main-svg').getBoundingClientRect().width <= 390")
        for kind in (".xtick text", ".ytick text", ".annotation-text-g"):
            waiting.until(page, f"!({COVERED})('#made-up-{name} {kind}')")
    right = page.evaluate(
        "[...document.querySelectorAll('output, .armillary-slider')].map((one) => one.getBoundingClientRect().right)"
    )
    assert max(right) <= 390
    assert page.locator("#made-up-context-gram .nsewdrag").bounding_box()["width"] > 170


def test_a_dark_site_has_the_shades_of_a_dark_page_and_the_slider_keeps_its_step(address, visit):
    page = visit(address).page
    show(page, "context-gram").locator('input[type="range"]').focus()
    page.keyboard.press("Home")
    show(page, "position-share")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    for name in ("context-gram", "position-share"):
        page.wait_for_selector(f'#made-up-{name} .armillary-plot[data-drawn="dark"]')
    assert page.evaluate(f"{PLOT.format('context-gram')}.data.map((trace) => trace.visible)")[:2] == [True, False]
    shades = page.evaluate(f"{PLOT.format('position-share')}.data.map((trace) => trace.line.color)")
    assert set(ON_DARK.values()) & set(shades)
    assert not set(ON_DARK) & set(shades)
