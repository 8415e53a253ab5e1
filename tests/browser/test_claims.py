"""The claims of a report in a real browser: what is typed leaves the rows that hold every word."""

import pytest

import armillary as arm


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = arm.simulate(walks=20, length=20, width=16, draws=1, out=tmp_path_factory.mktemp("runs") / "run")
    arm.claims("TW", run=made)
    return made


@pytest.mark.parametrize("width", [1280, 390])
def test_words_filter_the_claims_without_a_request(run, visit, width):
    seen = visit((run.folder / "report.html").as_uri(), width)
    rows = seen.page.locator("#claims-table tbody tr")
    total = rows.count()
    assert seen.page.inner_text("#claims-count") == f"{total} of {total} claims"
    seen.page.fill("#claims-words", "FALSE sphere")
    shown = [row for row in rows.all() if row.is_visible()]
    assert 0 < len(shown) < total
    assert all("false" in row.inner_text() and "sphere" in row.inner_text() for row in shown)
    assert seen.page.inner_text("#claims-count") == f"{len(shown)} of {total} claims"
    seen.page.fill("#claims-words", "nothing like this")
    assert not any(row.is_visible() for row in rows.all())
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert not seen.problems
