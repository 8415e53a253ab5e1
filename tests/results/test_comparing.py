"""Two runs side by side: intervals that keep their promise, and words that fit the runs."""

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import armillary as arm
from armillary.measures.errors.jackknife import standard_error
from armillary.printing.differences import as_json, difference_rows
from armillary.results.comparing import compare, matching_layers
from two_runs_made_up import run_of, shown, without


def test_a_run_does_not_differ_from_itself():
    found = arm.compare(run_of(), run_of())
    for name in ("share_corrected", "rank_stable_corrected", "relative_norm_corrected"):
        assert np.all(found["position"][f"{name}_difference"] == 0)
        assert not found["position"][f"{name}_differs"].any()
    assert np.all(found["angles"].angle < 1e-7)
    assert found.attrs["differ_in"] == "nothing that is recorded"
    assert "Both runs read the same windows: they are paired, group by group" in found.attrs["notes"]


def test_the_public_name_is_the_function_each_time_it_is_asked_for():
    assert arm.compare is compare
    assert arm.compare is compare


def test_the_interval_is_students_with_the_smaller_number_of_groups():
    one, other = run_of(1, groups=5), run_of(2, groups=12)
    found = compare(one, other)["position"]
    gap = other.results["position"].share_corrected - one.results["position"].share_corrected
    error = np.hypot(one.results["position"].share_corrected_se, other.results["position"].share_corrected_se)
    low, high = stats.t.interval(0.95, 4, loc=gap, scale=error)
    np.testing.assert_allclose(found.share_corrected_difference_low, low)
    np.testing.assert_allclose(found.share_corrected_difference_high, high)
    p = 2 * stats.t.sf(np.abs(gap / error), 4)
    np.testing.assert_allclose(found.share_corrected_difference_p, p)
    assert np.array_equal(found.share_corrected_differs, stats.false_discovery_control(p) <= 0.05)


def jackknifed_means(rng, truth, groups, blocks):
    """Means of group values with their errors: every block is a survey of its own."""
    values = truth + rng.standard_normal((groups, blocks))
    without = (values.sum(0) - values) / (groups - 1)
    return {
        "norm": ("block", values.mean(0)),
        "norm_se": ("block", standard_error(without)),
    }


def test_runs_that_share_their_groups_are_paired_and_so_surer():
    """Both runs have the documents' own differences in common; what sets the runs apart is small beside them."""
    rng = np.random.default_rng(5)
    documents = rng.standard_normal((8, 200))
    runs = []
    for seed, shift in ((1, 0.0), (2, 0.2)):
        values = documents + shift + 0.05 * rng.standard_normal((8, 200))
        without = (values.sum(0) - values) / 7
        norm = {"norm": ("block", values.mean(0)), "norm_se": ("block", standard_error(without)),
                "norm_without": (("block", "group"), without.T)}  # fmt: skip
        runs.append(run_of(seed, results=norm))
    paired = compare(*runs)["position"]
    each = stats.sem(np.diff([run.results["position"].norm_without.values for run in runs], axis=0)[0], axis=1) * 7
    np.testing.assert_allclose(paired.norm_difference_se, each)
    assert float(paired.norm_differs.mean()) > 0.99
    covered = (paired.norm_difference_low < 0.2) & (paired.norm_difference_high > 0.2)
    assert 0.9 < float(covered.mean()) < 0.99
    apart = run_of(2, results={name: runs[1].results["position"][name].variable for name in ("norm", "norm_se")},
                   corpus="novels", corpus_sha256="c" * 64)  # fmt: skip
    assert not compare(runs[0], apart)["position"].norm_differs.any()


@pytest.mark.parametrize("groups", [4, 16])
def test_of_runs_that_are_the_same_at_most_one_in_twenty_is_said_to_differ(groups):
    rng = np.random.default_rng(groups)
    runs = [
        run_of(i, groups=groups, results=jackknifed_means(rng, truth, groups, 3000))
        for i, truth in enumerate([0, 0, 3])
    ]
    same, different = (compare(runs[0], run)["position"] for run in runs[1:])
    assert 0.005 < float((same.norm_difference_p < 0.05).mean()) < 0.06
    assert float(same.norm_differs.mean()) < 0.005
    covered = (different.norm_difference_low < 3) & (different.norm_difference_high > 3)
    assert 0.94 < float(covered.mean()) < 0.995
    assert float(different.norm_differs.mean()) > 0.5


def test_the_other_way_round_every_difference_has_the_other_sign():
    there, back = compare(run_of(1), run_of(2)), compare(run_of(2), run_of(1))
    for name in ("share_corrected", "relative_norm_corrected"):
        xr.testing.assert_allclose(
            there["position"][f"{name}_difference"], -back["position"][f"{name}_difference"], check_dim_order=True
        )
        assert np.array_equal(there["position"][f"{name}_differs"], back["position"][f"{name}_differs"])
    np.testing.assert_allclose(there["angles"].angle, back["angles"].angle, atol=1e-9)


def test_a_value_that_is_not_determined_differs_from_nothing():
    missing = {"share_corrected": ("layer", [np.nan] * 3), "share_corrected_se": ("layer", [np.nan] * 3)}
    found = compare(run_of(1), run_of(2, results=missing))
    assert not found["position"].share_corrected_differs.any()
    line = next(line for line in shown(found).splitlines() if line.startswith("position share %"))
    assert line.split()[-3:] == ["layers", "–", "–"]
    assert "nan" not in shown(found)


def test_ranks_keep_their_ranges_and_nothing_is_concluded_of_them():
    ranks = {name: ("layer", values) for name, values in (
        ("rank_screenot", [3, 9, 5]), ("rank_screenot_low", [2, 8, 5]), ("rank_screenot_high", [4, 9, 6]))}  # fmt: skip
    found = compare(run_of(1, results=ranks), run_of(2, results=ranks))
    assert found["position"].rank_screenot_low_other.values.tolist() == [2, 8, 5]
    assert "rank_screenot_differs" not in found["position"]
    assert "9 [8, 9]" in shown(found)


@given(st.integers(1, 60), st.integers(1, 60))
def test_layers_meet_the_nearest_in_relative_depth(one, other):
    first, second = matching_layers(one, other)
    assert len(first) == len(second) == min(one, other)
    assert first[0] == second[0] == 0
    if min(one, other) > 1:
        assert (first[-1], second[-1]) == (one - 1, other - 1)
        depth, grids = (
            (first / (one - 1), second / (other - 1)),
            (np.arange(one) / (one - 1), np.arange(other) / (other - 1)),
        )
        nearest = (
            np.abs(depth[0][:, None] - grids[1]).min(1) if one <= other else np.abs(depth[1][:, None] - grids[0]).min(1)
        )
        np.testing.assert_allclose(np.abs(depth[0] - depth[1]), nearest, atol=1e-12)


def test_models_of_different_depth_are_compared_by_relative_depth_and_it_is_said():
    found = compare(run_of(1, layers=7), run_of(2, layers=3))
    assert found["position"].layer_one.values.tolist() == [0, 3, 6]
    assert found["position"].layer_other.values.tolist() == [0, 1, 2]
    assert np.array_equal(
        found["position"].share_corrected_one, run_of(1, layers=7).results["position"].share_corrected[::3]
    )
    assert "7 and 3 layers" in found.attrs["notes"]
    assert "3/1" in shown(found)


def test_shared_documents_are_named_as_far_as_they_are_known():
    one, seeded = run_of(1), run_of(2, documents=np.roll(np.arange(16) % 8, 1))
    notes = compare(one, seeded).attrs["notes"]
    assert "same text and share 8 of 8 and 8 documents, in other groups: the errors are correlated" in notes
    assert "the same documents in the same groups: they are paired" in compare(one, run_of(2)).attrs["notes"]
    renamed = run_of(2, corpus_sha256="c" * 64)
    assert "The texts differ, but 8 of 8 and 8 documents have the same names" in compare(one, renamed).attrs["notes"]
    elsewhere = run_of(2, corpus="novels", corpus_sha256="c" * 64)
    assert "The runs share no document: their errors are independent." in compare(one, elsewhere).attrs["notes"]


def test_one_setting_written_in_two_ways_is_no_difference():
    assert compare(run_of(crossing=0), run_of(crossing=False)).attrs["differ_in"] == "nothing that is recorded"
    assert compare(run_of(crossing=0), run_of(crossing=True)).attrs["differ_in"] == "crossing (false / true)"


def test_a_hash_is_named_only_where_no_setting_explains_it():
    elsewhere, rewritten = (run_of(corpus=name, corpus_sha256="c" * 64) for name in ("novels", "text"))
    assert compare(run_of(), elsewhere).attrs["differ_in"] == "corpus (text / novels)"
    assert compare(run_of(), rewritten).attrs["differ_in"] == "corpus_sha256 (bbbbbbbbbbbb / cccccccccccc)"
    control = run_of(random_weights="seed 0", model_sha256="d" * 64)
    assert compare(run_of(), control).attrs["differ_in"] == "random_weights (none / seed 0)"


def test_what_differs_between_the_runs_is_said():
    found = compare(run_of(1), run_of(1, random_weights="seed 0", model_sha256="d" * 64, outliers="keep"))
    assert "outliers (drop / keep)" in found.attrs["differ_in"]
    assert "random_weights (none / seed 0)" in found.attrs["differ_in"]
    assert "with random weights (seed 0)" in shown(found)
    assert "What outlier tokens change" not in shown(found), "the weights differ too"


@pytest.mark.parametrize("rules", [("drop", "keep"), ("keep", "drop")])
def test_kept_and_dropped_outliers_stand_beside_the_noise_floor(rules):
    stable, share = {"keep": 1.25, "drop": 2.5}, {"keep": 0.375, "drop": 0.125}
    runs = []
    for rule in rules:
        axes = ("layer", "component")
        shares = {
            "share": (axes, np.full((3, 3), share[rule])),
            "share_floor": (axes, np.full((3, 3), share[rule] / 2)),
        }
        ranks = {"rank_stable": ("layer", np.full(3, stable[rule]))}
        runs.append(without(run_of(1, outliers=rule), variance=shares, position=ranks))
    rows = shown(compare(*runs)).split("What outlier tokens change")[1].splitlines()
    cells = next(line for line in rows if line.strip()[:1] == "0").split()
    assert cells[:5] == ["0", "37.50", "18.75", "12.50", "6.25"]
    assert (cells[5], cells[7]) == ("1.25", "2.50")
    assert "…" not in shown(compare(*runs), 140), "nothing is cut"


def test_other_windows_have_no_table_of_outliers():
    assert "What outlier tokens change" not in shown(compare(run_of(1), run_of(2, outliers="keep")))


def test_results_with_other_axes_are_named_and_left_out():
    shares = [
        {
            name: (("layer", "frequency"), np.ones((3, count)))
            for name in ("low_frequency_share", "low_frequency_share_null")
        }
        for count in (4, 6)
    ]
    found = compare(*(run_of(i, results=share) for i, share in enumerate(shares)))
    assert "low_frequency_share_one" not in found["position"]
    assert "axes differ: /position/low_frequency_share." in found.attrs["notes"]


def test_runs_are_compared_by_what_both_hold():
    for pair in (
        (without(run_of(), "corpus", "position"), run_of()),
        (run_of(), without(run_of(), "corpus", "position")),
    ):
        found = compare(*pair)
        assert "variance" in found.children
        assert "position" not in found.children
        assert "not known" in found.attrs["notes"]
        assert "hold no positional basis" in found.attrs["notes"]


def test_what_only_one_run_holds_is_said_by_file_or_where_a_file_is_held_in_part_by_group():
    whole, part = run_of(), without(run_of(), "corpus", "position")
    part.results["travel"] = part.results["stores"] = xr.DataTree(xr.Dataset({"angle": ("layer", [1.0])}))
    assert compare(whole, whole).attrs["held_by_one"] == ""
    said = "Only one holds /corpus, /position. Only the other holds travel.nc, stores.nc."
    assert compare(whole, part).attrs["held_by_one"] == said


def test_runs_without_a_common_group_are_refused():
    one = without(run_of(), *(name for name in run_of().results.children if name != "variance"))
    other = without(run_of(), "variance")
    with pytest.raises(arm.RequestError, match=r"expected two runs with a group in common, got /variance and /"):
        compare(one, other)


def test_every_number_of_the_comparison_is_in_its_rows():
    found = compare(run_of(1), run_of(2))
    rows = difference_rows(found)
    corrected = ("share_corrected", "rank_stable_corrected", "relative_norm_corrected")
    expected = {("position", name) for name in (*corrected, "rank_stable", "relative_norm")} | {("variance", "share")}
    assert set(rows.groupby(["group", "result"]).groups) == expected
    part = rows[rows.result == "share_corrected"]
    assert part.at_other.tolist() == [0, 1, 2]
    for column in ("difference", "difference_se", "difference_low", "difference_high"):
        assert np.array_equal(part[column], found["position"][f"share_corrected_{column}"])
    part = rows[(rows.result == "share") & (rows.place == "component=context")]
    assert np.array_equal(part.other_floor, found["variance"].share_floor_other.sel(component="context"))
    read = json.loads(as_json(found), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert len(read["results"]) == len(rows)
    assert len(read["angles"]) == 9
    assert read["notes"] == found.attrs["notes"]


@pytest.mark.real
def test_a_trained_model_differs_from_its_random_twin():
    settings = {"contexts": 32, "length": 48, "sites": "residual", "progress": False}
    trained = arm.survey(arm.load("minilm"), "python-docs", **settings)
    twin = arm.survey(arm.load("minilm", random_weights=0), "python-docs", **settings)
    found = compare(trained, twin)
    assert "random_weights (none / seed 0)" in found.attrs["differ_in"]
    assert found["norms"].norm_differs.any()
    middle = found["angles"].isel(layer=1)
    assert float(middle.angle_halves_one.max()) < float(middle.angle.min()), "the twin's directions are others"
