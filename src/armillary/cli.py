"""The command line: one short function per command, and the only place that catches Armillary's errors."""

import difflib
import sys
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from armillary._version import __version__
from armillary.errors import ArmillaryError, RequestError

app = typer.Typer(
    name="armillary",
    help="Measure the hidden geometry of a transformer: point it at a model and a text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Keep = StrEnum("Keep", ["drop", "keep"])
Bos = StrEnum("Bos", ["auto", "always", "never"])
Sites = StrEnum("Sites", ["all", "residual"])
Covariance = StrEnum("Covariance", ["residual", "attention"])


def main() -> None:
    """Run the command line; an error that a user can put right is one line and exit code 2."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="armillary")
    except ArmillaryError as error:
        if debug:
            raise
        fail(str(error))
    except SystemExit as ended:  # typer turns an interrupt into exit code 130
        if ended.code != 130:
            raise
        fail("stopped; a survey goes on from its last shard with --resume", code=130)


def fail(message: str, code: int = 2) -> None:
    """Say what is wrong in one line and leave."""
    sys.stderr.write(f"armillary: {' '.join(message.split())}\n")
    raise SystemExit(code)


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


def config_file(context: typer.Context, path: Path | None) -> Path | None:
    """Take defaults from a TOML file whose keys are the flags of the command."""
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"cannot read the config file {path} ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not TOML ({error}): write keys as in contexts = 64") from error
    known = [str(parameter.name) for parameter in context.command.params if parameter.name != "config"]
    defaults: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise RequestError(f"{path}: unknown key {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        defaults[name] = value
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


MODEL = typer.Argument(help="A name (see `armillary models`), hub id, folder, .gguf file or wheel:...")
CORPUS = typer.Option(help="A name (see `armillary corpora`), file, folder, wheel:... or data set.")
OUT = typer.Option(help="Folder of the run. [default: runs/MODEL-CORPUS]", show_default=False)
CONFIG = typer.Option(callback=config_file, is_eager=True, help="TOML file whose keys are these flags.")


@app.command()
def survey(
    model: Annotated[str, MODEL],
    corpus: Annotated[str, CORPUS] = "python-docs",
    contexts: Annotated[int, typer.Option(help="How many windows to read.")] = 64,
    length: Annotated[int, typer.Option(help="Tokens in a window, a BOS or CLS counted.")] = 128,
    seed: Annotated[int, typer.Option(help="Fixes every draw.")] = 0,
    out: Annotated[Path | None, OUT] = None,
    first: Annotated[Keep, typer.Option(help="Whether position 0 counts.")] = Keep.drop,
    outliers: Annotated[Keep, typer.Option(help="Whether tokens of massive norm count.")] = Keep.drop,
    bos: Annotated[Bos, typer.Option(help="The prefix: as the tokenizer does, always, never.")] = Bos.auto,
    crossing: Annotated[bool, typer.Option("--crossing", help="Let windows cross documents.")] = False,
    documents: Annotated[int | None, typer.Option(help="Balanced sample: of the so many longest documents ...")] = None,
    per_document: Annotated[int | None, typer.Option(help="... so many windows each.")] = None,
    sites: Annotated[Sites, typer.Option(help="Residual stream alone, or the attentions' inputs too.")] = Sites.all,
    covariance: Annotated[Covariance, typer.Option(help="Where covariances are kept.")] = Covariance.residual,
    batch: Annotated[int | None, typer.Option(help="Windows that run at once.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    device: Annotated[str | None, typer.Option(help="Where the model runs: cpu, cuda, mps.")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32, bfloat16, float16, float64 or auto.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub model.")] = None,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run a model's own code.")] = False,
    allow_pickle: Annotated[bool, typer.Option("--allow-pickle", help="Read pickled weights (weights only).")] = False,
    random_weights: Annotated[bool, typer.Option("--random-weights", help="Survey the model's random twin.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    config: Annotated[Path | None, CONFIG] = None,
) -> None:
    """Read a text once and measure how the hidden states split into position and context."""
    from armillary.capture.survey import survey as run_survey
    from armillary.models import load

    view = load(
        model,
        device=device,
        dtype=dtype,
        revision=revision,
        trust_remote_code=trust_remote_code,
        allow_pickle=allow_pickle,
        random_weights=seed if random_weights else None,
    )
    run = run_survey(
        view,
        corpus,
        out=out or default_folder(model, corpus, random_weights),
        resume=resume,
        progress=not quiet,
        contexts=contexts,
        length=length,
        seed=seed,
        first=first.value,
        outliers=outliers.value,
        bos=bos.value,
        crossing=crossing,
        documents=documents,
        per_document=per_document,
        sites=sites.value,
        covariance=covariance.value,
        batch=batch,
    )
    if not quiet:
        from armillary.printing import printed

        console().print(printed(run))
        typer.echo(
            f"results: {run.folder}  (armillary show {run.folder}; in Python: armillary.open({str(run.folder)!r}))"
        )


def default_folder(model: str, corpus: str, twin: bool) -> Path:
    """runs/MODEL-CORPUS, with only letters that any file system takes."""
    name = f"{model}{'-random' if twin else ''}-{corpus}"
    return Path("runs") / "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name).strip("-.")


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
) -> None:
    """Print the first table of a run: one row per layer."""
    from armillary.printing import printed, table
    from armillary.store import open as open_run

    opened = open_run(run)
    if json:
        typer.echo(table(opened).reset_index().to_json(orient="records", indent=1))
    elif csv:
        typer.echo(table(opened).to_csv(), nl=False)
    else:
        console().print(printed(opened))


@app.command()
def models() -> None:
    """List the models that have a name here."""
    from armillary.models import NAMED

    rows([(row.name, row.size, row.licence, row.description) for row in NAMED.values()])


@app.command()
def corpora() -> None:
    """List the corpora that have a name here."""
    from armillary.corpora import NAMED

    rows([(name, row.size, row.licence, row.description) for name, row in NAMED.items()])


@app.command()
def info() -> None:
    """Print versions, devices and caches."""
    from armillary.surroundings import facts

    for name, value in facts().items():
        typer.echo(f"{name:14} {value}")


def rows(items: list[tuple[str, str, str, str]]) -> None:
    """A small list as a table."""
    from rich.table import Table

    out = Table(box=None, pad_edge=False)
    for name in ("name", "size", "licence", "what it is"):
        out.add_column(name, overflow="fold")
    for item in items:
        out.add_row(*item)
    console().print(out)


def console() -> Console:
    """Standard output; wide enough for the table where nobody set a width."""
    out = Console(markup=False, highlight=False)
    return out if out.is_terminal else Console(markup=False, highlight=False, width=140)
