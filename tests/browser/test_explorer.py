"""The explorer in a real browser: browse and ask, links, reloads, two tabs, a failing model, text that stays text."""

import threading
from dataclasses import replace

import pytest

import made_up
import tiny_run
import waiting
from armillary.errors import SourceError
from armillary.figures import FIGURES
from armillary.figures.kit.colours import ON_DARK, POSITION
from armillary.reporting.glossary import TERMS
from armillary.results.store import Run

PROMPT = "The quick brown fox jumps over the lazy dog. Unbelievable!"
LONG = 120_000


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_run.surveyed(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def page(tiny, served):
    with served(tiny) as address:
        yield address


@pytest.fixture(scope="module")
def wordy(served):
    """The page of a made-up run with long names of documents."""
    results = made_up.named_documents(made_up.run_of(contexts=16), "train: A document's long title {}".format)
    with served(Run(results)) as address:
        yield address


@pytest.fixture(scope="module")
def real(smollm2, served):
    """The page of a real model."""
    with served(smollm2) as address:
        yield address


def answered(page):
    page.wait_for_selector(".text.before", timeout=LONG)
    page.wait_for_selector(".busy", state="detached", timeout=LONG)


def clean(one, address):
    assert one.problems == []
    assert one.dialogs == []
    assert all(url.startswith((address, "data:", "blob:")) for url in one.requests)


@pytest.mark.real
def test_browse_and_ask_on_a_real_model(real, visit, ink, at):
    one = visit(at(real, view="layers", layer=12))
    tab = one.page
    tab.wait_for_selector(".cards[data-layer='12']", timeout=LONG)
    for plot in tab.query_selector_all(".plot"):
        assert ink(plot.screenshot())["share"] > 0.01
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector(".cards[data-layer='13']", timeout=LONG)
    assert "layer=13" in tab.url
    tab.click("#views >> text=Heads")
    tab.wait_for_selector("[role=gridcell]")
    assert tab.locator("[role=gridcell]").count() == 270
    tab.select_option("#measure", "heads/mass_first")
    tab.wait_for_selector(".scale")  # until then the map of kinds is still there, and its focus goes with it
    tab.focus("[data-at='0,0']")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#head h2:has-text('L1H1')", timeout=LONG)
    tab.click("#views >> text=Ask")
    tab.fill("#prompt", PROMPT)
    tab.keyboard.press("Control+Enter")
    answered(tab)
    assert tab.locator("#answers .tokens.lit button").count() == 14
    assert tab.locator(".strip canvas").count() == 9
    assert tab.locator(".mosaic.many figure").count() == 6
    assert tab.locator(".bars li").count() == 10
    assert tab.locator(".lens tbody tr").count() == 31
    tab.reload()
    answered(tab)
    assert tab.input_value("#prompt") == PROMPT
    assert "block=1" in tab.url
    clean(one, real)


@pytest.mark.real
def test_a_prompt_of_ten_thousand_tokens_is_refused_in_words(real, visit, at):
    tab = visit(at(real, view="ask")).page
    tab.fill("#prompt", "word " * 10_000)
    tab.click("#send")
    tab.wait_for_selector("#said .error", timeout=LONG)
    said = tab.inner_text("#said")
    assert "at most 64 tokens (the run's windows have 64, smollm2 itself takes 8192)" in said
    tab.reload()
    tab.wait_for_selector("#send")


@pytest.mark.real
def test_two_tabs_ask_at_once(real, visit, at):
    tabs = [visit(at(real, view="ask", prompt=text, alpha=2)).page for text in (PROMPT, "Paris is a city in")]
    for tab in tabs:
        answered(tab)
    assert tabs[0].inner_text("#answers .tokens") != tabs[1].inner_text("#answers .tokens")
    assert tabs[0].locator(".text.after").count() == 1


@pytest.mark.real
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_its_window_and_is_kept_as_a_picture(real, visit, artefacts, ink, width, scheme, at):
    asked = {"view": "ask", "block": 3, "head": 2, "prompt": PROMPT, "alpha": 2, "without": "L3H1", "other": "L4H0"}
    views = {
        "layers": ({"view": "layers", "layer": 12}, ".cards[data-layer='12']"),
        "figures": ({"view": "figures", "section": "position"}, "figure, .plot .main-svg"),
        "heads": ({}, "[role=gridcell]"),
        "head": ({"view": "heads", "block": 3, "head": 2}, "#head[data-drawn]"),
        "ask": (asked, ".text.after"),
    }
    for name, (state, sign) in views.items():
        tab = visit(at(real, **state), width=width, scheme=scheme).page
        tab.wait_for_selector(sign, timeout=LONG)
        tab.wait_for_selector(".busy", state="detached", timeout=LONG)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        picture = tab.screenshot(path=artefacts / f"explorer-{name}-{width}-{scheme}.png", full_page=True)
        corner = ink(picture)["corner"]
        assert (sum(corner) > 600) == (scheme == "light")


def test_pictures_have_the_brighter_shades_of_the_report_on_a_dark_page(page, visit, at):
    tab = visit(at(page, view="layers"), scheme="dark").page
    lines = "[...document.querySelectorAll('.plot')].flatMap((one) => one.data ?? [])"
    basis = f"{lines}.find((line) => line.name === 'positional basis')?.line.color"
    waiting.until(tab, f"{basis} === '{ON_DARK[POSITION]}'")
    tab.emulate_media(color_scheme="light")
    waiting.until(tab, f"{basis} === '{POSITION}'")


def test_long_names_leave_room_for_the_picture_on_a_phone(wordy, visit, at):
    tab = visit(at(wordy, view="figures", section="context"), width=390).page
    tab.set_viewport_size({"width": 390, "height": 6000})  # figures are drawn when they are near
    names = "[...document.querySelectorAll('.plot')].flatMap((one) => one.layout?.yaxis?.ticktext ?? [])"
    waiting.until(tab, f"{names}.some((name) => name.startsWith('train: A'))", LONG / 1000)
    assert max(map(len, tab.evaluate(names))) <= 20
    tab.set_viewport_size({"width": 1280, "height": 6000})
    waiting.until(tab, f"{names}.some((name) => name.length > 20)")


def test_an_empty_prompt_is_told_and_nothing_is_asked(page, visit, at):
    one = visit(at(page, view="ask"))
    one.page.click("#send")
    one.page.wait_for_selector("#said .error")
    assert "The prompt is empty" in one.page.inner_text("#said")
    assert not any("/api/ask/" in url for url in one.requests)


def test_what_is_said_of_an_empty_prompt_stays_when_the_model_answers_late(page, visit, at):
    one = visit(at(page, view="heads"))
    late = []
    one.page.route("**/api/model*", lambda route: route.continue_() if late else late.append(route))
    one.page.goto(at(page, view="ask"))
    one.page.click("#send")
    one.page.wait_for_selector("#said .error")
    late[0].continue_()
    one.page.wait_for_timeout(1000)
    assert "The prompt is empty" in one.page.inner_text("#said")


def test_hostile_names_and_tokens_stay_text(page, visit, at):
    prompt = " ".join(tiny_run.HOSTILE)
    one = visit(at(page, view="ask", prompt=prompt, level="words", alpha=2))
    answered(one.page)
    tokens = one.page.locator("#answers .tokens.lit button").all_text_contents()
    assert tokens == tiny_run.HOSTILE
    one.page.click("#travel summary")
    one.page.wait_for_selector("#travel .plot canvas", timeout=LONG)
    assert tiny_run.NAME in one.page.inner_text("h1")
    assert one.page.locator("main img, main b[onclick], h1 img").count() == 0
    one.page.goto(at(page, view="figures", section="context"))
    one.page.wait_for_selector(".plot .main-svg")
    one.page.goto(at(page, view="heads", block=0, head=1))
    one.page.click("text=Examples from the run's windows")
    one.page.wait_for_selector("text=Highest attention", timeout=LONG)
    clean(one, page)


def test_a_model_that_fails_is_told_browsing_goes_on_and_retry_loads_it(tiny, visit, served, at):
    from armillary.explorer.app import model_of

    tries = []

    def load(tell):
        tries.append(1)
        if len(tries) == 1:
            raise SourceError("expected the model, got <b>nothing</b>: fetch it again")
        return model_of(tiny)(tell)

    with served(tiny, load) as address:
        tab = visit(at(address, view="ask", prompt="word1 word2 word3")).page
        tab.wait_for_selector("#model.error")
        assert "got <b>nothing</b>: fetch it again Browsing works without it." in tab.inner_text("#model")
        tab.click("#views >> text=Layers")
        tab.wait_for_selector(".cards[data-layer='0']", timeout=LONG)
        tab.click("#views >> text=Ask")
        tab.click("text=Retry")
        answered(tab)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    return tiny_run.named(tmp_path_factory.mktemp("named"))


PARTS = {
    "states.nc": {
        "layers": ".cards[data-layer='0']",
        "heads": "text=Not in this run. armillary survey --heads makes a run with it.",
        "figures": "text=armillary heads RUN adds it.",
        "ask": "text=Shares of position, context and residual by layer",
        "": ".cards[data-layer='0']",
    },
    "heads.nc": {
        "layers": "text=Not in this run. armillary survey makes a run with it.",
        "heads": "[role=gridcell]",
        "figures": "text=armillary heads RUN adds it.",
        "ask": "text=Shares by layer: Not in this run. armillary survey makes a run with it.",
        "": "[role=gridcell]",
    },
    "names.nc": {
        "layers": "text=Not in this run. armillary survey makes a run with it.",
        "heads": "[role=gridcell]",
        "figures": "text=armillary survey --heads makes a run with it.",
        "ask": "text=expected a run with /attention, got one without",
        "": "[role=gridcell]",
    },
}
"""What every view shows of a run that holds one file alone, and what it opens with."""


@pytest.mark.parametrize("file", PARTS)
def test_every_view_shows_a_part_of_a_run_and_says_what_adds_the_rest(named, tmp_path, visit, file, served, at):
    with served(tiny_run.holding(named, tmp_path / "run", file)) as address:
        for view, sign in PARTS[file].items():
            one = visit(at(address, view=view, prompt="word1 word2 word3"))
            one.page.wait_for_selector(sign, timeout=LONG)
            if view == "ask":
                answered(one.page)
            one.page.wait_for_selector(".busy", state="detached", timeout=LONG)
            assert [said for said in one.problems if "Failed to load resource" not in said] == []


def test_a_figure_that_fails_is_named_in_its_place_and_the_page_goes_on(
    named, tmp_path, visit, monkeypatch, served, at
):
    def lost(_):
        raise KeyError("lost")

    monkeypatch.setitem(FIGURES, "head-grid", replace(FIGURES["head-grid"], finding=lost))
    with served(tiny_run.holding(named, tmp_path / "run", "heads.nc")) as address:
        tab = visit(at(address, view="figures", section="heads")).page
        tab.wait_for_selector(".card .error:has-text('This figure failed: head-grid (KeyError')", timeout=LONG)
        tab.wait_for_selector(".busy", state="detached", timeout=LONG)
        assert tab.locator(".card .main-svg").count() > 1


def test_commands_in_sentences_are_code_and_no_backtick_is_left(named, tmp_path, visit, served, at):
    with served(tiny_run.holding(named, tmp_path / "run", "states.nc")) as address:
        for view in ("heads", "figures"):
            tab = visit(at(address, view=view)).page
            tab.wait_for_selector("code:has-text('armillary')", timeout=LONG)
            tab.wait_for_selector(".busy", state="detached", timeout=LONG)
            assert "`" not in tab.inner_text("main")


def test_the_glossary_opens_at_the_end_of_every_view(page, visit):
    tab = visit(page).page
    tab.click("#glossary summary")
    tab.wait_for_selector("#glossary dt:text-is('circular-shift null')")
    assert tab.locator("#glossary dt").all_text_contents() == list(TERMS)


class Slow:
    """A model whose first look never ends by itself."""

    def look(self, asked, job):
        while True:
            job.check()
            threading.Event().wait(0.01)


def test_a_running_question_can_be_cancelled(tiny, visit, served, at):
    with served(tiny, lambda tell: Slow()) as address:
        tab = visit(at(address, view="ask", prompt="word1")).page
        tab.wait_for_selector("#said .busy")
        tab.click("text=Cancel")
        tab.wait_for_selector("text=Cancelled.")
        waiting.until(tab, "fetch('api/model').then(r => r.json()).then(s => s.running === 0 && s.waiting === 0)")
        tab.click("#send")
        tab.wait_for_selector("#said .busy")
