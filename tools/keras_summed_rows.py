#!/usr/bin/env python3
"""Trains those cases of tests/golden/keras/whole_models.json again in which Keras has row-sparse gradients, with the
gradients summed into dense ones, and writes whole_models_summed_rows.json beside it.

    pip install tensorflow-cpu==2.21.0 keras==3.15.1
    tools/keras_summed_rows.py

Keras squares repeated rows of a row-sparse gradient one by one (docs/differences.md). Here the rows are summed first, as
in this library, so that the same batches, weights and results can be compared.
"""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

FOLDER = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "keras"


def made(value):
    """What stands for an object of Keras ({"object": "layers.LSTM", "config": {...}}), made, at any depth."""
    if isinstance(value, dict) and "object" in value:
        module, name = value["object"].rsplit(".", 1)
        return getattr(getattr(keras, module), name)(**made(value["config"]))
    if isinstance(value, dict):
        return {key: made(item) for key, item in value.items()}
    return [made(item) for item in value] if isinstance(value, list) else value


def array(tensor):
    return np.array(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


def arrays(nest):
    return array(nest) if isinstance(nest, dict) else [array(item) for item in nest]


def packed(value):
    value = np.asarray(value)
    data = value.ravel()
    return {"dtype": str(value.dtype), "shape": list(value.shape),
            "data": [float(str(x)) for x in data] if value.dtype == np.float32 else data.tolist()}


def model_of(spec):
    if "sequential" in spec:
        layers = [made({"object": f"layers.{name}", "config": config}) for name, config in spec["sequential"]]
        start = keras.Input(spec["input_shape"], dtype=spec.get("input_dtype"), name="input")
        return keras.Sequential([start, *layers], name="model")
    values = {one["name"]: keras.Input(one["shape"], dtype=one["dtype"], name=one["name"]) for one in spec["inputs"]}
    inputs = list(values.values())
    for node in spec["nodes"]:
        layer = made({"object": f"layers.{node['layer']}", "config": {"name": node["name"], **node["config"]}})
        arguments = [values[name] for name in node["inputs"]]
        if node.get("style") == "list":
            arguments = [arguments]
        values[node["name"]] = layer(*arguments, **node.get("call", {}))
    return keras.Model(inputs, [values[name] for name in spec["outputs"]][0], name="model")


def sum_rows(optimizer):
    apply = optimizer.apply
    optimizer.apply = lambda gradients, variables=None: apply(
        [tf.convert_to_tensor(gradient) for gradient in gradients], variables)
    return optimizer


class Batches(keras.callbacks.Callback):
    def __init__(self, alone):
        super().__init__()
        self.alone = alone
        self.logs = []

    def on_train_batch_begin(self, batch, logs=None):
        if self.alone:
            self.model.reset_metrics()

    def on_train_batch_end(self, batch, logs=None):
        self.logs.append({key: float(value) for key, value in logs.items()})


def trained(case, alone):
    keras.utils.clear_session()
    keras.config.set_floatx(case["dtype"])
    model = model_of(case["model"])
    model.set_weights([array(weight["value"]) for weight in case["initial_weights"]])
    options = made(case["compile"])
    options["optimizer"] = sum_rows(options["optimizer"])
    model.compile(**options, jit_compile=False)
    batches = Batches(alone)
    x, y = arrays(case["x"]), arrays(case["y"])
    history = model.fit(x, y, shuffle=False, verbose=0, callbacks=[batches], **case["fit"])
    return model, batches.logs, history.history


def listed(variables):
    return [{"path": variable.path, "value": packed(variable)} for variable in variables]


def run(case):
    x, y = arrays(case["x"]), arrays(case["y"])
    alone = trained(case, True)[1]
    model, batches, history = trained(case, False)
    return {
        "name": case["name"],
        "batch_alone": alone,
        "batch_logs": batches,
        "history": {key: [float(value) for value in values] for key, values in history.items()},
        "final_weights": listed(model.weights),
        "optimizer_variables": {"optimizer": listed(model.optimizer.variables)},
        "evaluate": {k: float(v) for k, v in model.evaluate(x, y, verbose=0, return_dict=True).items()},
        "predict": packed(model.predict(x, verbose=0)),
    }


def main():
    document = json.loads((FOLDER / "whole_models.json").read_text())
    cases = [run(case) for case in document["cases"] if '"Embedding"' in json.dumps(case.get("model", {}))]
    head = {"made_with": {"keras": keras.__version__, "tensorflow": tf.__version__}}
    with open(FOLDER / "whole_models_summed_rows.json", "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        file.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"cases":[\n' + lines + "\n]}\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
