"""Chromium for whoever looks at pages: the tests, the visit of the site, the pictures of the README."""

import shutil

from playwright.sync_api import Browser, Playwright

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def path() -> str | None:
    """Where it is installed; None where it is not."""
    return shutil.which("chromium")


def started(driver: Playwright) -> Browser:
    """A browser that asks for nothing by itself."""
    return driver.chromium.launch(executable_path=path(), args=ARGUMENTS)
