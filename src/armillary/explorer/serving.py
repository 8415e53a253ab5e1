"""The server behind `armillary explore`: a socket on 127.0.0.1, uvicorn, and the browser that opens it."""

import contextlib
import os
import socket
import threading
import webbrowser

import uvicorn

from armillary.errors import RequestError
from armillary.explorer.app import application
from armillary.results.store import Run
from armillary.results.store import open as open_run
from armillary.system.progress import say

HOST = "127.0.0.1"


def explore(run: Run | str | os.PathLike[str], *, port: int | None = None, browser: bool = True) -> None:
    """Serve a page on this machine to browse a run and to ask its model; Ctrl+C stops it.

    Without `port` a free one is taken. The address is printed, and opened in a browser if `browser` says so. The model
    is loaded when the page first needs it, from the run's provenance.
    """
    opened = run if isinstance(run, Run) else open_run(os.fspath(run))
    listening = bound(port)
    address = f"http://{HOST}:{listening.getsockname()[1]}/"
    say(f"{opened.title}: {address}  (Ctrl+C to stop)")
    if browser:
        # The socket listens already: a browser that is quicker than the server waits for it.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server(opened).run(sockets=[listening])


def server(run: Run) -> uvicorn.Server:
    """The server of a run's page; it is given its socket when it runs."""
    config = uvicorn.Config(
        application(run),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=256,  # connections, also those that say nothing
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def bound(port: int | None) -> socket.socket:
    """A listening socket of this machine alone, on the port or on a free one."""
    if port is not None and not 1 <= port <= 65535:
        raise RequestError(f"expected a port from 1 to 65535, got {port}: leave --port out to get a free one")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would let two servers share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port or 0))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise RequestError(
            f"expected a free port, got {port} ({error.strerror}): give another --port or leave it out"
        ) from error
    return listening
