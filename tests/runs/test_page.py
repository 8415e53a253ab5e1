"""Whatever changes a run refreshes its page, from Python too; a full disk costs the page alone."""

import shutil

import pytest

import armillary as arm
import tiny_run
from armillary.errors import not_written
from armillary.reporting import PAGE


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    """A run with heads, without a page."""
    return tiny_run.surveyed(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def bare(surveyed, tmp_path):
    """A copy of it that a test may change."""
    return arm.open(shutil.copytree(surveyed.folder, tmp_path / "run"))


@pytest.fixture
def full_disk(monkeypatch):
    """No page can be written; results still can."""

    def refuse(path, text):
        raise not_written(path, OSError(28, "No space left on device"))

    monkeypatch.setattr("armillary.reporting.write_text", refuse)


def page_of(run):
    return (run.folder / PAGE).read_text(encoding="utf-8")


def test_naming_heads_refreshes_the_page_of_a_run(bare):
    arm.report(bare)
    assert '<article id="head-names">' not in page_of(bare)
    named = arm.heads(bare, progress=False)
    assert '<article id="head-names">' in page_of(named)
    assert "Which kinds of heads are there?" in page_of(named)


def test_measuring_again_refreshes_the_page_of_a_run(bare):
    (bare.folder / PAGE).write_text("an old page")
    arm.measure(bare.folder)
    assert '<article id="position-share">' in page_of(bare)


def test_a_run_without_a_page_gets_none_by_heads_or_measure(bare):
    arm.heads(bare, progress=False)
    arm.measure(bare.folder)
    assert not (bare.folder / PAGE).exists()


def test_a_survey_writes_the_page_unless_asked_not_to(tmp_path, surveyed):
    assert not (surveyed.folder / PAGE).exists()
    run = tiny_run.surveyed(tmp_path, report=True, heads=False)
    assert "<h1>" in page_of(run)


def test_a_full_disk_costs_the_page_alone_and_says_how_to_try_again(bare, full_disk, capsys):
    (bare.folder / PAGE).write_text("an old page")
    named = arm.heads(bare, progress=False)
    assert "taxonomy" in arm.open(named.folder).results.children
    assert page_of(bare) == "an old page"
    assert capsys.readouterr().err.splitlines() == [
        f"warning: cannot write {bare.folder / PAGE} (No space left on device): free some space or choose another "
        f"--out; the results are complete, `armillary report {bare.folder}` tries again"
    ]


def test_a_bug_outside_figures_is_not_swallowed(bare, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("armillary.reporting.page", broken)
    (bare.folder / PAGE).write_text("an old page")
    with pytest.raises(ZeroDivisionError, match="a bug"):
        arm.measure(bare.folder)
    assert page_of(bare) == "an old page"
