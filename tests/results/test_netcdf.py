"""The file that we write is the one that the netCDF library reads, and says what xarray's own writer would say."""

import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from armillary.results import checksums
from armillary.results.netcdf import Netcdf, read

READ = """
import json, sys, netCDF4
file = netCDF4.Dataset(sys.argv[1])
groups = {
    name: {
        "sizes": {axis: len(size) for axis, size in group.dimensions.items()},
        "variables": {
            name: [list(part.dimensions), part[...].tolist(), {key: str(part.getncattr(key)) for key in part.ncattrs()}]
            for name, part in group.variables.items()
        },
    }
    for name, group in file.groups.items()
}
print(json.dumps({"attributes": {key: str(file.getncattr(key)) for key in file.ncattrs()}, "groups": groups}))
"""


@pytest.fixture
def groups():
    rng = np.random.default_rng(0)
    numbers = xr.Dataset(
        {
            "wide": (("layer", "position", "d_model"), rng.normal(size=(2, 3, 4)), {"units": "1"}),
            "half": (("layer", "layer_"), rng.normal(size=(2, 2)).astype(np.float32), {"long_name": "‖x‖ ≤ 1"}),
            "count": ((), np.int64(7)),
        },
        coords={"position": [1, 2, 3]},
        attrs={"description": "numbers"},
    )
    texts = xr.Dataset(
        {
            "text": ("token", np.array(["a", "", "🦆 <b>"])),
            "massive": ("token", np.array([True, False, True])),
            "context": ("outlier", np.zeros(0, np.int64)),
            "name": ("outlier", np.zeros(0, "<U1")),
        },
        coords={"component": ["position", "context"]},
    )
    return {"numbers": numbers, "texts": texts}


def written(path, groups):
    """A file whose groups were added in two steps, as those of a run are."""
    file = Netcdf(path, {"model": "m", "seed": 3})
    for name in groups:
        file.add({name: groups[name]})
    file.close()


def test_the_netcdf_library_reads_every_axis_value_and_attribute(groups, tmp_path):
    written(tmp_path / "a.nc", groups)
    # A process of its own: the netCDF library brings an HDF5 of its own.
    found = subprocess.run([sys.executable, "-c", READ, tmp_path / "a.nc"], capture_output=True, text=True, check=True)
    read = json.loads(found.stdout)
    assert {key: value for key, value in read["attributes"].items() if key != checksums.NAME} == {
        "model": "m",
        "seed": "3",
    }
    for name, dataset in groups.items():
        assert read["groups"][name]["sizes"] == dict(dataset.sizes)
        assert set(read["groups"][name]["variables"]) == set(dataset.variables)
        for variable, (axes, values, attributes) in read["groups"][name]["variables"].items():
            assert tuple(axes) == dataset[variable].dims
            assert values == dataset[variable].values.tolist()
            assert dataset[variable].attrs.items() <= attributes.items()


def test_xarray_reads_what_its_own_writer_would_have_given(groups, tmp_path):
    written(tmp_path / "ours.nc", groups)
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(model="m", seed=3)
    tree.to_netcdf(tmp_path / "theirs.nc", engine="h5netcdf")
    ours, theirs = (xr.open_datatree(tmp_path / f"{whose}.nc", engine="h5netcdf") for whose in ("ours", "theirs"))
    for node in ours.subtree:
        del node.attrs[checksums.NAME]
    xr.testing.assert_identical(ours, theirs)
    xr.testing.assert_identical(read([tmp_path / "ours.nc"])[0][tmp_path / "ours.nc"].load(), theirs)
    for name, dataset in groups.items():
        for variable in dataset.variables:
            assert ours[name][variable].dtype == theirs[name][variable].dtype
