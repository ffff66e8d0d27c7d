"""Threads, forks, signals, and other libraries in one process."""
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import capstan as tf


def run(program, timeout=120):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout,
                          env=environment)


def test_threads_have_tapes_of_their_own():
    v = tf.Variable(2.0)
    wrong = []

    def work(k):
        for _ in range(200):
            x = tf.constant(float(k))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x * v
            if tape.gradient(y, x).numpy() != 4 * k:
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_large_ops_release_the_lock():
    x = tf.random.normal((1500, 1500))
    tf.config.threading.set_intra_op_parallelism_threads(1)
    try:
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        for _ in range(5):
            tf.matmul(x, x)
        end = time.perf_counter()
        stop.set()
        thread.join()
        assert sum(begin < t < end for t in ticks) >= 5
    finally:
        tf.config.threading.set_intra_op_parallelism_threads(os.cpu_count())


def test_a_forked_child_computes():
    tf.matmul(tf.ones((600, 600)), tf.ones((600, 600)))
    child = os.fork()
    if child == 0:
        result = tf.matmul(tf.ones((600, 600)), tf.ones((600, 600)))
        os._exit(0 if result.numpy()[0, 0] == 600 else 1)
    assert os.waitpid(child, 0)[1] == 0


ENDLESS = """
import capstan as tf, numpy as np
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile(optimizer='sgd', loss='mse')
x = np.ones((64, 4), 'f4')
f = tf.function(lambda i: tf.while_loop(lambda i: i >= 0, lambda i: i * 0 + 1, [i]))
print('begins', flush=True)
try:
    {call}
except KeyboardInterrupt:
    print('interrupted')
"""


@pytest.mark.parametrize("call", ["model.fit(x, x[:, :1], epochs=10**9, verbose=0)", "f(tf.constant(0))"])
def test_ctrl_c_ends_long_runs(call):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    # What is started in the background of a shell ignores the signal, and so would the child.
    process = subprocess.Popen([sys.executable, "-c", ENDLESS.format(call=call)], stdout=subprocess.PIPE, text=True,
                               env=environment, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "interrupted\n" and process.returncode == 0
    assert time.perf_counter() - begin < 5  # with the end of the process, on a loaded machine


@pytest.mark.parametrize("other", ["tensorflow", "jax", "torch", "numpy"])
@pytest.mark.parametrize("first", [True, False])
def test_import_orders(other, first):
    if importlib.util.find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    imports = [f"import {other}", "import capstan"]
    result = run("\n".join((imports if first else imports[::-1]) + [
        "import capstan as tf", "x = tf.Variable(3.0)", "with tf.GradientTape() as t:", "    y = x * x",
        "print(t.gradient(y, x).numpy())"]), timeout=300)
    assert result.stdout.strip().splitlines()[-1] == "6.0", result.stderr


def test_exit_is_quiet():
    result = run("import capstan as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
                 "model(tf.ones((1, 2)))\ndata = tf.data.Dataset.range(3).map(lambda x: x)\nlist(data)\n"
                 "f = tf.function(lambda x: x)\nf(model.weights[0])\ntape = tf.GradientTape(); tape.__enter__()\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_only_requirement_is_numpy():
    result = run("import sys, capstan\nown = {m.split('.')[0] for m in sys.modules}\n"
                 "import sysconfig\nprint(sorted(m for m in own if m not in sys.stdlib_module_names "
                 "and not m.startswith('_')))")
    assert set(eval(result.stdout)) <= {"numpy", "capstan", "sitecustomize", "site"}, result.stdout
