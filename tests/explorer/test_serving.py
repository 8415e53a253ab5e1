"""The server itself: its port, its address, its end, and a question whose asker leaves."""

import re
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
import uvicorn

from armillary.errors import RequestError
from armillary.explorer.app import application
from armillary.explorer.serving import bound


def test_the_page_is_for_this_machine_alone_on_a_free_port():
    with bound(None) as one, bound(None) as other:
        assert one.getsockname()[0] == "127.0.0.1"
        assert one.getsockname()[1] != other.getsockname()[1]


def test_a_port_in_use_is_one_clear_line():
    with bound(None) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=rf"expected a free port, got {port} \(.*\): give another --port"):
            bound(port)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(RequestError, match=f"expected a port from 1 to 65535, got {port}: leave --port out"):
        bound(port)


def test_the_command_prints_its_address_serves_and_ends_in_peace(run):
    arguments = ["explore", str(run.folder), "--no-browser"]
    code = "import sys; sys.argv = ['armillary', *sys.argv[1:]]; from armillary.cli import main; main()"
    server = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", server.stderr.readline())[0]
        assert httpx.get(address, timeout=20).status_code == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
        assert server.stderr.read() == ""
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


class Endless:
    """A model that answers nothing until it is told to stop."""

    def look(self, asked, job):
        while True:
            job.check()
            time.sleep(0.005)

    def parts(self, asked, job):
        return {"answer": 42}


def test_a_question_whose_asker_leaves_is_cancelled_and_the_next_is_answered(run):
    config = uvicorn.Config(application(run, lambda tell: Endless()), log_level="error", ws="none")
    server, listening = uvicorn.Server(config), bound(None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    base, asked = f"http://127.0.0.1:{listening.getsockname()[1]}/api", {"prompt": "word1", "block": 0, "head": 0}
    try:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{base}/ask/look", json=asked, timeout=httpx.Timeout(20, read=0.4))
        assert httpx.post(f"{base}/ask/parts", json=asked, timeout=20).json() == {"answer": 42}
        assert httpx.get(f"{base}/model").json() == {"state": "ready", "running": 0, "waiting": 0}
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
