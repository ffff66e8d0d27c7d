"""Traced functions: what a trace is made for, and what they take and give."""
import threading
import time
import warnings

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
    for n in (2, 5, 3, 5):
        np.testing.assert_array_equal(f(tf.ones(n)), np.ones(n))
    assert f.experimental_get_tracing_count() == 3 and "length" not in f.retrace_reason()


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
    with pytest.warns(UserWarning, match="runs without a trace, op by op: py_function: .* call back"):
        assert tf.function(lambda v: tf.py_function(lambda w: w + 1, [v], tf.float32))(x).numpy() == 4


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


NEED_VALUES = {
    "boolean_mask": lambda x, n, i: tf.boolean_mask(x, x > 0), "mask": lambda x, n, i: x[x > 0],
    "where": lambda x, n, i: tf.where(x > 0), "unique": lambda x, n, i: tf.unique(i)[0], "slice": lambda x, n, i: x[:n],
    "slice of n": lambda x, n, i: x[n:n + 2], "tf.slice": lambda x, n, i: tf.slice(x, [n], [2]),
    "strided_slice": lambda x, n, i: tf.strided_slice(x, [0], [n]), "range": lambda x, n, i: tf.range(n),
    "zeros": lambda x, n, i: tf.zeros([n, 2]), "ones": lambda x, n, i: tf.ones(n), "fill": lambda x, n, i: tf.fill([n], 3.0),
    "eye": lambda x, n, i: tf.eye(n), "reshape": lambda x, n, i: tf.reshape(x[:4], [n, -1]),
    "tile": lambda x, n, i: tf.tile(x, [n]), "repeat": lambda x, n, i: tf.repeat(x[:3], i), "pad": lambda x, n, i: tf.pad(x, [[n, 0]]),
    "one_hot": lambda x, n, i: tf.one_hot(i, n + 1), "sequence_mask": lambda x, n, i: tf.sequence_mask(i),
    "linspace": lambda x, n, i: tf.linspace(0.0, 1.0, n), "top_k": lambda x, n, i: tf.math.top_k(x, n)[0],
    "partition": lambda x, n, i: tf.dynamic_partition(x, tf.cast(x > 0, tf.int32), 2)[1],
    "numpy_function": lambda x, n, i: tf.numpy_function(np.cumsum, [x], tf.float32),
    "concat": lambda x, n, i: tf.concat([x, x], n - 2), "ragged": lambda x, n, i: tf.RaggedTensor.from_row_lengths(x[:4], i).to_tensor(),
    "texts": lambda x, n, i: tf.strings.length(tf.strings.as_string(n)), "map_fn": lambda x, n, i: tf.map_fn(lambda v: v * 2, x[:n]),
    "axis": lambda x, n, i: tf.reduce_sum(tf.reshape(x[:4], [2, 2]), axis=n - 1),
}


@pytest.mark.parametrize("name", NEED_VALUES)
def test_what_needs_values_runs_without_a_trace(name):
    f, x, n, i = NEED_VALUES[name], tf.constant([1.0, -2.0, 3.0, 4.0, 0.0]), tf.constant(2), tf.constant([0, 2, 2])
    traced = tf.function(f)
    with pytest.warns(UserWarning, match="<lambda> runs without a trace, op by op: .*"):
        first = traced(x, n, i)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        for got in (first, traced(x, n, i)):
            np.testing.assert_array_equal(got, f(x, n, i))
        np.testing.assert_array_equal(traced(x + 1, n, i), f(x + 1, n, i))


def test_functions_around_one_without_a_trace_have_none():
    inner = tf.function(lambda x: tf.boolean_mask(x, x > 0))
    count = []

    @tf.function
    def outer(x):
        count.append(1)
        return tf.reduce_sum(inner(x) ** 2)
    x = tf.Variable([1.0, -2.0, 3.0])
    with pytest.warns(UserWarning) as said:
        assert outer(x).numpy() == 10
    assert [str(w.message).split(" ")[0] for w in said] == ["outer", "<lambda>"]
    with tf.GradientTape() as tape:
        y = outer(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [2, 0, 6])
    assert len(count) == 3  # once for the trace that was given up, and at every run
    many = tf.function(lambda x, n: tf.while_loop(lambda k, s: k < n, lambda k, s: (k + 1, s + tf.reduce_sum(x[:k])),
                                                  [tf.constant(0), tf.constant(0.0)])[1])
    with pytest.warns(UserWarning):
        assert many(x, tf.constant(3)).numpy() == 0 + 1 - 1


def test_steps_of_fit_that_need_values():
    class Labelled(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.boolean_mask((self(x, training=True) - y) ** 2, y >= 0))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}

    def chosen(y_true, y_pred):
        return tf.reduce_mean((tf.gather(y_true - y_pred, tf.where(y_true[:, 0] >= 0)[:, 0])) ** 2)

    x, y = np.arange(8, dtype="float32").reshape(4, 2) / 8, np.array([[1], [-1], [2], [0]], "float32")
    losses = []
    for eagerly in (False, True):
        for model, loss in ((Labelled(), None), (tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")]), chosen)):
            model.compile(tf.keras.optimizers.SGD(0.1), loss, run_eagerly=eagerly)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                losses.append(model.fit(x, y, epochs=3, batch_size=2, shuffle=False, verbose=0).history["loss"])
                if loss is not None:
                    model.evaluate(x, y, verbose=0)
            assert [str(w.message) for w in said] == ([] if eagerly else [
                "capstan: train_step needs values that a trace does not have, so the steps of the model run op by op"])
    assert losses[:2] == losses[2:]


def test_values_that_a_program_reads_are_still_an_error():
    x = tf.constant([1.0, 2.0])
    for read in (lambda x: x.numpy(), lambda x: float(x[0]), lambda x: np.sum(x), lambda x: [v for v in x.numpy()]):
        with pytest.raises(tf.TraceError, match="exists only when the function is called"):
            tf.function(read, autograph=False)(x)

    def leaked():
        kept = []
        tf.function(lambda v: kept.append(v) or v)(x)
        return kept[0]
    with pytest.raises(tf.TraceError, match="trace has ended"):
        tf.function(lambda v: tf.boolean_mask(v, leaked() > 0))(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="runs without a trace"):
            tf.function(lambda v: tf.boolean_mask(v, v > 0))(x)
