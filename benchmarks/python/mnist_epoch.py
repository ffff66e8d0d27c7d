"""An epoch of the MNIST network from Python and from C++, by turns: seconds of processor time for 938 steps of 64 images.

    PYTHONPATH=build/python_tests/python python benchmarks/python/mnist_epoch.py build/release/benchmarks/shared_workloads

Both run the training step of `cnn_adam` (the tutorial's network, Adam, dropout) as a traced function, on one core; in
Python the images come from a dataset that shuffles and batches. An epoch of C++ is 938 times the least step of the
program, so what Python's loop and its dataset cost stands in the ratio.
"""
import argparse
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
    data = tf.data.Dataset.from_tensor_slices((rng.random((IMAGES, 28, 28, 1), np.float32), rng.integers(0, 10, IMAGES)))
    data = data.shuffle(IMAGES, seed=1).batch(BATCH)
    step = make_step(tf)
    python, cpp = [], []
    for _ in range(arguments.rounds):
        begin = time.process_time()
        for images, labels in data:
            step(images, labels)
        python.append(time.process_time() - begin)
        out = subprocess.run([arguments.program, "--workload", "cnn_adam", "--mode", "function", "--threads", "1"],
                             capture_output=True, text=True, check=True).stdout
        cpp.append(json.loads(out.strip().splitlines()[-1])["min_us"] * 1e-6 * -(-IMAGES // BATCH))
        print(f"Python {python[-1]:.2f} s, C++ {cpp[-1]:.2f} s", flush=True)
    print(f"least of {arguments.rounds}: Python {min(python):.2f} s, C++ {min(cpp):.2f} s, ratio {min(python) / min(cpp):.3f}")


if __name__ == "__main__":
    main()
