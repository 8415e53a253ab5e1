"""Names of earlier versions: old files open under the new names, old scripts are answered with a warning."""

import numpy as np
import pytest
import xarray as xr

import armillary as arm
from armillary.results import former, store
from armillary.results.schema import GROUPS


def test_every_present_name_is_in_the_schema_and_no_former_one_is():
    for group, names in former.VARIABLES.items():
        for old, new in names.items():
            assert new in GROUPS[group].variables
            assert old not in GROUPS[group].variables


def test_a_variable_is_found_by_its_former_name_with_a_warning():
    tree = store.tree_of({"corpus": xr.Dataset({"shift": ("context", [3, 1])})}, {})
    for ask in (lambda: tree["corpus"].turn, lambda: tree["corpus"]["turn"], lambda: tree["corpus/turn"]):
        with pytest.warns(FutureWarning, match=r"/corpus/turn is now called /corpus/shift: use the new name"):
            assert ask().values.tolist() == [3, 1]


def test_the_present_name_warns_of_nothing_and_an_unknown_one_is_unknown():
    tree = store.tree_of({"corpus": xr.Dataset({"shift": ("context", [3, 1])})}, {})
    assert tree["corpus"].shift.values.tolist() == [3, 1]
    with pytest.raises(KeyError):
        tree["corpus/twist"]
    with pytest.raises(AttributeError, match="twist"):
        tree["corpus"].twist  # noqa: B018


def test_labels_along_an_axis_get_their_present_words():
    share = np.arange(9.0).reshape(3, 3)
    parts = ["global", "position", "rest"]
    old = xr.Dataset({"share": (("part_query", "part_key"), share)}, coords={"part_query": parts, "part_key": parts})
    new = former.renamed("constituents", old)
    assert new.part_query.values.tolist() == ["mean", "position", "residual"]
    assert float(new.share.sel(part_query="mean", part_key="residual")) == share[0, 2]


def test_a_file_of_an_earlier_version_opens(tmp_path):
    shapes = {axis: 2 for group in GROUPS.values() for row in group.variables.values() for axis in row.axes}
    rows = GROUPS["dissection"].variables
    names = {new: old for old, new in former.VARIABLES["dissection"].items()}
    old = xr.Dataset(
        {names.get(name, name): (row.axes, np.ones([shapes[axis] for axis in row.axes])) for name, row in rows.items()}
    )
    store.write(tmp_path, "names.nc", {"dissection": old}, {"model": "m"})
    run = arm.open(tmp_path)
    assert set(rows) == set(run.results["dissection"].data_vars)
    assert run.results["dissection"].energy_residual.values.tolist() == [[1, 1], [1, 1]]
