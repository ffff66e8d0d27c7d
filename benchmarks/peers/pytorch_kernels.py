#!/usr/bin/env python3
"""PyTorch on the workloads of kernel_workloads.cc: the same options, numbers and lines of JSON."""
import argparse
import json
import resource
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--workload", required=True)
parser.add_argument("--mode", default="eager")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seconds", type=float, default=1.0)
args = parser.parse_args()

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(args.threads)


def filled(shape, seed, scale=1.0):
    z = 43758.5453 * np.sin(12.9898 * np.arange(np.prod(shape), dtype=np.float64) + 78.233 * seed)
    return torch.from_numpy((scale * (2 * (z - np.floor(z)) - 1)).astype(np.float32).reshape(shape))


def measure(name, step, per=1.0, check=None):
    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    for _ in range(3):
        step()
    begin = time.perf_counter()
    step()
    inner = max(1, int(0.004 / max(time.perf_counter() - begin, 1e-9)))
    samples, calls, cpu, start = [], 0, time.process_time(), time.perf_counter()
    while len(samples) < 5 or (time.perf_counter() - start < args.seconds and len(samples) < 400):
        begin = time.perf_counter()
        for _ in range(inner):
            step()
        samples.append((time.perf_counter() - begin) / inner)
        calls += inner
    cpu = (time.process_time() - cpu) / calls
    samples.sort()
    unit = 1e6 / per
    print(json.dumps({
        "workload": name, "implementation": "pytorch " + args.mode, "threads": args.threads,
        "min_us": samples[0] * unit, "median_us": samples[len(samples) // 2] * unit, "cpu_us": cpu * unit,
        "first_call_us": first * 1e6, "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "check": check, "note": None}), flush=True)


def matmul(n):
    def run(name):
        a, b = filled((n, n), 1), filled((n, n), 2)
        out = torch.matmul(a, b)
        measure(name, lambda: torch.matmul(a, b), 2 * n**3 / 1e9, float(out[0, 0]))
    return run


def convolution(batch, size, channels, kernel):
    def run(name):
        # The numbers of channels-last tensors, in the layout in which PyTorch runs them fastest.
        x = filled((batch, size, size, channels), 1).permute(0, 3, 1, 2)
        filters = filled((kernel, kernel, channels, channels), 2).permute(3, 2, 0, 1).contiguous(
            memory_format=torch.channels_last)
        step = lambda: F.conv2d(x, filters, padding="same")
        flops = 2.0 * batch * size * size * channels * kernel * kernel * channels
        measure(name, step, flops / 1e9, float(step()[0, 0, 0, 0]))
    return run


def forward_and_backward(name, sources, weights, f):
    sources = [source.requires_grad_() for source in sources]
    step = lambda: torch.autograd.grad(f(*sources), sources, weights)
    measure(name, step, check=float(step()[0].square().mean()))


def softmax(name):
    forward_and_backward(name, [filled((4096, 512), 1, 4)], filled((4096, 512), 2), lambda x: F.softmax(x, -1))


def layer_norm(name):
    forward_and_backward(
        name, [filled((4096, 512), 1), 1 + 0.1 * filled((512,), 3), filled((512,), 4, 0.1)], filled((4096, 512), 2),
        lambda x, scale, offset: F.layer_norm(x, (512,), scale, offset, 1e-3))


def attention(causal):
    shape = (32, 4, 128, 32)
    return lambda name: forward_and_backward(
        name, [filled(shape, i) for i in (1, 2, 3)], filled(shape, 4),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal))


def million(f):
    def run(name):
        x = 1.1 + filled((1000000,), 1)
        measure(name, lambda: f(x), check=float(f(x)[0]))
    return run


WORKLOADS = {
    **{f"matmul_{n}": matmul(n) for n in (32, 64, 128, 256, 512, 1024)},
    "conv3x3_16": convolution(64, 28, 16, 3),
    "conv3x3_32": convolution(64, 14, 32, 3),
    "conv3x3_64": convolution(64, 14, 64, 3),
    "conv3x3_128": convolution(32, 14, 128, 3),
    "conv1x1_16": convolution(64, 28, 16, 1),
    "conv1x1_64": convolution(64, 28, 64, 1),
    "conv1x1_256": convolution(32, 14, 256, 1),
    "softmax": softmax,
    "layer_norm": layer_norm,
    "attention": attention(False),
    "attention_causal": attention(True),
    "exp": million(torch.exp),
    "log": million(torch.log),
    "tanh": million(torch.tanh),
    "erf": million(torch.erf),
}

for name in WORKLOADS if args.workload == "all" else args.workload.split(","):
    if name in WORKLOADS:
        WORKLOADS[name](name)
    else:
        print(json.dumps({"workload": name, "implementation": "pytorch " + args.mode, "threads": args.threads,
                          "failed": "there is no such workload"}))
