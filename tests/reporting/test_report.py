"""The report without a browser: what it holds, what it escapes, where it goes, and how it refuses."""

import json
import re
import subprocess
import sys

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from typer.testing import CliRunner

import armillary as arm
import made_up
from armillary import cli
from armillary.errors import RequestError, StoreError
from armillary.figures import FIGURES, SECTIONS, Figure, available
from armillary.reporting.questions import answers as first_screen
from armillary.reporting.content import run_report
from armillary.reporting.kinds import Plot
from armillary.reporting.page import inert
from armillary.reporting.static import figure
from armillary.results import store
from armillary.results.store import Run


@pytest.fixture(scope="module")
def run():
    return Run(made_up.run_of())


@pytest.fixture(scope="module")
def text(run, tmp_path_factory):
    return arm.report(run, tmp_path_factory.mktemp("page") / "deep" / "report.html").read_text(encoding="utf-8")


def test_every_figure_of_the_run_is_in_the_report_with_its_words(run, text):
    for one in available(run.results):
        assert f'<article id="{one.name}">' in text
        stored = re.search(rf'id="data-{one.name}">(.*?)</script>', text, re.S).group(1)
        assert json.loads(stored)["data"]


def test_sections_follow_the_order_of_the_data_flow(text):
    order = re.findall(r'<section id="section-(\w+)">', text)
    assert order == [section for section in SECTIONS if section in order]
    assert {"states", "position", "context", "depth"} <= set(order)


def test_a_new_figure_in_the_registry_brings_its_own_section(run, monkeypatch, tmp_path):
    made = Figure("new", "later", ("norms/norm",), lambda _: "A < B", lambda _: go.Figure(), "It shows.", "f", "s")
    monkeypatch.setitem(FIGURES, "new", made)
    text = arm.report(run, tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<section id="section-later"><h2>Later</h2><article id="new"><h3>A &lt; B</h3>' in text


def test_the_page_names_no_address_outside_itself_before_plotly(text):
    own = text[: text.index("* plotly.js")]
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)", own)
    assert "default-src 'none'" in own
    assert "unsafe-eval" not in own
    assert "script-src 'sha256-" in own


def test_the_first_screen_asks_what_the_run_can_answer(run):
    asked = {one.question: one for one in answers(run.results)}
    assert asked["How much variance does position explain?"].plot == "position-share"
    context = asked["How much variance does context explain?"].text
    assert context.startswith("Context explains 20 % of variance")
    assert context.endswith("; noise floor 2 %")
    assert "at positions" in asked["Where are the massive activations?"].text
    without = made_up.changed(run.results, **dict.fromkeys(everything(run.results, "taxonomy", "heads")))
    assert "Which kinds of heads are there?" not in {one.question for one in answers(without)}
    assert not answers(made_up.changed(run.results, **dict.fromkeys(everything(run.results))))


def answers(results):
    return run_report(Run(results)).answers


def everything(results, *groups):
    chosen = groups or results.children
    return [f"{group}__{name}" for group in chosen if group in results.children for name in results[group].data_vars]


def test_heads_are_counted_by_name_with_the_clearest_and_its_error(run):
    results = run.results.copy()
    kind = np.array([["induction", ""], ["sink", "sink"]])
    names = {"kind": (("block", "head"), kind)}
    for score, values in {"induction": [[0.8, 0.9], [0, 0]], "sink": [[0, 0], [0.6, 0.7]]}.items():
        names |= {score: (("block", "head"), np.array(values, dtype=float)), f"{score}_null": ((), 0.05)}
        names |= {f"{score}_se": (("block", "head"), np.full((2, 2), 0.01))}
    groups = {f"/{group}": node.to_dataset() for group, node in results.children.items()}
    results = xr.DataTree.from_dict({**groups, "/taxonomy": xr.Dataset(names)})
    plots = [Plot("head-names", "heads", "", go.Figure(), "", "", "")]
    sentence = first_screen(results, plots)[-1].text
    assert sentence.startswith("1 induction head (L0H0: 80.0 ± ")
    assert "2 attention sinks (L1H1: 70.0 ± " in sentence
    assert sentence.endswith("1 of 4 heads of no kind. Random-weight control: at most 5 %")


def test_json_cannot_end_the_element_that_holds_it():
    assert "<" not in inert('{"a": "</script>"}')
    assert json.loads(inert('{"a": "</script>"}')) == {"a": "</script>"}


def test_a_run_without_a_folder_needs_a_file_for_its_page(run):
    with pytest.raises(
        RequestError, match=r"^expected a file for the page of a run without a folder, got none: report\(run, "
    ):
        arm.report(run)


def test_a_page_that_cannot_be_written_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*: free some space or choose another --out$"):
        arm.report(run, tmp_path / "file" / "report.html")


def test_a_report_is_made_without_torch(tmp_path):
    store.write(tmp_path, "states.nc", {"norms": made_up.run_of()["norms"].to_dataset()}, {"model": "m"})
    code = "import sys; from armillary.cli import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, "report", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"report: {tmp_path / 'report.html'}", "False"]


def test_the_footer_has_all_provenance_and_the_command(tmp_path):
    results = made_up.run_of()
    results.attrs.update(seed=7, command="armillary survey m --seed 7")
    text = arm.report(Run(results, tmp_path), tmp_path / "r.html").read_text(encoding="utf-8")
    footer = text[text.index("<footer") : text.index("</footer>")]
    assert "<tr><th>seed</th><td>7</td></tr>" in footer
    assert f"<pre>armillary survey m --seed 7\narmillary report {tmp_path}</pre>" in footer


def test_a_misspelt_figure_gets_near_names_and_an_unknown_ending_is_refused(run, tmp_path):
    with pytest.raises(
        RequestError, match=r"^expected a figure of this run, got 'postion-share': did you mean position-share"
    ):
        figure(run, "postion-share", tmp_path / "x.svg")
    with pytest.raises(
        RequestError, match=r"^expected a file name that ends in \.svg, \.pdf, \.png, got .*x\.gif: change its ending$"
    ):
        figure(run, "norms", tmp_path / "x.gif")


def test_a_missing_package_or_browser_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setattr("armillary.reporting.static.find_spec", lambda _: None)
    with pytest.raises(
        RequestError,
        match=r"^expected kaleido to draw to a file, got no such package: pip install 'armillary\[static\]'$",
    ):
        figure(run, "norms", tmp_path / "x.svg")
    monkeypatch.undo()

    def fails(*_, **__):
        raise RuntimeError("no browser")

    monkeypatch.setattr(go.Figure, "to_image", fails)
    with pytest.raises(
        RequestError, match=r"^expected Chromium or Chrome to draw to a file, got none that starts \(no browser\): "
    ):
        figure(run, "norms", tmp_path / "x.svg")


def test_the_command_lists_figures_and_a_run_shows_itself(run, tmp_path):
    store.write(tmp_path, "states.nc", {"norms": run.results["norms"].to_dataset()}, {"model": "<m>", "corpus": "c"})
    listed = CliRunner().invoke(cli.app, ["figure", str(tmp_path)])
    assert listed.stdout.split()[0] == "norms"
    shown = arm.open(tmp_path)._repr_html_()
    assert "&lt;m&gt; on c" in shown
    assert "run.plot('norms')" in shown
    assert "stable rank" in run._repr_html_()
