"""A figure with a bug: it is named in its place and on standard error, and the rest of the page is drawn."""

import re
from dataclasses import replace

import pytest
import xarray as xr

import armillary as arm
import made_up
from armillary.errors import RequestError
from armillary.figures import FIGURES, available
from armillary.reporting.content import run_report
from armillary.reporting.plots import BUGS, FigureFailed, naming
from armillary.results.store import Run

FAILED = "This figure failed: norms (KeyError: 'lost'). This is a bug of Armillary: please report it."


def lost(*_):
    raise KeyError("lost")


@pytest.fixture
def run():
    """A run with a few figures."""
    results = made_up.run_of()
    groups = {f"/{name}": results[name].to_dataset() for name in ("norms", "outliers", "corpus", "attention_variance")}
    few = xr.DataTree.from_dict(groups)
    few.attrs.update(results.attrs)
    return Run(few)


@pytest.fixture(params=["draw", "finding"])
def broken(request, monkeypatch):
    """A figure whose drawing or whose sentence raises."""
    monkeypatch.setitem(FIGURES, "norms", replace(FIGURES["norms"], **{request.param: lost}))


def test_a_figure_that_fails_is_named_in_its_place_and_the_others_are_drawn(run, broken, tmp_path, capsys):
    text = arm.report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'<article id="norms"><h3 class="failed">(.*?)</h3></article>', text) == [
        FAILED.replace("'", "&#x27;")
    ]
    assert 'id="data-norms"' not in text
    others = [figure.name for figure in available(run.results) if figure.name != "norms"]
    assert all(f'id="data-{name}"' in text for name in others)
    assert capsys.readouterr().err.splitlines() == [f"warning: {FAILED}"]


def test_an_answer_that_rests_on_a_failed_figure_says_so(run, monkeypatch, capsys):
    monkeypatch.setitem(FIGURES, "outlier-tokens", replace(FIGURES["outlier-tokens"], finding=lost))
    answer = next(one for one in run_report(run).answers if one.plot == "outlier-tokens")
    assert answer.text.startswith("This figure failed: outlier-tokens (KeyError: 'lost').")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_comparison_names_the_figure_that_fails(run, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("armillary.reporting.comparison.compare_finding", lost)
    text = arm.report(run, tmp_path / "comparison.html", run).read_text(encoding="utf-8")
    assert "This figure failed: norms-norm (KeyError: " in text
    assert "warning: This figure failed: norms-norm" in capsys.readouterr().err


def test_a_notebook_lists_a_figure_that_fails_among_the_others(run, monkeypatch, capsys):
    monkeypatch.setitem(FIGURES, "norms", replace(FIGURES["norms"], finding=lost))
    shown = run._repr_html_()
    assert "<code>run.plot('norms')</code> This figure failed: norms (KeyError: " in shown
    assert "<code>run.plot('attention-shares')</code> " in shown
    assert capsys.readouterr().err == f"warning: {FAILED}\n"


def test_the_figure_command_still_raises_the_bug(run, broken, tmp_path):
    with pytest.raises(KeyError, match="lost"):
        arm.figure(run, "norms", tmp_path / "norms.svg")


@pytest.mark.parametrize("kind", BUGS)
def test_what_a_bug_raises_becomes_a_failure_with_the_name_and_the_first_line(kind):
    with pytest.raises(FigureFailed, match=rf"^This figure failed: x \({kind.__name__}: .*a.*\)\."), naming("x"):
        raise kind("a\nb")


@pytest.mark.parametrize("error", [RequestError("no"), OSError("disk"), MemoryError(), KeyboardInterrupt()])
def test_what_is_not_the_figures_own_is_not_swallowed(error):
    with pytest.raises(type(error)), naming("x"):
        raise error
