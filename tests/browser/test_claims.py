"""The claims of a report in a real browser: what is typed leaves the rows that hold every word."""

import pytest

from armillary.reporting.kinds import Report
from armillary.reporting.page import page
from armillary.verdicts.registry import chosen, verdicts


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page that holds claims and nothing else."""
    path = tmp_path_factory.mktemp("pages") / "report.html"
    empty = Report("a run", "", (), "", (), (), {}, "", verdicts(chosen("TW")))
    path.write_text(page(empty), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_words_filter_the_claims_without_a_request(report, visit, width):
    seen = visit(report.as_uri(), width)
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
