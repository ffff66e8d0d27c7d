#!/usr/bin/env python3
"""The pipeline of dataset_benchmark, 60000 images shuffled in full and batched by 64, in tf.data and in PyTorch's DataLoader.

    build/tf/bin/python benchmarks/peers/tfdata_pipeline.py [build/release/benchmarks/dataset_benchmark]

Prints the most elements per second of some passes, for each of the two that can be imported and for Capstan's if its
program is given, with images of float32 as a network takes them and of uint8 as files have them. All take turns, so that
what else the machine does slows them alike. PEERS=torch leaves tf.data out, PEERS=tf the DataLoader: the two need not be
in one environment.
"""

import json
import os
import subprocess
import sys
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402

EXAMPLES, BATCH, ROUNDS = 60000, 64, int(os.environ.get("ROUNDS", "5"))


def images_of(dtype):
    values = np.random.default_rng(1).random((EXAMPLES, 28, 28), dtype=np.float32)
    return values if dtype == "float32" else (values * 255).astype(np.uint8)


def pass_time(make):
    """A function that makes one pass and gives elements per second."""

    def run():
        start = time.perf_counter()
        count = make()
        seconds = time.perf_counter() - start
        assert count == EXAMPLES
        return EXAMPLES / seconds

    return run


def tf_data(images):
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices(images).shuffle(EXAMPLES).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    yield f"tf.data {tf.__version__}", pass_time(lambda: sum(int(batch.shape[0]) for batch in dataset))


def data_loader(images):
    import torch

    rows = torch.utils.data.TensorDataset(torch.from_numpy(images))
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=workers)
        name = f"DataLoader {torch.__version__}, {workers} workers"
        yield name, pass_time(lambda loader=loader: sum(len(batch) for (batch,) in loader))


def capstan(program, dtype):
    def run():
        arguments = [program, f"--benchmark_filter=^pipeline/{dtype}/", "--benchmark_format=json", "--benchmark_min_time=0.2"]
        arguments += ["--benchmark_repetitions=3"]
        text = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        runs = [one for one in json.loads(text)["benchmarks"] if one["run_type"] == "iteration"]
        return max(one["items_per_second"] for one in runs)

    return "Capstan", run


def main():
    wanted = os.environ.get("PEERS", "tf torch")
    peers = [peer for name, peer in (("tf", tf_data), ("torch", data_loader)) if name in wanted.split()]
    for dtype in ("float32", "uint8"):
        images = images_of(dtype)
        runs = [capstan(sys.argv[1], dtype)] if len(sys.argv) > 1 else []
        for peer in peers:
            try:
                runs += list(peer(images))
            except ImportError as error:
                print(f"{peer.__name__}: left out, {error}")
        best = {name: 0 for name, _ in runs}
        for _ in range(ROUNDS):
            for name, run in runs:
                best[name] = max(best[name], run())
        for name, rate in best.items():
            ratio = f", Capstan {best['Capstan'] / rate:.1f} times that" if name != "Capstan" and "Capstan" in best else ""
            print(f"{dtype}, {name}: {rate:.0f} elements/s, {1e6 * BATCH / rate:.1f} us a batch{ratio}", flush=True)


if __name__ == "__main__":
    main()
