"""How long objects live: flat memory over a million calls, weak references, circles."""
import gc
import weakref

import numpy as np
import pytest

import capstan as tf


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def kinds():
    x, v, big = tf.constant(3.0), tf.Variable(3.0), np.ones(100, np.float32)
    f = tf.function(lambda a: (a * 2, [a]))
    layer = tf.keras.layers.Dense(2)
    layer(big[None])

    def tape():
        with tf.GradientTape() as t:
            y = v * v
        t.gradient(y, v)

    def fail():
        try:
            tf.constant([1.0]) + tf.constant([1])
        except TypeError:
            pass
    return {"operator": lambda: x + 1.0, "op": lambda: tf.reduce_sum(x, axis=None), "tape": tape,
            "function": lambda: f(x), "function with an array": lambda: f(big), "array in": lambda: tf.constant(big),
            "array out": lambda: tf.constant(big).numpy(), "view": lambda: np.asarray(tf.constant(big)),
            "variable": lambda: tf.Variable(1.0), "assign": lambda: v.assign_add(0.0), "index": lambda: v[...],
            "shape": lambda: x.shape, "error": fail, "layer": lambda: layer(big[None]),
            "nest": lambda: tf.nest.map_structure(lambda t: t, {"a": [x]}), "repr": lambda: repr(x)}


@pytest.mark.parametrize("kind", kinds())
def test_memory_is_flat(kind):
    call = kinds()[kind]
    fast = kind in ("operator", "op", "shape", "assign")
    count = 1_000_000 if fast else 20_000
    for _ in range(count // 10):
        call()
    gc.collect()
    before = resident()
    for _ in range(count):
        call()
    gc.collect()
    assert resident() - before < 2 << 20


def test_tensors_die_with_their_last_reference():
    x = tf.constant(np.ones(1000))
    r = weakref.ref(x)
    y = x + 1
    del x
    assert r() is None and y.numpy()[0] == 2


def test_one_object_for_a_variable():
    layer = tf.keras.layers.Dense(2)
    layer(tf.ones((1, 3)))
    kernel = layer.kernel
    kernel.note = "mine"
    assert layer.weights[0] is kernel and layer.trainable_variables[0].note == "mine"
    r = weakref.ref(kernel)
    del kernel
    assert r() is None and layer.weights[0].shape == (3, 2)

    class Own(tf.Variable):
        pass
    v = Own(1.0)
    with tf.GradientTape() as tape:
        v * v  # pylint: disable=pointless-statement
    assert tape.watched_variables()[0] is v and isinstance(v, tf.Variable)


def test_circles_are_collected():
    def make():
        class Model(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(1)
                self.itself = self

            def call(self, x):
                return self.dense(x)
        model = Model()
        model.compile(optimizer="sgd", loss="mse")
        model.fit(np.ones((4, 2), "f4"), np.ones((4, 1), "f4"), verbose=0)
        f = tf.function(lambda x: model(x))
        f(np.ones((4, 2), "f4"))
        model.f = f
        return weakref.ref(model), weakref.ref(model.dense)
    models = make()
    for _ in range(3):
        gc.collect()
    assert [r() for r in models] == [None, None]


def test_functions_and_tapes_free_what_they_hold():
    v = tf.Variable(np.ones(1000, np.float32))
    f = tf.function(lambda: v * 2)
    f()
    tape = tf.GradientTape(persistent=True)
    with tape:
        y = v * v
    references = [weakref.ref(f), weakref.ref(tape), weakref.ref(y)]
    del f, tape, y
    gc.collect()
    assert [r() for r in references] == [None] * 3
