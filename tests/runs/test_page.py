"""Whatever changes a run refreshes its page, from Python too; a full disk costs the page alone."""

import shutil

import pytest

import armillary as arm
import made_up
import tiny_run
from armillary.errors import not_written
from armillary.figures import available
from armillary.reporting import PAGE
from armillary.results import store
from armillary.runs.page import refreshed, with_page


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    """A run with heads, without a page."""
    return tiny_run.surveyed(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def bare(surveyed, tmp_path):
    """A copy of it that a test may change."""
    return arm.open(shutil.copytree(surveyed.folder, tmp_path / "run"))


@pytest.fixture
def small(tmp_path):
    """A run with one figure, and an old page."""
    store.write(tmp_path, "states.nc", {"norms": made_up.run_of()["norms"].to_dataset()}, {"model": "m"})
    (tmp_path / PAGE).write_text("an old page")
    return arm.open(tmp_path)


@pytest.fixture
def two_figures(monkeypatch):
    """A page of two figures: the others take their time and say nothing here."""
    shown = ("position-share", "head-names")
    few = "armillary.reporting.content.available"
    monkeypatch.setattr(few, lambda results: [figure for figure in available(results) if figure.name in shown])


def page_of(run):
    return (run.folder / PAGE).read_text(encoding="utf-8")


def test_naming_heads_and_measuring_again_refresh_the_page(bare, two_figures):
    arm.report(bare)
    assert '<article id="head-names">' not in page_of(bare)
    arm.heads(bare, progress=False)
    assert '<article id="head-names">' in page_of(bare)
    assert "Do heads have known jobs?" in page_of(bare)
    (bare.folder / PAGE).write_text("an old page")
    arm.measure(bare.folder)
    assert '<article id="position-share">' in page_of(bare)


def test_a_run_without_a_page_gets_none_by_heads_or_measure(bare):
    arm.heads(bare, progress=False)
    arm.measure(bare.folder)
    assert "taxonomy" in arm.open(bare.folder).results.children
    assert not (bare.folder / PAGE).exists()


def test_a_survey_writes_the_page_unless_asked_not_to(tmp_path, surveyed, two_figures):
    assert not (surveyed.folder / PAGE).exists()
    assert '<article id="position-share">' in page_of(tiny_run.surveyed(tmp_path, report=True, heads=False))


@pytest.mark.parametrize("write", [with_page, refreshed])
def test_a_full_disk_costs_the_page_alone_and_says_how_to_try_again(small, monkeypatch, capsys, write):
    def refuse(path, text):
        raise not_written(path, OSError(28, "No space left on device"))

    monkeypatch.setattr("armillary.reporting.write_text", refuse)
    assert write(small) is small
    assert page_of(small) == "an old page"
    assert capsys.readouterr().err.splitlines() == [
        f"warning: cannot write {small.folder / PAGE} (No space left on device): free some space or choose another "
        f"--out; the results are complete, `armillary report {small.folder}` tries again"
    ]


def test_a_bug_outside_figures_is_not_swallowed(small, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("armillary.reporting.page", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        refreshed(small)
    assert page_of(small) == "an old page"
