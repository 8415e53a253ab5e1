"""A simulation in a real browser: its page draws every figure, and the explorer opens at its figures without layers."""

import pytest

import armillary as arm
from armillary.figures import available

LONG = 60_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return arm.simulate(walks=20, length=20, width=16, draws=1, out=tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def explorer(run, served):
    """The address of the explorer while the tests of this file run."""
    with served(run) as address:
        yield address


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_draws_every_figure_without_a_complaint(run, visit, ink, artefacts, width):
    seen = visit((run.folder / "report.html").as_uri(), width)
    assert seen.page.inner_text("h1") == "Simulated localization"
    for figure in available(run.results):
        seen.page.evaluate("(name) => { location.hash = name; }", figure.name)  # unfolds it
        seen.page.locator(f"#{figure.name}").scroll_into_view_if_needed()
        seen.page.wait_for_selector(f'.plot[data-figure="{figure.name}"][data-drawn]', timeout=LONG)
        picture = seen.page.locator(f'.plot[data-figure="{figure.name}"]').screenshot()
        (artefacts / f"{figure.name}-{width}.png").write_bytes(picture)
        assert ink(picture)["share"] > 0.004, f"{figure.name} is blank"
    assert seen.problems == []


def test_the_explorer_opens_at_the_figures_and_offers_no_layer(explorer, run, visit):
    seen = visit(explorer)
    seen.page.wait_for_selector(".card .plot", timeout=LONG)
    for figure in available(run.results):
        seen.page.get_by_text(figure.finding(run.results), exact=True).first.wait_for(timeout=LONG)
    assert seen.page.title() == "Armillary: figures of Simulated localization"
    assert seen.page.inner_text("#model-name") == "Simulated localization"
    assert seen.page.locator("input[type=range]").count() == 0
    assert seen.page.locator(".error").count() == 0
    assert seen.problems == []
