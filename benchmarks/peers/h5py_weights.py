#!/usr/bin/env python3
"""Reads and writes the weights of files_benchmark's load_weights_h5 and save_weights_h5 with h5py, for comparison.

    build/release/benchmarks/files_benchmark --benchmark_filter=weights_h5
    python3 benchmarks/peers/h5py_weights.py

Prints the least time of ten, in milliseconds. Needs h5py and numpy.
"""
import os
import tempfile
import time

import h5py
import numpy

folder = os.path.join(tempfile.gettempdir(), "capstan_files_benchmark")
path = os.path.join(folder, "model.weights.h5")


def read(file, into):
    for name, item in file.items():
        if isinstance(item, h5py.Dataset):
            into[item.name] = numpy.array(item)
        else:
            read(item, into)


def load():
    arrays = {}
    with h5py.File(path, "r") as file:
        read(file, arrays)
    return arrays


def save(arrays):
    copy = path + ".h5py"
    with h5py.File(copy, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    os.remove(copy)


def least(function, *arguments):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


print(f"h5py {h5py.__version__}: load {least(load):.1f} ms, save {least(save, load()):.1f} ms")
