"""The map of heads in a real browser: kinds and filters, Back, links that are wrong, a narrow page."""

import numpy as np
import pytest
import xarray as xr

import made_up
import tiny_run
import waiting
from armillary.results.store import Run

LONG = 60_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_run.named(tmp_path_factory.mktemp("named"))


@pytest.fixture(scope="module")
def page(run, served):
    with served(run) as address:
        yield address


@pytest.fixture(scope="module")
def kinds(served):
    """The page of made-up results, whose heads have kinds."""
    with served(Run(made_up.run_of(layers=4))) as address:
        yield address


def opened(tab):
    tab.wait_for_selector("[role=gridcell]", timeout=LONG)
    return tab


def test_the_page_opens_on_the_map_of_heads_coloured_by_kind(kinds, visit):
    one = visit(kinds)
    tab = opened(one.page)
    assert tab.input_value("#measure") == "taxonomy/kind"
    held = made_up.run_of(layers=4)["taxonomy"].kind.values.astype(str)
    cells = tab.locator("[role=gridcell]")
    assert cells.count() == held.size
    for place, kind in enumerate(held.ravel()):
        style = cells.nth(place).get_attribute("style") or ""
        assert (f"var(--head-{kind})" in style) == bool(kind)
    assert one.problems == []


def test_heads_are_filtered_by_kind_and_by_score(kinds, visit):
    tab = opened(visit(kinds).page)
    held = made_up.run_of(layers=4)["taxonomy"].kind.values.astype(str)
    kind = next(name for name in held.ravel() if name)
    tab.click(f".kinds [data-kind='{kind}']")
    assert tab.locator("[role=gridcell]:not(.out)").count() == int((held == kind).sum())
    assert f"kinds={kind}" in tab.url
    tab.reload()
    opened(tab)
    assert tab.locator("[role=gridcell]:not(.out)").count() == int((held == kind).sum())
    tab.click(f".kinds [data-kind='{kind}']")
    assert tab.locator("[role=gridcell].out").count() == 0
    tab.select_option("#measure", "taxonomy/induction")
    tab.wait_for_selector(".scale")
    slider = tab.locator(".controls input[type=range]")
    slider.focus()
    tab.keyboard.press("End")
    tab.wait_for_selector("[role=gridcell].out")
    values = made_up.run_of(layers=4)["taxonomy"].induction.values
    assert tab.locator("[role=gridcell]:not(.out)").count() == int((values == values.max()).sum())


def of_kinds(**attributes):
    """Made-up results in which every induction head is an attention sink too."""
    results = made_up.run_of(layers=4)
    group = results["taxonomy"].to_dataset()
    labels = np.char.replace(group.kind.values.astype(str), "induction", "induction, sink")
    results["taxonomy"] = xr.DataTree(group.assign(labels=(("block", "head"), labels)))
    results.attrs.update(attributes)
    return Run(results)


def test_a_filter_keeps_every_head_that_is_of_the_kind_as_many_as_its_button_says(served, visit):
    run = of_kinds()
    labels = run.results["taxonomy"].labels.values
    of_sink = {f"{b},{h}" for b, h in np.argwhere(np.char.find(labels, "sink") >= 0)}
    with served(run) as address:
        tab = opened(visit(address).page)
        assert "coloured by its first kind" in tab.inner_text("main")
        for kind, places in (("sink", of_sink), ("none", {f"{b},{h}" for b, h in np.argwhere(labels == "")})):
            tab.click(f".kinds [data-kind='{kind}']")
            shown = "cells => cells.map(cell => cell.dataset.at)"
            left = tab.locator("[role=gridcell]:not(.out)").evaluate_all(shown)
            assert set(left) == places
            assert tab.inner_text(f".kinds [data-kind='{kind}']").endswith(f" {len(places)}")
            assert tab.locator(".listed a").count() == len(places)
            tab.click(f".kinds [data-kind='{kind}']")
        for place in of_sink:
            block, head = place.split(",")
            assert "attention sink" in tab.request.get(f"{address}api/heads/{block}/{head}").json()["kind"]
            assert "attention sink" in tab.get_attribute(f"[data-at='{place}']", "title")


def test_a_run_of_random_weights_says_so_in_header_and_title(served, visit, kinds):
    with served(of_kinds(model="twin", random_weights="seed 0")) as address:
        tab = opened(visit(address).page)
        assert tab.inner_text("#about").startswith("random weights, seed 0")
        assert tab.title() == "Armillary: heads of twin (random weights, seed 0)"
    tab = opened(visit(kinds).page)
    assert "random" not in tab.inner_text("header") + tab.title()


@pytest.mark.parametrize("measure", ["taxonomy/kind", "heads/mass_first"])
def test_a_filter_that_no_head_passes_says_so(kinds, visit, measure):
    tab = opened(visit(f"{kinds}#measure={measure}&kinds=none&least=0.2").page)
    values = made_up.run_of(layers=4)["heads"].mass_first.values
    held = made_up.run_of(layers=4)["taxonomy"].kind.values.astype(str)
    passing = 0 if measure == "taxonomy/kind" else int(((values >= 0.2) & (held == "")).sum())
    assert ("No head passes the filter" in tab.inner_text("#head")) == (passing == 0)
    assert tab.locator("[role=gridcell]:not(.out)").count() == passing


def test_a_least_number_that_no_head_has_is_taken_out_of_the_address_and_told(kinds, visit):
    tab = opened(visit(f"{kinds}#measure=heads/mass_first&least=99").page)
    assert "This link asks for least “99”: expected a number from " in tab.inner_text("#notice")
    assert "least" not in tab.url
    assert tab.locator("[role=gridcell].out").count() == 0
    tab.click("[data-at='0,1']")
    assert tab.inner_text("#notice") == ""


def test_parts_of_a_link_after_a_question_mark_are_read_and_told(page, visit):
    tab = opened(visit(f"{page}?view=heads&block=1&head=abc").page)
    said = tab.inner_text("#notice")
    assert "This link has its parts after a question mark: expected them after a #." in said
    assert "head “abc”: expected a whole number from 0 to 3" in said
    assert tab.url == f"{page}#view=heads"


def test_three_measures_in_a_row_are_three_steps(kinds, visit):
    tab = opened(visit(kinds).page)
    for measure in ("taxonomy/induction", "heads/mass_first", "taxonomy/sink"):
        tab.select_option("#measure", measure)
        tab.wait_for_selector(".ranked")
    for measure in ("heads/mass_first", "taxonomy/induction", "taxonomy/kind"):
        tab.go_back()
        waiting.until(tab, f"document.querySelector('#measure')?.value === '{measure}'")


def test_a_head_chosen_from_the_list_on_a_phone_is_scrolled_to(kinds, visit):
    tab = opened(visit(kinds, width=390).page)
    tab.locator(".listed a").last.click()
    tab.wait_for_selector("#head[data-drawn]", timeout=LONG)
    assert 0 <= tab.locator("#head h2").first.bounding_box()["y"] < 200
    assert tab.evaluate("document.activeElement.id") == "head"
    tab.go_back()
    tab.wait_for_selector(".listed a")


def test_leaving_a_head_by_keyboard_puts_the_focus_on_it_in_the_map(page, visit):
    tab = opened(visit(f"{page}#view=heads&block=1&head=2").page)
    tab.wait_for_selector("#head[data-drawn]", timeout=LONG)
    tab.focus("text=← all heads")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#head h2:has-text('Heads by first kind')")
    assert tab.evaluate("document.activeElement.dataset.at") == "1,2"


def test_back_goes_from_head_to_head_to_the_map(page, visit):
    tab = opened(visit(page).page)
    tab.click("[data-at='0,1']")
    tab.wait_for_selector("#head[data-drawn='L0H1']", timeout=LONG)
    tab.click("[data-at='1,3']")
    tab.wait_for_selector("#head[data-drawn='L1H3']", timeout=LONG)
    tab.go_back()
    tab.wait_for_selector("#head[data-drawn='L0H1']", timeout=LONG)
    assert "block=0&head=1" in tab.url
    tab.go_back()
    tab.wait_for_selector("#head h2:has-text('Heads by first kind')", timeout=LONG)
    assert tab.locator("[role=gridcell]").count() == 8
    tab.go_forward()
    tab.wait_for_selector("#head[data-drawn='L0H1']", timeout=LONG)


def test_movements_of_one_slider_are_one_step_back(page, visit):
    tab = visit(f"{page}#view=layers").page
    tab.wait_for_selector(".cards[data-layer='0']", timeout=LONG)
    for layer in (1, 2):
        tab.keyboard.press("ArrowRight")
        tab.wait_for_selector(f".cards[data-layer='{layer}']", timeout=LONG)
    tab.go_back()
    tab.wait_for_selector(".cards[data-layer='0']", timeout=LONG)
    assert "view=layers" in tab.url


WRONG = {
    "view=heads&block=-3&head=abc": ["block “-3”: expected a whole number from 0 to 1", "head “abc”"],
    "view=heads&block=7&head=9": ["block “7”", "head “9”: expected a whole number from 0 to 3"],
    "head=1": ["head “1”: expected a block beside it. It is left out."],
    "foo=bar&view=heads": ["foo “bar”: expected one of view, layer,"],
    "view=none": ["view “none”: expected heads or ask"],
    "view=layers&layer=x": ["layer “x”: expected a whole number from 0 to 2"],
    "view=heads&measure=none&kinds=none,x&least=y": [
        "measure “none”",
        "kinds “none,x”",
        "least “y”: expected a number",
    ],
    "view=ask&alpha=9&without=x&other=L9H9": [
        "alpha “9”: expected a number from 0.25 to 4",
        "without “x”",
        "other “L9H9”",
    ],
}


@pytest.mark.parametrize("link", WRONG)
def test_a_link_that_makes_no_sense_is_mended_and_told_in_a_sentence(page, visit, link):
    one = visit(f"{page}#{link}")
    one.page.wait_for_selector("main .controls", timeout=LONG)
    said = one.page.inner_text("#notice")
    for words in WRONG[link]:
        assert words in said
    assert "NaN" not in one.page.url
    left = dict(part.split("=") for part in one.page.url.partition("#")[2].split("&") if part)
    assert set(left) <= {"view"}
    assert one.problems == []


def test_the_table_of_a_head_fits_a_phone(page, visit):
    tab = visit(f"{page}#view=heads&block=1&head=2", width=390).page
    tab.wait_for_selector("#head[data-drawn]", timeout=LONG)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cells = "[...document.querySelectorAll('table.numbers td, table.numbers th')]"
    assert tab.evaluate(f"Math.max(...{cells}.map(cell => cell.getBoundingClientRect().right))") <= 390
    assert tab.evaluate(f"{cells}.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length") == 0


def test_a_heads_page_asks_nothing_of_the_model(page, visit):
    one = visit(f"{page}#view=heads&block=1&head=2")
    one.page.wait_for_selector("#head[data-drawn]", timeout=LONG)
    titles = one.page.locator("#head .card h3").all_text_contents()
    assert titles == ["Mean attention map", "Attention by distance", "QK terms: share of the logits' variance"]
    assert not any("/api/ask/" in url or "/api/model" in url for url in one.requests)
    assert one.problems == []


def test_numbers_of_a_list_have_three_digits_each_and_the_rest_are_as_elsewhere(kinds, visit):
    tab = opened(visit(kinds).page)
    given = [2.8, 2.81, 0.5, 10, -0.25, 0, 12345, 1e-9, None]
    written = tab.evaluate("async (values) => values.map((await import('./web/page.js')).aligned)", given)
    assert written == ["2.80", "2.81", "0.500", "10.0", "−0.250", "0.00", "12300", "1e−9", "–"]


def test_the_highest_heads_of_a_measure_stand_in_order_with_their_zeros(kinds, visit):
    tab = opened(visit(kinds).page)
    tab.select_option("#measure", "heads/mass_first")
    tab.wait_for_selector(".ranked td.number")
    shown = tab.locator(".ranked td.number").all_inner_texts()
    values = made_up.run_of(layers=4)["heads"].mass_first.values.ravel()
    assert [float(text) for text in shown] == pytest.approx(sorted(values, reverse=True)[: len(shown)], abs=0.005)
    assert all(len(text.replace(".", "").lstrip("0")) == 3 for text in shown)
