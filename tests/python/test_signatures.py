"""Names, order and defaults of parameters are TensorFlow's and Keras's, or stand in conformance/signatures.txt.

`python test_signatures.py --write` writes the list anew and keeps the reasons that are there.
"""
import ast
import enum
import inspect
import json
import pathlib
import re
import sys

import capstan as tf

import signatures

HERE = pathlib.Path(__file__).parent
LIST = HERE / "conformance" / "signatures.txt"


def read(texts):
    """{name: default or None} of the parameters that a caller can name, in their order; `name` stands for itself."""
    named = [t for t in texts if not t.startswith("*")]
    return {t.partition("=")[0]: (t.partition("=")[2] or None) for t in named}


def value_of(text):
    """What a default is: numbers that are equal are the same, and a dtype is its name; capitals do not matter."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.lower()
    return common(value)


def common(value):
    """(1, 1) is 1: what options of several axes that are alike are written as."""
    if isinstance(value, str):
        return value.lower()
    if not isinstance(value, (list, tuple)):
        return value
    items = [common(v) for v in value]
    return items[0] if items and all(i == items[0] for i in items) else tuple(items)


def difference(ours, theirs):
    """What of a call for theirs would mean something else here; None if nothing."""
    if ours is None:
        return "has no signature"
    is_open = any(t.startswith("**") for t in ours)
    ours, theirs = read(ours), read(theirs)
    lacking = [n for n in theirs if n not in ours and not is_open]
    if lacking:
        return "lacks " + ", ".join(lacking)
    # Names, and what layers take by keyword alone, have no place.
    placed = [n for n in theirs if n not in ("name", "dtype", "trainable")]
    if [n for n in ours if n not in ("name", "dtype", "trainable")][:len(placed)] != placed and not is_open:
        return "the order is " + ", ".join(ours)
    for name, default in theirs.items():
        mine = ours.get(name)
        if name == "name" or default is None or default == "None" or name not in ours:
            continue
        if mine is None:
            return f"{name} has no default, not {default}"
        if value_of(mine) != value_of(default):
            return f"{name} is {mine}, not {default}"
    return None


def differences():
    theirs = json.loads((HERE / "tensorflow_signatures.json").read_text())
    found = {name: difference(signatures.parameters(value), theirs[name])
             for name, value in signatures.public(tf).items()
             # What an enumeration is called with depends on the version of Python.
             if name in theirs and not (isinstance(value, type) and issubclass(value, enum.Enum))}
    return len(found), {name: text for name, text in found.items() if text is not None}


def listed():
    rows = [line.split("\t") for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows}


def test_parameters_are_tensorflows():
    count, found = differences()
    assert count > 900
    assert {name: text for name, (text, _) in listed().items()} == found
    assert all(reason for _, reason in listed().values())


def test_everything_public_has_a_signature_and_a_docstring():
    lacking = []
    for name, value in signatures.public(tf).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        if signatures.parameters(value) is None or not (inspect.getdoc(value) or "").strip():
            lacking.append(name)
    assert not lacking


# Parameters that change no number: how TensorFlow runs something, what it prints, names, and what structures give.
WITHOUT_EFFECT = {
    "name", "parallel_iterations", "back_prop", "swap_memory", "layout", "use_locking", "validate_indices", "var",
    "num_parallel_calls", "deterministic", "options", "summarize", "verbose", "jit_compile", "auto_scale_loss",
    "expand_composites", "safe_mode", "stateful", "a_is_sparse", "b_is_sparse", "grad_a", "grad_b", "optimize",
    "experimental_compile", "experimental_follow_type_hints", "exclusive", "strict", "shape_invariants",
    "return_same_structure", "fallback_to_while_loop", "warn", "infer_shape", "fn_output_signature", "autocast",
    "aggregation", "synchronization", "skip_gradients_aggregation", "experimental_aggregate_gradients", "logs", "partial", "output_shapes", "output_shape", "synchronous",
    "use_unbounded_threadpool", "session", "device_name", "rebuild", "preferred_backend",
    "control_inputs", "tensor_array_name", "colocate_with_first_write_call", "rerandomize_each_iteration", "data", "dpi", "splines", "stack_height_limit", "path_length_limit"}
# Functions that look at their arguments in another way, or that the interpreter calls.
READ_ELSEWHERE = {"_use", "name_scope", "find_spec", "__exit__", "__new__", "_ensure_handle", "call", "train_step",
                  "test_step", "mapped", "split", "map_fn"}


def test_no_argument_is_dropped_in_silence():
    """What a caller gives is used, refused, or one of those that change no number."""
    dropped = []
    for path in sorted(pathlib.Path(tf.__file__).parent.rglob("*.py")):
        if "keras_backend" in str(path):
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or function.name in READ_ELSEWHERE:
                continue
            given = function.args
            names = {a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg] if a}
            used = {node.id for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)}
            is_empty = all(isinstance(line, (ast.Expr, ast.Pass)) and not isinstance(getattr(line, "value", None), ast.Call)
                           for line in function.body)
            left = {n for n in names - used - WITHOUT_EFFECT - {"self", "cls"} if not n.startswith("_")}
            if left and not is_empty:
                dropped.append(f"{path.name}:{function.lineno} {function.name} {sorted(left)}")
    assert not dropped


def reason_for(text):
    """The reason of many lines."""
    if re.search("is None, not", text):
        return "None stands for that default"
    if "lora" in text or "quantization" in text:
        return "LoRA and quantisation are left out"
    return {"lacks use_cudnn": "there is no cuDNN",
            "lacks sliding_window, flash_attention, use_gate": "left out",
            "lacks custom_objects": "classes are registered instead",
            "lacks type_enum, handle_data": "dtypes are not made by numbers",
            "side has no default, not 'real'": "the library asks for it",
            "to_file is 'model.svg', not 'model.png'": "pictures are SVG",
            "lacks support_partition": "variables are not split",
            "lacks dims": "scripts give it by its place",
            "lacks row_partition, internal": "made by from_row_splits and its like",
            "lacks weights": "weights are set when the layer has them",
            "lacks options": "files are written in one way",
            "lacks last_checkpoint_step": "left out",
            "lacks input_tensors, clone_function, call_function, recursive": "left out",
            "lacks output_idx_type": "indices are int32"}.get(text, "")


def write():
    known = listed() if LIST.exists() else {}
    lines = ["# Where parameters are not TensorFlow's or Keras's: the name, what differs, and why; separated by tabs."]
    for name, text in sorted(differences()[1].items()):
        lines.append("\t".join([name, text, known.get(name, ("", ""))[1] or reason_for(text)]))
    LIST.write_text("\n".join(lines) + "\n")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
