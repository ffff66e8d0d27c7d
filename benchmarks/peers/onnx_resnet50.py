#!/usr/bin/env python3
"""ResNet50 (random weights) as an ONNX file, run forward by onnxruntime and by the library, one thread each.

    python3 -m venv V && V/bin/pip install 'onnx==1.*' onnxruntime
    V/bin/python benchmarks/peers/onnx_resnet50.py build/release/tests/onnx_speed_check

Prints for batches of 1 and 8 the medians in milliseconds and their ratio. The two take turns.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Builder:
    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.weights = [], []

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def vector(self, size, low, high):
        return self.weight(self.random.uniform(low, high, size))

    def node(self, op, inputs, name=None, **attributes):
        name = name or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def convolution(self, x, channels, filters, size, stride, activate=True):
        scale = (2 / (channels * size * size))**0.5
        kernel = self.weight(scale * self.random.standard_normal((filters, channels, size, size)))
        x = self.node("Conv", [x, kernel], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4)
        x = self.node("BatchNormalization", [
            x, self.vector(filters, .4, .6), self.vector(filters, -.1, .1), self.vector(filters, -.1, .1),
            self.vector(filters, .8, 1.2)
        ])
        return self.node("Relu", [x]) if activate else x


def resnet50():
    b = Builder()
    x = b.convolution("x", 3, 64, 7, 2)
    x = b.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for blocks, width, first_stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = b.convolution(x, channels, width, 1, 1)
            y = b.convolution(y, width, width, 3, stride)
            y = b.convolution(y, width, 4 * width, 1, 1, False)
            shortcut = b.convolution(x, channels, 4 * width, 1, stride, False) if block == 0 else x
            x = b.node("Relu", [b.node("Add", [y, shortcut])])
            channels = 4 * width
    x = b.node("Flatten", [b.node("GlobalAveragePool", [x])])
    kernel = b.weight(0.02 * b.random.standard_normal((1000, channels)))
    b.node("Gemm", [x, kernel, b.vector(1000, -.1, .1)], "y", transB=1)
    graph = helper.make_graph(
        b.nodes, "resnet50", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 224, 224])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1000])], b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main():
    program = sys.argv[1]
    folder = pathlib.Path(tempfile.mkdtemp())
    model = folder / "resnet50.onnx"
    onnx.save(resnet50(), model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    for batch in (1, 8):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 224, 224)).astype(np.float32)
        (folder / "x.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        theirs, ours = [], []
        repeats = 10 if batch == 1 else 4
        for _ in range(3):
            session.run(None, {"x": x})
            for _ in range(repeats):
                begin = time.perf_counter()
                y = session.run(None, {"x": x})[0]
                theirs.append(1e3 * (time.perf_counter() - begin))
            run = subprocess.run([program, model, folder / "x.pb", str(repeats)], capture_output=True, text=True, check=True)
            times, numbers = run.stdout.splitlines()
            ours += [float(t) for t in times.split()]
            error = np.abs(np.array(numbers.split(), np.float64) - y[:, 0]).max() / np.abs(y[:, 0]).max()
        a, b = statistics.median(ours), statistics.median(theirs)
        print(f"batch {batch}: {a:.1f} ms, onnxruntime {b:.1f} ms, ratio {a / b:.2f}, difference {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
