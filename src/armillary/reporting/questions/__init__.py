"""The first screen of a report: the questions that a reader has, each with a verdict, one number and a small curve."""

from collections.abc import Sequence

import xarray as xr

from armillary.reporting.kinds import NOT_MEASURED, Answer, Plot
from armillary.reporting.questions import heads, more, states, weights
from armillary.reporting.questions.asking import Question
from armillary.results.reading import lacking
from armillary.results.schema import GROUPS
from armillary.results.schema.kinds import adding

QUESTIONS: tuple[Question, ...] = (*states.QUESTIONS, *heads.QUESTIONS, *weights.QUESTIONS, *more.QUESTIONS)
"""In the order in which a reader asks; the figures of a section are shown in this order too."""

FEW = 10
"""Of no more figures than this a page folds none away."""


def answers(results: xr.DataTree, plots: Sequence[Plot]) -> list[Answer]:
    """What the run says to each question, then what it was not asked: questions that a command would answer."""
    offered = {plot.name: plot for plot in plots}
    given = [answer(question, offered, results) for question in QUESTIONS]
    return [*(one for one in given if one is not None), *not_measured(results)]


def answer(question: Question, offered: dict[str, Plot], results: xr.DataTree) -> Answer | None:
    """The answer that a question's first offered figure shows; None where the run offers none of its figures."""
    plot = next((offered[name] for name in question.figures if name in offered), None)
    if plot is None:
        return None
    if plot.figure is None:
        return Answer(question.text, NOT_MEASURED, plot.finding, plot.name)
    said = question.tell(results)
    return None if said is None else Answer(question.text, said.verdict, said.text, plot.name, said.curve)


def not_measured(results: xr.DataTree) -> list[Answer]:
    """The questions whose results this run could hold and does not, each with the command that adds them."""
    commands = lacking(results)
    return [
        Answer(question.text, NOT_MEASURED, adding(GROUPS[question.group].command), None)
        for question in QUESTIONS
        if question.group and question.group in commands.get(GROUPS[question.group].command, ())
    ]


def shown_by_default(plots: Sequence[Plot]) -> list[str]:
    """The figures that a page shows unfolded, in the order of the questions that they answer; a few are all shown."""
    offered = [plot.name for plot in plots]
    chosen = [next((name for name in each.figures if name in offered), "") for each in QUESTIONS if each.lead]
    rest = offered if len(offered) <= FEW else []
    return list(dict.fromkeys(name for name in (*chosen, *rest) if name))
