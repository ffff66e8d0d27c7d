"""Writes tensorflow_signatures.json: what TensorFlow 2.21 and Keras 3.15 call the parameters of their public functions.

    python signatures.py      in an environment with tensorflow-cpu 2.21

A function is a list of parameters, each `name`, `name=default`, `*name` or `**name`. What has no signature is left out.
"""
import enum
import inspect
import json
import os
import pathlib

MODULES = ("", "math", "nn", "linalg", "bitwise", "signal", "image", "random", "debugging", "autodiff", "nest",
           "math.special", "keras.layers", "keras.losses", "keras.metrics", "keras.optimizers",
           "keras.optimizers.schedules", "keras.initializers", "keras.regularizers", "keras.constraints",
           "keras.callbacks", "keras.activations", "keras.models", "keras.utils", "keras.ops", "keras.ops.image", "train")
CLASSES = ("GradientTape", "Variable", "train.Checkpoint", "train.CheckpointManager", "autodiff.ForwardAccumulator", "data.Dataset", "keras.Model",
           "keras.Sequential", "keras.optimizers.Optimizer", "keras.metrics.Metric")


def shown(value):
    """A default as text: names for what is no plain value."""
    if value is None or isinstance(value, (bool, int, float, str, tuple, list)):
        return repr(value)
    if isinstance(value, enum.Enum):
        return repr(value.value)
    return getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__


def parameters(function):
    """The parameters of a function or class as texts, without `self`; None if it shows none."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    texts = []
    for p in signature.parameters.values():
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.name != "self":
            texts.append(stars + p.name + ("" if p.default is p.empty else "=" + shown(p.default)))
    return texts


def public(root):
    """{full name: function or class} of the modules and classes above, as far as root has them."""
    found = {}
    for path in MODULES + CLASSES:
        holder = root
        for part in path.split(".") if path else ():
            holder = getattr(holder, part, None)
        if holder is None:
            continue
        for name in dir(holder):
            value = getattr(holder, name, None)
            if not name.startswith("_") and callable(value) and not inspect.ismodule(value):
                found[f"{path}.{name}" if path else name] = value
    return found


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    lists = {name: parameters(value) for name, value in sorted(public(tensorflow).items())}
    path = pathlib.Path(__file__).parent / "tensorflow_signatures.json"
    path.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(list_)}" for name, list_ in lists.items()
                                       if list_ is not None) + "\n}\n")
    print(len(lists), "functions and classes")
