"""The page's server: routes, what a request may say, and how errors are worded. It needs no model to browse."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import plotly
from plotly.io.json import to_json_plotly
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from armillary.errors import ArmillaryError, RequestError, did_you_mean, refuse_outside
from armillary.explorer import browsing, heads
from armillary.explorer.guard import Guarded
from armillary.explorer.heads import Unknown
from armillary.explorer.worker import Cancelled, Load, Tell, Worker, one_line
from armillary.figures.kit.colours import THEMES, css_variables, table
from armillary.figures.kit.style import template
from armillary.reporting.glossary import TERMS
from armillary.reporting.page import asset
from armillary.reporting.plots import FigureFailed
from armillary.results.reading import simulated
from armillary.results.store import Run

WEB = Path(__file__).parent / "web"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
LARGEST = 1_000_000
ALPHAS = (0.25, 4.0)
"""The range of α, and the most bytes that a request may have."""


def application(run: Run, load: Load | None = None) -> Starlette:
    """The page of a run; `load` gives its model when it is first asked something."""
    worker = Worker(load or model_of(run))
    look = browsing_answer(run)
    drawn = lru_cache(256)(lambda *asked: as_json(look(*asked)))
    drawing = asyncio.Lock()

    async def browse(request: Request) -> Response:
        # One picture at a time: two tabs would otherwise take every core from the model.
        async with drawing:
            return Response(await run_in_threadpool(drawn, *wanted(request)), media_type="application/json")

    async def model(request: Request) -> Response:
        if request.method == "POST":
            worker.begin(again=(await body_of(request)).get("again") is True)
        return answer(worker.status())

    async def ask(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in QUESTIONS:
            raise Unknown(f"expected a question, got {kind!r}: {did_you_mean(kind, QUESTIONS)}")
        asked = asked_for(await body_of(request), prompt=kind not in WITHOUT_PROMPT)
        job = worker.ask(lambda model, job: getattr(model, kind)(asked, job))
        while not job.future.done():
            if await request.is_disconnected():
                job.cancel()
                raise Cancelled
            await asyncio.sleep(0.02)
        return answer(job.future.result())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        worker.close()

    return Starlette(
        routes=[
            Route("/", page),
            Route("/plotly.js", plotly_script),
            Route("/fitted.js", fitted_script),
            Route("/colours.css", colours),
            Route("/api/model", model, methods=["GET", "POST"]),
            Route("/api/ask/{kind}", ask, methods=["POST"]),
            Route("/api/{what}", browse),
            Route("/api/{what}/{one:path}", browse),
            Mount("/web", StaticFiles(directory=WEB)),
        ],
        middleware=[Middleware(Guarded), Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
        exception_handlers={
            ArmillaryError: refused,
            FigureFailed: drawn_badly,
            HTTPException: failed,
            Cancelled: gone,
            Exception: broken,
        },
        lifespan=lifespan,
    )


QUESTIONS = ("look", "maps", "parts", "lens", "continuation", "travel", "examples")
WITHOUT_PROMPT = ("examples",)
"""What can be asked of the model, by the name of the method that answers; and what needs no prompt."""


def model_of(run: Run) -> Load:
    """How a run's model is loaded: torch comes in here and not before."""

    def load(tell: Tell) -> Any:
        if simulated(run.results):
            raise RequestError("expected a run of a model, got a simulation: it has no model to ask")
        tell("starting PyTorch")
        from armillary.explorer import asking

        return asking.loaded(run, tell)

    return load


READ = (
    *("run", "themes", "glossary", "claims"),
    *("figures/NAME", "layers/LAYER/NAME", "measures/GROUP/NAME", "heads/BLOCK/HEAD"),
)
"""What can be read of a run without its model."""


def browsing_answer(run: Run) -> Callable[..., Any]:
    """What is read off a run, by kind and name."""

    def look(what: str, *one: str) -> Any:
        match what, *one:
            case ["run"]:
                return browsing.facts(run)
            case ["themes"]:
                return table() | {"templates": {name: template(name).to_plotly_json() for name in THEMES}}
            case ["glossary"]:
                return TERMS
            case ["claims"]:
                return browsing.claims(run)
            case ["figures", name]:
                return browsing.figure(run, name)
            case ["layers", number, name]:
                return browsing.layer(run, whole(number, "layer"), name)
            case ["measures", group, name]:
                return heads.measure(run, f"{group}/{name}")
            case ["heads", block, head]:
                return heads.head(run, whole(block, "block"), whole(head, "head"))
        raise Unknown(f"expected one of {', '.join(READ)}, got {'/'.join((what, *one))!r}: ask for one of these")

    return look


def wanted(request: Request) -> tuple[str, ...]:
    """The path of what is asked for, in its parts."""
    return (request.path_params["what"], *(part for part in request.path_params.get("one", "").split("/") if part))


def whole(text: str, what: str) -> int:
    """A number of a path; what is none is not found."""
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        raise Unknown(f"expected a {what} as a whole number, got {text!r}: count from 0")
    return int(text)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request. The type is asked for: other sites' pages cannot send it without being let."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise HTTPException(415, "expected a body of type application/json, got another: set its content-type")
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > LARGEST:
            raise HTTPException(413, f"expected at most {LARGEST} bytes, got more: shorten the prompt")
    try:
        body = json.loads(received or b"{}")
    except (ValueError, RecursionError) as error:
        raise RequestError(f"expected a JSON object, got something else ({error}): correct the body") from error
    if not isinstance(body, dict):
        raise RequestError(f"expected a JSON object, got a {type(body).__name__}: correct the body")
    return body


def asked_for(body: dict[str, Any], *, prompt: bool) -> dict[str, Any]:
    """A question with every part checked: prompt, block, head, token, and what is changed in the model."""
    text = body.get("prompt", "")
    if prompt and (not isinstance(text, str) or not text.strip()):
        raise RequestError("expected a text with at least one word, got an empty prompt: type one")
    alpha = body.get("alpha", 1.0)
    if type(alpha) not in (int, float):
        raise RequestError(f"expected α from {ALPHAS[0]:g} to {ALPHAS[1]:g}, got {alpha!r}: give a number")
    refuse_outside("α", float(alpha), *ALPHAS)
    return {
        "prompt": text,
        "block": counted(body.get("block"), "block"),
        "head": counted(body.get("head"), "head"),
        "position": None if body.get("position") is None else counted(body["position"], "position"),
        "alpha": float(alpha),
        "only": None if body.get("only") is None else counted(body["only"], "block to scale alone"),
        "without": None if body.get("without") is None else silenced(body["without"]),
    }


def counted(value: Any, what: str) -> int:
    """A whole number of a question; a number like 3.0 is none."""
    if type(value) is not int or value < 0:
        raise RequestError(f"expected a whole number as {what}, got {value!r}: count from 0")
    return value


def silenced(value: Any) -> tuple[int, int]:
    """The head that is left out: its block and its number."""
    if not isinstance(value, list) or len(value) != 2:
        raise RequestError(f"expected [block, head] to leave out, got {value!r}: give two whole numbers")
    return counted(value[0], "block to leave out"), counted(value[1], "head to leave out")


async def page(_: Request) -> Response:
    """The page itself."""
    return FileResponse(WEB / "index.html")


async def plotly_script(_: Request) -> Response:
    """plotly.js of the installed package."""
    return FileResponse(PLOTLY, media_type="text/javascript")


async def fitted_script(_: Request) -> Response:
    """How figures fit a page, as in the report."""
    return Response(asset("fitted.js"), media_type="text/javascript")


async def colours(_: Request) -> Response:
    """The colours by meaning, as variables of a style sheet."""
    return Response(css_variables(), media_type="text/css")


def answer(content: Any, status: int = 200) -> Response:
    """Anything as JSON; arrays as plotly reads them, numbers that are none as null."""
    return Response(as_json(content), status, media_type="application/json")


def as_json(content: Any) -> bytes:
    """The bytes of an answer."""
    return to_json_plotly(content, engine="json").encode()


async def refused(_: Request, error: Exception) -> Response:
    """What a user can put right, as one line."""
    return answer({"error": one_line(error)}, 404 if isinstance(error, Unknown) else 400)


async def drawn_badly(_: Request, error: Exception) -> Response:
    """A figure that failed, with its name."""
    return answer({"error": str(error)}, 500)


async def failed(_: Request, error: Exception) -> Response:
    """No such page, or a request of the wrong kind."""
    assert isinstance(error, HTTPException)
    return answer({"error": str(error.detail)}, error.status_code)


async def gone(_: Request, error: Exception) -> Response:
    """Nobody waits for this answer."""
    return answer({"error": "the question was cancelled"}, 409)


async def broken(_: Request, error: Exception) -> Response:
    """A fault of the explorer; its traceback goes to the terminal."""
    line = f"The explorer failed ({one_line(error)}). This is a bug of Armillary: please report it."
    return answer({"error": line}, 500)
