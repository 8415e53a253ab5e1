"""Kinds of heads in two runs: a planted change is found, with the score that decides it, and nothing else is."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import made_up
from armillary.measures.taxonomy import SPECIAL, taxonomy
from armillary.results.comparing import compare
from armillary.results.kinds import head_name, kind_step, kinds_of
from armillary.results.store import Run, tree_of
from two_runs_made_up import run_of

CHANGED = (2, 1)
"""A head that is an induction head in the run that is made up."""


def replaced(results, value, path, at=CHANGED):
    """The run with another number, or kind, of one head."""
    group, _, name = path.partition("/")
    values = results[group][name].values.copy()
    values[at] = value
    return made_up.changed(results, **{f"{group}__{name}": values})


@pytest.fixture(scope="module")
def results():
    return made_up.run_of().drop_nodes("residual")


def kinds(one, other):
    return compare(Run(one), Run(other))["kinds"].to_dataset()


def test_a_run_beside_itself_has_every_named_head_and_none_changed(results):
    found = kinds(results, results)
    named = kinds_of(results) != ""
    assert found.sizes["named"] == named.sum() == 12
    assert found.attrs["heads"] == named.size
    assert not found.changed.any()
    assert not found.differs.any()
    assert np.array_equal(found.score_one, found.score_other)


def test_a_head_of_another_kind_comes_first_with_the_score_that_moved_most(results):
    stored = str(results["taxonomy"].kind.values[CHANGED])
    assert stored == "induction"
    other = replaced(replaced(results, "local", "taxonomy/kind"), 0.99, "taxonomy/local")
    head = next(kinds(results, other).to_dataframe().itertuples())
    assert (head_name(head), kind_step(head)) == ("L2H1", "induction → local")
    assert (head.changed, head.score, head.differs) == (True, "local", True)
    assert head.score_other == 0.99
    gap = head.score_other - head.score_one
    low, high = stats.t.interval(0.95, made_up.GROUPS - 1, gap, 0.01 * np.sqrt(2))
    assert (head.difference_low, head.difference_high) == pytest.approx((low, high))


def test_a_kind_that_changes_without_its_score_is_no_significant_change(results):
    found = kinds(results, replaced(results, "", "taxonomy/kind"))
    assert found.changed.sum() == 1
    assert not (found.changed & found.differs).any()


def test_uniform_heads_are_decided_by_their_entropy(results):
    at = tuple(np.argwhere(results["taxonomy"].kind.values == "uniform")[0])
    other = replaced(replaced(results, "", "taxonomy/kind", at), 0.2, "heads/entropy_relative", at)
    head = next(kinds(results, other).to_dataframe().itertuples())
    assert (head.block, head.head, head.score, head.score_other, head.differs) == (*at, "uniform", 0.2, True)


def test_without_the_scores_the_kinds_stand_alone_and_nothing_is_significant(results):
    bare = made_up.changed(results, **{f"taxonomy__{name}_se": None for name in ("local", "induction")})
    head = next(kinds(bare, replaced(bare, "local", "taxonomy/kind")).to_dataframe().itertuples())
    assert np.isnan(head.difference_low)
    assert (head.changed, head.differs) == (True, False)
    lonely = results.drop_nodes("heads")
    uniform = kinds(lonely, lonely).to_dataframe().query("score == 'uniform'")
    assert len(uniform)
    assert uniform.score_one.isna().all()


def test_models_of_another_shape_and_runs_without_kinds_have_none_to_compare(results):
    assert not kinds(results, made_up.run_of(layers=4).drop_nodes("residual")).data_vars
    assert not kinds(results, results.drop_nodes("taxonomy")).data_vars
    assert not kinds(results, made_up.changed(results, taxonomy__kind=None)).data_vars


def test_a_run_in_which_no_head_has_a_kind_is_an_empty_list_of_the_same_columns(results):
    nameless = made_up.changed(results, taxonomy__kind="")
    found, full = kinds(nameless, nameless), kinds(results, results)
    assert found.sizes["named"] == 0
    assert list(found.data_vars) == list(full.data_vars)
    assert [found[name].dtype.kind for name in found] == [full[name].dtype.kind for name in full]


def test_a_kind_that_is_not_ours_counts_as_none(results):
    assert np.all(kinds_of(made_up.changed(results, taxonomy__kind="<b>")) == "")


def test_a_sink_is_as_sure_as_the_attention_on_position_0_that_it_is():
    """Both runs read the same documents: what these have in common cancels from every score that is over them."""
    rng = np.random.default_rng(0)
    windows = np.full(8, 2)
    each = rng.uniform(0.4, 0.6, (2, 3, 8))
    runs = []
    for shift in (0.0, 0.001):
        found = taxonomy(
            **{f"{kind}_repeats": np.zeros((2, 3, 4)) for kind in SPECIAL},
            **{f"{name}_twin": np.zeros((2, 3)) for name in (*SPECIAL, "mass_first", "mass_local")},
            mass_first_groups=each + shift,
            entropy_relative=np.zeros((2, 3)),
            distance_profile_groups=np.repeat((each + shift)[..., None] / 8, 8, -1),
            windows=windows,
        )
        named = {name: (("block", "head"), value) for name, value in found._asdict().items() if np.ndim(value) == 2}
        named |= {
            f"{name}_without": (("block", "head", "group"), getattr(found, f"{name}_without"))
            for name in ("sink", "local")
        }
        read = run_of(groups=8)
        groups = {group: node.to_dataset() for group, node in read.results.children.items()}
        runs.append(Run(tree_of({**groups, "taxonomy": xr.Dataset(named)}, read.provenance)))
    found = compare(*runs)["taxonomy"]
    for name in ("sink", "local"):
        assert np.all(found[f"{name}_differs"])
        assert np.all(found[f"{name}_difference_se"] < 1e-6)
