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
Mean = StrEnum("Mean", ["plain", "output"])
Picture = StrEnum("Picture", ["svg", "pdf", "png"])


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
    batch: Annotated[int | None, typer.Option(help="Windows in a batch; two batches run at a time.")] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Measure what attention heads do, too.")] = False,
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
    from armillary.models import load
    from armillary.runs.survey import survey as run_survey

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
        heads=heads,
    )
    if not quiet:
        from armillary.printing.layers import printed
        from armillary.reporting import PAGE

        console().print(printed(run))
        typer.echo(
            f"results: {run.folder}  (armillary show {run.folder}; in Python: armillary.open({str(run.folder)!r}))"
        )
        if run.folder and (run.folder / PAGE).exists():
            typer.echo(f"report: {run.folder / PAGE}")


def default_folder(model: str, corpus: str, twin: bool) -> Path:
    """runs/MODEL-CORPUS, with only letters that any file system takes."""
    name = f"{model}{'-random' if twin else ''}-{corpus}"
    return Path("runs") / "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name).strip("-.")


TABLE = typer.Option(help="decomposition, summary, ranks, position, low-frequency or similarity.")


@app.command()
def show(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folder of a run; with --table also several.")],
    table: Annotated[str, TABLE] = "decomposition",
    json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
) -> None:
    """Print a table of a run: by default how its layers split into position, context and the rest.

    The other tables have the layout of Song and Zhong's: a row per model and text, a column per layer, then mean and
    spread over layers. summary is their table 1, ranks tables 4 and 5, position table 6, low-frequency tables 2 and 3.
    A run offers those it has results for; several runs become several rows.
    """
    from armillary.printing import layers, paper
    from armillary.results.store import open as open_run

    opened = [open_run(run) for run in runs]
    if table == "decomposition" and len(opened) > 1:
        raise RequestError(f"the table decomposition shows one run, {len(opened)} were given: choose another --table")
    first = table == "decomposition"
    if json or csv:
        frame = layers.table(opened[0]) if first else paper.paper_table(opened, table)
        typer.echo(frame.reset_index().to_json(orient="records", indent=1) if json else frame.to_csv(), nl=json)
        return
    out = console()
    out.print(layers.printed(opened[0]) if first else paper.printed(opened, table, out.width))


@app.command()
def measure(run: Annotated[Path, typer.Argument(help="The folder of a run.")]) -> None:
    """Measure a run again from what its pass kept, as after an upgrade: without the model."""
    from armillary.runs.measure import measure as measure_again

    measure_again(run)
    typer.echo(f"measured again: {run}")


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(help="The folder of a run.")],
    other: Annotated[Path, typer.Argument(help="The folder of another run.")],
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, angles in radians.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print results and differences as CSV, without angles.")] = False,
) -> None:
    """Print where two runs differ by more than their errors, and how their position bases lie to each other."""
    from armillary.printing import comparison
    from armillary.results.comparing import compare as compare_runs
    from armillary.results.store import open as open_run

    found = compare_runs(open_run(one), open_run(other))
    if json:
        typer.echo(comparison.as_json(found))
    elif csv:
        typer.echo(comparison.difference_rows(found).to_csv(index=False), nl=False)
    else:
        console().print(comparison.printed(found))


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    other: Annotated[Path | None, typer.Argument(help="The folder of another run, to compare the two.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file. [default: RUN/report.html]", show_default=False)] = None,
) -> None:
    """Write a page that shows a run, or two beside each other: one file, to be opened in any browser, offline."""
    from armillary.reporting import report as write_report

    typer.echo(f"report: {write_report(run, out, other)}")


@app.command()
def explore(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    port: Annotated[int | None, typer.Option(help="Its port. [default: a free one]", show_default=False)] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
) -> None:
    """Open a page on this machine to browse a run and to ask its model; Ctrl+C ends it."""
    from armillary.explorer import explore as serve

    serve(run, port=port, browser=not no_browser)


@app.command()
def figure(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    name: Annotated[str | None, typer.Argument(help="Which figure; without a name, they are listed.")] = None,
    format: Annotated[Picture, typer.Option(help="The format of the file.")] = Picture.svg,
    out: Annotated[Path | None, typer.Option(help="The file. [default: NAME.FORMAT]", show_default=False)] = None,
) -> None:
    """Write one figure of a run as a file for a paper, or list those that the run has."""
    from armillary.figures import available
    from armillary.reporting.static import figure as write_figure
    from armillary.results.store import open as open_run

    opened = open_run(run)
    if name is None:
        for one in available(opened.results):
            typer.echo(f"{one.name:22} {one.section:10} {one.finding(opened.results)}")
    else:
        chosen = out if out is not None and out.suffix else (out or Path(name)).with_suffix(f".{format.value}")
        typer.echo(f"figure: {write_figure(opened, name, chosen)}")


@app.command()
def heads(
    run: Annotated[Path, typer.Argument(help="The folder of a run that was surveyed with --heads.")],
    kind: Annotated[str | None, typer.Option(help="Only heads of this name: induction, sink, ...")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print rows as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run a model's own code.")] = False,
    allow_pickle: Annotated[bool, typer.Option("--allow-pickle", help="Read pickled weights (weights only).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing about the passes.")] = False,
) -> None:
    """Print what each attention head does, by name and in numbers.

    The first time, the model reads random tokens that come twice, and so does its random twin as a null; the report
    of the run is then written anew.
    """
    from armillary.printing import heads as heads_table
    from armillary.results.store import open as open_run
    from armillary.runs.heads import heads as named

    opened = named(open_run(run), progress=not quiet, trust_remote_code=trust_remote_code, allow_pickle=allow_pickle)
    frame = heads_table.head_table(opened, kind)
    text = frame.reset_index().to_json(orient="records", indent=1) if json else str(frame.to_csv()) if csv else None
    show_rows(text, heads_table.printed(opened, frame))


@app.command()
def prompt(
    model: Annotated[str, MODEL],
    text: Annotated[str | None, typer.Argument(help="The text; leave it out with --shots.")] = None,
    layer: Annotated[int | None, typer.Option("--layer", "--block", help="One layer, token by token.")] = None,
    head: Annotated[int | None, typer.Option(help="One head instead of the mean over heads.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Attention between words instead of tokens.")] = False,
    mean: Annotated[Mean, typer.Option(help="Heads alike, or by what they add through W_O.")] = Mean.plain,
    tokens: Annotated[int | None, typer.Option(help="Tokens of continuation. [default: 20, encoders 0]")] = None,
    shots: Annotated[str | None, typer.Option(help="The built-in task with so many examples: 3,5,8.")] = None,
    seed: Annotated[int, typer.Option(help="Fixes the examples and the random weights.")] = 0,
    device: Annotated[str | None, typer.Option(help="Where the model runs: cpu, cuda, mps.")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32, bfloat16, float16, float64 or auto.")] = None,
    random_weights: Annotated[bool, typer.Option("--random-weights", help="Ask the model's random twin.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print rows as CSV.")] = False,
) -> None:
    """Send one text through a model: attention by layer, head, token and word, and how the model goes on."""
    from armillary.models import load
    from armillary.printing import prompt as prompt_table
    from armillary.prompts import continuation as continuing
    from armillary.prompts import prompt as reader

    if (text is None) == (shots is None):
        raise RequestError("expected a text or --shots, came " + ("neither" if text is None else "both"))
    counts = shot_counts(shots) if shots is not None else []
    view = load(model, device=device, dtype=dtype, random_weights=seed if random_weights else None)
    if text is None:
        task(view, counts, tokens, seed, json=json, csv=csv)
        return
    maps = reader.prompt(view, text)
    chosen: dict[str, Any] = {"head": head, "mean": mean.value, "words": words}
    table = prompt_table.layers(maps, **chosen) if layer is None else prompt_table.tokens(maps, layer, **chosen)
    length = tokens if tokens is not None else 20 if view.model.can_generate() else 0
    goes_on = continuing.continuation(view, text, length) if length else None
    rows = prompt_table.as_json(maps, table, goes_on) if json else prompt_table.as_csv(table) if csv else None
    show_rows(rows, prompt_table.printed(maps, table, goes_on))


def task(view: Any, shots: list[int], tokens: int | None, seed: int, *, json: bool, csv: bool) -> None:
    """The built-in task by examples: the answers, and where the examples' tokens look."""
    from armillary.printing import prompt as prompt_table
    from armillary.prompts.fewshot import fewshot_answers

    found = fewshot_answers(view, shots, tokens=16 if tokens is None else tokens, seed=seed, progress=True)
    frame = prompt_table.answers_frame(found)
    rows = prompt_table.answers_json(found) if json else str(frame.to_csv(index=False)) if csv else None
    show_rows(rows, prompt_table.answers(found))


def shot_counts(text: str) -> list[int]:
    """3,5,8 as numbers."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise RequestError(f"expected numbers of shots such as 3,5,8, came {text!r}")
    return [int(part) for part in parts]


def show_rows(text: str | None, table: Any) -> None:
    """Rows as text where they were asked for, else the table."""
    if text is None:
        console().print(table)
    else:
        typer.echo(text.rstrip("\n"))


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
    from armillary.system.surroundings import facts

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
