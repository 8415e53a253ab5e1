"""The commands that ask a model: what its heads do, what it makes of a text."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from armillary.cli.arguments import Loading, Model, Trust
from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.errors import RequestError

Mean = StrEnum("Mean", ["plain", "output"])
CONTINUATION, ANSWER = 20, 16
"""Tokens of continuation of a text, and of an answer to the built-in task."""


@spread
def heads(
    run: Annotated[Path, typer.Argument(help="Folder of a run that was surveyed with --heads.")],
    kind: Annotated[str | None, typer.Option(help="Only heads of this kind: induction, sink, ...")] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every head, with all scores.")] = False,
    *,
    form: Form,
    trust: Trust,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing about the passes.")] = False,
) -> None:
    """Print the attention heads that have a kind, best first, and count the others.

    The first time, the model and its random-weight control read random tokens, each sequence twice, and the report of
    the run is refreshed. JSON and CSV give every head.
    """
    from armillary.printing import heads as head_tables
    from armillary.results.reading import require
    from armillary.results.store import open as open_run
    from armillary.runs.heads import heads as named

    opened = open_run(run)
    if "taxonomy" not in opened.results.children:
        require(opened.results, "heads", "corpus")
    if not head_tables.only_named(opened.results):
        opened = named(opened, progress=not quiet, **asdict(trust))
    frame = head_tables.head_table(opened, kind)
    printed = head_tables.printed if every else head_tables.summary
    form.show_rows(lambda: printed(opened, frame), frame)


@spread
def prompt(
    model: Model,
    text: Annotated[str | None, typer.Argument(help="The text; leave it out with --shots.")] = None,
    layer: Annotated[int | None, typer.Option("--layer", "--block", help="One layer, token by token.")] = None,
    head: Annotated[int | None, typer.Option(help="One head instead of the mean over heads.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Attention between words instead of tokens.")] = False,
    mean: Annotated[
        Mean,
        typer.Option(help="Mean over heads: all equal, or weighted by the norm of what they add through W_O."),
    ] = Mean.plain,
    tokens: Annotated[
        int | None, typer.Option(help=f"Tokens of continuation. [default: {CONTINUATION}, encoders 0]")
    ] = None,
    shots: Annotated[str | None, typer.Option(help="The built-in task, with these numbers of examples: 3,5,8.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed, of the examples and of random weights.")] = 0,
    *,
    loading: Loading,
    form: Form,
) -> None:
    """Send one text through a model: attention by layer, head, token and word, and the model's continuation."""
    if (text is None) == (shots is None):
        got = "neither" if text is None else "both"
        raise RequestError(f"expected a text or --shots, got {got}: give one of the two")
    if shots is not None:
        counts = shot_counts(shots)
        answer_task(loading.view(model, seed), counts, ANSWER if tokens is None else tokens, seed, form)
    elif text is not None:
        read_text(loading.view(model, seed), text, layer, tokens, form, head=head, mean=mean.value, words=words)


def read_text(view: Any, text: str, layer: int | None, tokens: int | None, form: Form, **chosen: Any) -> None:
    """Print where one text is attended to, and its continuation."""
    from armillary.printing import prompt as tables
    from armillary.prompts.continuation import continuation as continued
    from armillary.prompts.prompt import prompt as read

    maps = read(view, text)
    table = tables.layers(maps, **chosen) if layer is None else tables.tokens(maps, layer, **chosen)
    length = tokens if tokens is not None else CONTINUATION if view.model.can_generate() else 0
    continuation = continued(view, text, length) if length else None
    form.show(
        lambda: tables.printed(maps, table, continuation),
        lambda: tables.as_json(maps, table, continuation),
        lambda: tables.as_csv(table),
    )


def answer_task(view: Any, shots: list[int], tokens: int, seed: int, form: Form) -> None:
    """Print the answers to the built-in task, and where the examples' tokens attend."""
    from armillary.printing import answers as tables
    from armillary.prompts.fewshot import fewshot_answers

    answers = fewshot_answers(view, shots, tokens=tokens, seed=seed, progress=True)
    form.show(
        lambda: tables.printed(answers),
        lambda: tables.as_json(answers),
        lambda: str(tables.rows(answers).to_csv(index=False)),
    )


def shot_counts(text: str) -> list[int]:
    """3,5,8 as numbers."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise RequestError(f"expected numbers of examples, got {text!r}: separate them by commas, 3,5,8")
    return [int(part) for part in parts]
