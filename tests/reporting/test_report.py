"""The report without a browser: what it holds, what it escapes, where it goes, and how it refuses."""

import json
import re
import shlex
import subprocess
import sys
from html import unescape

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
from armillary.measures.errors.shares import Share
from armillary.reporting.content import command
from armillary.reporting.heads import heads_of
from armillary.reporting.kinds import Answer, Plot
from armillary.reporting.page import inert
from armillary.reporting.questions import answers as first_screen
from armillary.reporting.static import figure
from armillary.results import store
from armillary.results.reading import label_of
from armillary.results.schema.naming import KINDS
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


def test_sections_follow_the_order_of_the_questions(text):
    order = re.findall(r'<section id="section-(\w+)">', text)
    assert order == [section for section in SECTIONS if section in order]
    assert {"states", "position", "context", "depth"} <= set(order)


def test_a_new_figure_in_the_registry_brings_its_own_section(run, monkeypatch, tmp_path):
    made = Figure("new", "later", ("norms/norm",), lambda _: "A < B", lambda _: go.Figure(), "It shows.", "f", "s")
    monkeypatch.setitem(FIGURES, "new", made)
    text = arm.report(run, tmp_path / "r.html").read_text(encoding="utf-8")
    start = '<section id="section-later"><h2>Later</h2><details class="details"><summary>Details: 1 figure</summary>'
    assert f'{start}<article id="new"><h3>A &lt; B</h3>' in text


def test_the_page_names_no_address_outside_itself_before_plotly(text):
    own = text[: text.index("* plotly.js")]
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)", own)
    assert "default-src 'none'" in own
    assert "unsafe-eval" not in own
    assert "script-src 'sha256-" in own


def test_the_first_screen_asks_what_the_run_can_answer(run):
    asked = {one.question: one for one in answers(run.results)}
    position = asked["Do hidden states carry position?"]
    said = "Position explains up to 10.0 ± 1.2 % of variance (layer 4); significant in all 5 layers"
    assert position[1:4] == ("Yes", said, "position-share")
    assert asked["Is the positional basis low-rank?"].verdict == "Yes"
    assert asked["Are position and context orthogonal?"].verdict in ("Yes", "No", "Unclear")
    assert asked["Are there massive activations?"].text.startswith("6 tokens are massive, up to 34 × the median norm")
    held = {f"/{name}": node.to_dataset() for name, node in run.results.children.items() if name != "taxonomy"}
    without = {one.question: one for one in answers(xr.DataTree.from_dict(held))}["Do heads have known jobs?"]
    assert without == Answer("Do heads have known jobs?", "Not measured", "`armillary heads RUN` adds it", None)


VERDICTS = ("Yes", "No", "Unclear", "Not measured")


@pytest.mark.parametrize("case", ["as it is", "without groups", "not estimable", "no outliers", "nulls only"])
def test_every_card_has_a_verdict_and_at_most_20_words(run, case):
    results = run.results
    measured = ("position", "context", "depth", "influence", "norm_geometry", "gaussian")
    if case == "without groups":
        results = made_up.changed(results, corpus__group=None)
    if case == "not estimable":
        floats = [path for path in everything(results, *measured) if results[path.replace("__", "/")].dtype.kind == "f"]
        results = made_up.changed(results, **dict.fromkeys(floats, np.nan))
    if case == "no outliers":
        results = made_up.run_of(outliers=0)
    if case == "nulls only":
        results = made_up.changed(results, position__share_corrected=0.0, taxonomy__kind="")
    given = answers(results)
    assert len(given) >= 15
    for one in given:
        assert one.verdict in VERDICTS
        assert len([word for word in one.text.split() if re.search(r"\w", word)]) <= 20, one.text
        assert "nan" not in one.text.lower().split()


@pytest.mark.parametrize("seed", range(3))
def test_the_dot_of_a_card_stands_at_the_row_that_its_sentence_names(seed):
    named = 0
    for card in answers(made_up.run_of(layers=9, seed=seed)):
        said = re.search(r"\b(?:layer|block|step) (\d+)", card.text)
        if said and card.curve is not None:
            assert card.curve.dot == int(said[1]), card.text
            named += 1
    assert named >= 6


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"position__share_corrected": 0.1, "position__share_corrected_se": 0.001}, "Yes"),
        ({"position__share_corrected": 0.0, "position__share_corrected_se": 0.0005}, "No"),
        ({"position__share_corrected": 0.03, "position__share_corrected_se": 0.02}, "Unclear"),
        ({"position__share_corrected": np.nan}, "Unclear"),
    ],
)
def test_a_verdict_goes_no_further_than_the_intervals(run, values, verdict):
    asked = {one.question: one for one in answers(made_up.changed(run.results, **values))}
    assert asked["Do hidden states carry position?"].verdict == verdict


def said(run, question, **changed):
    return next(one for one in answers(made_up.changed(run.results, **changed)) if one.question == question)


def test_heads_that_are_all_uniform_have_no_known_job(run):
    card = said(run, "Do heads have known jobs?", taxonomy__kind="uniform")
    assert card.verdict == "No"
    assert card.text.endswith("clearly exceeds the random-weight control; 16 are uniform, as untrained heads are")


@pytest.mark.parametrize(("share", "verdict"), [(0.9, "Yes"), (0.06, "No")])
def test_position_above_its_null_is_smooth_only_where_low_frequencies_hold_half_of_it(run, share, verdict):
    held = {f"position__low_frequency_share{end}": share for end in ("", "_low", "_high")}
    held["position__low_frequency_share_null"] = 0.04
    assert said(run, "Is position smooth?", **held).verdict == verdict
    title = FIGURES["low-frequency-share"].finding(made_up.changed(run.results, **held))
    assert title.startswith("Position is smooth:" if verdict == "Yes" else "Position is smoother than chance:")


def test_a_few_pairs_of_windows_do_not_say_that_documents_cluster(run):
    null = {"context__similarity_within_null": 0.0}
    assert said(run, "Do contexts cluster by document?", **null).verdict == "Yes"
    windows = np.arange(run.results["corpus"].sizes["context"])
    few = said(run, "Do contexts cluster by document?", **null, corpus__document_index=np.maximum(windows, 2))
    assert few.verdict == "Unclear"
    assert few.text.endswith("; 3 pairs of one document")


def test_one_readable_block_of_many_does_not_make_heads_readable(run, monkeypatch):
    found = iter([Share("holds", 0.5, 0.4, 0.6), *[Share("does not hold", 0.0, 0.0, 0.0)] * 99])
    monkeypatch.setattr("armillary.reporting.questions.weights.legible", lambda _: next(found))
    assert said(run, "Can heads be read as tokens?").verdict == "Unclear"


def test_where_no_head_is_an_induction_head_nothing_is_said_of_induction(run):
    asked = {one.question: one for one in answers(made_up.changed(run.results, taxonomy__kind="sink"))}
    induction = asked["Does induction match tokens, not positions?"]
    assert induction[1:3] == ("Unclear", "No head of this model is an induction head")


def test_the_range_on_fewer_documents_is_not_called_an_interval_of_the_value(run):
    values = {"": 0.955, "_low": 0.944, "_high": 0.954, "_null": 0.7}
    changed = made_up.changed(run.results, **{f"position__low_frequency_share{end}": x for end, x in values.items()})
    smooth = {one.question: one for one in answers(changed)}["Is position smooth?"]
    said = "Low frequencies hold up to 95.5 % (layer 0; 94.4 to 95.4 % on fewer documents); above null in all 5 layers"
    assert smooth[1:3] == ("Yes", said)


def test_cards_stand_in_the_page_with_word_colour_curve_and_link(run, text):
    cards = re.findall(r'<div class="([a-z-]+)"><dt>(.*?)</dt><dd>(.*?)</dd></div>', text, re.S)
    given = [one for one in answers(run.results) if one.plot]
    assert len(cards) == len(given)
    for (colour, question, body), one in zip(cards, given, strict=True):
        assert unescape(question) == one.question
        assert colour == one.verdict.lower().replace(" ", "-")
        assert f'<b class="verdict {colour}">{one.verdict}</b>' in body
        assert f'href="#{one.plot}"' in body
    assert sum('<svg class="spark"' in body for _, _, body in cards) >= 10


def test_of_a_few_figures_none_is_folded_away(run, tmp_path):
    learning = run.results.filter(lambda node: (node.name or "").startswith("training"))
    text = arm.report(Run(learning), tmp_path / "page.html").read_text(encoding="utf-8")
    assert 1 < text.count("<article id=") <= 10
    assert '<details class="details"' not in text


def test_about_ten_figures_are_shown_and_the_rest_is_folded_and_listed(run, text):
    main = text[text.index("<main>") : text.index("</main>")]
    folded = "".join(re.findall(r'<details class="details">(.*?)</details></section>|$', main, re.S))
    every = re.findall(r'<article id="([\w-]+)">', main)
    shown = [name for name in every if f'<article id="{name}">' not in folded]
    assert 8 <= len(shown) <= 16, shown
    listed = re.findall(r'<li><a href="#([\w-]+)"', text[: text.index("<main>")])
    assert sorted(listed) == sorted(every)


def test_numbers_stand_in_tables_that_need_no_script(run, text):
    layers = text[text.index('<details id="layers">') :]
    layers = layers[: layers.index("</details>")]
    assert "<th>position, %</th><th>SE</th>" in layers
    assert layers.count("<tr>") == 1 + run.results["norms"].sizes["layer"]
    assert text.count('<tr id="L') == 16
    assert '<tr id="L0H0"><td><a href="#L0H0">L0H0</a></td><td>' in text


def test_a_card_of_a_head_holds_every_number_that_the_run_has_of_it(run):
    heads = heads_of(run.results)
    assert heads.names[5] == "L1H1"
    lines = dict(zip(heads.rows, heads.values[5], strict=True))
    assert ("scores", "induction score") in lines
    assert ("on text", "relative entropy") in lines
    assert ("QK terms", "largest") in lines
    held = [
        f"{group}/{name}"
        for group, node in run.results.children.items()
        for name, variable in node.data_vars.items()
        if variable.dims == ("block", "head") and not str(name).endswith(("_se", "_null", "_low", "_high", "_without"))
    ]
    assert len(heads.rows) >= len({label_of(path) for path in held}) - 1
    assert len(heads.maps) == 16 * heads.bins**2


def test_a_card_calls_a_head_by_every_kind_that_it_is_and_not_once_more_as_a_number(run):
    group = run.results["taxonomy"].to_dataset()
    stored = (group.kind.dims, np.full(group.kind.shape, "induction, sink", dtype=object))
    heads = heads_of(xr.DataTree.from_dict({"/taxonomy": group.assign(labels=stored)}))
    assert set(heads.kinds) == {"induction, attention sink"}
    assert not any("induction" in value for value in heads.values[0])
    before_labels = heads_of(xr.DataTree.from_dict({"/taxonomy": group.drop_vars("labels", errors="ignore")}))
    assert before_labels.kinds == [KINDS.get(str(kind), "no kind") for kind in group.kind.values.ravel()]


def test_formulas_are_mathml_and_how_it_is_measured_is_folded(text):
    article = text[text.index('<article id="position-share">') :]
    article = article[: article.index("</article>")]
    folded = article[article.index("<details><summary>How it is measured</summary>") :]
    assert "<mfrac>" in folded
    assert "<math" not in article[: article.index("<details>")]


def answers(results):
    """The first screen of a run, without drawing its figures."""
    plots = [Plot(one.name, one.section, "", go.Figure(), "", "", "") for one in available(results)]
    return first_screen(results, plots)


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
    sentence = next(one.text for one in first_screen(results, plots) if one.question == "Do heads have known jobs?")
    assert re.fullmatch(r"3 of 4: 1 induction \(clearest L0H0, 80\.0 ± \d+\.\d+ %\), 2 sink", sentence)


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
    line = [sys.executable, "-c", code, "report", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"report: {tmp_path / 'report.html'}", "False"]


def test_the_footer_has_all_provenance_and_the_command(tmp_path):
    results = made_up.run_of()
    results.attrs.update(seed=7, command="armillary survey m --seed 7", note="")
    text = arm.report(Run(results, tmp_path), tmp_path / "r.html").read_text(encoding="utf-8")
    footer = text[text.index("<footer") : text.index("</footer>")]
    assert "<tr><th>seed</th><td>7</td></tr>" in footer
    assert "<tr><th>note</th><td>–</td></tr>" in footer
    assert "<pre>armillary survey m --seed 7\n" in footer
    assert f"\narmillary report {tmp_path}</pre>" in footer


def test_the_commands_of_a_page_are_those_that_made_each_part_of_the_run(run, tmp_path):
    whole = run.results.copy()
    whole.attrs.update(model="m", command="armillary survey m --heads --out first")
    whole["travel"].attrs["source"] = "It's a text"
    lines = command(Run(whole, tmp_path / "my run")).splitlines()
    folder, text = f"'{tmp_path}/my run'", shlex.quote("It's a text")
    assert lines[0] == "armillary survey m --heads --out first"
    assert set(lines[1:-1]) == {
        f"armillary weights m --run {folder}",
        f"armillary stores m --run {folder}",
        f"armillary travel m {text} --run {folder}",
        f"armillary gaussian {folder}",
    }
    assert lines[-1] == f"armillary report {folder}"
    whole.attrs["command"] = "armillary survey m"
    assert f"armillary heads {folder}" in command(Run(whole, tmp_path / "my run")).splitlines()


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
