"""The wheel of `make wheel` in an empty environment: it surveys a real model, and its report and explorer are whole."""

import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of an environment that holds torch and the wheel, and nothing of this tree."""
    wheels = sorted((ROOT / "dist").glob("armillary-*.whl"))
    assert wheels, "run `make wheel` first"
    place = tmp_path_factory.mktemp("empty")
    venv.create(place, with_pip=True)
    torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
    for what in ([torch], ["--constraint", str(CONSTRAINTS), str(wheels[-1])]):
        used(place, "python", "-m", "pip", "install", "--quiet", *what)
    return place


def used(place, program, *arguments):
    """What a program of the environment prints, away from this tree."""
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [str(place / "bin" / program), *map(str, arguments)]
    ended = subprocess.run(command, cwd=place, capture_output=True, encoding="utf-8", env=alone, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.nightly
def test_the_wheel_holds_every_file_of_the_package(installed):
    own = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/armillary").rglob("*") if path.is_file()}
    lib = next(installed.glob("lib/python*/site-packages"))
    there = {path.relative_to(lib).as_posix() for path in (lib / "armillary").rglob("*") if path.is_file()}
    assert {name for name in there ^ own if not name.endswith(".pyc")} == set()
    assert {"armillary/py.typed", "armillary/reporting/web/page.js", "armillary/explorer/web/index.html"} <= there


@pytest.mark.nightly
@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="programs of an environment lie elsewhere there")
def test_the_wheel_surveys_a_model_and_shows_report_and_explorer(installed):
    where = used(installed, "python", "-c", "import armillary; print(armillary.__file__)")
    assert Path(where.strip()).is_relative_to(installed)
    used(installed, "armillary", "survey", "minilm", "--contexts", "32", "--length", "64", "--out", "run")
    assert "minilm on python-docs" in used(installed, "armillary", "show", "run")
    page = (installed / "run" / "report.html").read_text(encoding="utf-8")
    assert 'id="data-position-share"' in page
    assert "Plotly" in page
    assert "position" in explored(installed)


def explored(place):
    """What the explorer serves: its page, with every file that the page names."""
    command = [str(place / "bin" / "armillary"), "explore", "run", "--no-browser"]
    with subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as server:
        try:
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            page = fetched(address)
            files = re.findall(r'(?:src|href)="([\w./-]+\.(?:js|css))"', page)
            assert files
            return page + "".join(fetched(urljoin(address, name)) for name in files)
        finally:
            server.terminate()


def fetched(address, patience=60):
    """The text at an address, which may take a while to be there."""
    for _ in range(patience):
        try:
            with urlopen(address, timeout=20) as answer:
                return answer.read().decode()
        except ConnectionError:
            time.sleep(1)
    raise AssertionError(f"{address} gave no answer")
