"""Hostile results files, each made by a few lines: what a stranger could send in place of a run."""

import os

import h5py
import numpy as np

from armillary.results.netcdf import Netcdf

HUGE = 1 << 40


def valid(path):
    """A small results file without checksums, to be spoilt."""
    import xarray as xr

    norms = xr.Dataset({"norm": ("layer", np.arange(1.0, 4.0)), "norm_se": ("layer", np.ones(3))})
    file = Netcdf(path, {"armillary_format": 1, "model": "m"})
    file.add({"norms": norms})
    for spoilt in (file.file, file.file["norms"]):
        del spoilt.attrs["armillary_checksums"]
    return file.file


def fresh(file, name="norm"):
    """The group of a file, without one of its arrays."""
    group = file["norms"]
    del group[name]
    return group


def external_link(file, folder):
    file["elsewhere"] = h5py.ExternalLink(str(folder / "other.nc"), "/norms")


def external_link_to_a_pipe(file, folder):
    os.mkfifo(folder / "pipe")
    file["elsewhere"] = h5py.ExternalLink(str(folder / "pipe"), "/")


def external_link_inside_a_group(file, folder):
    fresh(file)["norm"] = h5py.ExternalLink("/etc/passwd", "/")


def soft_link(file, folder):
    file["again"] = h5py.SoftLink("/norms")


def soft_link_to_itself(file, folder):
    file["loop"] = h5py.SoftLink("/loop")


def soft_link_for_an_array(file, folder):
    fresh(file)["norm"] = h5py.SoftLink("/norms/norm_se")


def external_storage(file, folder):
    (folder / "secret").write_bytes(bytes(64))
    fresh(file).create_dataset("norm", (3,), "f8", external=[(str(folder / "secret"), 0, 24)])


def virtual_dataset(file, folder):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.nc"), "norm", (3,))
    fresh(file).create_virtual_dataset("norm", layout)


def huge_virtual_dataset(file, folder):
    fresh(file).create_virtual_dataset("norm", h5py.VirtualLayout((HUGE,), "f8"))


def gzip_bomb(file, folder):
    group = fresh(file)
    group.create_dataset("norm", (1 << 28,), "f8", chunks=(1 << 20,), compression="gzip", fillvalue=0)


def gzip_bomb_with_a_chunk(file, folder):
    made = fresh(file).create_dataset("norm", (1 << 27,), "i1", chunks=(1 << 27,), compression="gzip")
    made[...] = 0


def unknown_filter(file, folder):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((3,))
    plist.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, (1,))
    space = h5py.h5s.create_simple((3,))
    h5py.h5d.create(fresh(file).id, b"norm", h5py.h5t.NATIVE_DOUBLE, space, plist)


def huge_fill_value(file, folder):
    fresh(file).create_dataset("norm", (HUGE,), "f8", fillvalue=1.0)


def huge_coordinate(file, folder):
    made = file["norms"].create_dataset("position", (HUGE,), "f8", fillvalue=1.0)
    made.make_scale("position")


def huge_axis_without_names(file, folder):
    made = file["norms"].create_dataset("position", (HUGE,), ">f4")
    made.make_scale(f"This is a netCDF dimension but not a netCDF variable.{HUGE:10d}")


def nothing_times_huge(file, folder):
    group = file["norms"]
    wide = group.create_dataset("position", (HUGE,), ">f4")
    wide.make_scale(f"This is a netCDF dimension but not a netCDF variable.{HUGE:10d}")
    none = group.create_dataset("outlier", (0,), ">f4")
    none.make_scale("This is a netCDF dimension but not a netCDF variable.         0")
    made = group.create_dataset("x", (HUGE, 0), "f8")
    made.dims[0].attach_scale(wide)
    made.dims[1].attach_scale(none)


def more_than_the_file_holds(file, folder):
    fresh(file).create_dataset("norm", (1 << 20,), "f8")


def tens_of_thousands_of_groups(file, folder):
    for number in range(5_000):
        file.create_group(f"g{number}")


def tens_of_thousands_of_arrays(file, folder):
    for number in range(5_000):
        file["norms"].create_dataset(f"a{number}", (), "i1", data=0)


def deep_groups(file, folder):
    group = file["norms"]
    for _ in range(500):
        group = group.create_group("deeper")


def a_group_that_holds_itself(file, folder):
    file["norms"]["again"] = file["norms"]


def a_group_that_holds_the_root(file, folder):
    file["norms"]["up"] = file["/"]


def array_at_the_root(file, folder):
    file["x"] = np.arange(3)


def named_type_for_an_array(file, folder):
    file["norms"]["kind"] = np.dtype("f8")


def compound_type(file, folder):
    fresh(file)["norm"] = np.zeros(3, [("a", "f8"), ("b", "i4")])


def references_for_numbers(file, folder):
    fresh(file).create_dataset("norm", (3,), h5py.ref_dtype)


def opaque_type(file, folder):
    fresh(file)["norm"] = np.zeros(3, "V8")


def lists_of_any_length(file, folder):
    fresh(file).create_dataset("norm", (3,), h5py.vlen_dtype(np.dtype("f8")))


def enumeration(file, folder):
    fresh(file).create_dataset("norm", (3,), h5py.enum_dtype({"a": 1}))


def arrays_in_an_array(file, folder):
    fresh(file).create_dataset("norm", (3,), np.dtype(("f8", (1 << 20,))))


def strange_floats(file, folder):
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_fields(63, 40, 23, 0, 40)
    h5py.h5d.create(fresh(file).id, b"norm", kind, h5py.h5s.create_simple((3,)))


def many_axes(file, folder):
    fresh(file).create_dataset("norm", (1,) * 32, "f8")


def no_axes(file, folder):
    fresh(file)["norm"] = np.arange(3.0)


def axis_of_another_group(file, folder):
    other = file.create_group("later").create_dataset("layer", (3,), "f8", data=np.arange(3))
    other.make_scale("layer")
    made = fresh(file).create_dataset("norm", data=np.arange(3.0))
    made.dims[0].attach_scale(other)


def axis_of_another_length(file, folder):
    group = fresh(file)
    made = group.create_dataset("norm", data=np.arange(9.0))
    made.dims[0].attach_scale(group["layer"])


def axes_that_are_numbers(file, folder):
    group = fresh(file)
    group["norm"] = np.arange(3.0)
    group["norm"].attrs["DIMENSION_LIST"] = np.arange(1)


def empty_dataspace(file, folder):
    fresh(file)["norm"] = h5py.Empty("f8")


def too_long_an_attribute(file, folder):
    file["norms"].attrs["x"] = np.zeros(1 << 22, "i1").astype("S1").tobytes().replace(b"\0", b"a").decode()[: 1 << 22]


def too_many_attributes(file, folder):
    for number in range(3_000):
        file["norms"].attrs[f"a{number}"] = 1


def attribute_of_another_type(file, folder):
    file.attrs["model"] = np.zeros(2, [("a", "f8")])


def attribute_that_is_no_utf8(file, folder):
    file.attrs["model"] = np.bytes_(b"\xff\xfe")


def unprintable_name(file, folder):
    file["norms"].create_dataset("a\x1b[2J", data=1)


def text_that_is_no_utf8(file, folder):
    group = fresh(file)
    made = group.create_dataset("norm", (3,), h5py.string_dtype())
    made.dims[0].attach_scale(group["layer"])
    made[...] = np.array([b"\xff"] * 3, object)


def texts_for_numbers(file, folder):
    group = fresh(file)
    made = group.create_dataset("norm", (3,), h5py.string_dtype())
    made.dims[0].attach_scale(group["layer"])
    made[...] = np.array(["1", "2", "3"], object)


def no_format(file, folder):
    del file.attrs["armillary_format"]


def format_of_another_type(file, folder):
    file.attrs["armillary_format"] = "1"


def lacking(file, folder):
    fresh(file)


def checksums_that_are_no_json(file, folder):
    file["norms"].attrs["armillary_checksums"] = "[" * 100_000


SPOILT = [
    external_link, external_link_to_a_pipe, external_link_inside_a_group, soft_link, soft_link_to_itself,
    soft_link_for_an_array, external_storage, virtual_dataset, huge_virtual_dataset, gzip_bomb, gzip_bomb_with_a_chunk,
    unknown_filter, huge_fill_value, huge_coordinate, huge_axis_without_names, nothing_times_huge,
    more_than_the_file_holds, tens_of_thousands_of_groups, tens_of_thousands_of_arrays, deep_groups,
    a_group_that_holds_itself, a_group_that_holds_the_root, array_at_the_root, named_type_for_an_array, compound_type,
    references_for_numbers, opaque_type, lists_of_any_length, enumeration, arrays_in_an_array, strange_floats,
    many_axes, no_axes, axis_of_another_group, axis_of_another_length, axes_that_are_numbers, empty_dataspace,
    too_long_an_attribute, too_many_attributes, attribute_of_another_type, attribute_that_is_no_utf8, unprintable_name,
    text_that_is_no_utf8, texts_for_numbers, no_format, format_of_another_type, lacking, checksums_that_are_no_json,
]  # fmt: skip
"""Each takes a valid file and its folder and makes it one that must be refused."""


def spoilt(folder, how):
    """A folder whose states.nc one of these made."""
    with valid(folder / "states.nc") as file:
        how(file, folder)
    return folder


def patched(folder, old, new):
    """A valid file with texts, in whose bytes `old` became `new`."""
    path = folder / "states.nc"
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))
    return folder


def text_of_a_huge_length(folder):
    """A text whose declared length is far beyond the file."""
    with valid(folder / "states.nc") as file:
        group = file["norms"]
        made = group.create_dataset("name", (3,), h5py.string_dtype())
        made.dims[0].attach_scale(group["layer"])
        made[...] = np.array(["x" * 77] * 3, object)
    return patched(folder, (77).to_bytes(4, "little"), (1 << 31).to_bytes(4, "little"))


def one_text_very_often(folder):
    """A million references to one long text: little in the file, much in memory."""
    path = folder / "states.nc"
    with valid(path) as file:
        wide = file["norms"].create_dataset("token", (1_000_000,), ">f4")
        wide.make_scale("This is a netCDF dimension but not a netCDF variable.   1000000")
        made = file["norms"].create_dataset("name", (1_000_000,), h5py.string_dtype())
        made.dims[0].attach_scale(wide)
        made[...] = np.array(["", *["y" * 60_000], *[""] * 999_998], object)
        at = made.id.get_offset()
    raw = bytearray(path.read_bytes())
    raw[at : at + 16_000_000] = raw[at + 16 : at + 32] * 1_000_000
    path.write_bytes(raw)
    return folder


def pipe(folder):
    """A pipe in place of the file."""
    os.mkfifo(folder / "states.nc")
    return folder


def folder_for_a_file(folder):
    """A folder in place of the file."""
    (folder / "states.nc").mkdir()
    return folder


def device(folder):
    """A device that never ends."""
    (folder / "states.nc").symlink_to("/dev/zero")
    return folder


def sparse(folder):
    """A file of a hundred gigabytes that takes a few bytes on disk."""
    path = folder / "states.nc"
    with valid(path) as file:
        length = 100 * (1 << 30) // 8
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((length,))
        h5py.h5d.create(file["norms"].id, b"wide", h5py.h5t.NATIVE_DOUBLE, space, plist)
        made = file["norms"]["wide"]
        made.make_scale("wide")
    os.truncate(path, 101 * (1 << 30))
    return folder


SENT = [text_of_a_huge_length, one_text_very_often, pipe, folder_for_a_file, device, sparse]
"""Each makes a folder whose states.nc must be refused."""
