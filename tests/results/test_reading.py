"""What readers of a run are told: labels, what an error rests on, which command adds what is missing."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from armillary.errors import RequestError
from armillary.measures.massive import TIMES
from armillary.results.reading import Estimate, draws, estimate, label_of, massive_times, require, row_of, why_no_error
from armillary.results.schema import GROUPS

PATHS = [f"{group}/{name}" for group, rows in GROUPS.items() for name in rows.variables]


def tree(**groups):
    return xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})


def curve(**values):
    return xr.Dataset({name: ("layer", np.asarray(value, dtype=float)) for name, value in values.items()})


GROUPED = xr.Dataset({"group": ("context", [0, 0, 1, 1, 2, 2, 3, 3])})


@pytest.mark.parametrize("path", PATHS)
def test_a_result_says_what_its_error_is_over_exactly_when_it_has_one(path):
    group, _, name = path.partition("/")
    assert (row_of(path).error != "none") == (f"{name}_se" in GROUPS[group].variables)


@pytest.mark.parametrize("path", [path for path in PATHS if row_of(path).error != "none"])
def test_a_result_with_an_error_has_a_short_name(path):
    assert 0 < len(row_of(path).label.split()) <= 8


@pytest.mark.parametrize("path", [path for path in PATHS if row_of(path).draws])
def test_what_counts_the_draws_is_in_the_schema(path):
    group, _, name = row_of(path).draws.partition("/")
    assert GROUPS[group].variables[name].axes == ("group",)


def test_an_error_over_documents_rests_on_their_groups():
    results = tree(corpus=GROUPED, norms=curve(norm=[1, 2], norm_se=[0.1, 0.2]))
    assert draws(results, "norms/norm") == 4
    half = stats.t.ppf(0.975, 3)
    assert np.allclose(estimate(results, "norms/norm").margin(), half * np.array([0.1, 0.2]))


def test_unequal_groups_count_as_fewer():
    unequal = xr.Dataset({"group": ("context", np.repeat(np.arange(4), [9, 1, 1, 1]))})
    results = tree(corpus=unequal, norms=curve(norm=[1], norm_se=[0.1]))
    assert draws(results, "norms/norm") == pytest.approx(144 / 84)
    assert np.isnan(estimate(results, "norms/norm").margin()).all(), "one group makes up most of it"


def test_an_error_over_folds_rests_on_the_folds_of_groups():
    results = tree(
        corpus=xr.Dataset({"group": ("context", np.arange(16))}),
        position=curve(relative_norm_corrected=[1], share_corrected=[1]),
    )
    assert draws(results, "position/relative_norm_corrected") == 8
    assert draws(results, "position/share_corrected") == 16


def test_errors_that_did_not_cover_are_not_read_from_files_of_earlier_versions():
    results = tree(corpus=GROUPED, depth=curve(dimension_twonn=[7], dimension_twonn_se=[1]))
    assert np.isnan(estimate(results, "depth/dimension_twonn").se).all()


def test_an_error_over_repeats_rests_on_their_number():
    repeats = xr.Dataset({"induction_repeats": (("block", "head", "repeat"), np.zeros((1, 1, 8)))})
    scores = xr.Dataset({"induction": (("block", "head"), np.zeros((1, 1)))})
    assert draws(tree(corpus=GROUPED, repeats=repeats, taxonomy=scores), "taxonomy/induction") == 8
    assert draws(tree(corpus=GROUPED, taxonomy=scores), "taxonomy/induction") == 0


def test_a_probe_that_read_some_groups_rests_on_those():
    share = xr.Dataset({"share": ("layer", [0.0])}, attrs={"groups": 3})
    assert draws(tree(corpus=GROUPED, constituents=share), "constituents/share") == 3


def test_ranks_of_maps_rest_on_the_groups_whose_maps_were_taken():
    ranked = xr.Dataset({"ranked": ("group", [2, 0, 2, 0])})
    heads = xr.Dataset({"rank_stable": ("block", [1.0]), "entropy": ("block", [1.0])})
    results = tree(corpus=GROUPED, head_groups=ranked, heads=heads)
    assert draws(results, "heads/rank_stable") == 2
    assert draws(results, "heads/entropy") == 4


def test_heads_that_stand_alone_know_their_groups():
    windows = xr.Dataset({"windows": ("group", [4, 4, 4])})
    heads = xr.Dataset({"entropy": ("block", [1.0])})
    assert draws(tree(head_groups=windows, heads=heads), "heads/entropy") == 3
    assert draws(tree(heads=heads), "heads/entropy") == 0


def test_what_is_missing_is_named_with_the_command_that_adds_it():
    results = tree(norms=curve(norm=[1]))
    require(results, "norms")
    with pytest.raises(
        RequestError, match=r"^expected a run with /taxonomy, got one without: `armillary heads RUN` adds it$"
    ):
        require(results, "norms", "taxonomy")
    with pytest.raises(
        RequestError, match=r"^expected a run with /residual, got one without: `armillary survey` makes a run with it$"
    ):
        require(tree(), "residual")


def test_the_threshold_of_massive_norms_is_the_run_s_own():
    assert massive_times(tree(outliers=xr.Dataset({"threshold": 33.0}))) == 33
    assert massive_times(tree()) == TIMES


def test_what_the_schema_does_not_know_is_called_by_its_name():
    assert label_of("elsewhere/some_thing") == "some thing"
    assert label_of("position/share_corrected") == "position share"


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ([2, 2, 2], "no errors: they need 4 groups of documents, and there are 3"),
        ([20, 1, 1, 1], "no intervals: one group of documents holds 87 % of the windows, so its error is not known"),
        ([3, 2, 4, 2], ""),
    ],
)
def test_why_there_is_no_error_is_said(sizes, reason):
    grouped = xr.Dataset({"group": ("context", np.repeat(np.arange(len(sizes)), sizes))})
    assert why_no_error(tree(corpus=grouped)).startswith(reason)
    assert bool(why_no_error(tree(corpus=grouped))) == bool(reason)
    assert why_no_error(tree()) == ""


def test_a_band_reaches_its_value():
    value, nothing = np.array([0.95, 0.5, 0.3]), np.full(3, np.nan)
    low, high = np.array([0.93, 0.45, np.nan]), np.array([0.94, 0.55, np.nan])
    ends = Estimate("layer", value, nothing, low, high, 16).band()
    np.testing.assert_array_equal(ends, [[0.93, 0.45, np.nan], [0.95, 0.55, np.nan]])
