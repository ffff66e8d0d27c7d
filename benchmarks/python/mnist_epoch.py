"""Steps of the MNIST network from Python and from C++, by turns: milliseconds of processor time for 64 images.

    PYTHONPATH=build/python_tests/python python benchmarks/python/mnist_epoch.py build/release/benchmarks/shared_workloads

Both run the training step of `cnn_adam` (the tutorial's network, Adam, dropout) as a traced function on one batch, on
one core. In Python an epoch of 938 steps is timed, also with images from a dataset that shuffles 60,000 and batches; of
the C++ program what its steps cost on average.
"""
import argparse
import itertools
import json
import os
import subprocess
import time

import numpy as np

IMAGES, BATCH = 60000, 64


def make_step(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((28, 28, 1))])
    for block in ((16,), (32, 32), (64, 64, 64)):
        for filters in block:
            model.add(layers.Conv2D(filters, (3, 3), padding="same"))
            model.add(layers.Activation("relu"))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D((2, 2)))
    for layer in (layers.Flatten(), layers.Dense(256), layers.Activation("relu"), layers.BatchNormalization(),
                  layers.Dropout(0.5), layers.Dense(10)):
        model.add(layer)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["CAPSTAN_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import capstan as tf
    tf.random.set_seed(1)
    rng = np.random.default_rng(0)
    images, labels = rng.random((IMAGES, 28, 28, 1), np.float32), rng.integers(0, 10, IMAGES)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(IMAGES, seed=1).batch(BATCH, drop_remainder=True)
    batch = tf.constant(images[:BATCH]), tf.constant(labels[:BATCH])
    step = make_step(tf)
    step(*batch)

    def epoch(batches):
        begin, count = time.process_time(), 0
        for pair in batches:
            step(*pair)
            count += 1
        return (time.process_time() - begin) / count * 1e3

    found = {"Python, one batch": [], "Python, dataset": [], "C++": []}
    for _ in range(arguments.rounds):
        found["Python, one batch"].append(epoch(itertools.repeat(batch, IMAGES // BATCH)))
        found["Python, dataset"].append(epoch(data))
        out = subprocess.run([arguments.program, "--workload", "cnn_adam", "--mode", "function", "--threads", "1",
                              "--seconds", "8"], capture_output=True, text=True, check=True).stdout
        found["C++"].append(json.loads(out.strip().splitlines()[-1])["cpu_us"] * 1e-3)
    for name, times in found.items():
        print(f"{name:18} {min(times):.3f} ms, {min(times) / min(found['C++']):.3f} of C++")


if __name__ == "__main__":
    main()
