"""The sphere in a real browser: drawn in the report and as a file, turned by hand, whole on a phone, as numbers."""

import csv
import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
import made_up
from armillary.reporting.static import figure
from armillary.results.reading import numbers
from armillary.results.store import Run

PLOT = '.plot[data-figure="travel-paths"]'
EYE = (
    f"(() => {{ const e = document.querySelector('{PLOT}')._fullLayout.scene.camera.eye; return [e.x, e.y, e.z]; }})()"
)


@pytest.fixture(scope="module")
def run():
    """A made-up run of a text's way, and nothing else."""
    results = made_up.run_of(layers=4, positions=8)
    return Run(results.filter(lambda node: node.name == "travel"))


@pytest.fixture(scope="module")
def address(run, tmp_path_factory):
    return arm.report(run, tmp_path_factory.mktemp("page") / "report.html").as_uri()


def shown(page, name="travel-paths"):
    page.locator(f"#{name}").scroll_into_view_if_needed()
    page.wait_for_selector(f'.plot[data-figure="{name}"][data-drawn]', timeout=60_000)
    return page.locator(f'.plot[data-figure="{name}"]')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sphere_is_drawn_under_the_policy_of_the_page_without_a_complaint(address, visit, ink, scheme):
    seen = visit(address, scheme=scheme)
    for name in ("travel-paths", "travel-paths-own", "travel-umap"):
        measured = ink(shown(seen.page, name).screenshot())
        assert measured["share"] > 0.004, f"{name} is blank"
        assert measured["corner"] == {"light": [255, 255, 255], "dark": [20, 23, 28]}[scheme]
    assert seen.page.locator(f"{PLOT} canvas").count() > 0
    assert seen.problems == []
    assert seen.requests == [address]


BOXES = """name => [...document.querySelectorAll(`.plot[data-figure="${name}"] .annotation-text-g`)]
  .map(label => label.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])"""


@pytest.mark.parametrize("width", [1200, 390])
def test_no_label_covers_another_on_a_wide_screen_or_a_narrow_one(tmp_path, visit, width):
    results = made_up.run_of(layers=4, positions=24)
    some = np.random.default_rng(0)
    near, places = some.normal([1.0, 0.5, 0.2], 0.15, (4, 24, 3)), some.normal(0, 1, (4, 24, 3))
    changed = made_up.changed(results, travel__coordinate=near, travel__coordinate_own=places, travel__umap=places)
    page = arm.report(Run(changed.filter(lambda node: node.name == "travel")), tmp_path / "report.html")
    seen = visit(page.as_uri(), width, 844)
    for name in ("travel-paths", "travel-paths-own", "travel-umap"):
        shown(seen.page, name)
        boxes = np.array(seen.page.evaluate(BOXES, name))
        assert 3 <= len(boxes) < 12, name
        for (left, right, top, bottom), other in combinations(boxes, 2):
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top, name


def test_it_turns_where_it_is_dragged(address, visit):
    page = visit(address).page
    box = shown(page).bounding_box()
    before = page.evaluate(EYE)
    page.mouse.move(box["x"] + 300, box["y"] + 250)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, box["y"] + 290, steps=6)
    page.mouse.up()
    page.wait_for_timeout(300)
    after = page.evaluate(EYE)
    assert np.linalg.norm(np.subtract(after, before)) > 0.1
    assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), rel=1e-3)


def test_on_a_phone_it_is_no_higher_than_wide_but_for_the_legend(address, visit):
    box = shown(visit(address, 390, 844).page).bounding_box()
    assert box["height"] <= box["width"] + 80


def saved(page, name, kind):
    with page.expect_download(timeout=60_000) as started:
        page.locator(f'#{name} button[data-save="{kind}"]').click()
    return Path(started.value.path()).read_bytes()


def test_the_csv_has_a_row_per_layer_of_every_path(run, address, visit):
    rows = list(csv.DictReader(io.StringIO(saved(visit(address).page, "travel-paths", "csv").decode())))
    places = numbers(run.results, "travel/coordinate")
    paths = [row for row in rows if row["series"] != "token embeddings"]
    assert len(paths) == 4 * 7
    assert len(rows) - len(paths) == 30
    first = np.array([[float(row[name]) for name in ("x", "y", "value")] for row in paths[:4]])
    assert first == pytest.approx(places[:, 1] / np.linalg.norm(places[:, 1], axis=1, keepdims=True), rel=1e-6)
    assert paths[1]["text"] == "1 <b>bold</b>  → ‘<b>bold</b>’ 50 %"


def test_the_csv_of_the_lens_names_the_tokens(address, visit):
    rows = list(csv.DictReader(io.StringIO(saved(visit(address).page, "travel-lens", "csv").decode())))
    assert len(rows) == 4 * 8
    assert rows[8]["text"] == "<b>bold<…"
    assert {float(row["value"]) for row in rows} == {50}


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_of_it_is_downloaded(address, visit, kind, start):
    picture = saved(visit(address).page, "travel-paths", kind)
    assert picture.startswith(start)
    assert len(picture) > 20_000


def test_a_file_of_it_is_not_blank(run, browser, ink, tmp_path):
    picture = figure(run, "travel-paths", tmp_path / "paths.png").read_bytes()
    assert ink(picture)["share"] > 0.004
