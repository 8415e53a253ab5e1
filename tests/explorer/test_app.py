"""Every address of the page: what it gives, what it refuses, and what it never lets through."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import plotly
import pytest

from armillary.explorer.app import ALPHAS, LARGEST, WEB
from armillary.figures import available
from armillary.results.schema.heads import SCALARS


def test_the_page_and_its_parts_come_from_this_server_alone(client):
    page = client.get("/").text
    assert "<script" in page
    assert "http" not in page
    scripts = sorted(path.name for path in WEB.glob("*.js"))
    assert {"app.js", "address.js", "ask.js", "heads.js", "maps.js"} <= set(scripts)
    for name in scripts:
        script = client.get(f"/web/{name}")
        assert script.headers["content-type"].startswith("text/javascript")
        assert not any(word in script.text for word in ("http:", "https:", "innerHTML", "eval(", "insertAdjacentHTML"))
    assert client.get("/web/style.css").status_code == 200
    assert client.get("/colours.css").headers["content-type"].startswith("text/css")
    assert f"plotly.js v{plotly.offline.get_plotlyjs_version()}" in client.get("/plotly.js").text[:200]


@pytest.mark.parametrize("path", ["/", "/plotly.js", "/web/app.js", "/api/run", "/api/none", "/api/model", "/none"])
def test_every_answer_carries_the_policy_and_opens_to_nobody_else(client, path):
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert not any(name.startswith("access-control-") for name in headers)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::1]:8000", ""])
def test_a_host_that_is_not_this_machine_is_refused(client, host):
    assert client.get("/api/run", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "127.0.0.1:65535"])
def test_this_machine_is_let_in_by_both_its_names(client, host):
    assert client.get("/api/run", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:1"])
def test_other_sites_pages_are_refused(client, origin):
    found = client.post("/api/model", headers={"origin": origin})
    assert found.status_code == 403
    assert "another site" in found.json()["error"]
    assert client.get("/api/model", headers={"origin": "http://127.0.0.1:8000"}).status_code == 200


def test_a_run_says_what_can_be_chosen(client, run):
    facts = client.get("/api/run").json()
    assert (facts["layers"], facts["blocks"], facts["heads"], facts["positions"]) == (3, 2, 4, 16)
    assert facts["longest"] == 16
    assert [figure["name"] for figure in facts["figures"]] == [one.name for one in available(run.results)]
    assert {row["name"] for row in facts["measures"]} == {f"heads/{name}" for name in SCALARS}
    assert facts["about"]["model"] == Path(run.provenance["model"]).name, "not the path of the machine"


def test_every_figure_of_the_run_is_drawn_with_its_words(client, run):
    for one in available(run.results):
        found = client.get(f"/api/figures/{one.name}").json()
        assert found["finding"] == one.finding(run.results)
        assert found["text"] == one.text
        assert found["figure"]["data"]


@pytest.mark.parametrize("layer", range(3))
def test_the_gram_matrix_of_a_layer_holds_the_cosines_of_its_position_vectors(client, run, layer, numbers):
    basis = run.results["residual"].position_basis.values[layer].astype(float)
    unit = basis / np.linalg.norm(basis, axis=1, keepdims=True)
    trace = client.get(f"/api/layers/{layer}/gram").json()["figure"]["data"][0]
    assert np.allclose(numbers(trace["z"]), unit @ unit.T, atol=1e-6)


def test_the_spectrum_of_a_layer_is_that_of_numpy(client, run, numbers):
    basis = run.results["residual"].position_basis.values[2].astype(float)
    curve = client.get("/api/layers/2/spectrum").json()["figure"]["data"][0]
    sizes = np.linalg.svd(basis, compute_uv=False)
    shown = numbers(curve["y"])
    assert len(shown) >= 14
    assert np.allclose(shown, sizes[: len(shown)])
    assert client.get("/api/layers/2/plane").json()["figure"]["data"]


def test_a_measure_is_given_for_every_head_with_its_error(client, run):
    found = client.get("/api/measures/heads/entropy").json()
    assert np.allclose(found["values"], run.results["heads"].entropy.values)
    assert np.allclose(found["se"], run.results["heads"].entropy_se.values)
    assert found["unit"] == "nats"


def test_a_head_shows_its_numbers_and_its_place_among_all(client, run):
    found = client.get("/api/heads/1/2").json()
    values = run.results["heads"].entropy.values
    row = next(row for row in found["rows"] if row["name"] == "heads/entropy")
    assert row["value"] == pytest.approx(float(values[1, 2]))
    assert row["place"] == 1 + np.sum(values > values[1, 2])
    assert [picture["title"] for picture in found["figures"]] == ["Mean attention map", "Attention by distance"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/api/layers/3/gram", "expected a layer from 0 to 2, got 3: choose one of these"),
        ("/api/layers/-1/gram", "expected a layer as a whole number, got '-1': count from 0"),
        ("/api/layers/1/none", "expected a picture of a layer, got 'none': choose plane, gram, spectrum"),
        ("/api/heads/0/4", "expected a block from 0 to 1 and a head from 0 to 3, got L0H4: choose one of these"),
        ("/api/heads/9/0", "expected a block from 0 to 1 and a head from 0 to 3, got L9H0: choose one of these"),
        ("/api/heads/0/٣", "expected a head as a whole number, got '٣': count from 0"),
        ("/api/measures/heads/none", "expected a measure of heads, got 'heads/none': "),
        ("/api/figures/none", "expected a figure of this run, got 'none': "),
        ("/api/none", "expected one of run, themes, glossary, claims, figures/NAME, "),
    ],
)
def test_what_a_run_does_not_have_is_not_found_and_said_in_one_line(client, path, line):
    found = client.get(path)
    assert found.status_code == 404
    assert found.json()["error"].startswith(line)
    assert "\n" not in found.json()["error"]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            {"prompt": "", "block": 0, "head": 0},
            "expected a text with at least one word, got an empty prompt: type one",
        ),
        ({"prompt": " \n", "block": 0, "head": 0}, "expected a text with at least one word"),
        ({"prompt": 3, "block": 0, "head": 0}, "expected a text with at least one word"),
        ({"prompt": "word1", "head": 0}, "expected a whole number as block, got None: count from 0"),
        ({"prompt": "word1", "block": 0, "head": True}, "expected a whole number as head, got True: count from 0"),
        (
            {"prompt": "word1", "block": 0, "head": 0, "alpha": 5},
            f"expected α from {ALPHAS[0]:g} to {ALPHAS[1]:g}, got 5",
        ),
        ({"prompt": "word1", "block": 0, "head": 0, "alpha": "2"}, "expected α from 0.25 to 4, got '2': give a number"),
        ({"prompt": "a", "block": 0, "head": -1}, "expected a whole number as head, got -1: count from 0"),
        ({"prompt": "a", "block": 0, "head": 0, "position": 1.5}, "expected a whole number as position, got 1.5"),
        (
            {"prompt": "a", "block": 0, "head": 0, "only": "x"},
            "expected a whole number as block to scale alone, got 'x'",
        ),
        (
            {"prompt": "a", "block": 0, "head": 0, "without": "L0H0"},
            "expected [block, head] to leave out, got 'L0H0': give two whole numbers",
        ),
        (
            {"prompt": "a", "block": 0, "head": 0, "without": [0, None]},
            "expected a whole number as head to leave out, ",
        ),
        ([], "expected a JSON object, got a list: correct the body"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_before_any_model_is_loaded(client_of, run, body, line):
    def load(tell):
        raise AssertionError("nobody should load a model for this")

    page = client_of(run, load)
    found = page.post("/api/ask/look", body)
    assert found.status_code == 400
    assert found.json()["error"].startswith(line)
    assert page.get("/api/model").json()["state"] == "not loaded"


def test_bodies_that_are_no_json_or_too_long_are_refused(client):
    path, typed = "/api/ask/look", {"content-type": "application/json"}
    assert client.send("POST", path, content=b"{", headers=typed).status_code == 400
    assert client.send("POST", path, content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    found = client.send("POST", path, content=b" " * (LARGEST + 1), headers=typed)
    assert found.status_code == 413
    assert str(LARGEST) in found.json()["error"]
    assert (
        client.send(
            "POST", path, content=b'{"alpha": NaN, "prompt": "a", "block": 0, "head": 0}', headers=typed
        ).status_code
        == 400
    )
    assert client.post("/api/ask/none").status_code == 404
    assert client.get("/api/ask/look").status_code in (404, 405)


def test_a_run_without_heads_can_be_browsed_and_says_what_is_missing(client_of, run):
    import armillary as arm
    from armillary.results.store import tree_of

    groups = {name: node.to_dataset() for name, node in run.results.children.items() if "head" not in name}
    page = client_of(arm.Run(tree_of(groups, run.provenance)))
    facts = page.get("/api/run").json()
    assert (facts["heads"], facts["blocks"], facts["measures"]) == (0, 2, [])
    for path in ("/api/heads/0/0", "/api/measures/heads/entropy"):
        assert page.get(path).json()["error"] == (
            "expected a run with /heads, got one without: `armillary survey --heads` makes a run with it"
        )


def test_browsing_needs_no_torch(run):
    code = """
import asyncio, sys, httpx
from armillary.results.store import open
from armillary.explorer.app import application
async def main():
    transport = httpx.ASGITransport(app=application(open(sys.argv[1])))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        paths = ["/", "/api/run", "/api/model", "/api/layers/1/plane", "/api/heads/0/0", "/api/figures/variance-shares"]
        print([(await client.get(path)).status_code for path in paths])
asyncio.run(main())
print(sorted({"torch", "transformers"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(run.folder)], capture_output=True, text=True, check=True
    )
    codes, heavy = done.stdout.splitlines()
    assert json.loads(codes) == [200] * 6
    assert heavy == "[]"
