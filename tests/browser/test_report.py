"""The report in a real browser: opens from disk, asks for nothing, draws everything, and text from files stays text."""

import csv
import io
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import armillary as arm
import made_up
import waiting
from armillary.figures import FIGURES, available
from armillary.figures.kit.colours import DARK, LIGHT, NULL_ON_BARS
from armillary.reporting.kinds import Report
from armillary.reporting.page import page as html
from armillary.results.reading import numbers
from armillary.results.store import Run
from armillary.verdicts.registry import chosen, verdicts

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;<b>$x$"
VIEWS = [("light", 1280), ("light", 390), ("dark", 1280), ("dark", 390)]
WHOLE = [("light", 1280), ("dark", 390)]
"""Where every figure is looked at; elsewhere those that are not folded. Each shade and each width is seen whole."""
OVERLAPS = """() => {
  const lines = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    if (["SCRIPT", "STYLE"].includes(walk.currentNode.parentElement.tagName)) continue;
    if (!walk.currentNode.textContent.trim() || !walk.currentNode.parentElement.closest("#top, header")) continue;
    for (const box of range.getClientRects()) lines.push([box, walk.currentNode]);
  }
  const found = [];
  for (const [one, first] of lines)
    for (const [two, second] of lines)
      if (first !== second && one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 4
          && two.top < one.bottom - 4 && one.bottom < innerHeight && two.bottom < innerHeight)
        found.push(first.textContent + " | " + second.textContent);
  return found;
}"""
"""Texts of the first screen whose lines overlap."""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real model on a real text, with heads, and its report."""
    folder = tmp_path_factory.mktemp("runs") / "minilm"
    run = arm.survey(arm.load("minilm"), "python-docs", contexts=32, length=64, heads=True, out=folder, progress=False)
    return run, (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A made-up run, and its report."""
    run = Run(made_up.run_of())
    return run, arm.report(run, tmp_path_factory.mktemp("pages") / "report.html").as_uri()


@pytest.fixture(scope="module")
def leafed(small, browser):
    """The page of the made-up run, opened once, for tests that only take its tables."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(small[1])
    yield page
    context.close()


def show(page, name):
    """Go to a figure, unfolding what hides it, and wait until it is drawn."""
    page.evaluate("(name) => { location.hash = ''; location.hash = name; }", name)
    page.locator(f"#{name}").scroll_into_view_if_needed()
    page.wait_for_selector(f'.plot[data-figure="{name}"][data-drawn]', timeout=60_000)
    return page.locator(f'.plot[data-figure="{name}"]')


def names(page, unfolded=False):
    wanted = ".plot:not(details:not([open]) *)" if unfolded else ".plot"
    return page.eval_on_selector_all(wanted, "places => places.map((one) => one.dataset.figure)")


def saved(page, name, kind):
    """What a download button gives."""
    show(page, name)
    with page.expect_download(timeout=60_000) as started:
        page.locator(f'#{name} button[data-save="{kind}"]').click()
    return started.value.suggested_filename, Path(started.value.path()).read_bytes()


@pytest.mark.real
@pytest.mark.parametrize(("scheme", "width"), VIEWS)
def test_a_real_report_is_drawn_whole_without_a_complaint_or_a_request(real, visit, ink, artefacts, scheme, width):
    run, address = real
    seen = visit(address, width, 844 if width < 500 else 800, scheme)
    page = seen.page
    page.screenshot(path=artefacts / f"report-first-{scheme}-{width}.png")
    assert page.evaluate(OVERLAPS) == []
    assert sorted(names(page)) == sorted(figure.name for figure in available(run.results))
    ground = {"light": [255, 255, 255], "dark": [20, 23, 28]}[scheme]
    looked = names(page) if (scheme, width) in WHOLE else names(page, unfolded=True)
    assert len(looked) >= 6
    for name in looked:
        measured = ink(show(page, name).screenshot())
        assert measured["share"] > 0.004, f"{name} is blank"
        assert measured["corner"] == ground, name
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = false; })")
    for part in page.eval_on_selector_all("main > section, footer", "parts => parts.map((one) => one.id)"):
        target = artefacts / f"report-{part}-{scheme}-{width}.png"
        page.locator(f"#{part}").screenshot(path=target, style="header { display: none !important }")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen.requests == [address]
    assert seen.problems == []


@pytest.mark.real
def test_the_answers_of_a_real_report_are_on_screen_in_under_three_seconds(smollm2, tmp_path, visit, answered_after):
    address = arm.report(smollm2, tmp_path / "report.html").as_uri()
    assert answered_after(address) < 3000
    seen = visit(address)
    asked = seen.page.locator("dt").all_inner_texts()
    assert asked[0] == "Do hidden states carry position?"
    assert {"Is position smooth?", "Do contexts cluster by document?", "Are there massive activations?"} <= set(asked)
    assert seen.page.locator("dd").first.bounding_box()["y"] < 800


def test_every_answer_leads_to_a_figure_that_is_then_drawn(small, visit):
    page = visit(small[1]).page
    targets = page.eval_on_selector_all(".answers a", "links => links.map((one) => one.hash.slice(1))")
    targets = [target for target in targets if not target.startswith("L")]
    assert len(targets) >= 6
    for target in targets:
        page.evaluate("scrollTo(0, 0)")
        page.locator(f'.answers a[href="#{target}"]').first.click()
        page.wait_for_selector(f'.plot[data-figure="{target}"][data-drawn]', timeout=60_000)
        assert page.locator(f"#{target}").bounding_box()["y"] < 200


def test_figures_far_below_wait_until_they_are_near(small, visit):
    page = visit(small[1]).page
    first, last = names(page)[0], names(page)[-1]
    show(page, first)
    assert page.locator(f'.plot[data-figure="{last}"][data-drawn]').count() == 0
    show(page, last)


def test_the_csv_of_a_curve_is_what_the_run_holds(small, leafed):
    run, _ = small
    name, text = saved(leafed, "position-share", "csv")
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    curve = [row for row in rows if row["series"] == "bias-corrected"]
    expected = numbers(run.results, "position/share_corrected")
    values = [float(row[list(row)[3]]) for row in curve]
    assert name == "position-share.csv"
    assert [int(row["layer"]) for row in curve] == list(range(len(expected)))
    assert np.allclose(values, expected) or np.allclose(values, 100 * expected)
    assert all(float(row["low"]) < value < float(row["high"]) for row, value in zip(curve, values, strict=True))


def test_the_csv_of_a_matrix_has_a_row_per_cell_of_every_layer(small, leafed):
    run, _ = small
    rows = table(leafed, "position-frequencies")
    size, layers = 16, run.results["position"].sizes["layer"]
    assert len(rows) == layers * size**2
    assert {row["layer"] for row in rows} == {str(layer) for layer in range(layers)}
    assert all(np.isfinite(float(row["value"])) for row in rows if row["value"])


TOUCHING = """(name) => {
  const found = [];
  const kinds = [".xtick text", ".ytick text", ".annotation-text-g", ".g-xtitle, .xtick text", ".g-xtitle, .legend"];
  for (const kind of kinds) {
    const boxes = [...document.querySelectorAll(`.plot[data-figure="${name}"]`)]
      .flatMap((plot) => kind.split(", ").flatMap((one) => [...plot.querySelectorAll(one)]))
      .map((one) => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
    for (const [i, [text, one]] of boxes.entries())
      for (const [other, two] of boxes.slice(0, i))
        if (one.left < two.right && two.left < one.right && one.top < two.bottom - 3 && two.top < one.bottom - 3)
          found.push(`${text} | ${other}`);
  }
  return found;
}"""
"""Names along an axis, titles of panels, the title of an axis and the legend that lie on each other."""


@pytest.fixture(scope="module")
def wordy(tmp_path_factory):
    """A made-up run with long names of documents and tokens, and its report."""
    results = made_up.named_documents(made_up.run_of(contexts=64), "train: A document's <title> {}".format)
    texts = np.array([f" repertoire{place}" for place in range(results["head_examples"].sizes["query"])])
    changed = made_up.changed(results, head_examples__text=texts)
    return arm.report(Run(changed), tmp_path_factory.mktemp("pages") / "report.html").as_uri()


@pytest.mark.parametrize("name", ["context-gram", "head-scores", "head-examples"])
@pytest.mark.parametrize("width", [390, 1280])
def test_names_on_a_phone_do_not_lie_on_each_other_and_leave_room_for_the_picture(wordy, visit, width, name):
    page = visit(wordy, width, 844).page
    plot = show(page, name)
    page.set_viewport_size({"width": 390, "height": 844})  # it was a phone, or the window is made as narrow now
    picture = f"document.querySelector('.plot[data-figure=\"{name}\"] .main-svg')"
    waiting.until(page, f"{picture}.getBoundingClientRect().width <= 390")
    waiting.until(page, f"({TOUCHING})('{name}').length === 0")
    if name == "context-gram":
        assert plot.locator(".nsewdrag").bounding_box()["width"] > 170


def table(page, name):
    """The rows of a figure's CSV."""
    _, text = saved(page, name, "csv")
    return list(csv.DictReader(io.StringIO(text.decode())))


def test_a_csv_says_of_a_place_what_the_axis_says(small, leafed):
    run, _ = small
    rows = table(leafed, "gaussian-information")
    distances = [str(at) for at in run.results["gaussian"].distance.values]
    assert distances != [str(place) for place in range(len(distances))]
    assert [row["distance, tokens"] for row in rows if row["series"] == "layer 0"] == distances
    known = [row for row in rows if row["low"]]
    assert known
    assert all(float(row["low"]) <= float(row["mutual information, nats"]) <= float(row["high"]) for row in known)
    kinds = {row["score"] for row in table(leafed, "head-scores")}
    assert {"induction", "previous-token", "duplicate-token", "attention sink", "local"} == kinds


def test_a_csv_takes_the_names_of_all_places_where_the_axis_shows_some_of_them(leafed):
    axis = {"tickvals": [0, 2], "ticktext": ["0", "3–4"], "title": {"text": "distance"}}
    drawn = {"data": [{"type": "scatter", "x": [0, 1, 2], "y": [7, 8, 9]}], "layout": {"xaxis": axis}}
    assert leafed.evaluate("csv", drawn) == "panel,distance,y\n1,0,7\n1,1,8\n1,2,9\n"
    axis["categoryarray"] = ["0", "1–2", "3–4"]
    assert leafed.evaluate("csv", drawn) == "panel,distance,y\n1,0,7\n1,1–2,8\n1,3–4,9\n"


@pytest.mark.parametrize("name", ["gaussian-ratio", "head-argmax", "head-dissection", "qk-alignment"])
def test_a_csv_writes_a_heads_block_and_not_where_its_dot_stands(leafed, name):
    rows = [row for row in table(leafed, name) if row["text"]]
    assert rows
    assert all(row["text"].startswith(f"L{row['block']}H") for row in rows)


@pytest.mark.parametrize(
    ("name", "column", "some"),
    [
        ("position-spectrum", "layer", "held out"),
        ("qk-spectra", "block", "L1H0"),
        ("head-examples", "head", "position → position"),
        ("training-stripes", "head", None),
        ("context-gram", "layer", None),
    ],
)
def test_a_csv_keeps_what_the_slider_chooses_by_its_name_and_the_series_beside(small, leafed, name, column, some):
    run, _ = small
    rows = table(leafed, name)
    steps = FIGURES[name].draw(run.results).layout.sliders[0].steps
    assert {row[column] for row in rows} == {step.label for step in steps}
    assert some is None or some in {row["series"] for row in rows}


@pytest.mark.parametrize(
    "name", ["qk-alignment", "head-ranks", "incoherence", "theorem-1", "norm-radii", "context-clusters", "head-maps"]
)
def test_a_csv_names_a_panel_as_the_figure_does(small, leafed, name):
    run, _ = small
    titles = [one.text for one in FIGURES[name].draw(run.results).layout.annotations]
    assert {row["panel"] for row in table(leafed, name)} == set(titles)


def test_a_csv_names_a_panel_without_a_title_by_its_row_and_column(leafed):
    rows = table(leafed, "head-constituents")
    assert len({row["panel"] for row in rows}) == 9
    for row in rows:
        query, key = row["series"].split(" → ")
        assert row["panel"] == f"key: {key}, query: {query}, block"


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_is_downloaded_with_its_finding(small, visit, ink, kind, start):
    seen = visit(small[1])
    name, picture = saved(seen.page, "position-share", kind)
    assert name == f"position-share.{kind}"
    assert picture.startswith(start)
    finding = FIGURES["position-share"].finding(small[0].results)
    assert finding[:20].encode() in picture if kind == "svg" else ink(picture)["share"] > 0.004
    assert seen.problems == []


def test_the_switch_turns_the_page_and_its_plots_dark_and_back(small, visit, ink):
    page = visit(small[1]).page
    plot = show(page, "norms")
    for scheme, ground in (("dark", [20, 23, 28]), ("light", [255, 255, 255])):
        page.locator("#theme").click()
        page.wait_for_selector(f'.plot[data-figure="norms"][data-drawn="{scheme}"]')
        assert ink(plot.screenshot())["corner"] == ground
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({', '.join(map(str, ground))})"


def painted(pdf):
    """The colours that fill something in a file for the printer, as hexadecimal numbers."""
    colours = set()
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            text = zlib.decompress(stream)
        except zlib.error:  # a font or a picture
            continue
        for red, green, blue in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b", text):
            colours.add("#" + "".join(f"{round(255 * float(channel)):02x}" for channel in (red, green, blue)))
    return colours


@pytest.fixture(scope="module")
def short(small, tmp_path_factory):
    """The report of the norms alone."""
    norms = Run(small[0].results.filter(lambda node: node.name == "norms"))
    return norms, arm.report(norms, tmp_path_factory.mktemp("pages") / "report.html").as_uri()


@pytest.mark.parametrize(
    ("way", "which"),
    [
        ("by preference", "short"),
        ("by the switch", "short"),
        pytest.param("by preference", "small", marks=pytest.mark.nightly),  # every figure there is
    ],
)
def test_a_dark_page_is_printed_light_and_is_dark_again_afterwards(request, visit, way, which):
    _, address = request.getfixturevalue(which)
    seen = visit(address, scheme="dark" if way == "by preference" else "light")
    page = seen.page
    show(page, "norms")
    if way == "by the switch":
        page.locator("#theme").click()
        page.wait_for_selector('.plot[data-figure="norms"][data-drawn="dark"]')
    folds = page.locator("main details:not([open])").count()
    colours = painted(page.pdf(format="A4", print_background=True))
    assert LIGHT["ink"] in colours  # of the words and of the axes
    assert LIGHT["grid"] in colours
    assert not {DARK[name] for name in ("paper", "ink", "grid", "panel", "soft")} & colours
    waiting.until(page, "[...document.querySelectorAll('.plot')].every((one) => one.dataset.drawn === 'dark')")
    waiting.until(page, f"document.querySelectorAll('main details:not([open])').length === {folds}")
    assert seen.problems == []


def test_what_is_shown_as_on_paper_is_light(small, visit, ink):
    page = visit(small[1], scheme="dark").page
    plot = show(page, "norms")
    for media, scheme, ground in (("print", "light", [255, 255, 255]), ("screen", "dark", [20, 23, 28])):
        page.emulate_media(media=media)
        page.wait_for_selector(f'.plot[data-figure="norms"][data-drawn="{scheme}"]')
        assert ink(plot.screenshot())["corner"] == ground
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({', '.join(map(str, ground))})"


def test_no_column_of_a_table_and_no_figure_lies_beyond_the_sheet(small, visit):
    page = visit(small[1], width=1600).page
    show(page, "norms")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 686, "height": 900})  # letter paper within its margins
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".wide table:visible").count() == 2
    widths = page.evaluate("[...document.querySelectorAll('table')].map((one) => one.getBoundingClientRect().right)")
    assert max(widths) <= 686
    assert {one.evaluate("one => getComputedStyle(one).overflowX") for one in page.locator(".wide").all()} == {
        "visible"
    }
    pictures = page.evaluate(
        "[...document.querySelectorAll('.main-svg')].map((one) => one.getBoundingClientRect().right)"
    )
    assert len(pictures) >= 40
    assert max(pictures) <= 686


def test_the_table_of_claims_is_printed_whole(tmp_path, visit):
    found = tmp_path / "claims.html"
    found.write_text(html(Report("a run", "", (), "", (), (), {}, "", verdicts(chosen("TW")))), encoding="utf-8")
    page = visit(found.as_uri(), width=686).page  # letter paper within its margins
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.claims')).overflowX") == "visible"
    assert page.evaluate("document.querySelector('.claims table').getBoundingClientRect().right") <= 686


def test_a_slider_keeps_its_layer_when_the_page_turns_dark(small, visit):
    page = visit(small[1]).page
    show(page, "position-frequencies")
    shown = "document.querySelector('.plot[data-figure=\"position-frequencies\"]')"
    page.locator('#position-frequencies input[type="range"]').focus()
    page.keyboard.press("Home")
    waiting.until(page, f"{shown}.data[0].visible === true")
    page.locator("#theme").click()
    page.wait_for_selector('.plot[data-figure="position-frequencies"][data-drawn="dark"]')
    assert page.evaluate(f"{shown}.data.map((trace) => trace.visible)")[:2] == [True, False]
    assert page.locator('#position-frequencies input[type="range"]').input_value() == "0"


def test_the_keyboard_moves_a_slider_and_the_title_follows_it(small, visit):
    run, address = small
    page = visit(address).page
    show(page, "position-gram")
    titles = FIGURES["position-gram"].draw(run.results).layout.meta["titles"]
    title, slider = page.locator("#position-gram h3"), page.locator('#position-gram input[type="range"]')
    assert title.inner_text() == titles[int(slider.input_value())]
    slider.focus()
    page.keyboard.press("Home")
    for layer, words in enumerate(titles):
        assert title.inner_text() == words
        assert page.locator("#position-gram output").inner_text() == f"layer {layer}"
        page.keyboard.press("ArrowRight")


def test_a_click_on_a_head_opens_its_card_and_back_closes_it(small, visit):
    _, address = small
    page = visit(address).page
    page.locator(".answers a.head").first.click()
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog h2").inner_text() == page.evaluate("location.hash.slice(1)")
    assert page.locator("dialog th", has_text="induction score").count() == 1
    page.go_back()
    page.wait_for_selector("dialog[open]", state="hidden")
    plot = show(page, "head-names")
    plot.locator(".points path").first.click(force=True)
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="hidden")
    # Going back takes a moment; an address that stays on the head's card fails here.
    waiting.until(page, "['#head-names', ''].includes(location.hash)")


def test_the_side_list_finds_figures_and_unfolds_them(small, visit):
    page = visit(small[1]).page
    page.fill("#figures-words", "theorem-1")
    visible = page.locator("#list li:visible a")
    assert visible.count() == 1
    visible.click()
    page.wait_for_selector('.plot[data-figure="theorem-1"][data-drawn]', timeout=60_000)
    assert page.locator("#theorem-1").is_visible()


def test_the_csv_of_the_map_of_heads_has_their_scores(leafed):
    rows = table(leafed, "head-names")
    assert len(rows) == 16
    assert all("induction " in row["text"] and " %" in row["text"] for row in rows)


def test_without_scripts_the_page_shows_titles_verdicts_and_tables(small, browser, artefacts):
    run, address = small
    context = browser.new_context(viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.screenshot(path=artefacts / "report-without-scripts.png")
    verdicts = page.locator(".answers .verdict").all_inner_texts()
    assert len(verdicts) >= 12
    assert set(verdicts) <= {"Yes", "No", "Unclear", "Not measured"}
    assert page.locator("#position-share h3").inner_text() == FIGURES["position-share"].finding(run.results).replace(
        " %", "\u00a0%"
    ).replace(" ± ", "\u00a0±\u00a0")
    assert page.locator("#top noscript p").is_visible()
    assert not page.locator("#position-share .plot").is_visible()
    assert not page.locator("#position-share button").first.is_visible()
    page.locator("#layers summary").click()
    assert page.locator("#layers td").first.is_visible()
    page.locator("#all-heads summary").click()
    assert page.locator("#L0H0").is_visible()
    context.close()


def test_nulls_and_bars_have_brighter_shades_on_a_dark_page(small, visit):
    page = visit(small[1], scheme="dark").page
    show(page, "variance-shares")
    find = "document.querySelector('.plot[data-figure=\"variance-shares\"]').data"
    assert page.evaluate(f"{find}.find((one) => one.name === 'null of position').line.color") == "#E8E8E8"
    page.locator("#theme").click()
    page.wait_for_selector('.plot[data-figure="variance-shares"][data-drawn="light"]')
    assert page.evaluate(f"{find}.find((one) => one.name === 'null of position').line.color") == NULL_ON_BARS


def test_the_glossary_is_folded_until_its_link_is_followed(small, visit):
    page = visit(small[1]).page
    assert not page.locator("#glossary dl").is_visible()
    page.click("nav >> text=Glossary")
    page.wait_for_selector("#glossary dl", state="visible")


def hostile_run():
    """Markup and script wherever a name or a text may come from a file."""
    results = made_up.changed(made_up.run_of(), outliers__text=HOSTILE)
    made_up.named_documents(results, lambda place: f"{place} {HOSTILE}")
    results.attrs.update(model=HOSTILE, corpus=f"=cmd {HOSTILE}", groups=HOSTILE, contexts=2, length=HOSTILE)
    results.attrs[HOSTILE] = HOSTILE
    return Run(results)


@pytest.mark.parametrize("compared", [False, True])
def test_markup_and_script_from_files_stay_text(tmp_path, visit, compared):
    run, other = hostile_run(), None
    if compared:
        surveyed_like(run)
        other = run
    seen = visit(arm.report(run, tmp_path / "report.html", other).as_uri())
    page = seen.page
    told = "(name) => document.getElementById(`data-${name}`).textContent"
    hostile = [name for name in names(page) if "script" in page.evaluate(told, name)]
    assert len(hostile) >= 3
    for name in hostile:
        show(page, name)
    called = HOSTILE.rpartition("/")[2]  # what looks like a path is called by its last name
    assert called in page.locator("h1").inner_text()
    assert HOSTILE in page.locator("footer").inner_text()
    assert page.title().startswith(called)
    assert page.locator("img, b:not(.verdict)").count() == 0
    assert seen.dialogs == []
    assert seen.problems == []
    assert len(seen.requests) == 1


def surveyed_like(run):
    """What a comparison asks for and made-up runs lack."""
    basis = run.results["residual"].position_basis
    folds = np.stack([basis.values] * 4, 1)
    dataset = run.results["residual"].to_dataset()
    run.results["residual"] = xr.DataTree(
        dataset.assign(position_folds=(("layer", "fold", "position", "d_model"), folds))
    )


FORBIDDEN = """async () => {
  const refused = [];
  document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "window.ran = 1";
  document.body.append(script);
  const image = new Image();
  image.src = "https://example.org/x.png";
  await fetch("https://example.org").catch(() => 0);
  await new Promise((done) => setTimeout(done, 200));
  return [window.ran ?? null, refused.sort()];
}"""


def test_the_policy_of_the_page_refuses_scripts_that_are_not_its_own_and_every_request(small, visit):
    seen = visit(small[1])
    assert seen.page.evaluate(FORBIDDEN) == [None, ["connect-src", "img-src", "script-src-elem"]]
