"""Traced functions: what a trace is made for, and what they take and give."""
import threading
import time

import numpy as np
import pytest

import capstan as tf


def test_traces():
    calls = []

    @tf.function
    def f(x, y=1, *, name=None):
        calls.append(1)
        return x * y

    assert f(tf.constant(2.0)).numpy() == 2 and f(tf.constant(3.0)).numpy() == 3
    assert len(calls) == f.experimental_get_tracing_count() == 1
    f(tf.constant([1.0]))
    assert "argument 0 is float32[1], not float32[] as before" in f.retrace_reason()
    f(tf.constant(2.0), 2)
    f(tf.constant(2.0), y=2)
    f(tf.constant(2.0), name="n")
    f(np.float32(2))
    assert f.experimental_get_tracing_count() == 5
    assert f(tf.constant(2.0), 3).numpy() == 6
    assert f.__name__ == "f" and "multiply" in f.graph_text()


def test_arguments_that_are_written_alike_are_told_apart():
    f = tf.function(lambda *args, **kwargs: tf.constant(float(len(args))))
    assert f(1, "b", 2).numpy() == 3 and f(1, b=2).numpy() == 1
    g = tf.function(lambda x: tf.constant(1.0 if isinstance(x, list) else 2.0 if isinstance(x, tuple) else 3.0))
    assert [g(a).numpy() for a in ([1.0], (1.0,), 1.0, [1.0])] == [1, 2, 3, 1]
    h = tf.function(lambda x: tf.constant({None: 0.0, True: 1.0, False: 2.0}.get(x, 3.0)))
    assert [h(a).numpy() for a in (None, True, False, "None", 5)] == [0, 1, 2, 3, 3]


def test_structures_in_and_out():
    @tf.function
    def f(inputs):
        return {"sum": inputs["a"] + inputs["b"][0], "list": [inputs["a"], None, "text"], "number": 3}

    result = f({"a": tf.constant(1.0), "b": (np.float32(2), 5)})
    assert result["sum"].numpy() == 3 and result["list"][1:] == [None, "text"] and result["number"].numpy() == 3
    assert isinstance(tf.function(lambda x: (x, x))(tf.constant(1)), tuple)
    assert tf.function(lambda: None)() is None


def test_variables_and_tapes():
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = x * v * w
        by_v, by_w = tape.gradient(y, (v, w))
        v.assign_add(by_v)
        return y, by_w

    y, by_w = step(tf.constant(3.0))
    assert y.numpy() == 6 and by_w.numpy() == 3 and v.numpy() == 7
    with tf.GradientTape() as tape:
        y = tf.function(lambda: v * v)()
    assert tape.gradient(y, v).numpy() == 14
    assert tf.function(lambda a: a * 1)(v).numpy() == 7


def test_methods_belong_to_their_object():
    class Counter:
        def __init__(self, n):
            self.n = n

        @tf.function
        def add(self, x):
            return x + self.n

    one, two = Counter(1.0), Counter(2.0)
    assert one.add(tf.constant(1.0)).numpy() == 2 and two.add(tf.constant(1.0)).numpy() == 3
    assert one.add(tf.constant(1.0)).numpy() == 2


def test_signatures():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        return tf.reduce_sum(x, axis=0)

    for rows in (2, 3, 5, 7):
        np.testing.assert_allclose(f(np.ones((rows, 2))).numpy(), [rows, rows])
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError):
        f(tf.ones((2, 3)))
    g = tf.function(lambda x: x * 2, reduce_retracing=True)
    for rows in (2, 3, 4, 5, 6):
        g(tf.ones(rows))
    assert g.experimental_get_tracing_count() < 5
    concrete = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.ones(2)).numpy().tolist() == [2, 2] and concrete.output_shapes == (2,)


def test_nested_functions_use_tensors_of_the_outer_one():
    @tf.function
    def outer(x):
        y = x * 2

        @tf.function
        def inner():
            return y + 1
        return inner()
    assert outer(tf.constant(1.0)).numpy() == 3 and outer(tf.constant(5.0)).numpy() == 11


def test_control_flow():
    def f(x):
        choice = tf.cond(tf.reduce_sum(x) > 0, lambda: {"a": x}, lambda: {"a": -x})["a"]
        _, power = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * x), (0, choice))
        case = tf.switch_case(tf.constant(1), [lambda: x, lambda: x * 10])
        sums = tf.scan(lambda a, b: a + b, power)
        return case + sums + tf.map_fn(lambda r: r * 2, x) + tf.vectorized_map(lambda r: r * 3, x)
    x = tf.constant([1.0, -3.0])
    np.testing.assert_allclose(tf.function(f)(x).numpy(), f(x).numpy())
    assert tf.foldl(lambda a, b: a * b, tf.constant([2.0, 3.0, 4.0])).numpy() == 24
    assert tf.foldr(lambda a, b: b - a, tf.constant([2.0, 3.0, 4.0])).numpy() == 2 - (3 - 4)
    assert tf.case([(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2)], default=lambda: 3) == 2


def test_ranges_of_lengths():
    @tf.function
    def f(x):
        return tf.range(tf.size(x))
    assert f(tf.ones((2, 3))).numpy().tolist() == [0, 1, 2, 3, 4, 5]

    @tf.function
    def g(x):
        batch, rest = tf.shape(x)[0], tf.shape(x)[1:]
        flat = tf.reshape(x, [batch, -1])
        return tf.zeros([batch, 2]) + tf.reduce_sum(flat), tf.reshape(x, tf.shape(x)), tf.one_hot(0, batch), rest

    zeros, same, row, rest = g(tf.ones((3, 2, 2)))
    assert zeros.shape == (3, 2) and same.shape == (3, 2, 2) and row.shape == (3,) and rest.numpy().tolist() == [2, 2]


def test_a_length_as_a_number_serves_one_length():
    f = tf.function(lambda x: x + tf.zeros([tf.shape(x)[0]]), input_signature=[tf.TensorSpec([None])])
    f(tf.ones(2))
    with pytest.raises(tf.TraceError, match="length"):
        f(tf.ones(5))


def test_draws_are_fresh():
    f = tf.function(lambda: tf.random.normal([3]))
    assert f().numpy().tolist() != f().numpy().tolist()
    tf.random.set_seed(1)
    first = tf.random.uniform([4]).numpy()
    tf.random.set_seed(1)
    np.testing.assert_array_equal(tf.random.uniform([4]).numpy(), first)


def test_prints_at_every_call(capsys):
    @tf.function
    def f(x):
        tf.print("x is", x, sep=": ")
        return x
    f(tf.constant(1.0))
    f(tf.constant(2.0))
    tf.print("eager", tf.constant([1, 2]), 3)
    assert capsys.readouterr().err == "x is: 1.0\nx is: 2.0\neager [1 2] 3\n"


def test_checks_at_every_call():
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x, message="a rate")
        tf.debugging.assert_less(x, 10.0)
        return x
    f(tf.constant(1.0))
    with pytest.raises(ValueError, match="a rate"):
        f(tf.constant(-1.0))
    with pytest.raises(tf.InvalidArgumentError):
        f(tf.constant(11.0))
    with pytest.raises(ValueError):
        tf.Assert(tf.constant(False), ["text", tf.constant(3)])
    tf.debugging.assert_near([1.0], [1.0 + 1e-9])
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(ValueError, match=f"at: {__file__}"):
            tf.math.log(tf.constant([0.0, -1.0]))
    finally:
        tf.debugging.disable_check_numerics()


def test_what_another_thread_is_tracing_can_be_asked_and_called():
    begun, release = threading.Event(), threading.Event()

    @tf.function
    def f(x):
        begun.set()
        assert release.wait(20)
        return x + 1

    first = threading.Thread(target=f, args=(tf.constant(1.0),))
    first.start()
    assert begun.wait(20)
    asked = []
    others = [threading.Thread(target=lambda: asked.append(f.experimental_get_tracing_count())),
              threading.Thread(target=lambda: asked.append(f.retrace_reason())),
              threading.Thread(target=lambda: asked.append(f(tf.constant(2.0)).numpy()))]
    for thread in others:
        thread.start()
    time.sleep(0.05)
    release.set()
    for thread in [first, *others]:
        thread.join(20)
        assert not thread.is_alive()
    assert 1 in asked and 3 in asked and "it is the first call" in asked


def test_short_calls_from_many_threads():
    v = tf.Variable(0.0)
    f = tf.function(lambda x: (x * x, v + x))
    g = tf.function(lambda x, n: x * n)
    wrong = []

    def work(k):
        for i in range(2000):
            y, z = f(tf.constant(float(k)))
            if y.numpy() != k * k or z.numpy() != k or g(y, i % 5).numpy() != k * k * (i % 5):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong


def test_functions_that_call_python():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.py_function(lambda v: v * v if v > 0 else -v, [x], tf.float32)
    assert y.numpy() == 9 and tape.gradient(y, x).numpy() == 6
    pair = tf.numpy_function(lambda a: (a + 1, a.sum()), [np.arange(3.0)], [tf.float64, tf.float32])
    assert pair[0].numpy().tolist() == [1, 2, 3] and pair[1].dtype == tf.float32
    assert tf.py_function(lambda: None, [], []) == []
    with pytest.raises(ValueError, match="gave 2 results for 1 dtypes"):
        tf.numpy_function(lambda: (1, 2), [], [tf.int32])
    with pytest.raises(tf.TraceError, match="cannot call back"):
        tf.function(lambda v: tf.py_function(lambda w: w, [v], tf.float32))(x)


def test_indices_that_only_a_run_knows():
    x = tf.reshape(tf.range(12.0), [3, 4])
    for index in (lambda x, i: x[i], lambda x, i: x[0, i], lambda x, i: x[i, 1], lambda x, i: x[:, i], lambda x, i: x[i, i],
                  lambda x, i: x[..., i], lambda x, i: x[i, 1:3], lambda x, i: x[tf.newaxis, i], lambda x, i: x[i, tf.newaxis],
                  lambda x, i: x[-1, i], lambda x, i: x[..., tf.newaxis, i]):
        traced = tf.function(index)
        for i in (1, -1, 2):
            place = tf.constant(i)
            np.testing.assert_array_equal(traced(x, place), index(x, place))
    v = tf.Variable(x)

    @tf.function
    def gradient(i):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v[i] ** 2) + v[0, i]
        return tape.gradient(y, v)
    made = gradient(tf.constant(1))
    assert not made.is_row_sparse
    np.testing.assert_array_equal(made, [[0, 1, 0, 0], [8, 10, 12, 14], [0, 0, 0, 0]])

    @tf.function
    def diagonal(x, n):
        s, k = tf.constant(0.0), tf.constant(0)
        while k < n:
            s += x[k, k]
            k += 1
        return s
    assert float(diagonal(x, tf.constant(3))) == 15.0
    with pytest.raises(IndexError, match="index 3"):
        tf.function(lambda x, i: x[i])(x, tf.constant(3))
    with pytest.raises(tf.TraceError):
        tf.function(lambda x, i: x[i:])(x, tf.constant(1))
