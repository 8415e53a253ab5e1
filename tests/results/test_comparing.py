"""Two runs side by side: intervals that keep their promise, angles that were planted, and words that fit the runs."""

import csv
import io
import json
import re
import sys

import numpy as np
import pytest
import torch
import transformers
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats
from scipy.linalg import subspace_angles

import armillary as arm
from armillary.cli import main
from armillary.measures.errors.jackknife import standard_error
from armillary.printing.comparison import angle_rows, as_json, difference_rows, printed
from armillary.results.comparing import compare, matching_layers
from armillary.results.store import Run, tree_of


def frame(rng, k, size):
    return np.linalg.qr(rng.standard_normal((size, k)))[0]


def centred(matrix):
    return matrix - matrix.mean(axis=-2, keepdims=True)


def run_of(
    seed=0,
    *,
    layers=3,
    d_model=24,
    positions=10,
    groups=8,
    basis=None,
    folds=None,
    results=None,
    documents=None,
    **about,
):
    """A run with random numbers, or given ones: what `compare` reads, and nothing else."""
    rng = np.random.default_rng(seed)
    contexts = 2 * groups
    basis = centred(rng.standard_normal((layers, positions, d_model))) if basis is None else basis
    layers, positions, d_model = basis.shape
    folds = np.repeat(basis[:, None], groups, axis=1) if folds is None else folds
    residual = {"position_basis": (("layer", "position", "d_model"), basis),
                "position_folds": (("layer", "fold", "position", "d_model"), folds)}  # fmt: skip
    corpus = {
        "tokens": (("context", "position"), rng.integers(0, 50, (contexts, positions + 1))),
        "group": ("context", np.arange(contexts) % groups),
        "document_index": ("context", np.arange(contexts) % groups if documents is None else documents),
        "document_name": ("document", [f"{about.get('corpus', 'text')}-{i}" for i in range(groups)]),
    }
    value = rng.random(layers) + 1
    position = {"rank_stable": ("layer", value), "rank_stable_null": ("layer", 3 * value)}
    position |= {"relative_norm": ("layer", value / 4), "relative_norm_null": ("layer", value / 9)}
    for name in ("share_corrected", "rank_stable_corrected", "relative_norm_corrected"):
        position |= {name: ("layer", rng.random(layers)), f"{name}_se": ("layer", 0.1 + rng.random(layers))}
    share = rng.dirichlet(np.ones(3), layers)
    variance = {"share": (("layer", "component"), share), "share_floor": (("layer", "component"), share / 7)}
    tree = {
        "residual": xr.Dataset(residual, coords={"position": np.arange(1, positions + 1)}),
        "corpus": xr.Dataset(corpus),
        "variance": xr.Dataset(variance, coords={"component": ["position", "context", "residual"]}),
        "position": xr.Dataset(position | (results or {})),
    }
    known = {"model": "m", "model_sha256": "a" * 64, "corpus": "text", "corpus_sha256": "b" * 64, "contexts": contexts,
             "length": positions + 1, "seed": seed, "outliers": "drop", "random_weights": ""}  # fmt: skip
    return Run(tree_of(tree, known | about))


def shown(comparison, width=200):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(printed(comparison, width))
    return out.getvalue()


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
    line = next(line for line in shown(found).splitlines() if "/position/share_corrected" in line)
    assert "0 of 3 layers, 3 not estimable" in line
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


def tilted(angle, d_model=24, positions=10):
    """A rank-one basis and the same with its direction turned by an angle, in every one of two layers."""
    rng = np.random.default_rng(3)
    course = frame(rng, 2, positions)[:, :1] - frame(rng, 2, positions)[:, :1].mean()
    first, second = frame(rng, 2, d_model).T
    turned = np.cos(angle) * first + np.sin(angle) * second
    return [np.repeat((course * direction)[None], 2, axis=0) for direction in (first, turned)]


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.2])
def test_a_planted_angle_is_found(angle):
    one, other = tilted(angle)
    rank = {"rank_heldout": ("layer", [1, 1])}
    found = compare(run_of(basis=one, results=rank), run_of(basis=other, results=rank))["angles"]
    assert found.k.values.tolist() == [1, 1]
    np.testing.assert_allclose(found.angle, angle, atol=1e-7)


def test_angles_are_scipys_of_the_leading_singular_vectors():
    one, other = run_of(1), run_of(2)
    found = compare(one, other)["angles"]
    for layer in range(3):
        spans = [np.linalg.svd(run.results["residual"].position_basis[layer].values)[2][:3].T for run in (one, other)]
        np.testing.assert_allclose(found.angle[layer], subspace_angles(*spans)[::-1], atol=1e-9)


def test_only_as_many_directions_are_compared_as_both_runs_hold():
    ranks = [{"rank_heldout": ("layer", values)} for values in ([4, 0, 2], [2, 3, 5])]
    found = compare(*(run_of(i, results=rank) for i, rank in enumerate(ranks)))
    assert found["angles"].k.values.tolist() == [2, 0, 2]
    assert np.isnan(found["angles"].angle).values.tolist() == [[False, False], [True, True], [False, False]]
    assert "rank_heldout" in found.attrs["notes"]
    assert len(angle_rows(found)) == 4
    assert "nan" not in shown(found)


def test_random_directions_fall_below_the_null_one_time_in_twenty():
    rng = np.random.default_rng(0)
    one, other = (run_of(i, basis=rng.standard_normal((400, 6, 30))) for i in range(2))
    angles = compare(one, other)["angles"]
    below = (angles.angle < angles.angle_null).mean("layer")
    assert np.all((below > 0.02) & (below < 0.09))


def test_runs_of_other_width_are_compared_along_their_positions():
    rng = np.random.default_rng(0)
    course = centred(rng.standard_normal((2, 10, 3)))
    one, other = course @ frame(rng, 3, 24).T, course @ frame(rng, 3, 16).T
    found = compare(run_of(1, basis=one), run_of(2, basis=other))
    assert found["angles"].attrs["between"] == "modes along the positions"
    assert found["angles"].attrs["space"] == 9
    np.testing.assert_allclose(found["angles"].angle, 0, atol=1e-7)


def test_without_a_common_space_there_are_no_angles_and_it_is_said():
    found = compare(run_of(1, d_model=24), run_of(2, d_model=16, positions=12))
    assert "angle" not in found["angles"].data_vars
    assert "No angles" in found.attrs["notes"]
    assert len(angle_rows(found)) == 0
    assert "Angles in degrees" not in shown(found)


def test_halves_tell_a_firm_basis_from_noise():
    rng = np.random.default_rng(0)
    firm = centred(rng.standard_normal((1, 10, 3))) @ frame(rng, 3, 200).T * 100
    noise = rng.standard_normal((1, 8, 10, 200))
    both = [run_of(i, basis=firm, folds=firm[:, None] * strength + noise) for i, strength in enumerate([1, 0])]
    angles = compare(*both)["angles"]
    assert float(angles.angle_halves_one.max()) < 0.1
    assert float(angles.angle_halves_other.max()) > 1


def test_halves_weigh_folds_by_their_windows():
    rng = np.random.default_rng(0)
    folds = rng.standard_normal((1, 3, 10, 24))
    group = {"group": ("context", np.array([0, 0, 1, 1, 2, 2, 2, 5]))}
    run = without(run_of(basis=centred(folds.mean(1)), folds=folds, groups=4), corpus=group)
    halves = [centred((folds[0, 0] + 2 * folds[0, 2]) / 3), centred(folds[0, 1])]
    spans = [np.linalg.svd(half)[2][:3].T for half in halves]
    np.testing.assert_allclose(
        compare(run, run)["angles"].angle_halves_one[0], subspace_angles(*spans)[::-1], atol=1e-9
    )


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


def test_what_differs_between_the_runs_is_said():
    found = compare(run_of(1), run_of(1, random_weights="seed 0", model_sha256="d" * 64, outliers="keep"))
    assert "outliers (drop / keep)" in found.attrs["differ_in"]
    assert "random_weights (none / seed 0)" in found.attrs["differ_in"]
    assert "with random weights (seed 0)" in shown(found)
    assert "What outlier tokens change" not in shown(found), "the weights differ too"


def without(run, *names, **changed):
    """The run without some groups, or with other variables in some."""
    groups = {name: node.to_dataset() for name, node in run.results.children.items() if name not in names}
    groups |= {name: groups[name].assign(variables) for name, variables in changed.items()}
    return Run(tree_of(groups, run.provenance))


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
    cells = [cell.strip() for cell in next(line for line in rows if line.startswith("│")).split("│")[1:-1]]
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


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two finished runs of a tiny model, of other windows."""
    torch.set_num_threads(1)
    config = transformers.LlamaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        view = arm.load(transformers.LlamaForCausalLM(config))
    made = [tmp_path_factory.mktemp("runs") / name for name in ("one", "other")]
    for seed, out in enumerate(made):
        arm.survey(view, np.random.default_rng(seed).integers(3, 60, (24, 16)), out=out, progress=False, report=False)
    return made


@pytest.fixture
def armillary(monkeypatch, capfd):
    """The whole command in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["armillary", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return run


def test_the_command_prints_the_comparison(folders, armillary):
    code, out, err = armillary("compare", *folders, "--all")
    assert (code, err) == (0, "")
    for words in (
        "Where the runs differ",
        "/norms/norm",
        "Layer by layer",
        "Angles in degrees",
        "difference = other − one",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 140


def test_at_80_columns_no_number_of_the_comparison_is_cut(folders):
    found = compare(*map(arm.open, folders))
    narrow, wide = shown(found, width=80), shown(found, width=200)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    numbers = [set(re.findall(r"[-+±]?\d+\.\d+(?:e-?\d+)?", text)) for text in (narrow, wide)]
    assert numbers[0] == numbers[1]


def test_the_command_prints_json_and_csv(folders, armillary):
    found = compare(*map(arm.open, folders))
    code, out, _ = armillary("compare", *folders, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(as_json(found))
    code, out, _ = armillary("compare", *folders, "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert len(rows) == len(difference_rows(found))
    norm = [float(row["difference"]) for row in rows if row["result"] == "norm"]
    assert norm == found["norms"].norm_difference.values.tolist()


def test_a_folder_that_is_missing_or_of_another_kind_is_one_line(folders, tmp_path, armillary):
    for bad, words in ((tmp_path / "none", "got none of "), (tmp_path, "is not a results file of Armillary")):
        if bad.exists():
            (bad / "states.nc").write_text("something else")
        for pair in ((folders[0], bad), (bad, folders[0])):
            code, out, err = armillary("compare", *pair)
            assert (code, out) == (2, "")
            assert err.count("\n") == 1
            assert words in err


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
