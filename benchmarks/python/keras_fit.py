"""What Keras's `fit` costs on the network of examples/mnist, on this backend and on others: milliseconds of processor time per step.

    python keras_fit.py PYTHON... [--backends capstan,tensorflow,jax] [--rounds 3] [--steps 200] [--batch 64]

Each PYTHON is an interpreter with Keras 3.15 and some of the backends; each backend runs in a process of its own in the
first one that has it, with one thread, in turns, and the least of the rounds counts. Images are drawn: only time is
measured, and that the loss falls. The first epoch, which traces and compiles, is left out.
"""
import argparse
import json
import os
import subprocess
import sys

PROGRAM = """
import json, sys, time
import numpy as np
if sys.argv[1] == "capstan":
    import capstan
    capstan.install_as_keras_backend()
import keras
if sys.argv[1] == "torch":
    import torch
    torch.set_num_threads(1)
batch, steps = int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
templates = rng.random((10, 28, 28, 1), np.float32)
labels = rng.integers(0, 10, batch * steps)
images = templates[labels] + 0.3 * rng.standard_normal((batch * steps, 28, 28, 1), np.float32)
keras.utils.set_random_seed(1)
L = keras.layers
def convolution(filters):
    return [L.Conv2D(filters, 3, padding="same"), L.Activation("relu"), L.BatchNormalization()]
model = keras.Sequential([
    L.Input((28, 28, 1)), *convolution(16), L.MaxPooling2D(), *convolution(32), *convolution(32), L.MaxPooling2D(),
    *convolution(64), *convolution(64), *convolution(64), L.MaxPooling2D(), L.Flatten(), L.Dense(256),
    L.Activation("relu"), L.BatchNormalization(), L.Dropout(0.5), L.Dense(10), L.Activation("softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
first = model.fit(images, labels, batch_size=batch, epochs=1, verbose=0).history["loss"][0]
begin, wall = time.process_time(), time.perf_counter()
last = model.fit(images, labels, batch_size=batch, epochs=1, verbose=0).history["loss"][0]
print(json.dumps({"cpu_ms": (time.process_time() - begin) / steps * 1e3,
                  "wall_ms": (time.perf_counter() - wall) / steps * 1e3, "first": first, "last": last}))
"""


def measure(python, backend, arguments):
    """The numbers of one process, or None if the interpreter lacks the backend."""
    environment = dict(os.environ, KERAS_BACKEND=backend, OMP_NUM_THREADS="1", TF_NUM_INTRAOP_THREADS="1",
                       TF_NUM_INTEROP_THREADS="1", CAPSTAN_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="3",
                       CUDA_VISIBLE_DEVICES="",
                       XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    cpu = min(os.sched_getaffinity(0))
    run = subprocess.run([python, "-c", PROGRAM, backend, str(arguments.batch), str(arguments.steps)], env=environment,
                         capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    if run.returncode != 0:
        print(f"{backend}: {python} cannot run it: {(run.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    found = json.loads(run.stdout.strip().splitlines()[-1])
    if not found["last"] < found["first"]:
        raise SystemExit(f"{backend}: the loss does not fall: {found}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--backends", default="capstan,tensorflow,jax,torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    arguments = parser.parse_args()
    best, home = {}, {}
    for _ in range(arguments.rounds):
        for backend in arguments.backends.split(","):
            for python in [home[backend]] if backend in home else arguments.pythons:
                found = measure(python, backend, arguments)
                if found is None:
                    continue
                home[backend] = python
                best[backend] = min(best.get(backend, found), found, key=lambda f: f["cpu_ms"])
                print(f"{backend}: {found['cpu_ms']:.2f} ms", file=sys.stderr, flush=True)
                break
    ours = best.get("capstan", {}).get("cpu_ms")
    print("| backend | processor ms per step | wall ms per step | of Capstan's |\n|---|---|---|---|")
    for backend, found in sorted(best.items(), key=lambda item: item[1]["cpu_ms"]):
        ratio = f"{found['cpu_ms'] / ours:.2f}" if ours else "-"
        print(f"| {backend} | {found['cpu_ms']:.2f} | {found['wall_ms']:.2f} | {ratio} |")


if __name__ == "__main__":
    main()
