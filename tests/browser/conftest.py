"""A real browser for the tests, watched: what it asks for, what it complains about, which dialogs open."""

import base64
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import chromium
import pytest
import uvicorn
from playwright.sync_api import Page, sync_playwright

import armillary as arm
import waiting
from armillary.explorer.app import application
from armillary.explorer.serving import bound

waiting.forbid()

INK = """async (picture) => {
  const image = new Image();
  image.src = "data:image/png;base64," + picture;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let other = 0;
  for (let i = 0; i < data.length; i += 4)
    if (Math.abs(data[i] - data[0]) + Math.abs(data[i + 1] - data[1]) + Math.abs(data[i + 2] - data[2]) > 60) other++;
  return { share: (4 * other) / data.length, corner: Array.from(data.slice(0, 3)) };
}"""
"""Share of a picture's pixels that are clearly unlike its corner, and the colour of the corner."""


ANSWERED = """
const look = () => {
  const first = document.querySelector("dl dd"), all = document.querySelector("dl.answers ~ .note");
  const seen = first && all && first.getBoundingClientRect().bottom <= innerHeight;
  requestAnimationFrame(seen ? () => { window.answered = performance.now(); } : look);
};
requestAnimationFrame(look);
"""
"""Notes when the answers of a report are on screen: the frame after the one that has them, from navigation on."""


@dataclass
class Visit:
    """A page and what was seen of it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Write down requests, complaints and dialogs from now on."""
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda said: self.problems.append(said.text) if complaint(said) else None)
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))


BAD = ("error", "warning", "assert")
HINTS = ("Canvas2D: Multiple readback operations", "GPU stall due to ReadPixels")
"""What Chromium says of plotly's speed in a picture of three dimensions."""


def complaint(said):
    """Whether the console was told of a problem."""
    return said.type in BAD and not any(hint in said.text for hint in HINTS)


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium. Without it tests are skipped, unless everything must run: then they fail."""
    if chromium.path() is None:
        missing = "chromium is not installed: run `make browser`"
        (pytest.fail if os.environ.get("ARMILLARY_MUST_RUN_ALL") == "1" else pytest.skip)(missing)
    with sync_playwright() as driver:
        started = chromium.started(driver)
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Open an address in a window of some width, light or dark, and watch it."""
    opened = []

    def go(address, width=1280, height=800, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=width < 500
        )
        opened.append(context)
        one = Visit(context.new_page())
        one.watch()
        one.page.goto(address)
        return one

    yield go
    for context in opened:
        context.close()


@pytest.fixture
def ink(browser):
    """Measure a picture: its share of pixels unlike the corner, and the corner's colour."""
    context = browser.new_context()
    page = context.new_page()

    def measured(picture: bytes):
        return page.evaluate(INK, base64.b64encode(picture).decode())

    yield measured
    context.close()


@pytest.fixture
def answered_after(browser):
    """Open a report in a window of its own; the milliseconds from navigation until its answers are on screen."""

    def milliseconds(address):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.add_init_script(ANSWERED)
        page.goto(address)
        shown = waiting.until(page, "window.answered ?? null")
        context.close()
        return shown

    return milliseconds


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory):
    """One small run of a real model, with heads."""
    out = tmp_path_factory.mktemp("smollm2") / "run"
    size = {"contexts": 16, "length": 64, "heads": True}
    return arm.survey(arm.load("smollm2"), "python-docs", out=out, progress=False, report=False, **size)


@pytest.fixture(scope="session")
def artefacts():
    """Where pictures of the pages are kept: ARMILLARY_ARTEFACTS, else `artefacts` of the project, which git ignores."""
    folder = Path(os.environ.get("ARMILLARY_ARTEFACTS") or Path(__file__).parents[2] / "artefacts")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def served():
    """The explorer of a run while a `with` lasts; perhaps with another way to its model."""

    @contextmanager
    def serving(run, load=None):
        config = uvicorn.Config(application(run, load), log_level="error", ws="none", timeout_graceful_shutdown=1)
        server, listening = uvicorn.Server(config), bound(None)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        server.should_exit = True
        thread.join(30)
        listening.close()

    return serving


@pytest.fixture(scope="session")
def at():
    """The address of a state of the explorer."""
    return lambda address, **state: f"{address}#{urlencode(state)}"
