"""Every kind of result stands alone: report, comparison and notebook show what is there and say what adds the rest."""

import re

import pytest

import armillary as arm
import tiny_run
from armillary.figures import available
from armillary.reporting.comparison import comparison_report
from armillary.reporting.content import missing, run_report
from armillary.reporting.page import page
from armillary.reporting.prose import coded

SURVEY, HEADS = (f"`armillary {line}` makes a run with it." for line in ("survey", "survey --heads"))
NAMES = "`armillary heads RUN` adds it."
ADDED = ("weights MODEL --run RUN", "travel MODEL TEXT --run RUN", "stores MODEL --run RUN", "gaussian RUN")
ASKED = [f"`armillary {line}` adds it." for line in ADDED]
HELD = {"states.nc": [HEADS, NAMES], "heads.nc": [SURVEY, NAMES], "names.nc": [SURVEY, HEADS]}
HELD = {file: [*commands, *ASKED] for file, commands in HELD.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return tiny_run.named(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(params=HELD, scope="module")
def part(request, whole, tmp_path_factory):
    """A run with one of its files alone, and the commands that add the others."""
    folder = tmp_path_factory.mktemp("part") / "run"
    return tiny_run.holding(whole, folder, request.param), HELD[request.param]


def test_a_report_shows_what_is_there_and_says_which_command_adds_what_is_not(part):
    run, commands = part
    report = run_report(run)
    assert [sentence.partition(". ")[2] for sentence in report.missing] == commands
    assert [plot.name for plot in report.plots] == [figure.name for figure in available(run.results)]
    asked = [answer.question for answer in report.answers if answer.verdict == "Not measured"]
    assert asked, "a part of a run lacks something that a command adds"
    assert all(plot.figure is not None for plot in report.plots)
    text = page(report)
    assert all(f'<p class="note missing">{coded(sentence)}</p>' in text for sentence in report.missing)


def test_a_notebook_shows_any_part_of_a_run(part):
    run, commands = part
    shown = run._repr_html_()
    assert all(re.sub("`(.+)`", r"<code>\1</code>", command) in shown for command in commands)
    assert "`" not in shown
    assert "This figure failed" not in shown
    assert all(f"<li>{group}: " in shown for group in run.results.children)


def test_a_part_is_compared_with_itself(part):
    run, commands = part
    report = comparison_report(run, run)
    assert all(plot.figure is not None for plot in report.plots)
    assert [sentence.split("`")[1] for sentence in report.missing] == 2 * [
        command.split("`")[1] for command in commands
    ]
    asked = [answer.question for answer in report.answers]
    assert ("Are the positional bases aligned?" in asked) == ("residual" in run.results.children)
    assert ("Does attention mix tokens differently?" in asked) == ("mixing" in run.results.children)


def test_two_parts_without_a_common_group_are_refused(whole, tmp_path):
    one, other = (tiny_run.holding(whole, tmp_path / file, file) for file in ("states.nc", "heads.nc"))
    with pytest.raises(arm.RequestError, match=r"^expected two runs with a group in common, got /"):
        arm.report(one, tmp_path / "comparison.html", other)


@pytest.mark.parametrize("file", ["heads.nc", "names.nc"])
def test_a_run_without_provenance_is_reported_compared_and_shown(whole, tmp_path, file):
    run = tiny_run.unmarked(whole, tmp_path / "run", file)
    assert "<h1>a run</h1>" in arm.report(run).read_text(encoding="utf-8")
    assert "<h1>a run: first and second</h1>" in arm.report(run, other=run).read_text(encoding="utf-8")
    assert "a run" in run._repr_html_()


def test_a_whole_survey_lacks_only_what_is_asked_apart(whole):
    assert [sentence.partition(". ")[2] for sentence in missing(whole.results)] == ASKED
