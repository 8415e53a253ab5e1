"""Open every page of the built site in Chromium: `python docs/making/visit.py build/docs/html [pictures]`.

Fails where a page asks for anything outside its folder, complains, is wider than a phone, leaves a figure undrawn, or
links to a page or place that is not there. With a second folder, pictures of every page are put into it.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import chromium
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
OWN = ("genindex.html", "search.html", "py-modindex.html", "report.html", "comparison.html")
"""Pages without links of ours, and those of the product, which its own tests visit."""


def main(folder: str, pictures: str | None = None) -> None:
    """Every page; ends with exit code 1 and one line per complaint."""
    site = Path(folder).resolve()
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts and page.name not in OWN)
    anchors = {page: places(page) for page in site.rglob("*.html")}
    problems = [f"{page.relative_to(site)}: {text}" for page in pages for text in broken(page, site, anchors)]
    with sync_playwright() as driver:
        browser = chromium.started(driver)
        for page in pages:
            problems += [f"{page.relative_to(site)}: {text}" for text in visited(browser, page, site, pictures)]
        browser.close()
    print("\n".join(problems) or f"{len(pages)} pages: no outside request, no complaint, every link leads somewhere")
    sys.exit(bool(problems))


def broken(page: Path, site: Path, anchors: dict[Path, set[str]]) -> list[str]:
    """Links inside the site whose file or place is missing."""
    wrong = []
    for link in re.findall(r'\bhref="([^"]+)"', page.read_text(encoding="utf-8")):
        address = urlsplit(link.replace("&amp;", "&"))
        if address.scheme or address.netloc:
            continue
        target = (page.parent / unquote(address.path)).resolve() if address.path else page
        if not target.is_file() or site not in target.parents:
            wrong.append(f"{link} leads nowhere")
        elif address.fragment and target in anchors and target.name not in OWN:
            place = unquote(address.fragment)
            wrong += [] if place in anchors[target] else [f"{link} has no such place"]
    return wrong


def places(page: Path) -> set[str]:
    """The places of a page that a link may name."""
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def visited(browser: Browser, page: Path, site: Path, pictures: str | None) -> list[str]:
    """What a reader meets: wide and light, then narrow and dark."""
    problems: list[str] = []
    for scheme, size in (("light", WIDE), ("dark", NARROW)):
        tab = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        watch(tab, site.as_uri(), problems)
        tab.goto(page.as_uri())
        problems += looked_at(tab)
        if pictures:
            name = str(page.relative_to(site)).replace("/", "-").removesuffix(".html")
            tab.screenshot(path=Path(pictures) / f"{name}-{scheme}-{size['width']}.png")
        tab.close()
    return problems


def watch(tab: Page, own: str, problems: list[str]) -> None:
    """Write down every request to elsewhere, every request that failed and every complaint."""

    def asked(request: Request) -> None:
        if not request.url.startswith((own, "data:", "blob:")):
            problems.append(f"asks for {request.url}")

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(message.text)

    tab.on("request", asked)
    tab.on("requestfailed", lambda request: problems.append(f"{request.url} failed"))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", said)


def looked_at(tab: Page) -> list[str]:
    """Draws the first figure, where there is one, and compares the page's width with the window's."""
    problems = []
    if tab.locator(".armillary-plot").count():
        tab.locator(".armillary-plot").first.scroll_into_view_if_needed()
        tab.wait_for_selector(".armillary-plot[data-drawn]", timeout=60000)
        tab.evaluate("scrollTo(0, 0)")
    width, room = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    if width > room:
        problems.append(f"{width} pixels wide in a window of {room}")
    return problems


if __name__ == "__main__":
    main(*sys.argv[1:])
