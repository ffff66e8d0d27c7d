#!/usr/bin/env python3
"""Makes tests/golden/files/words: small archives of the form of Keras's imdb.npz and reuters.npz, and what Keras reads of them.

    python3 -m venv /tmp/keras && /tmp/keras/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    /tmp/keras/bin/python tools/keras_word_data.py

The archives are written with the protocols of pickles that versions of NumPy have used.
"""

import io
import json
import os
import pathlib
import pickle
import zipfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
from keras.src.datasets import imdb, reuters  # noqa: E402

TARGET = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "files" / "words"


def member(array, protocol):
    """An .npy file whose objects are pickled with a protocol."""
    file = io.BytesIO()
    if array.dtype != object:
        np.lib.format.write_array(file, array)
        return file.getvalue()
    header = {"descr": "|O", "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    pickled = pickle.dumps(array, protocol=protocol)
    # Python 2 wrote the texts in it as strings.
    start, end = pickled.find(b"c_codecs"), pickled.find(b"latin1")
    if start >= 0:
        pickled = pickled[:start] + b"U\x01b" + pickled[pickled.index(b"R", end) + 1 :]
    return file.getvalue() + pickled


def texts(random, count):
    """Words up to 90000, rare ones less often, so that all widths of integers occur."""
    lists = np.empty(count, dtype=object)
    for i in range(count):
        lists[i] = [int(np.exp(random.uniform(0, np.log(90000)))) for _ in range(random.randint(1, 12))]
    return lists


def write(name, arrays, protocol):
    with zipfile.ZipFile(TARGET / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(key + ".npy"), member(array, protocol), zipfile.ZIP_DEFLATED)


def loaded(module, name, options):
    # Keras would look for the file on the net.
    module.get_file = lambda **_: str(TARGET / name)
    return {"options": options, "parts": [as_lists(part) for part in module.load_data(**options)]}


def as_lists(part):
    words, labels = part
    return {"words": [list(map(int, text)) for text in words], "labels": [int(label) for label in labels]}


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    random = np.random.RandomState(7)
    entries = []
    options = [
        {},
        {"num_words": 1000},
        {"num_words": 1000, "skip_top": 10, "seed": 1},
        {"maxlen": 6},
        {"start_char": None, "oov_char": None, "num_words": 500, "skip_top": 20},
        {"start_char": None, "index_from": 0, "seed": 4},
        {"start_char": 7, "oov_char": 9, "index_from": 12, "maxlen": 9, "num_words": 3000},
    ]
    for protocol in (2, 3, 4):
        name = f"imdb_{protocol}.npz"
        labels = random.randint(0, 2, 14), random.randint(0, 2, 9)
        arrays = {"x_train": texts(random, 14), "y_train": labels[0], "x_test": texts(random, 9), "y_test": labels[1]}
        write(name, arrays, protocol)
        results = [loaded(imdb, name, one) for one in options]
        entries.append({"file": name, "data": "imdb", "results": results})
    write("reuters.npz", {"x": texts(random, 23), "y": random.randint(0, 46, 23)}, 4)
    more = [{"test_split": 0.0}, {"test_split": 0.7, "maxlen": 8}]
    results = [loaded(reuters, "reuters.npz", one) for one in [*options, *more]]
    entries.append({"file": "reuters.npz", "data": "reuters", "results": results})
    with open(TARGET / "index.json", "w", encoding="utf-8") as file:
        file.write('{"files": [\n' + ",\n".join(json.dumps(entry) for entry in entries) + "\n]}\n")


if __name__ == "__main__":
    main()
