#!/usr/bin/env python3
"""Files: Capstan's benchmarks, and other tools on the same files, in turn.

    build/interop/bin/python benchmarks/peers/files.py build/release/benchmarks [THEME ...]

Themes, all of them unless given: records (tf.data), images (libpng, libjpeg, tf.data), safetensors (cp), csv (pandas, tf.data),
weights (h5py). Prints the least time of some runs in milliseconds, and how many times longer Capstan took than the tool. The
files are in the machine's folder for temporary ones, about 3 GB.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(tempfile.gettempdir(), "capstan_files_benchmark")
ROUNDS = 3


def least(function, *arguments, count=ROUNDS, before=lambda: None):
    times = []
    for _ in range(count):
        before()
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def capstan(program, pattern):
    """The least time of each benchmark of a program, by name."""
    print(f"# {program.name} --benchmark_filter={pattern}", file=sys.stderr, flush=True)
    done = subprocess.run([program, f"--benchmark_filter={pattern}", "--benchmark_format=json",
                           f"--benchmark_repetitions={ROUNDS}"], stdout=subprocess.PIPE, check=True)
    times = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row["run_type"] == "iteration":
            name = row["run_name"].removesuffix("/real_time").split("/min_time")[0]
            times[name] = min(row["real_time"], times.get(name, row["real_time"]))
    return times


def line(what, ours, tool, theirs, bytes_read=None):
    speed = f", {bytes_read / ours / 1000:.0f} MB/s and {bytes_read / theirs / 1000:.0f} MB/s" if bytes_read else ""
    print(f"{what:36} {ours:9.1f} ms   {tool:34} {theirs:9.1f} ms   ratio {ours / theirs:.2f}{speed}", flush=True)


def records(programs):
    ours = capstan(programs / "files_benchmark", "record")
    import tensorflow as tf

    def read(path):
        for _ in tf.data.TFRecordDataset(path).batch(256):
            pass

    def write(path, record, count):
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(count):
                writer.write(record)

    for size in (100, 100_000):
        path = str(FOLDER / f"records_{size}")
        copy = path + ".tf"
        length = os.path.getsize(path)
        theirs = least(read, path)
        for name, ours_of_it in (("RecordReader", "record_reader"), ("TFRecordDataset", "record_dataset")):
            line(f"records of {size} B, {name}", ours[f"{ours_of_it}/{size}"], "tf.data, batches of 256", theirs, length)
        line(f"records of {size} B, written", ours[f"record_writer/{size}"], "tf.io.TFRecordWriter",
             least(write, copy, b"x" * size, 100_000_000 // size, before=lambda: pathlib.Path(copy).unlink(missing_ok=True)),
             length)
        os.remove(copy)


def images(programs):
    ours = capstan(programs / "image_files_benchmark", ".")
    line("PNG, load_png", ours["load_images/png"], "libpng alone", ours["decode_images/libpng"])
    line("JPEG, load_jpeg", ours["load_images/jpeg"], "libjpeg-turbo alone", ours["decode_images/libjpeg"])
    import tensorflow as tf

    def decoded(folder, decode, calls):
        files = tf.data.Dataset.list_files(f"{folder}/*/*", shuffle=False)
        data = files.map(lambda path: decode(tf.io.read_file(path), channels=3), num_parallel_calls=calls)
        return data.map(lambda image: tf.cast(image, tf.float32)).batch(32)

    def read(data):
        for _ in data:
            pass

    for kind, ending, decode in (("png", "png", tf.io.decode_png), ("jpeg", "jpg", tf.io.decode_jpeg)):
        for calls, name in ((None, "tf.data, one call at a time"), (tf.data.AUTOTUNE, "tf.data, several")):
            line(f"{kind.upper()}, image_dataset_from_directory", ours[f"image_dataset/{kind}"], name,
                 least(read, decoded(FOLDER / f"images_{ending}", decode, calls)))


def safetensors(programs):
    ours = capstan(programs / "files_benchmark", "safetensors|copy_file")
    size = os.path.getsize(FOLDER / "weights.safetensors")
    for sync, after in ((0, ""), (1, " and sync")):
        line(f"safetensors of 1 GiB, saved{after}", ours[f"save_safetensors/sync:{sync}"], f"cp{after}",
             ours[f"copy_file/sync:{sync}"], size)
    line("safetensors of 1 GiB, mapped", ours["load_safetensors/map:1"], "read by Capstan", ours["load_safetensors/map:0"])


def csv(programs):
    ours = capstan(programs / "files_benchmark", "read_csv|csv_dataset")
    import pandas

    path = FOLDER / "table.csv"
    for precision in (None, "round_trip"):
        line("CSV of 10^6 x 10, read_csv", ours["read_csv"], f"pandas, engine c, {precision or 'fast'}",
             least(lambda: pandas.read_csv(path, engine="c", float_precision=precision)), os.path.getsize(path))
    import tensorflow as tf

    def read():
        for _ in tf.data.experimental.CsvDataset(str(path), [tf.float32] * 10, header=True).batch(256):
            pass

    line("CSV of 10^6 x 10, CsvDataset", ours["csv_dataset"], "tf.data, batches of 256", least(read, count=1),
         os.path.getsize(path))


def weights(programs):
    ours = capstan(programs / "files_benchmark", "weights_h5")
    import h5py
    import numpy

    path = FOLDER / "model.weights.h5"

    def load():
        arrays = {}
        with h5py.File(path, "r") as file:
            file.visititems(lambda name, item: arrays.update({name: numpy.array(item)})
                            if isinstance(item, h5py.Dataset) else None)
        return arrays

    def save(arrays):
        copy = f"{path}.h5py"
        with h5py.File(copy, "w") as file:
            for name, array in arrays.items():
                file[name] = array
        os.remove(copy)

    line(".weights.h5 of 100 MB, loaded", ours["load_weights_h5"], "h5py", least(load), os.path.getsize(path))
    line(".weights.h5 of 100 MB, saved", ours["save_weights_h5/replace:0"], "h5py", least(save, load()), os.path.getsize(path))


THEMES = {theme.__name__: theme for theme in (records, images, safetensors, csv, weights)}

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in sys.argv[2:] or THEMES:
        THEMES[name](pathlib.Path(sys.argv[1]))
