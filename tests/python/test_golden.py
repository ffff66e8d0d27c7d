"""The golden values of tests/golden/ops once more, through Python: TensorFlow's names, its arguments, its numbers.

A case is called as a script would call it, `tf.nn.conv2d(x, filters, strides=..., padding=...)`. Values, gradients and
missing gradients are compared. What errors say, and second order, is what tests/golden checks.
"""
import json
import math
import pathlib

import numpy as np
import pytest

import capstan as tf
from capstan._ops import OPS

FOLDER = pathlib.Path(__file__).parents[1] / "golden" / "ops"
CASES = [(path.stem, case) for path in sorted(FOLDER.glob("*.json")) if path.stem != "programs"
         for case in json.loads(path.read_text())["cases"] if "error" not in case and "gradient_error" not in case]
TOLERANCE = {"float64": (1e-10, 1e-12), "complex128": (1e-10, 1e-12), "float32": (2e-5, 1e-6),
             "complex64": (2e-5, 1e-6), "bfloat16": (1 / 128, 1 / 128)}
# Numbers in the files that are not right, which tests/golden/case_runner.cc lists with reasons; cases whose terms cancel.
CORRECTED = {"math.erfinv/special", "math.erfinv/special_f32", "keras.activations.celu/at_zero", "nn.gelu/special",
             "nn.max_pool3d/ties", "image.adjust_brightness/f64[2x2x1],delta=0.25", "nn.leaky_relu/special",
             "math.cumulative_logsumexp/large"}
# Expressions rather than functions, and ops whose inputs are one list.
EXPRESSIONS = {"operator_eq", "operator_ne", "guarded_xlogx", "double_where_xlogx", "where_sqrt", "where_reciprocal"}
LISTS = {"concat", "stack", "add_n", "linalg.global_norm", "clip_by_global_norm"}
# Names that TensorFlow has in another module, and the library's own ops.
NAMES = {"space_to_depth": tf.nn.space_to_depth, "depth_to_space": tf.nn.depth_to_space,
         "getitem": None, "clip_by_value": tf.clip_by_value}


def array(given):
    """The array of a tensor in a file."""
    special = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    dtype = given["dtype"]
    data = [special.get(v, v) if isinstance(v, str) else v for v in given["data"]]
    if dtype.startswith("complex"):  # real and imaginary parts in turn
        parts = np.array(data, "float32" if dtype == "complex64" else "float64")
        return parts.view(dtype).reshape(given["shape"])
    return np.array(data, "float32" if dtype == "bfloat16" else dtype).reshape(given["shape"])


def tensor(given):
    made = tf.constant(array(given))
    return tf.cast(made, tf.bfloat16) if given["dtype"] == "bfloat16" else made


def function_of(name):
    """What a script calls, or None for what it does not call by a name."""
    if name in NAMES or name in EXPRESSIONS:
        return NAMES.get(name)
    found = tf
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return OPS.get(name.rpartition(".")[2])
    return found


def outputs_of(case, function, inputs):
    name, attributes = case["op"], dict(case["attrs"])
    if "dtype" in attributes:
        attributes["dtype"] = tf.as_dtype(attributes["dtype"])
    if name in LISTS:
        result = function(inputs, **attributes)
    elif name in ("einsum", "linalg.einsum"):
        result = function(attributes.pop("equation"), *inputs)
    elif name == "dynamic_stitch":
        half = len(inputs) // 2
        result = function(inputs[:half], inputs[half:])
    elif name == "nn.ctc_loss":
        result = function(*inputs, logits_time_major=False)
    elif name == "histogram_fixed_width":
        result = function(inputs[0], attributes["range"], attributes["nbins"])
    elif name == "image.resize_with_crop_or_pad":
        result = function(inputs[0], attributes["height"], attributes["width"])
    elif name == "nn.weighted_moments":
        result = function(inputs[0], attributes.pop("axes"), inputs[1], **attributes)
    elif name == "split":
        result = function(inputs[0], attributes["sizes"], attributes.get("axis", 0))
    elif name == "fill":
        result = function(attributes["dims"], inputs[0])
    elif name == "scatter_nd":
        result = function(*inputs, attributes["shape"])
    else:
        result = function(*inputs, **attributes)
    flat = tf.nest.flatten(result)
    return [r for r in flat if r is not None]


def assert_close(got, want, what, looser):
    dtype = want["dtype"]
    relative, floor = TOLERANCE.get(dtype, (0, 0))
    if looser:
        relative, floor = max(relative, looser), max(floor, looser)
    got = tf.cast(got, tf.float32).numpy() if got.dtype == tf.bfloat16 else np.asarray(got)
    expected = array(want)
    assert got.shape == expected.shape, what
    finite = np.abs(expected[np.isfinite(expected)]) if expected.size and relative else np.zeros(0)
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(got, expected, rtol=relative, atol=floor * max(largest, 1.0) * 50, err_msg=what)


def check_in_function(case):
    """The outputs once more, of a function that is called twice: traced, and run."""
    function = function_of(case["op"])
    traced = tf.function(lambda *inputs: outputs_of(case, function, list(inputs)))
    inputs = [tensor(i) for i in case["inputs"]]
    traced(*inputs)
    for i, (got, want) in enumerate(zip(traced(*inputs), case["outputs"])):
        assert_close(got, want, f"output {i} in a function", case.get("rtol"))


def check(case):
    function = function_of(case["op"])
    inputs = [tensor(i) for i in case["inputs"]]
    constant = set(case.get("constant", []))
    sources = [x for i, x in enumerate(inputs) if i not in constant and (x.dtype.is_floating or x.dtype.is_complex)]
    with tf.GradientTape() as tape:
        for x in sources:
            tape.watch(x)
        outputs = outputs_of(case, function, inputs)
    assert len(outputs) == len(case["outputs"])
    looser = case.get("rtol")
    if "compare" not in case:
        for i, (got, want) in enumerate(zip(outputs, case["outputs"])):
            assert_close(got, want, f"output {i}", looser)
    if "gradients" not in case or not sources or "compare" in case:
        return
    cotangents = case["cotangents"]
    kept = [i for i in range(len(outputs)) if cotangents[i] is not None]
    found = tape.gradient([outputs[i] for i in kept], sources, output_gradients=[tensor(cotangents[i]) for i in kept])
    wanted = [g for i, g in enumerate(case["gradients"])
              if i not in constant and (inputs[i].dtype.is_floating or inputs[i].dtype.is_complex)]
    for i, (got, want) in enumerate(zip(found, wanted)):
        if want is None:
            assert got is None, f"gradient {i}"
        else:
            assert_close(got, want["dense"] if "sparse" in want else want, f"gradient {i}", looser)


# Ops whose results have shapes that depend on values, or that check values, which a trace does not have.
WITHOUT_TRACE = {"boolean_mask", "where_indices", "range_of", "unique", "math.bincount", "sequence_mask",
                    "dynamic_partition", "dynamic_stitch", "image.crop_and_resize",
                    *(f"math.segment_{kind}" for kind in ("sum", "mean", "prod", "max", "min"))}


@pytest.mark.parametrize("how", ["eager", "function"])
@pytest.mark.parametrize("family", sorted({family for family, _ in CASES}))
def test_golden_values(family, how):
    failures, count = [], 0
    for of, case in CASES:
        if of != family or case["name"] in CORRECTED or case["op"] in EXPRESSIONS or case["op"] == "getitem":
            continue
        if how == "function" and (not case["inputs"] or "compare" in case):
            continue
        count += 1
        try:
            if how == "function" and case["op"] in WITHOUT_TRACE and "maxlen" not in case["attrs"]:
                with pytest.warns(UserWarning, match="runs without a trace"):
                    check_in_function(case)
                continue
            (check if how == "eager" else check_in_function)(case)
        except Exception as error:  # noqa: BLE001
            failures.append(f"{case['name']}: {type(error).__name__} {' '.join(str(error).split())[:200]}")
    assert count > 10
    assert not failures, f"{len(failures)} of {count} fail\n" + "\n".join(failures)
