"""What calls from Python cost: nanoseconds over an empty loop, and the ratio to a call of an empty builtin.

    build/python/venv/bin/python benchmarks/python/cost_of_calls.py [--json FILE]

CPU time of the thread, the least of 25 runs of 20,000 calls each. The ratio makes machines comparable: the builtin is
`(1).__bool__`-like work, `callable(f)`, which does next to nothing.
"""
import argparse
import json
import time
import timeit

import numpy as np

import capstan as tf


def measured(statement, names, number=20000, repeat=25):
    timer = timeit.Timer(statement, timer=time.thread_time, globals=names)
    return min(timer.repeat(repeat, number)) / number * 1e9


def steps():
    """Whole steps: the regression of the second tutorial, and a subclassed model with SGD."""
    a, b = tf.Variable(0.5), tf.Variable(0.5)
    x_train = np.arange(11)
    y_train = x_train * 10 + 5

    def regression():
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.abs(y_train - (a * x_train + b))
        by_a, by_b = tape.gradient(loss, (a, b))
        a.assign_sub(by_a * 0.001)
        b.assign_sub(by_b * 0.001)

    class LinearModel(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

    model, loss_fn = LinearModel(), tf.keras.losses.MeanSquaredError()
    optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
    x = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32).reshape(-1, 1))
    y = 2 * x - 1

    def train():
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    traced = tf.function(train)
    train()
    traced()
    return {"step of the regression tutorial": regression, "subclassed model, SGD, eager": train,
            "subclassed model, SGD, function": traced, "layer call": lambda: model.dense(x),
            "model call": lambda: model(x, training=True), "loss call": lambda: loss_fn(y, x)}


def rows():
    x, y, v = tf.constant(3.0), tf.constant(4.0), tf.Variable(3.0)
    big = tf.constant(np.ones(1000, np.float32))
    f = tf.function(lambda a: a * a + 1.0)
    f(x)
    array = np.ones(1000, np.float32)
    names = {"x": x, "y": y, "v": v, "big": big, "f": f, "tf": tf, "Tape": tf.GradientTape, "add": tf.add,
             "square": tf.square, "reduce_sum": tf.reduce_sum, "array": array, "zero": tf.constant(0.0),
             "m8": tf.ones((8, 8)), "matmul": tf.matmul, "constant": tf.constant}
    statements = {
        "builtin: callable(f)": "callable(f)", "x + y": "x + y", "x * 2.0": "x * 2.0", "v * v": "v * v", "-x": "-x",
        "tf.square(x)": "square(x)", "tf.add(x, y)": "add(x, y)", "tf.add(x=x, y=y)": "add(x=x, y=y)",
        "tf.reduce_sum of 1,000": "reduce_sum(big)", "tf.reduce_sum, axis=0": "reduce_sum(big, axis=0)",
        "matmul of 8 x 8": "matmul(m8, m8)", "x[0] of 1,000": "big[0]", "x.shape": "big.shape", "x.dtype": "x.dtype",
        "with tape: pass": "with Tape() as t: pass",
        "tape, v * v, gradient": "with Tape() as t: z = v * v\nt.gradient(z, v)",
        "function call, one tensor": "f(x)", "v.assign_sub(x)": "v.assign_sub(zero)", "x.numpy(), scalar": "x.numpy()",
        "x.numpy() of 1,000": "big.numpy()", "constant(array of 1,000)": "constant(array)"}
    empty = measured("pass", names)
    table = {label: measured(statement, names) - empty for label, statement in statements.items()}
    for label, step in steps().items():
        table[label] = measured("step()", {"step": step}, number=2000) - empty
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    options = parser.parse_args()
    table = rows()
    base = table["builtin: callable(f)"]
    for label, nanoseconds in table.items():
        print(f"{label:36s}{nanoseconds:10.0f} ns{nanoseconds / base:8.1f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({label: ns / base for label, ns in table.items()}, file, indent=1)


if __name__ == "__main__":
    main()
