#!/usr/bin/env python3
"""PyTorch on the workloads of kernel_workloads.cc. Mode: eager."""
from functools import partial

import torch
import torch.nn.functional as F

import protocol
from protocol import Workload

options = protocol.arguments("eager")
torch.set_num_threads(options.threads)


def filled(*arguments):
    return torch.from_numpy(protocol.fill(*arguments))


def matmul(n):
    a, b = filled((n, n), 1), filled((n, n), 2)
    return Workload(lambda: torch.matmul(a, b), per=2 * n**3 / 1e9, check=lambda results: float(results[0][0, 0]))


def convolution(batch, size, channels, kernel):
    # The numbers of channels-last tensors, in the layout in which PyTorch runs them fastest.
    x = filled((batch, size, size, channels), 1).permute(0, 3, 1, 2)
    filters = filled((kernel, kernel, channels, channels), 2).permute(3, 2, 0, 1).contiguous(
        memory_format=torch.channels_last)
    flops = 2 * batch * size * size * channels * kernel * kernel * channels
    return Workload(lambda: F.conv2d(x, filters, padding="same"), per=flops / 1e9,
                    check=lambda results: float(results[0][0, 0, 0, 0]))


def forward_and_backward(sources, weights, f):
    sources = [source.requires_grad_() for source in sources]
    return Workload(lambda: torch.autograd.grad(f(*sources), sources, weights),
                    check=lambda results: float(results[0][0].square().mean()))


def softmax():
    return forward_and_backward([filled((4096, 512), 1, 4)], filled((4096, 512), 2), partial(F.softmax, dim=-1))


def layer_norm():
    return forward_and_backward(
        [filled((4096, 512), 1), 1 + 0.1 * filled((512,), 3), filled((512,), 4, 0.1)], filled((4096, 512), 2),
        lambda x, scale, offset: F.layer_norm(x, (512,), scale, offset, 1e-3))


def attention(causal):
    shape = (32, 4, 128, 32)
    return forward_and_backward([filled(shape, seed) for seed in (1, 2, 3)], filled(shape, 4),
                                partial(F.scaled_dot_product_attention, is_causal=causal))


def million(f):
    x = 1.1 + filled((1000000,), 1)
    return Workload(lambda: f(x), check=lambda results: float(results[0][0]))


protocol.run(f"pytorch {torch.__version__.split('+')[0]}", options, {
    **{f"matmul_{n}": partial(matmul, n) for n in (32, 64, 128, 256, 512, 1024)},
    "conv3x3_16": partial(convolution, 64, 28, 16, 3),
    "conv3x3_32": partial(convolution, 64, 14, 32, 3),
    "conv3x3_64": partial(convolution, 64, 14, 64, 3),
    "conv3x3_128": partial(convolution, 32, 14, 128, 3),
    "conv1x1_16": partial(convolution, 64, 28, 16, 1),
    "conv1x1_16_b4": partial(convolution, 4, 28, 16, 1),
    "conv1x1_32_b4": partial(convolution, 4, 28, 32, 1),
    "conv1x1_64_b4": partial(convolution, 4, 14, 64, 1),
    "conv1x1_64": partial(convolution, 64, 28, 64, 1),
    "conv1x1_256": partial(convolution, 32, 14, 256, 1),
    "softmax": softmax,
    "layer_norm": layer_norm,
    "attention": partial(attention, False),
    "attention_causal": partial(attention, True),
    "exp": partial(million, torch.exp),
    "log": partial(million, torch.log),
    "tanh": partial(million, torch.tanh),
    "erf": partial(million, torch.erf),
})
