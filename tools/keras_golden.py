#!/usr/bin/env python3
"""Copies golden values of Keras into tests/golden/keras: the cases of the classes that this library has.

    tools/keras_golden.py DIRECTORY

DIRECTORY holds layers.json, losses.json, ... as generated with the original; what the files mean is written in
tests/golden/README.md. Cases are copied as they are, one per line.
"""

import json
import pathlib
import sys

LAYERS = {"Dense", "Conv2D", "BatchNormalization", "MaxPooling2D", "AveragePooling2D", "Activation", "Flatten",
          "Dropout", "ReLU"}
LOSSES = {"MeanSquaredError", "MeanAbsoluteError", "Huber", "BinaryCrossentropy", "CategoricalCrossentropy",
          "SparseCategoricalCrossentropy"}
LOSS_FUNCTIONS = {"mean_squared_error", "mean_absolute_error", "huber", "binary_crossentropy",
                  "categorical_crossentropy", "sparse_categorical_crossentropy"}
METRICS = {"Mean", "SparseCategoricalAccuracy", "CategoricalAccuracy", "BinaryAccuracy"}
OPTIMIZERS = {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion", "Lamb"}
SCHEDULES = {"InverseTimeDecay", "ExponentialDecay", "PiecewiseConstantDecay", "PolynomialDecay", "CosineDecay",
             "CosineDecayRestarts"}
INITIALIZERS = {"Zeros", "Ones", "Constant", "Identity", "RandomNormal", "TruncatedNormal", "RandomUniform",
                "VarianceScaling", "GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal", "LecunUniform",
                "LecunNormal"}
ACTIVATIONS = {"linear", "relu", "softmax", "sigmoid", "tanh", "elu", "selu", "gelu", "silu", "relu6", "leaky_relu",
               "softplus", "softsign", "log_sigmoid", "exponential", "log_softmax", "hard_sigmoid", "hard_tanh",
               "mish", "tanh_shrink"}

SELECT = {
    "layers": lambda case: case["layer"] in LAYERS,
    "losses": lambda case: case.get("loss") in LOSSES or case.get("function") in LOSS_FUNCTIONS,
    "metrics": lambda case: case["metric"] in METRICS,
    "optimizers": lambda case: case.get("optimizer") in OPTIMIZERS,
    "schedules": lambda case: case["schedule"] in SCHEDULES,
    "training": lambda case: (all(name in LAYERS for name, _ in case["layers"]) and case["loss"][0] in LOSSES
                              and case["optimizer"][0] in OPTIMIZERS),
    "initializers": lambda case: case.get("initializer") in INITIALIZERS,
    "regularizers_constraints": lambda case: True,
    "activations": lambda case: case["activation"] in ACTIVATIONS and not case["options"],
}


def main():
    source = pathlib.Path(sys.argv[1])
    target = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "keras"
    target.mkdir(parents=True, exist_ok=True)
    for name, wanted in SELECT.items():
        document = json.loads((source / f"{name}.json").read_text())
        cases = [case for case in document["cases"] if wanted(case)]
        head = {key: value for key, value in document.items() if key != "cases"}
        if "gradient_sets" in head:
            used = {case.get("gradient_set") for case in cases}
            head["gradient_sets"] = {key: value for key, value in head["gradient_sets"].items() if key in used}
        compact = {"separators": (",", ":")}
        with open(target / f"{name}.json", "w") as file:
            file.write(json.dumps(head, **compact)[:-1] + ',"cases":[\n')
            file.write(",\n".join(json.dumps(case, **compact) for case in cases) + "\n]}\n")
        print(f"{name}: {len(cases)} of {len(document['cases'])} cases")


if __name__ == "__main__":
    main()
