"""Tapes, forward mode and custom gradients."""
import collections

import numpy as np
import pytest

import capstan as tf

Pair = collections.namedtuple("Pair", "a b")


def test_gradients_have_the_structure_of_the_sources():
    x, v = tf.constant(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * v
    assert tape.gradient(y, x).numpy() == 12
    found = tape.gradient(y, {"x": x, "rest": [v, (x, tf.constant(1.0))], "pair": Pair(v, x)})
    assert found["x"].numpy() == 12 and found["rest"][0].numpy() == 4 and found["rest"][1][1] is None
    assert isinstance(found["pair"], Pair) and found["pair"].a.numpy() == 4
    assert isinstance(tape.gradient(y, [x, v]), list) and isinstance(tape.gradient(y, (x, v)), tuple)
    assert tape.gradient([y, x * 1], x).numpy() == 12
    assert tape.gradient(y, x, output_gradients=2.0).numpy() == 24
    assert tape.gradient(y, tf.constant(1.0), unconnected_gradients="zero").numpy() == 0
    assert tape.gradient(y, [tf.constant(1.0)], unconnected_gradients=tf.UnconnectedGradients.ZERO)[0].numpy() == 0
    with pytest.raises(ValueError):
        tape.gradient(y, x, unconnected_gradients="nonsense")


def test_life_of_a_tape():
    v = tf.Variable(3.0)
    tape = tf.GradientTape(persistent=True)
    with tape:
        first = v * v
        with pytest.raises(ValueError):
            tape.__enter__()
        with tape.stop_recording():
            second = v * v
        third = v * 2
    with tape:
        fourth = v * 5
    assert [tape.gradient(y, v) is not None for y in (first, second, third, fourth)] == [True, False, True, True]
    assert tape.watched_variables() == (v,) and tape.watched_variables()[0] is v
    assert "not record" in tape.explain(second, v)
    with tape:
        tape.reset()
        fifth = v * v
    assert tape.gradient(first, v) is None and tape.gradient(fifth, v).numpy() == 6
    with pytest.raises(ValueError):
        tape.stop_recording()


def test_jacobians():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x ** 2
        z = tf.reduce_sum(y, 1)
    assert tape.jacobian(z, x).shape == (2, 2, 2)
    np.testing.assert_allclose(tape.batch_jacobian(y, x).numpy(), [np.diag([2, 4]), np.diag([6, 8])])
    both = tape.jacobian({"z": z}, [x, tf.constant(1.0)])
    assert both["z"][0].shape == (2, 2, 2) and both["z"][1] is None


def test_forward_mode():
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x ** 3)
        gradient = tape.gradient(y, x)
    assert accumulator.jvp(y).numpy() == 3
    np.testing.assert_allclose(accumulator.jvp(gradient).numpy(), [6, 0])
    assert accumulator.jvp(tf.constant(1.0)) is None
    assert accumulator.jvp(tf.constant(1.0), "zero").numpy() == 0


def test_custom_gradients():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x, y):
        def rule(dz, variables=None):
            by_arguments = dz * 10, dz * 20
            return by_arguments, [dz * 30] if variables else []
        return x * y * v, rule

    x, y = tf.constant(3.0), tf.constant(4.0)
    for f in (scaled, tf.function(scaled)):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(x, y)
        assert z.numpy() == 24
        assert [g.numpy() for g in tape.gradient(z, [x, y, v])] == [10, 20, 30]


def test_recomputed_functions():
    v = tf.Variable(2.0)
    calls = []

    @tf.recompute_grad
    def f(x):
        calls.append(1)
        return {"y": x * x * v}

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)["y"]
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [12, 9] and len(calls) == 2


def test_row_sparse_gradients():
    table = tf.Variable(tf.ones((5, 2)))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 3, 1]))
    gradient = tape.gradient(y, table)
    assert gradient.is_row_sparse and gradient.dense_shape.numpy().tolist() == [5, 2]
    assert gradient.to_dense().numpy().sum(1).tolist() == [0, 4, 0, 2, 0]
    rows = tf.IndexedSlices(gradient.values, gradient.indices, gradient.dense_shape)
    np.testing.assert_array_equal(tf.convert_to_tensor(rows).numpy(), gradient.to_dense().numpy())


def test_variables():
    v = tf.Variable([1.0, 2.0], name="v")
    assert v.assign([3, 4]) is v and v.assign_add([1, 1]) is v and v.numpy().tolist() == [4, 5]
    v.assign_sub(np.array([1.0, 2.0]))
    assert v.numpy().tolist() == [3, 3] and v.shape == (2,) and v.dtype == tf.float32 and v.name == "v"
    v.note = "kept"
    assert tf.Variable(lambda: 3.0).numpy() == 3
    limited = tf.Variable(2.0, constraint=lambda w: tf.minimum(w, 1.0))
    tf.keras.optimizers.SGD(learning_rate=0.0).apply([tf.constant(1.0)], [limited])
    assert limited.numpy() == 1
    assert {v: 1}[v] == 1 and v.ref() == v.ref() and v.ref().deref() is v
    v.scatter_nd_update([[0]], [9.0])
    assert v.numpy().tolist() == [9, 3]
