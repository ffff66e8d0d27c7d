#!/usr/bin/env python3
"""Keras's fit() on fit_mlp of toolkit_workloads.cc, with TensorFlow. Modes: function (fit's own), xla (jit_compile)."""
import os

# Read when TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import tensorflow as tf

import protocol
from protocol import Workload

options = protocol.arguments("function", "xla")
tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)

EXAMPLES, BATCH = 4096, 32


def fit_mlp():
    units = protocol.MLP_UNITS
    layers = [keras.layers.Dense(n, activation="relu") for n in units[1:-1]] + [keras.layers.Dense(units[-1])]
    model = keras.Sequential(layers)
    model.build((None, units[0]))
    model.set_weights([array for layer in protocol.dense_stack(units) for array in layer])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), jit_compile=options.mode == "xla",
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = protocol.fill((EXAMPLES, units[0]), 50)
    y = protocol.labels(EXAMPLES, units[-1])

    def epoch():
        return model.fit(x, y, batch_size=BATCH, verbose=0, shuffle=False).history["loss"][-1]

    return Workload(epoch, per=EXAMPLES // BATCH, check=lambda results: [float(results[0])])


protocol.run(f"keras {keras.__version__}", options, {"fit_mlp": fit_mlp})
