#!/usr/bin/env python3
"""The pipeline of dataset_benchmark, 60000 images shuffled in full and batched by 64, in tf.data and in PyTorch's DataLoader.

    build/release/benchmarks/dataset_benchmark --benchmark_filter=pipeline
    build/tf/bin/python benchmarks/peers/tfdata_pipeline.py

Prints the most elements per second of some passes for each of the two that can be imported.
"""

import os
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402

EXAMPLES, BATCH, PASSES = 60000, 64, 5


def report(name, passes):
    times = []
    for _ in range(PASSES):
        start = time.perf_counter()
        count = passes()
        times.append(time.perf_counter() - start)
        assert count == EXAMPLES
    print(f"{name}: {EXAMPLES / min(times):.0f} elements/s, {1000 * min(times):.1f} ms a pass")


def tf_data(images):
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices(images).shuffle(EXAMPLES).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    report(f"tf.data {tf.__version__}", lambda: sum(int(batch.shape[0]) for batch in dataset))


def data_loader(images):
    import torch

    rows = torch.utils.data.TensorDataset(torch.from_numpy(images))
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=workers)
        report(f"DataLoader {torch.__version__}, {workers} workers", lambda: sum(len(batch) for (batch,) in loader))


def main():
    images = np.random.default_rng(1).random((EXAMPLES, 28, 28), dtype=np.float32)
    for peer in (tf_data, data_loader):
        try:
            peer(images)
        except ImportError as error:
            print(f"{peer.__name__}: left out, {error}")


if __name__ == "__main__":
    main()
