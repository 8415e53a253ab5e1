"""What stands before the explorer's answers: whose requests are heard, how many, how long they may be and may take."""

import asyncio
import json

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ADDRESS, HEAD, SECONDS = 2_000, 16_000, 10.0
"""The most letters of an address with its query and of all headers, and seconds for a body to come."""

AT_ONCE, QUESTIONS = 128, 16
"""The most requests at a time, and of these questions to the model."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer: the page asks nobody but its own server, and no other page may hold or read it."""


class Guarded:
    """Puts the headers on every answer, and turns away what another site's page sent, what is too long or too much."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.running = {"requests": 0, "questions": 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *ours]
            await send(message)

        question = "questions" if scope["path"].startswith("/api/ask/") else "requests"
        if (why := refused(scope) or self.crowded(question)) is not None:
            status, line = why
            await said(status, line)(scope, receive, guarded)
            return
        self.running[question] += 1
        try:
            await self.app(scope, in_time(receive), guarded)
        finally:
            self.running[question] -= 1

    def crowded(self, kind: str) -> tuple[int, str] | None:
        """Why no more is answered for now."""
        most = QUESTIONS if kind == "questions" else AT_ONCE
        if self.running[kind] < most:
            return None
        return 503, f"expected at most {most} {kind} at a time, got more: wait for the answers"


def refused(scope: Scope) -> tuple[int, str] | None:
    """Status and line for a request that is not heard: too long, or sent by the page of another site."""
    headers = scope["headers"]
    if len(scope["raw_path"]) + len(scope["query_string"]) > ADDRESS:
        return 414, f"expected an address of at most {ADDRESS} letters, got a longer one: shorten it"
    if sum(len(name) + len(value) for name, value in headers) > HEAD:
        return 431, f"expected headers of at most {HEAD} letters, got more: clear the cookies of this address"
    sent = dict(headers)
    origin, site = sent.get(b"origin"), sent.get(b"sec-fetch-site")
    elsewhere = origin is not None and origin != b"http://" + sent.get(b"host", b"")
    if elsewhere or site in (b"cross-site", b"same-site"):
        # A link on another site may open the page, and nothing else.
        if not elsewhere and sent.get(b"sec-fetch-mode") == b"navigate" and scope["path"] == "/":
            return None
        return 403, "expected a request of this page itself, got one of another site: open the explorer's own address"
    return None


def in_time(receive: Receive) -> Receive:
    """The pieces of a body, which must come in time; that a client went away may be learnt at any time."""
    complete = False

    async def received() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), SECONDS)
        except TimeoutError:
            return {"type": "http.disconnect"}
        complete = not message.get("more_body", False)
        return message

    return received


def said(status: int, line: str) -> Response:
    """A refusal as JSON."""
    return Response(json.dumps({"error": line}), status, media_type="application/json")
