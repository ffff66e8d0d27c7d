"""Small training steps from Python: this package, TensorFlow, JAX and PyTorch, in microseconds of processor time.

    python steps_against_others.py PYTHON... [--frameworks capstan,tensorflow,jax,torch] [--rounds 3]

`regression` is the step of the second tutorial (two variables, 11 points), `model` a Dense layer with mean squared error
and SGD on 32 points; `function` is the same model compiled (tf.function, jax.jit, torch.compile is left out because it
needs a compiler). Each PYTHON is an interpreter that has some of them; each runs in a process of its own with one thread,
in turns, and the least of all repetitions counts.
"""
import argparse
import json
import os
import subprocess
import sys

TENSORFLOW = """
a, b = tf.Variable(0.5), tf.Variable(0.5)
x_train = np.arange(11); y_train = x_train * 10 + 5
xf, yf = tf.constant(x_train.astype(np.float32)), tf.constant(y_train.astype(np.float32))
def regression():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(yf - (a * xf + b)))
    by_a, by_b = tape.gradient(loss, (a, b))
    a.assign_sub(by_a * 0.001)
    b.assign_sub(by_b * 0.001)
class Linear(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
    def call(self, inputs):
        return self.dense(inputs)
linear, loss_fn = Linear(), tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
x = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32).reshape(-1, 1)); y = 2 * x - 1
def model():
    with tf.GradientTape() as tape:
        loss = loss_fn(y, linear(x, training=True))
    gradients = tape.gradient(loss, linear.trainable_variables)
    optimizer.apply_gradients(zip(gradients, linear.trainable_variables))
    return loss
model()
function = tf.function(model)
"""
PROGRAMS = {
    "capstan": "import capstan as tf, numpy as np\n" + TENSORFLOW,
    "tensorflow": "import tensorflow as tf, numpy as np\n" + TENSORFLOW,
    "jax": """
import jax, jax.numpy as jnp, numpy as np
p = {"a": jnp.float32(0.5), "b": jnp.float32(0.5)}
xf = jnp.arange(11, dtype=jnp.float32); yf = xf * 10 + 5
of_regression = jax.grad(lambda p: jnp.mean(jnp.abs(yf - (p["a"] * xf + p["b"]))))
def regression():
    global p
    g = of_regression(p)
    p = {k: p[k] - 0.001 * g[k] for k in p}
w = {"k": jnp.ones((1, 1)), "b": jnp.zeros((1,))}
x = jnp.linspace(-1, 1, 32).reshape(-1, 1); y = 2 * x - 1
of_model = jax.value_and_grad(lambda w: jnp.mean(jnp.square(x @ w["k"] + w["b"] - y)))
def advance(w):
    loss, g = of_model(w)
    return loss, {k: w[k] - 0.1 * g[k] for k in w}
def model():
    global w
    loss, w = advance(w)
    return loss
compiled = jax.jit(advance)
def function():
    global w
    loss, w = compiled(w)
    return loss
""",
    "torch": """
import torch, numpy as np
torch.set_num_threads(1)
a, b = (torch.tensor(0.5, requires_grad=True) for _ in range(2))
xf = torch.arange(11, dtype=torch.float32); yf = xf * 10 + 5
def regression():
    loss = (yf - (a * xf + b)).abs().mean()
    by_a, by_b = torch.autograd.grad(loss, (a, b))
    with torch.no_grad():
        a.sub_(by_a * 0.001)
        b.sub_(by_b * 0.001)
linear = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(-1, 1); y = 2 * x - 1
def model():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(linear(x), y)
    loss.backward()
    optimizer.step()
    return loss
function = None
"""}
MEASURE = """
import json, time
found = {}
for name, step in (("regression", regression), ("model", model), ("function", function)):
    if step is None:
        continue
    for _ in range(20):
        step()
    times = []
    until = time.perf_counter() + 3
    while time.perf_counter() < until:
        begin = time.process_time()
        for _ in range(50):
            step()
        times.append((time.process_time() - begin) / 50)
    found[name] = min(times) * 1e6
print(json.dumps(found))
"""


def measure(python, framework):
    """{step: microseconds}, or None if the interpreter lacks the framework."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", CAPSTAN_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="3",
                       CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")
    cpu = min(os.sched_getaffinity(0))
    run = subprocess.run([python, "-c", PROGRAMS[framework] + MEASURE], env=environment, capture_output=True, text=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    if run.returncode != 0:
        print(f"{framework}: {python} cannot run it: {(run.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    return json.loads(run.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--frameworks", default=",".join(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    best, home = {}, {}
    for _ in range(arguments.rounds):
        for framework in arguments.frameworks.split(","):
            for python in [home[framework]] if framework in home else arguments.pythons:
                found = measure(python, framework)
                if found is not None:
                    home[framework] = python
                    known = best.setdefault(framework, found)
                    best[framework] = {name: min(known[name], value) for name, value in found.items()}
                    break
    print("| step | " + " | ".join(best) + " | best of the others / Capstan |\n|" + "---|" * (len(best) + 2))
    for name in ("regression", "model", "function"):
        numbers = [best[f].get(name) for f in best]
        others = [best[f][name] for f in best if f != "capstan" and name in best[f]]
        ratio = f"{min(others) / best['capstan'][name]:.1f}" if others and "capstan" in best else "-"
        print(f"| {name}, us | " + " | ".join("-" if n is None else f"{n:.1f}" for n in numbers) + f" | {ratio} |")


if __name__ == "__main__":
    main()
