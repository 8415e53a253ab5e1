"""The command that sends one text through a model, as it is and as it is changed."""

import re
from typing import Annotated, Any

import typer

from armillary.cli.arguments import Loading, Model
from armillary.cli.flags import spread
from armillary.cli.output import Form
from armillary.cli.output import loading as said_to_load
from armillary.errors import RequestError, did_you_mean, refuse_blank, refuse_outside
from armillary.system.progress import say
from armillary.system.texts import numbered

MEANS = ("plain", "output")
CONTINUATION, ANSWER = 20, 16
"""Tokens of continuation of a text, and of an answer to the built-in task."""

Asked = tuple[float, tuple[int, int] | None]
"""A change of the model: α, and the block and number of a head that is silenced."""


@spread
def prompt(
    model: Model,
    text: Annotated[str | None, typer.Argument(help="The text; leave it out with --shots.")] = None,
    layer: Annotated[int | None, typer.Option("--layer", "--block", help="One layer, token by token.")] = None,
    head: Annotated[int | None, typer.Option(help="One head instead of the mean over heads.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Attention between words instead of tokens.")] = False,
    mean: Annotated[
        str,
        typer.Option(
            help="Mean over heads: all equal, or weighted by the norm of what they add through W_O.",
            metavar="|".join(MEANS),
        ),
    ] = MEANS[0],
    tokens: Annotated[
        int | None, typer.Option(help=f"Tokens of continuation. [default: {CONTINUATION}, encoders 0]")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="W_Q and W_K times α, beside the model as it is: 0.25,0.5,2,4.")
    ] = None,
    without: Annotated[
        str | None, typer.Option(help="Heads silenced one at a time, beside the model as it is: L18H6,L3H2.")
    ] = None,
    shots: Annotated[str | None, typer.Option(help="The built-in task, with these numbers of examples: 3,5,8.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed, of the examples and of random weights.")] = 0,
    *,
    loading: Loading,
    form: Form,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Send one text through a model: attention and continuation.

    Attention is given by layer, head, token and word. With --alpha or --without, the changed model stands beside the
    model as it is.
    """
    refuse_request(text, shots, mean, tokens)
    asked: list[Asked] = [(value, None) for value in alphas(alpha)]
    asked += [(1.0, head_of(name)) for name in listed(without)]
    if asked and shots is not None:
        raise RequestError("expected a text with --alpha or --without, got --shots: give one of the two")
    counts = [] if shots is None else shot_counts(shots)
    with said_to_load(model, quiet=quiet):
        view = loading.view(model, seed)
    if text is None:
        answer_task(view, counts, ANSWER if tokens is None else tokens, seed, form, quiet=quiet)
        return
    chosen = {"head": head, "mean": mean, "words": words}
    if asked:
        read_variants(view, text, list(dict.fromkeys(asked)), layer, tokens, form, **chosen)
    else:
        read_text(view, text, layer, tokens, form, **chosen)


def refuse_request(text: str | None, shots: str | None, mean: str, tokens: int | None) -> None:
    """Refuse what no model can answer, before one is loaded."""
    if (text is None) == (shots is None):
        got = "neither" if text is None else "both"
        raise RequestError(f"expected a text or --shots, got {got}: give one of the two")
    if text is not None:
        refuse_blank(text)
    if mean not in MEANS:
        raise RequestError(f"expected {' or '.join(MEANS)} for --mean, got {mean!r}: {did_you_mean(mean, MEANS)}")
    if tokens is not None and tokens < 0:
        raise RequestError(f"expected --tokens of at least 0, got {tokens}: 0 asks for no continuation")


def read_text(view: Any, text: str, layer: int | None, tokens: int | None, form: Form, **chosen: Any) -> None:
    """Print where one text is attended to, and its continuation."""
    from armillary.printing import prompt as tables
    from armillary.prompts.continuation import continuation as continued
    from armillary.prompts.prompt import prompt as read

    maps = read(view, text)
    table = tables.layers(maps, **chosen) if layer is None else tables.tokens(maps, layer, **chosen)
    length = length_of(view, tokens)
    continuation = continued(view, text, length) if length else None
    form.show(
        lambda: tables.printed(maps, table, continuation),
        lambda: tables.as_json(maps, table, continuation),
        lambda: tables.as_csv(table),
    )


def length_of(view: Any, tokens: int | None) -> int:
    """Tokens of continuation: as asked for, else some of what can generate."""
    return tokens if tokens is not None else CONTINUATION if view.model.can_generate() else 0


def read_variants(
    view: Any,
    text: str,
    asked: list[Asked],
    layer: int | None,
    tokens: int | None,
    form: Form,
    **chosen: Any,
) -> None:
    """Print what changes of the model do to one text, beside the model as it is."""
    from armillary.models.interventions import Change
    from armillary.printing import variants as tables
    from armillary.prompts.variants import variants

    changes = [Change(alpha=value, without=head) for value, head in asked]
    if layer is not None:
        refuse_outside("a layer", layer, 0, view.n_blocks - 1)
    found = variants(view, text, changes, length_of(view, tokens))
    if (1.0, None) in asked:  # α = 1 changes nothing: its row is there already
        found[0] = found[0]._replace(name=f"{found[0].name} (α = 1)")
    form.show(
        lambda: tables.printed(found, layer, **chosen),
        lambda: tables.as_json(found, **chosen),
        lambda: str(tables.rows(found, **chosen).drop(columns="strongest").to_csv()),
    )


def listed(text: str | None) -> list[str]:
    """The parts of a text between commas."""
    return [] if text is None else [part.strip() for part in text.split(",")]


def alphas(text: str | None) -> list[float]:
    """0.25,0.5,2 as numbers."""
    try:
        values = [float(part) for part in listed(text)]
    except ValueError:
        raise RequestError(f"expected numbers for alpha, got {text!r}: separate them by commas, 0.5,2") from None
    for value in values:
        if value < 0:
            raise RequestError(f"expected alpha of at least 0, got {value:g}: choose a larger one")
    return values


def head_of(name: str) -> tuple[int, int]:
    """L18H6 as block and head."""
    found = re.fullmatch(r"L(\d{1,4})H(\d{1,4})", name)
    if found is None:
        raise RequestError(f"expected a head as block and number, got {name!r}: write L18H6 for block 18, head 6")
    return int(found[1]), int(found[2])


def answer_task(view: Any, shots: list[int], tokens: int, seed: int, form: Form, *, quiet: bool) -> None:
    """Print the answers to the built-in task, and where the examples' tokens attend."""
    from armillary.printing import answers as tables
    from armillary.prompts.examples import CLUES
    from armillary.prompts.fewshot import fewshot_answers

    if not quiet:
        prompts = numbered(len(shots) * len(CLUES), "prompt")
        say(f"{view.name}: {prompts} of the task, each answered in up to {numbered(tokens, 'token')}, then its control")
    answers = fewshot_answers(view, shots, tokens=tokens, seed=seed, progress=not quiet)
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
