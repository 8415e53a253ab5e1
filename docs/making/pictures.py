"""Draw the pictures of README and site from a run: `python docs/making/pictures.py RUN`, or `make pictures`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
from playwright.sync_api import sync_playwright

import armillary as arm

PICTURES = Path(__file__).parents[1] / "pictures"
MAP = "head-names"
SIZE = {"width": 1280, "height": 820}


def main(folder: str) -> None:
    """The map of heads and the first screen of the report, in light and dark."""
    run = arm.open(folder)
    for theme in ("light", "dark"):
        arm.figure(run, MAP, PICTURES / f"{MAP}-{theme}.svg", theme)
    with TemporaryDirectory() as place, sync_playwright() as driver:
        page = arm.report(run, Path(place) / "report.html")
        browser = chromium.started(driver)
        for scheme in ("light", "dark"):
            shown = browser.new_page(viewport=SIZE, color_scheme=scheme)
            shown.goto(page.resolve().as_uri())
            shown.wait_for_selector("#top dl")
            shown.screenshot(path=PICTURES / f"report-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
