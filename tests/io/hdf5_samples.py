#!/usr/bin/env python3
"""Writes the HDF5 files of tests/fuzz/corpus/hdf5 that show the forms of groups and chunks of later versions.

    /opt/interop/bin/python tests/io/hdf5_samples.py tests/fuzz/corpus/hdf5

The elements of each array count from 0 in its shape; those of link `dN` from N. hdf5_file_test.cc expects them.
"""
import pathlib
import sys

import h5py
import numpy


def counted(file, name, shape, dtype="int32", **options):
    file.create_dataset(name, data=numpy.arange(numpy.prod(shape), dtype=dtype).reshape(shape), **options)


folder = pathlib.Path(sys.argv[1])

def latest(name):
    return h5py.File(folder / name, "w", libver="latest")


with latest("links_in_heap.h5") as file:
    group = file.create_group("group", track_order=True)
    for i in range(12):
        group.create_dataset(f"d{i}", data=numpy.arange(i, i + 3, dtype="int32"))

with latest("growing_arrays.h5") as file:
    counted(file, "grows", (210,), maxshape=(None,), chunks=(2,))
    counted(file, "grows_deflated", (50,), maxshape=(None,), chunks=(3,), compression="gzip", shuffle=True)
    counted(file, "grows_in_the_middle", (4, 9, 3), maxshape=(6, None, 5), chunks=(2, 2, 2))
    file.create_dataset("never_written", shape=(7,), dtype="int32", maxshape=(None,), chunks=(2,))

with latest("arrays_of_chunks.h5") as file:
    counted(file, "longer_than_shape", (5, 6), maxshape=(5, 50), chunks=(2, 4))
    counted(file, "longer_and_deflated", (5, 6), maxshape=(50, 50), chunks=(2, 4), compression="gzip")

with latest("array_in_pages.h5") as file:
    counted(file, "pages", (1100,), dtype="int16", chunks=(1,))

with latest("tree_of_chunks.h5") as file:
    counted(file, "plain", (24, 22), maxshape=(None, None), chunks=(2, 2))

with latest("tree_of_deflated_chunks.h5") as file:
    counted(file, "deflated", (7, 9, 5), maxshape=(None,) * 3, chunks=(4, 4, 4), compression="gzip", fletcher32=True)

for name, form in (("soft_links.h5", "earliest"), ("soft_links_latest.h5", "latest")):
    with h5py.File(folder / name, "w", libver=form) as file:
        counted(file, "group/inner/d", (4,))
        counted(file, "group/e", (2,))
        file["absolute"] = h5py.SoftLink("/group/inner/d")
        file["group/relative"] = h5py.SoftLink("inner/d")
        file["link_to_link"] = h5py.SoftLink("/absolute")
        file["inner"] = h5py.SoftLink("group/inner")
        file["through_link"] = h5py.SoftLink("/inner/d")

for name, form in (("complex.h5", "earliest"), ("complex_latest.h5", "latest")):
    with h5py.File(folder / name, "w", libver=form) as file:
        for kind in ("complex64", "complex128"):
            file[kind] = numpy.array([1 + 2j, 3 - 0.5j], kind)

with h5py.File(folder / "soft_link_to_nothing.h5", "w") as file:
    file["a"] = h5py.SoftLink("/nothing")
with h5py.File(folder / "soft_links_in_a_circle.h5", "w") as file:
    file["a"], file["b"] = h5py.SoftLink("/b"), h5py.SoftLink("/a")
with h5py.File(folder / "soft_link_to_its_group.h5", "w") as file:
    counted(file, "g/d", (2,))
    file["g/self"] = h5py.SoftLink("/g")
with h5py.File(folder / "record.h5", "w") as file:
    file["r"] = numpy.zeros(2, [("x", "f4"), ("y", "f4")])

with h5py.File(folder / "two_names.h5", "w") as file:
    counted(file, "first", (4,))
    file["group/second"] = file["first"]
