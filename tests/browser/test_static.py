"""Figures as files, drawn by kaleido in a real browser; and what the tests do where there is no browser."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import made_up
from armillary.figures import FIGURES
from armillary.results import store

COMMAND = "from armillary.cli import main; main()"
BROWSERLESS = Path(__file__).with_name("test_report.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with one figure."""
    place = tmp_path_factory.mktemp("run")
    store.write(place, "states.nc", {"norms": made_up.run_of()["norms"].to_dataset()}, {"model": "m", "corpus": "c"})
    return place


@pytest.fixture(scope="module")
def drawn(folder, browser):
    """The command's file of that figure, in some format."""

    def picture(kind):
        command = [sys.executable, "-c", COMMAND, "figure", str(folder), "norms", "--format", kind]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert (done.returncode, done.stdout) == (0, f"figure: norms.{kind}\n"), done.stderr
        return (folder / f"norms.{kind}").read_bytes()

    return picture


def test_an_svg_is_a_drawing_with_its_finding(drawn, folder):
    root = ElementTree.fromstring(drawn("svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("width") == "800"
    written = " ".join(root.itertext()).replace("\u00a0", " ")
    assert FIGURES["norms"].finding(store.open(folder).results) in re.sub(r"\s+", " ", written)
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 10


def test_a_pdf_is_one_page_with_a_drawing(drawn):
    picture = drawn("pdf")
    assert picture.startswith(b"%PDF-")
    assert picture.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", picture)) == 1
    assert b"/Font" in picture


def test_a_png_is_not_blank_and_has_two_dots_to_a_pixel(drawn, ink):
    picture = drawn("png")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(picture[16:20], "big") == 1600
    assert ink(picture)["share"] > 0.004


@pytest.mark.parametrize("must_run", [True, False])
def test_without_a_browser_tests_fail_where_all_must_run_and_are_skipped_elsewhere(tmp_path, must_run):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "ARMILLARY_MUST"))}
    surroundings = kept | {"PATH": str(tmp_path), "ARMILLARY_SHAPES": "0"}
    surroundings |= {"ARMILLARY_MUST_RUN_ALL": "1"} if must_run else {}
    test = f"{BROWSERLESS}::test_figures_far_below_wait_until_they_are_near"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", test]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    assert "chromium is not installed: run `make browser`" in done.stdout
    assert re.search("1 error" if must_run else "1 skipped", done.stdout)
    assert done.returncode == int(must_run)
