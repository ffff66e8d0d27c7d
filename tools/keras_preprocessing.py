#!/usr/bin/env python3
"""Makes tests/golden/keras/preprocessing.json: what Keras's preprocessing layers of numbers, ids and texts give.

    python3 -m venv /tmp/keras && /tmp/keras/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    /tmp/keras/bin/python tools/keras_preprocessing.py

What the file means is written in tests/golden/README.md. Hashes have cases of their own: TensorFlow's ops are called
directly, with texts of all lengths at which the functions change their ways.
"""

import json
import os
import pathlib
import random

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

TARGET = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "keras" / "preprocessing.json"

cases = []


def ragged(rows):
    return {"rows": rows}


def is_rows(value):
    return isinstance(value, dict) and "rows" in value


def as_input(value):
    """What Keras is given."""
    if is_rows(value):
        return tf.ragged.constant(value["rows"], ragged_rank=1, dtype=tf.string)
    if isinstance(value, tuple):
        return [as_input(item) for item in value]
    if isinstance(value, np.ndarray):
        return tf.constant(value)
    return tf.constant(value)


def element(value):
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, float):
        return "nan" if value != value else "inf" if value == float("inf") else "-inf" if value == -float("inf") else value
    return value


def as_json(value):
    """A tensor, rows of texts, or a list of these."""
    if is_rows(value):
        return value
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, tf.RaggedTensor):
        return {"rows": [[element(item) for item in row] for row in value.to_list()]}
    array = value.numpy() if hasattr(value, "numpy") else np.array(value)
    if isinstance(array, (bytes, str)):
        array = np.array(array, dtype=object)
    if array.dtype.kind in "OSU":
        name, data = "string", [element(item) for item in array.reshape(-1).tolist()]
    elif array.dtype == np.float32:
        name, data = "float32", [element(float(np.format_float_positional(x, unique=True)) if np.isfinite(x) else float(x))
                                 for x in array.reshape(-1)]
    else:
        name, data = array.dtype.name, [element(item) for item in array.reshape(-1).tolist()]
    return {"dtype": name, "shape": list(array.shape), "data": data}


def add(name, layer, config=None, adapt=None, updates=None, vocabulary=None, idf_weights=None, inputs=()):
    """One layer: adapted, or given a vocabulary, and then called. `updates` are batches, given one by one."""
    config = dict(config or {})
    case = {"name": f"{layer}/{name}", "layer": layer, "config": config}
    made = getattr(keras.layers, layer)(**{k: tuple(v) if k == "ngrams" and isinstance(v, list) else v
                                           for k, v in config.items()})
    case["config_of_keras"] = json.loads(json.dumps(made.get_config()))
    case["config_of_keras"]["name"] = "layer"
    if adapt is not None:
        case["adapt"] = as_json(adapt)
        made.adapt(as_input(adapt))
    if updates is not None:
        case["updates"] = [as_json(batch) for batch in updates]
        made.reset_state()
        for batch in updates:
            made.update_state(as_input(batch))
        made.finalize_state()
    if vocabulary is not None:
        case["set_vocabulary"] = vocabulary
        if idf_weights is not None:
            case["set_idf_weights"] = idf_weights
        made.set_vocabulary(vocabulary, idf_weights)
    calls = []
    for value in inputs:
        if layer == "CategoryEncoding" and isinstance(value, tuple):
            output = made(as_input(value[0]), count_weights=as_input(value[1]))
        elif layer == "HashedCrossing":
            output = made(tuple(as_input(item) for item in value))
        else:
            output = made(as_input(value))
        calls.append({"input": as_json(value), "output": as_json(output)})
    case["calls"] = calls
    if hasattr(made, "get_vocabulary"):
        case["vocabulary"] = [v.item() if hasattr(v, "item") else v for v in made.get_vocabulary()]
        case["plain_vocabulary"] = [v.item() if hasattr(v, "item") else v
                                    for v in made.get_vocabulary(include_special_tokens=False)]
        case["vocabulary_size"] = int(made.vocabulary_size())
    if layer == "Discretization":
        case["bin_boundaries"] = [float(x) for x in made.bin_boundaries]
    if layer == "Normalization":
        case["weights"] = [{"name": w.name, "value": as_json(w.value)} for w in made.weights]
    cases.append(case)


def hashes():
    rng = random.Random(1)
    texts = ["", "a", "Abc", "hello world", "grüße", "日本語", "\U0001f600"]
    for length in [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 47, 48, 63, 64, 65, 66, 95, 96, 127, 128, 129,
                   191, 192, 193, 255, 256, 300]:
        texts.append("".join(chr(rng.randrange(32, 127)) for _ in range(length)))
    many = 2**62 + 3
    given = tf.constant(texts)
    cases.append({"name": "hash/fast", "texts": texts, "buckets": many,
                  "output": as_json(tf.strings.to_hash_bucket_fast(given, many))})
    for key in ([1, 2], [0, 0], [2**63 - 1, 123456789012345678]):
        cases.append({"name": f"hash/strong/{key[0]}", "texts": texts, "buckets": many, "key": key,
                      "output": as_json(tf.strings.to_hash_bucket_strong(given, many, key))})


def texts_cases():
    words = [["a", "b", "c", "a"], ["d", "a", "zz", ""]]
    for extra in ({}, {"mask_token": ""}, {"num_oov_indices": 0, "oov_token": None}, {"num_oov_indices": 3},
                  {"num_oov_indices": 3, "mask_token": "", "salt": 7}, {"num_oov_indices": 2, "salt": [3, 4]},
                  {"max_tokens": 4}):
        vocabulary = ["a", "b", "c"] if extra.get("num_oov_indices") != 0 else ["a", "b", "c", "d", "zz", ""]
        name = ",".join(f"{k}={v}" for k, v in extra.items()) or "plain"
        add(name, "StringLookup", {"vocabulary": vocabulary, **extra}, inputs=[words, words[0], "b"])
    for mode in ("one_hot", "multi_hot", "count"):
        for extra in ({}, {"mask_token": "d"}, {"num_oov_indices": 2}, {"pad_to_max_tokens": True, "max_tokens": 7}):
            name = f"{mode}/" + (",".join(extra) or "plain")
            add(name, "StringLookup", {"vocabulary": ["a", "b", "c"], "output_mode": mode, **extra},
                inputs=[words, words[0], [["b"], ["x"]]] + (["b"] if mode != "one_hot" else []))
    add("tf_idf", "StringLookup",
        {"vocabulary": ["a", "b", "c"], "idf_weights": [0.5, 1.5, 4.0], "output_mode": "tf_idf"}, inputs=[words, words[0]])
    add("tf_idf/padded", "StringLookup",
        {"vocabulary": ["[UNK]", "a", "b"], "idf_weights": [0.25, 0.5, 1.5], "output_mode": "tf_idf",
         "pad_to_max_tokens": True, "max_tokens": 5}, inputs=[words])
    add("special_tokens", "StringLookup", {"vocabulary": ["", "[UNK]", "a", "b"], "mask_token": ""}, inputs=[words])
    add("invert", "StringLookup", {"vocabulary": ["a", "b"], "invert": True}, inputs=[[[0, 1], [2, 3]], [-1, 1]])
    add("invert/mask", "StringLookup", {"vocabulary": ["a", "b"], "mask_token": "", "invert": True},
        inputs=[[[0, 1, 2], [3, 4, -5]], 2])
    corpus = [["the", "cat"], ["the", "dog"], ["a", "dog"], ["", "[UNK]"], ["Zebra", "zebra"]]
    for extra in ({}, {"max_tokens": 4}, {"mask_token": ""}, {"num_oov_indices": 2, "mask_token": "a"},
                  {"output_mode": "multi_hot"}, {"output_mode": "tf_idf"}, {"output_mode": "tf_idf", "max_tokens": 4},
                  {"output_mode": "tf_idf", "max_tokens": 9, "pad_to_max_tokens": True}):
        name = "adapt/" + (",".join(f"{k}={v}" for k, v in extra.items()) or "plain")
        add(name, "StringLookup", extra, adapt=corpus, inputs=[corpus])
        add(name + "/updates", "StringLookup", extra, updates=[corpus, ["the", "the", "ox"], [["ox"], ["cat"]]],
            inputs=[corpus])
    add("adapt/list", "StringLookup", {"output_mode": "tf_idf"}, adapt=["x", "y", "x", "z"], inputs=[["x", "y", "q"]])
    add("adapt/ragged", "StringLookup", {"output_mode": "tf_idf"}, updates=[ragged([["x"], ["y", "x", "x"], []])],
        inputs=[ragged([["x", "x"], [], ["y", "z", "x"]])])
    add("set_vocabulary", "StringLookup", {}, vocabulary=["q", "r"], inputs=[["q", "s"]])
    add("set_vocabulary/tf_idf", "StringLookup", {"output_mode": "tf_idf"}, vocabulary=["q", "r"],
        idf_weights=[0.5, 2.0], inputs=[["q", "s", "q"]])
    add("unicode", "StringLookup", {}, adapt=["ü", "u", "日", "日", "\U0001f600", "z", "\U0001f600"], inputs=[["日", "ü"]])


def integer_cases():
    ids = [[12, 36, 1138], [1000, 42, 37]]
    base = {"vocabulary": [12, 36, 1138, 42]}
    for extra in ({}, {"mask_token": 0}, {"mask_token": 37}, {"num_oov_indices": 3}, {"num_oov_indices": 2, "mask_token": 1000},
                  {"num_oov_indices": 3, "oov_method": "farmhash"}, {"oov_token": -5, "max_tokens": 9},
                  {"num_oov_indices": 5, "oov_method": "farmhash", "salt": [9, 8]}):
        name = ",".join(f"{k}={v}" for k, v in extra.items()) or "plain"
        add(name, "IntegerLookup", {**base, **extra},
            inputs=[np.array(ids, "int64"), np.array(ids[1], "int64"), np.array([-7, -8, -9, 2**62], "int64")])
    for mode in ("one_hot", "multi_hot", "count"):
        for extra in ({}, {"mask_token": 36000}, {"num_oov_indices": 2}, {"pad_to_max_tokens": True, "max_tokens": 7}):
            add(f"{mode}/" + (",".join(extra) or "plain"), "IntegerLookup", {**base, "output_mode": mode, **extra},
                inputs=[np.array(ids, "int64"), np.array(ids[0], "int64"), np.array([[12], [5]], "int64")])
    add("tf_idf", "IntegerLookup", {**base, "output_mode": "tf_idf", "idf_weights": [0.25, 0.75, 0.6, 0.4]},
        inputs=[np.array(ids, "int64")])
    add("invert", "IntegerLookup", {**base, "invert": True}, inputs=[np.array([[1, 2], [0, 9]], "int64")])
    add("invert/mask", "IntegerLookup", {**base, "invert": True, "mask_token": 0, "num_oov_indices": 2},
        inputs=[np.array([[1, 2], [0, 9], [3, -1]], "int64")])
    data = np.array([[12, 1138, 42], [42, 1000, 36], [5, 5, 7]], "int64")
    for extra in ({}, {"max_tokens": 4}, {"mask_token": 42}, {"output_mode": "tf_idf"}, {"output_mode": "count"}):
        name = "adapt/" + (",".join(f"{k}={v}" for k, v in extra.items()) or "plain")
        add(name, "IntegerLookup", extra, adapt=data, inputs=[data])


def encoding_cases():
    for mode in ("one_hot", "multi_hot", "count"):
        add(mode, "CategoryEncoding", {"num_tokens": 4, "output_mode": mode},
            inputs=[np.array([3, 2, 0, 1], "int32"), np.array([[0, 1], [0, 0], [1, 2], [3, 1]], "int64"),
                    np.array([[1], [3]], "int32"), np.array(2, "int32")])
    add("weights", "CategoryEncoding", {"num_tokens": 4, "output_mode": "count"},
        inputs=[(np.array([[0, 1], [0, 0], [1, 2], [3, 1]], "int32"),
                 np.array([[0.1, 0.2], [0.1, 0.1], [0.2, 0.3], [0.4, 0.2]], "float32"))])
    x = np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]], "float32")
    for mode in ("int", "one_hot", "multi_hot", "count"):
        add(mode, "Discretization", {"bin_boundaries": [0.0, 1.0, 2.0], "output_mode": mode},
            inputs=[x, x[0], x[:, :1], np.array([[0, 1], [2, 7]], "int32")])
    rng = np.random.default_rng(3)
    add("adapt/small", "Discretization", {"num_bins": 4, "epsilon": 0.01}, adapt=x, inputs=[x])
    add("adapt/few", "Discretization", {"num_bins": 4}, adapt=np.array([1.0, 2.0], "float32"), inputs=[x])
    add("adapt/one", "Discretization", {"num_bins": 1}, adapt=x, inputs=[x])
    for bins, epsilon, count in ((5, 0.01, 500), (3, 0.1, 97), (10, 0.05, 1000)):
        data = np.round(rng.normal(size=(count, 1)), 3).astype("float32")
        add(f"adapt/{bins}_{epsilon}", "Discretization", {"num_bins": bins, "epsilon": epsilon}, adapt=data, inputs=[x])
        add(f"updates/{bins}_{epsilon}", "Discretization", {"num_bins": bins, "epsilon": epsilon, "output_mode": "one_hot"},
            updates=np.array_split(data, 4), inputs=[x])


def hashing_cases():
    names = [["A", "B", "long text with spaces"], ["", "ü", "B"]]
    numbers = np.array([[0, 1, -1], [123456789012, -5, 7]], "int64")
    for extra in ({}, {"mask_value": ""}, {"salt": 133}, {"salt": [133, 137]}):
        name = ",".join(f"{k}={v}" for k, v in extra.items()) or "plain"
        add(f"texts/{name}", "Hashing", {"num_bins": 5, **extra}, inputs=[names, names[0], "A"])
    for extra in ({}, {"mask_value": 0}, {"salt": 133}, {"salt": [133, 137]}):
        name = ",".join(f"{k}={v}" for k, v in extra.items()) or "plain"
        add(f"numbers/{name}", "Hashing", {"num_bins": 5, **extra}, inputs=[numbers, numbers[0].astype("int32")])
    add("numbers/floats", "Hashing", {"num_bins": 9}, inputs=[np.array([0.5, -1.5, 7.0, 1e9], "float32")])
    add("numbers/mask and one bin", "Hashing", {"num_bins": 1, "mask_value": 0}, inputs=[numbers])
    for mode in ("one_hot", "multi_hot", "count"):
        add(mode, "Hashing", {"num_bins": 4, "output_mode": mode}, inputs=[names, names[0], [["A"], ["B"]], numbers])
    add("dtype", "Hashing", {"num_bins": 3, "dtype": "int32"}, inputs=[names])
    letters, ids = ["A", "B", "A", "B", "A"], np.array([101, 101, 101, 102, 102], "int64")
    for mode in ("int", "one_hot"):
        add(mode, "HashedCrossing", {"num_bins": 5, "output_mode": mode},
            inputs=[(letters, ids), (ids, letters, ids), ([["A"], ["B"]], [["x"], [""]]), ("A", "B"),
                    (ids.astype("int32"), -ids)])
    add("many", "HashedCrossing", {"num_bins": 1000000007}, inputs=[(letters, ids), (letters, letters)])


def vectorization_cases():
    texts = ["foo bar", "bar baz!  Qux", "", "Don't\tstop, BAZ bada-boom\nfoo", "ÄÖ ü x"]
    for extra in ({}, {"max_tokens": 5}, {"standardize": None}, {"standardize": "lower"}, {"standardize": "strip_punctuation"},
                  {"split": "character"}, {"split": None}, {"ngrams": 2}, {"ngrams": [2, 3]}, {"ngrams": [3, 1]},
                  {"output_sequence_length": 3}, {"output_sequence_length": 9}, {"output_sequence_length": 0},
                  {"output_mode": "multi_hot"}, {"output_mode": "count"}, {"output_mode": "tf_idf"},
                  {"output_mode": "tf_idf", "max_tokens": 30, "pad_to_max_tokens": True},
                  {"output_mode": "multi_hot", "max_tokens": 6, "pad_to_max_tokens": True},
                  {"output_mode": "count", "ngrams": 2, "split": "character"}):
        name = "adapt/" + (",".join(f"{k}={v}" for k, v in extra.items()) or "plain")
        add(name, "TextVectorization", extra, adapt=texts, inputs=[texts, [[text] for text in texts], ["unknown foo"]])
    for extra in ({}, {"output_sequence_length": 4}):
        name = "vocabulary/" + (",".join(extra) or "plain")
        add(name, "TextVectorization", {"vocabulary": ["earth", "wind", "and", "fire"], **extra},
            inputs=[["Earth, wind & fire", "fire and rain"], "wind and"])
    add("vocabulary/tf_idf", "TextVectorization",
        {"vocabulary": ["earth", "wind"], "idf_weights": [0.5, 2.0], "output_mode": "tf_idf"},
        inputs=[["Earth wind earth", "fire"]])
    add("vocabulary/rows", "TextVectorization", {"vocabulary": ["a b", "b", "c"], "split": None, "ngrams": 2},
        inputs=[[["a", "b", "c"], ["c", "", "a"]]])
    add("updates", "TextVectorization", {"output_mode": "tf_idf"}, updates=[["a b", "b"], ["b c a"]], inputs=[["a b c d"]])
    add("characters", "TextVectorization", {"split": "character", "standardize": None},
        adapt=["日本語", "a\U0001f600b", "e\u0301"], inputs=[["本\U0001f600", "\u0301e"]])


def normalization_cases():
    rng = np.random.default_rng(5)
    data = np.round(rng.normal(2, 3, size=(6, 4, 3)), 3).astype("float32")
    for axis in (-1, 1, [1, 2], None, [-1, 0]):
        add(f"adapt/{axis}", "Normalization", {"axis": axis}, adapt=data, inputs=[data])
        add(f"invert/{axis}", "Normalization", {"axis": axis, "invert": True}, adapt=data, inputs=[data])
    add("before_adapt", "Normalization", {}, inputs=[data[0]])
    add("mean/two_axes", "Normalization", {"axis": [1, 2], "mean": [[1.0, 2.0, 3.0]] * 4, "variance": [[4.0, 0.25, 1.0]] * 4},
        inputs=[data])
    add("mean/fewer_axes", "Normalization", {"axis": [1, 2], "mean": [1.0, 2.0, 3.0], "variance": [4.0, 0.25, 1.0]},
        inputs=[data])
    add("mean/number", "Normalization", {"mean": 3.0, "variance": 2.0}, inputs=[np.array([[1], [2], [3]], "int32")])
    cases.append({"name": "Normalization/batches", "layer": "Normalization", "config": {},
                  "batches": [as_json(data[:1]), as_json(data[1:4]), as_json(data[4:])]})
    made = keras.layers.Normalization()
    made.adapt(iter([data[:1], data[1:4], data[4:]]))
    cases[-1]["weights"] = [{"name": w.name, "value": as_json(w.value)} for w in made.weights]
    cases[-1]["calls"] = [{"input": as_json(data), "output": as_json(made(data))}]


def main():
    hashes()
    texts_cases()
    integer_cases()
    encoding_cases()
    hashing_cases()
    vectorization_cases()
    normalization_cases()
    head = {"made_with": {"keras": keras.__version__, "tensorflow": tf.__version__, "numpy": np.__version__}}
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    with open(TARGET, "w") as file:
        file.write(json.dumps(head, **compact)[:-1] + ',"cases":[\n')
        file.write(",\n".join(json.dumps(case, **compact) for case in cases) + "\n]}\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
