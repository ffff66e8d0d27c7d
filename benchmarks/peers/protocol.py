"""What the peer programs share: their options, the numbers they compute with, how they measure and what they print.

    program --workload NAME[,NAME...]|all|list --mode MODE --threads N --seconds S

It is the protocol of ../protocol/protocol.h, and the workloads are those of ../shared_workloads.cc: every input and
every weight comes from `fill`, so all programs compute the same numbers, and each line of JSON carries a `check` that
must agree between them.
"""
import argparse
import dataclasses
import functools
import json
import math
import resource
import sys
import time
import typing

import numpy as np

# --- Numbers ---


def fill(shape, seed, scale=1.0):
    """scale * (2 frac(43758.5453 sin(12.9898 i + 78.233 seed)) - 1) for i = 0, 1, ..., computed in float64."""
    z = 43758.5453 * np.sin(12.9898 * np.arange(math.prod(shape), dtype=np.float64) + 78.233 * seed)
    return (scale * (2 * (z - np.floor(z)) - 1)).astype(np.float32).reshape(shape)


def labels(n, classes):
    return ((7 * np.arange(n) + 3) % classes).astype(np.int32)


def glorot(shape, seed):
    """A kernel, [in, out] or [height, width, in, out]."""
    return fill(shape, seed, math.sqrt(6 / (math.prod(shape[:-2]) * (shape[-2] + shape[-1]))))


def network(kernels):
    """Kernel and bias of each layer; the seeds count on through the network."""
    return [(glorot(shape, 2 * i + 1), fill(shape[-1:], 2 * i + 2, 0.1)) for i, shape in enumerate(kernels)]


def dense_stack(units):
    return network(list(zip(units, units[1:])))


# The network of the MNIST tutorial: each number is a 3x3 convolution with ReLU and batch normalisation, each group ends
# with 2x2 max pooling; a dense layer of 256 with ReLU, batch normalisation and dropout, and one of 10 follow.
CNN_GROUPS = ((16,), (32, 32), (64, 64, 64))
CNN_RATE = 0.5


def cnn_weights():
    channels = [1, *(filters for group in CNN_GROUPS for filters in group)]
    return network([(3, 3, *pair) for pair in zip(channels, channels[1:])] + [(576, 256), (256, 10)])


def cnn_batch():
    return 0.5 + 0.5 * fill((64, 28, 28, 1), 60), labels(64, 10)


# The network of mlp_adam (with ReLU) and of hvp (with tanh, its weights in one vector).
MLP_UNITS = (20, 64, 32, 5)
MLP_SHAPES = [array.shape for layer in dense_stack(MLP_UNITS) for array in layer]
MLP_SIZES = [math.prod(shape) for shape in MLP_SHAPES]


def mlp_batch():
    return fill((32, 20), 50), labels(32, 5)


def flat_mlp_weights():
    return np.concatenate([array.ravel() for layer in dense_stack(MLP_UNITS) for array in layer])


def hvp_direction():
    return fill((sum(MLP_SIZES),), 70)


CRITIC_UNITS = (64, 128, 128, 1)


def critic_batch():
    """Real and fake rows, and how much of the real one the row between them has."""
    return fill((64, 64), 80), fill((64, 64), 81), 0.5 + 0.5 * fill((64, 1), 82)


def text(sequences, length, vocabulary):
    """Class numbers, and those that follow them: two arrays [sequences, length]."""
    ids = labels(sequences * (length + 1), vocabulary).reshape(sequences, length + 1)
    return ids[:, :-1], ids[:, 1:]


# A language model: an embedding of 65 classes, an LSTM and a dense layer.
LSTM_WIDTH, LSTM_UNITS = 64, 128


def lstm_batch():
    return text(64, 64, 65)


def lstm_weights():
    """Embedding; kernel, recurrent kernel and bias, gates in the order input, forget, cell, output; kernel and bias."""
    bias = np.zeros(4 * LSTM_UNITS, np.float32)
    bias[LSTM_UNITS:2 * LSTM_UNITS] = 1
    return [fill((65, LSTM_WIDTH), 1, 0.05), glorot((LSTM_WIDTH, 4 * LSTM_UNITS), 2),
            glorot((LSTM_UNITS, 4 * LSTM_UNITS), 3), bias, glorot((LSTM_UNITS, 65), 4), np.zeros(65, np.float32)]


# The same task for a stack of blocks of attention and a network of two layers, each behind a normalisation.
TRANSFORMER_VOCABULARY, TRANSFORMER_CONTEXT = 65, 128
TRANSFORMER_WIDTH, TRANSFORMER_HEADS, TRANSFORMER_DEPTH = 128, 4, 4
NORM_EPSILON = 1e-5


def transformer_batch():
    return text(32, TRANSFORMER_CONTEXT, TRANSFORMER_VOCABULARY)


def transformer_weights(wrap):
    """A tree of what `wrap` makes of each array; pairs are kernel and bias, or scale and offset."""
    width = TRANSFORMER_WIDTH

    def norm():
        return wrap(np.ones(width, np.float32)), wrap(np.zeros(width, np.float32))

    tree = {"token": wrap(fill((TRANSFORMER_VOCABULARY, width), 1, 0.05)),
            "position": wrap(fill((TRANSFORMER_CONTEXT, width), 2, 0.05)), "blocks": []}
    seed = 3
    for _ in range(TRANSFORMER_DEPTH):
        block = {}
        for key, shape in {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width),
                           "down": (4 * width, width)}.items():
            block[key] = wrap(glorot(shape, seed)), wrap(np.zeros(shape[1], np.float32))
            seed += 1
        tree["blocks"].append({**block, "norm1": norm(), "norm2": norm()})
    return {**tree, "norm": norm(), "head": wrap(glorot((width, TRANSFORMER_VOCABULARY), seed))}


def chain10_input(n):
    return 0.5 + 0.5 * fill((n,), 90)


# --- Measuring ---


@dataclasses.dataclass
class Workload:
    step: typing.Callable  # what is timed, without arguments
    per: float = 1  # one call counts as this many units
    seconds: float = 0  # measured for at least as long
    calls: int = 1  # before measuring; `check` gets the list of their results and returns a number or several
    check: typing.Callable = lambda results: None


def last_losses(results):
    return [float(loss) for loss in results[-3:]]


def arguments(*modes):
    """The options of a peer program, whose help begins with what the program says of itself."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--workload", required=True, help="names with commas between them, all, or list")
    parser.add_argument("--mode", default=modes[0], choices=modes, help=f"{modes[0]} unless given")
    parser.add_argument("--threads", type=int, default=1, help="that work on one op; 1 unless given")
    parser.add_argument("--seconds", type=float, default=1.0, help="that a workload is measured for; 1 unless given")
    return parser.parse_args()


def require_eager(options):
    if options.mode != "eager":
        raise NotImplementedError("a compiler makes one of the hundred equal products")


def timed(step, calls, wait):
    begin = time.perf_counter()
    for _ in range(calls):
        result = step()
    wait(result)
    return (time.perf_counter() - begin) / calls


def measure(workload, seconds, wait):
    """Samples of at least 4 ms each. The first call, which may compile, is measured apart."""
    step, seconds = workload.step, max(seconds, workload.seconds)
    begin = time.perf_counter()
    results = [step()]
    wait(results[0])
    first = time.perf_counter() - begin
    results += [step() for _ in range(workload.calls - 1)]
    check = workload.check(results)
    del results
    timed(step, 3, wait)
    calls = max(1, int(0.004 / max(timed(step, 1, wait), 1e-9)))
    samples, start, cpu = [], time.perf_counter(), time.process_time()
    while len(samples) < 5 or (time.perf_counter() - start < seconds and len(samples) < 400):
        samples.append(timed(step, calls, wait))
    cpu = (time.process_time() - cpu) / (calls * len(samples))
    samples.sort()
    unit = 1e6 / workload.per
    return {"min_us": round(samples[0] * unit, 4), "median_us": round(samples[len(samples) // 2] * unit, 4),
            "cpu_us": round(cpu * unit, 4), "first_call_us": round(first * 1e6, 1),
            "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1), "check": check}


def run(implementation, options, workloads, wait=lambda result: None):
    """The main function: a line for each workload. `workloads` has functions that make a Workload; `wait` returns when
    the result of a step has been computed."""
    if options.workload == "list":
        print("\n".join(workloads))
        return
    for name in workloads if options.workload == "all" else options.workload.split(","):
        line = {"workload": name, "implementation": f"{implementation} {options.mode}", "threads": options.threads}
        try:
            if name not in workloads:
                raise NotImplementedError("there is no such workload")
            line.update(measure(workloads[name](), options.seconds, wait))
        except Exception as error:  # What a mode cannot run is a result, too.
            line["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        print(json.dumps(line), flush=True)


# The workloads of ../shared_workloads.cc: the function of a peer program that makes each, and its arguments.
SHARED_WORKLOADS = {
    "op": ("op",),
    "op_gradient": ("op_gradient",),
    "chain100_n1": ("chain100", 1),
    "chain100_n1000": ("chain100", 1000),
    "regression": ("regression",),
    "mlp_adam": ("mlp_adam",),
    "cnn_adam": ("cnn_adam",),
    "hvp": ("hvp",),
    "wgan_gp": ("wgan_gp",),
    "chain10_1k": ("chain10", 1_000),
    "chain10_100k": ("chain10", 100_000),
    "chain10_10m": ("chain10", 10_000_000),
    "lstm": ("lstm",),
    "transformer": ("transformer",),
}


def run_shared(implementation, options, functions, wait=lambda result: None):
    """`run` with the workloads of shared_workloads.cc, made by `functions`, which are found by their names."""
    by_name = {function.__name__: function for function in functions}
    run(implementation, options,
        {name: functools.partial(by_name[function], *arguments)
         for name, (function, *arguments) in SHARED_WORKLOADS.items()}, wait)
