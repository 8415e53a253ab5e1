"""Whatever a run holds alone, the explorer opens at it: never at an empty view."""

import pytest
import xarray as xr

import made_up
from armillary.results.store import Run
from armillary.verdicts.labelled import labelled_verdicts
from armillary.verdicts.registry import chosen, verdicts

LONG = 60_000

OPENS = {
    "weights": (("weights", "weights_twin"), "[role=gridcell]"),
    "stores": (("stores",), ".card .plot .main-svg"),
    "training": (("training", "training_heads", "training_layers"), ".card .plot .main-svg"),
    "travel": (("travel",), ".card .plot canvas"),
    "gaussian": (("gaussian", "gaussian_logits", "gaussian_depth"), ".card .plot .main-svg"),
    "simulation": (("localization",), ".card .plot .main-svg, [role=gridcell]"),
    "claims": (("claims",), ".claims .card"),
}


def holding(groups):
    """Made-up results of some groups alone."""
    held = {f"/{name}": node.to_dataset() for name, node in made_up.run_of(layers=4).children.items() if name in groups}
    if "claims" in groups:
        held["/claims"] = labelled_verdicts(verdicts(chosen("TW")), seed=0)
    return Run(xr.DataTree.from_dict(held))


@pytest.mark.parametrize("kind", OPENS)
def test_a_run_of_one_kind_of_result_opens_at_it(kind, served, visit):
    groups, sign = OPENS[kind]
    run = holding(groups)
    assert run.results.children
    with served(run) as address:
        one = visit(address)
        one.page.wait_for_selector(sign, timeout=LONG)
        assert one.page.locator("main .error").count() == 0
        assert one.problems == []


def test_claims_are_searched_and_filtered_by_verdict(served, visit):
    with served(holding(("claims",))) as address:
        tab = visit(f"{address}#view=claims", width=390).page
        tab.wait_for_selector(".claims .card")
        total = tab.locator(".claims .card").count()
        tab.fill("#claims-words", "FALSE sphere")
        shown = [card for card in tab.locator(".claims .card").all() if card.is_visible()]
        assert 0 < len(shown) < total
        texts = [card.text_content().lower() for card in shown]
        assert all("false" in text and "sphere" in text for text in texts)
        tab.click(".kinds button >> nth=0")
        word = tab.inner_text(".kinds button >> nth=0").rsplit(" ", 1)[0]
        headings = [card.locator("h3").inner_text() for card in tab.locator(".claims .card").all() if card.is_visible()]
        assert headings
        assert tab.input_value("#claims-words") == word
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
