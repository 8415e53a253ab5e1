"""Waiting for something in a page whose policy forbids to evaluate text inside it."""

import time

from playwright.sync_api import Page


def until(page: Page, expression: str, seconds: float = 30.0):
    """The first value of an expression in the page that counts as true. It is evaluated from outside, again and again.

    Playwright's own `wait_for_function` evaluates inside the page. There the policy of our pages stops it, though
    only from the second look on: a test that uses it passes whenever the page is quick.
    """
    end = time.monotonic() + seconds
    while True:
        value = page.evaluate(expression)
        if value:
            return value
        assert time.monotonic() < end, f"not so after {seconds:g} s: {expression}"
        page.wait_for_timeout(20)


def refused(*_, **__):
    """In place of Playwright's own: fails also where it would have passed by chance."""
    raise AssertionError("the policy of our pages forbids wait_for_function: use waiting.until")


def forbid() -> None:
    """Let `wait_for_function` fail always."""
    Page.wait_for_function = refused
