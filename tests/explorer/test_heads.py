"""The map of heads and the page of one head: everything is the run's own, and none of it needs the model."""

import numpy as np
import pytest

import armillary as arm
import made_up
import tiny_run
from armillary.explorer import heads
from armillary.results.schema.naming import KINDS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with kinds, weights and stores."""
    named = tiny_run.named(tmp_path_factory.mktemp("tiny"))
    view = arm.load(named.provenance["model"])
    arm.weights(view, named, progress=False)
    return arm.stores(view, named, words=["word1", "word2", "word3"], progress=False)


@pytest.fixture(scope="module")
def page(whole, client_of):
    def load(tell):
        raise AssertionError("nobody should load a model to browse")

    return client_of(whole, load)


def test_the_map_opens_with_the_kinds_and_the_score_of_each(whole, page):
    facts = page.get("/api/run").json()
    assert facts["opens"] == "heads"
    assert facts["measures"][0]["name"] == "taxonomy/kind"
    found = page.get("/api/measures/taxonomy/kind").json()
    group = whole.results["taxonomy"]
    words = found["kinds"]
    assert [[kinds[0] if kinds else "" for kinds in row] for row in words] == group.kind.values.astype(str).tolist()
    for block, row in enumerate(words):
        for head, kinds in enumerate(row):
            kind = kinds[0] if kinds else ""
            labels = [label.strip() for label in str(group.labels.values[block, head]).split(",") if label]
            assert kinds == labels
            said = page.get(f"/api/heads/{block}/{head}").json()["kind"]
            assert said == ", ".join(KINDS[one] for one in kinds)
            score = found["values"][block][head]
            if kind in heads.SCORES:
                assert score == pytest.approx(float(group[kind].values[block, head]))
            elif kind == "":
                assert score is None


def test_named_heads_are_listed_by_kind_and_the_best_first():
    results = made_up.run_of(layers=3)
    found = heads.named(results)
    kinds = results["taxonomy"].kind.values.astype(str)
    assert len(found) == int(np.isin(kinds, list(KINDS)).sum()) > 1
    order = [(list(KINDS).index(one["kind"]), -one["score"]) for one in found]
    assert order == sorted(order)
    for one in found:
        assert kinds[one["block"], one["head"]] == one["kind"]


def test_a_heads_qk_terms_are_those_of_the_run(whole, page, numbers):
    found = page.get("/api/heads/1/2").json()
    titles = [picture["title"] for picture in found["figures"]]
    assert titles == [
        "Mean attention map",
        "Attention by distance",
        "QK terms: share of the logits' variance",
        "Singular values of W_QK and W_VO",
    ]
    bars = found["figures"][2]["figure"]["data"][0]
    share = whole.results["constituents"].share.values[1, 2]
    assert np.allclose(numbers(bars["x"]), 100 * share.ravel())
    assert list(bars["y"])[:2] == ["mean → mean", "mean → position"]
    assert numbers(bars["x"]).sum() == pytest.approx(100)


def test_a_heads_weights_are_those_of_numpy(whole, page, numbers):
    view = arm.load(whole.provenance["model"])
    own = view.heads(1)
    product = own.W_Q[2].double() @ own.W_K[own.kv_head[2] if len(own.W_K) < len(own.W_Q) else 2].double().T
    sizes = np.linalg.svd(product.numpy() / np.sqrt(view.d_head), compute_uv=False)[: view.d_head]
    line = page.get("/api/heads/1/2").json()["figures"][3]["figure"]["data"][0]
    assert line["name"] == "W_QK"
    assert np.allclose(numbers(line["y"]), sizes, rtol=1e-4)


def test_what_a_query_may_not_see_is_blank_in_the_mean_map(page, numbers):
    shown = numbers(page.get("/api/heads/0/1").json()["figures"][0]["figure"]["data"][0]["z"])
    above = np.triu(np.ones(shown.shape, dtype=bool), 1)
    assert np.isnan(shown[above]).all()
    assert np.isfinite(shown[~above]).all()


def test_readings_are_the_tokens_of_the_stores(whole, page):
    found = page.get("/api/heads/1/2").json()["readings"]
    stored = whole.results["stores"].to_dataset().isel(block=1, head=2)
    assert [side["side"].split(":")[0] for side in found] == ["looks for it", "is found by it", "reads", "writes"]
    for row, side in enumerate(found):
        assert len(side["triplets"]) == min(heads.READ, stored.sizes["triplet"])
        for triplet, one in enumerate(side["triplets"]):
            assert one["ends"] == stored.text.values[row, triplet].astype(str).tolist()


def test_a_head_outside_the_stores_blocks_has_no_readings(whole):
    view = arm.load(whole.provenance["model"])
    alone = arm.stores(view, block=1, words=["word1", "word2", "word3"], progress=False)
    assert heads.readings(alone.results, 0, 2) == []
    assert len(heads.readings(alone.results, 1, 2)) == 4
