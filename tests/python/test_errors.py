"""What users get wrong: exceptions of the right class, with the library's text in the words of Python."""
import threading

import numpy as np
import pytest

import capstan as tf


@pytest.mark.parametrize("call, classes, text", [
    (lambda: tf.matmul(tf.ones((2, 3)), tf.ones((2, 3))), (tf.ShapeError, ValueError, tf.InvalidArgumentError),
     "inner dimensions differ, 3 and 2"),
    (lambda: tf.constant([1.0]) + tf.constant([1]), (tf.DTypeError, TypeError, ValueError), "float32"),
    (lambda: tf.constant([[1], [2, 3]]), (ValueError,), "different length"),
    (lambda: tf.constant([1, [2]]), (ValueError,), "numbers and lists"),
    (lambda: tf.zeros((2,))[3], (IndexError,), "3"),
    (lambda: tf.zeros((2,))[float("nan")], (TypeError,), "index"),
    (lambda: tf.zeros((2,))[2**70], (OverflowError,), ""),
    (lambda: tf.constant(2**70), (OverflowError,), ""),
    (lambda: tf.constant(np.array([2**63], np.uint64)), (ValueError,), "int64"),
    (lambda: tf.constant(np.array([object()])), (TypeError,), "object"),
    (lambda: tf.constant("text", dtype=tf.float32), (TypeError,), "text"),
    (lambda: tf.constant(np.array([None])), (TypeError,), "no dtype here"),
    (lambda: tf.constant(None), (TypeError,), "None"),
    (lambda: tf.constant(np.zeros((1,) * 9)), (ValueError,), "rank 9"),
    (lambda: tf.constant([1.5], dtype=tf.int32), (TypeError,), "int32"),
    (lambda: tf.reduce_sum(tf.ones(3), axis=2), (ValueError, IndexError), "axis"),
    (lambda: tf.reduce_sum(), (TypeError,), "input_tensor"),
    (lambda: tf.reduce_sum(tf.ones(3), axes=0), (TypeError,), "'axes'"),
    (lambda: tf.reduce_sum(tf.ones(3), 0, input_tensor=1), (TypeError,), "multiple values"),
    (lambda: tf.reshape(tf.ones(3), [2]), (ValueError,), ""),
    (lambda: bool(tf.ones(3)), (ValueError,), "ambiguous"),
    (lambda: len(tf.constant(1)), (TypeError,), "scalar"),
    (lambda: list(tf.constant(1)), (TypeError,), "scalar"),
    (lambda: hash(tf.constant(1)), (TypeError,), "ref()"),
    (lambda: 1.0 in tf.ones(3), (TypeError,), "reduce_any"),
    (lambda: memoryview(tf.ones(3)).__setitem__(0, 1), (TypeError,), ""),
    (lambda: tf.Variable(), (ValueError,), "initial value"),
    (lambda: tf.Variable([1.0]).assign([1.0, 2.0]), (ValueError,), ""),
    (lambda: tf.Variable(1.0).assign("x"), (TypeError,), ""),
    (lambda: tf.GradientTape().gradient(None, tf.ones(1)), (TypeError,), "None"),
    (lambda: tf.GradientTape().watch("x"), (ValueError,), "Passed in object"),
    (lambda: tf.keras.layers.Dense(), (TypeError,), "units"),
    (lambda: tf.keras.layers.Dense(-3), (ValueError,), "-3"),
    (lambda: tf.keras.layers.Dense(3, activation="reloo"), (ValueError,), "reloo"),
    (lambda: tf.keras.optimizers.Adam(learning_rate="fast"), (ValueError,), "learning_rate"),
    (lambda: tf.nest.flatten({1: 2, "a": 3}), (TypeError,), "sorted"),
    (lambda: tf.nest.pack_sequence_as([1, 2], [3]), (ValueError,), "fewer"),
    (lambda: tf.keras.models.load_model("no_such_file.keras"), (OSError,), "no_such_file"),
])
def test_mistakes_are_exceptions(call, classes, text):
    for cls in classes:
        with pytest.raises(cls) as found:
            call()
        assert text in str(found.value)
        assert "({." not in str(found.value) and "<T>" not in str(found.value)


def test_a_used_up_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=r"write tf.GradientTape\(persistent=True\) for more"):
        tape.gradient(y, x)


def test_a_tape_of_another_thread():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    found = []

    def ask():
        try:
            tape.gradient(y, x)
        except Exception as error:  # pylint: disable=broad-except
            found.append(error)
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert isinstance(found[0], tf.GradientError) and "thread" in str(found[0])


def test_a_statement_on_a_symbolic_tensor_names_the_line():
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x
    line = f.python_function.__code__.co_firstlineno + 2
    with pytest.raises(tf.TraceError) as found:
        f(tf.constant(1.0))
    text = str(found.value)
    assert f"{__file__}:{line}" in text and "tf.cond(" in text and '"f"' in text


@pytest.mark.parametrize("read", [lambda x: x.numpy(), float, lambda x: x.tolist(), np.asarray, list,
                                  lambda x: memoryview(x)])
def test_reading_a_symbolic_tensor(read):
    @tf.function
    def f(x):
        read(x)
    with pytest.raises((tf.TraceError, TypeError, BufferError)):
        f(tf.constant(1.0))


def test_a_leaked_tensor():
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2)
        return x
    f(tf.constant(1.0))
    for use in (lambda t: t + 1, lambda t: t.numpy(), lambda t: tf.Variable(t)):
        with pytest.raises(tf.TraceError):
            use(kept[0])
    assert "symbolic" in repr(kept[0]) and f"{kept[0]}"


def test_exceptions_of_callbacks_pass():
    class Odd(Exception):
        pass

    def fail(*args):
        raise Odd("x")

    x = tf.Variable(1.0)
    with pytest.raises(Odd):
        tf.function(fail)(x)
    with pytest.raises(Odd):
        tf.function(lambda v: tf.while_loop(lambda i: i < 3, fail, [v]))(tf.constant(1.0))
    with pytest.raises(Odd):
        tf.vectorized_map(fail, tf.ones((2, 2)))
    with pytest.raises(Odd):
        list(tf.data.Dataset.range(3).map(fail))

    @tf.custom_gradient
    def f(value):
        return value, fail
    with tf.GradientTape() as tape:
        y = f(x)
    with pytest.raises(Odd):
        tape.gradient(y, x)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss=fail)
    with pytest.raises(Odd):
        model.fit(np.ones((2, 1), "f4"), np.ones((2, 1), "f4"), verbose=0)


def test_warnings_are_pythons():
    model = tf.keras.Sequential([tf.keras.layers.Flatten()])
    model.compile(optimizer="sgd", loss="mse")
    with pytest.warns(UserWarning, match="no trainable weights"):
        model.fit(np.ones((2, 1), "f4"), np.ones((2, 1), "f4"), verbose=0)


def circle():
    items = []
    items.append(items)
    return items


@pytest.mark.parametrize("use", [
    lambda: tf.constant(circle()), lambda: tf.nest.flatten(circle()), lambda: tf.reshape(tf.ones(1), circle()),
    lambda: tf.nest.map_structure(lambda x: x, circle()), lambda: tf.function(lambda x: x)(circle()),
    lambda: tf.function(circle)(), lambda: tf.keras.layers.Dense(2)(circle()),
    lambda: tf.GradientTape().watch(circle()), lambda: tf.keras.layers.Permute(circle())])
def test_structures_that_contain_themselves(use):
    with pytest.raises((RecursionError, ValueError, TypeError)):
        use()


def test_objects_that_were_not_made():
    empty = tf.Variable.__new__(tf.Variable)
    uses = [lambda: empty + 1, lambda: empty & 1, lambda: empty / 2, lambda: ~empty, lambda: empty[0],
            lambda: empty.numpy(), lambda: empty.shape, lambda: empty.dtype, lambda: empty.assign(1.0),
            lambda: len(empty), lambda: float(empty), lambda: bool(empty), lambda: empty == 1, lambda: empty.name,
            lambda: tf.reduce_sum(empty), lambda: tf.function(lambda v: v)(empty)]
    for use in uses:
        with pytest.raises((ValueError, TypeError)):
            use()
    assert "empty" in repr(empty) and isinstance(hash(empty), int)
    for cls in (tf.Tensor, type(tf.GradientTape().stop_recording)):
        with pytest.raises(TypeError):
            cls()


def test_a_tape_that_dies_on_another_thread():
    v = tf.Variable(1.0)
    tapes = []

    def record():
        tape = tf.GradientTape(persistent=True)
        tape.__enter__()
        tapes.append((tape, v * v))
        tape.__exit__(None, None, None)
    thread = threading.Thread(target=record)
    thread.start()
    thread.join()
    tapes.clear()
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v).numpy() == 2
