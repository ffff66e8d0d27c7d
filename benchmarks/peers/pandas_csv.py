#!/usr/bin/env python3
"""Reads the table of files_benchmark with pandas: run that first. Prints the least of some times."""

import os
import tempfile
import time

import pandas

path = os.path.join(tempfile.gettempdir(), "capstan_files_benchmark", "table.csv")
for precision in (None, "round_trip"):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        pandas.read_csv(path, engine="c", float_precision=precision)
        times.append(time.perf_counter() - start)
    print(f"pandas {pandas.__version__}, float_precision {precision}: {1000 * min(times):.0f} ms")
