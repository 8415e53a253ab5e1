"""The command line: a file per family of commands, and the only place that catches Armillary's errors."""

import signal
import sys
from typing import Annotated, NoReturn

import typer

from armillary._version import __version__
from armillary.cli import (
    asking,
    claims,
    gaussian,
    listing,
    prompting,
    scaling,
    showing,
    simulating,
    stores,
    surveying,
    training,
)
from armillary.cli.usage import Commands, UsageError, in_one_line, is_help
from armillary.errors import ArmillaryError, reason

app = typer.Typer(
    name="armillary",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


INTERRUPTED = 130
"""What typer makes of an interrupt."""


def version(asked: bool) -> bool:
    """Print the version."""
    if asked:
        typer.echo(f"armillary {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Measure the hidden geometry of a transformer: point it at a model and a text."""


for command in (
    *(surveying.survey, showing.show, surveying.measure, showing.compare, showing.report, showing.explore),
    *(showing.figure, asking.heads, asking.weights, stores.stores, asking.travel, prompting.prompt),
    *(scaling.plan, scaling.merge, listing.models, listing.corpora, listing.info),
    simulating.simulate,
    claims.claims,
    gaussian.gaussian,
):
    app.command()(command)
app.add_typer(training.app)


def main() -> None:
    """Run the command line; an error that a user can put right is one line and exit code 2."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    # A scheduler that wants its machine back is told apart from Ctrl-C by nobody: both leave a checkpoint.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        ended = app(args=arguments, prog_name="armillary", standalone_mode=False)
    except ArmillaryError as error:
        if debug:
            raise
        fail(str(error))
    except UsageError as error:
        if is_help(error):
            error.show()
            raise SystemExit(2) from error
        fail(in_one_line(error, arguments))
    except OSError as error:  # a path that no file can have, a disk that fails: neither is a bug
        if debug or error.filename is None:
            raise
        fail(f"cannot use {short(str(error.filename))} ({reason(error)}): check the path and the disk")
    if ended == INTERRUPTED:
        fail("interrupted: a survey or a training resumes from its last checkpoint with --resume", code=INTERRUPTED)
    raise SystemExit(ended or 0)


def short(text: str) -> str:
    """A path that fits into a line."""
    return text if len(text) <= 120 else f"{text[:80]}..."


def fail(message: str, code: int = 2) -> NoReturn:
    """Say what is wrong in one line and leave."""
    sys.stderr.write(f"armillary: {' '.join(message.split())}\n")
    raise SystemExit(code)
