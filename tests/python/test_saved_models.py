"""tf.saved_model, Model.export and keras.export: what is loaded gives what was saved, without the code."""
import collections
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import capstan as tf
from capstan import keras

Pair = collections.namedtuple("Pair", ["low", "high"])


class Scaled(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([2.0, 3.0], name="w")
        self.parts = [tf.Variable(1.0), {"a": tf.Variable(3.0)}]
        self.inner = Counter()

    @tf.function
    def __call__(self, x, flag=False):
        return {"y": x * self.w, "z": x + 1.0} if not flag else x

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def scale(self, x):
        return x * self.w


class Counter(tf.Module):
    def __init__(self):
        super().__init__()
        self.n = tf.Variable(0)

    @tf.function
    def add(self, k):
        self.n.assign_add(k)
        return self.n * 2


def saved(obj, folder, **kwargs):
    tf.saved_model.save(obj, folder, **kwargs)
    return tf.saved_model.load(folder)


def test_the_object_comes_back(tmp_path):
    module = Scaled()
    x = tf.constant([1.0, 2.0])
    module(x)
    module(tf.constant(5.0), flag=True)
    module.inner.add(tf.constant(3))
    loaded = saved(module, tmp_path / "m")
    assert tf.saved_model.contains_saved_model(tmp_path / "m") and not tf.saved_model.contains_saved_model(tmp_path)
    np.testing.assert_array_equal(loaded.w, module.w)
    assert float(loaded.parts[1]["a"]) == 3 and int(loaded.inner.n) == 3
    assert len(loaded.trainable_variables) == 4
    np.testing.assert_array_equal(loaded(x)["y"], [2, 6])
    np.testing.assert_array_equal(loaded(x, False)["z"], [2, 3])
    assert float(loaded(5.0, True)) == 5
    np.testing.assert_array_equal(loaded.scale(tf.ones([4, 2])), np.tile([2, 3], (4, 1)))
    np.testing.assert_array_equal(loaded.scale([[1.0, 1.0]]), [[2, 3]])
    assert int(loaded.inner.add(tf.constant(2))) == 10 and int(loaded.inner.n) == 5
    assert int(module.inner.n) == 3, "the variables are the loaded object's own"


def test_gradients_and_training_of_what_was_loaded(tmp_path):
    module = Scaled()
    loaded = saved(module, tmp_path / "m")
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded.scale(x) ** 2)
    with tf.GradientTape() as own:
        wanted = tf.reduce_sum(module.scale(x) ** 2)
    np.testing.assert_array_equal(tape.gradient(loss, loaded.w), own.gradient(wanted, module.w))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((loaded.scale(x) - 1.0) ** 2)
        loaded.w.assign_sub(0.05 * tape.gradient(loss, loaded.w))
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 0.1 * losses[0]
    again = saved(loaded, tmp_path / "again")
    np.testing.assert_array_equal(again.scale(x), loaded.scale(x))
    np.testing.assert_array_equal(again.signatures["serving_default"](x=x)["output_0"], loaded.scale(x))


def test_signatures(tmp_path):
    module = Scaled()
    loaded = saved(module, tmp_path / "a")
    assert list(loaded.signatures) == ["serving_default"]
    signature = loaded.signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"x": tf.TensorSpec([None, 2], tf.float32, "x")})
    assert signature.structured_outputs == {"output_0": tf.TensorSpec([None, 2], tf.float32, "output_0")}
    np.testing.assert_array_equal(signature(x=tf.ones([1, 2]))["output_0"], [[2, 3]])
    np.testing.assert_array_equal(signature(tf.ones([1, 2]))["output_0"], [[2, 3]])
    concrete = module.__call__.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, name="given"))
    loaded = saved(module, tmp_path / "b", signatures={"scale": module.scale, "call": concrete})
    assert sorted(loaded.signatures) == ["call", "scale"]
    assert loaded.signatures["call"].structured_outputs["y"].shape == (None, 2)
    np.testing.assert_array_equal(loaded.signatures["call"](given=tf.ones([1, 2]))["z"], [[2, 2]])
    np.testing.assert_array_equal(loaded(tf.ones([3, 2]))["y"], np.tile([2, 3], (3, 1)))
    with pytest.raises(TypeError, match="takes tensors by the names"):
        loaded.signatures["scale"](y=tf.ones([1, 2]))
    with pytest.raises(KeyError):
        loaded.signatures["none"]
    with pytest.raises(ValueError, match="Only `tf.functions` with an input signature"):
        tf.saved_model.save(module, tmp_path / "c", signatures=module.__call__)


def test_any_rank(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.twice = tf.function(lambda x: {"twice": x * module.v}, input_signature=[tf.TensorSpec(None)])
    module.total = tf.function(lambda x: tf.reduce_sum(x, axis=1))
    loaded = saved(module, tmp_path / "m", signatures={
        "a": module.twice, "b": module.total.get_concrete_function(tf.TensorSpec(None))})
    assert loaded.signatures["a"].structured_outputs["twice"].shape is None
    for shape in ([], [3], [2, 2], [1, 2, 2]):
        np.testing.assert_array_equal(loaded.twice(tf.ones(shape))["twice"], np.full(shape, 2.0))
        np.testing.assert_array_equal(loaded.signatures["a"](x=tf.ones(shape))["twice"], np.full(shape, 2.0))
    np.testing.assert_array_equal(loaded.signatures["b"](x=tf.ones([3, 2]))["output_0"], [2, 2, 2])
    with pytest.raises(ValueError, match="shape"):
        loaded.signatures["b"](x=tf.ones([3]))


class Everything(tf.Module):
    """Control flow by AutoGraph, draws, gradients of its own, structures."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(1.5)

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def flow(self, x):
        total = tf.constant(0.0)
        for row in x:
            if row > 0.0:
                total += row * self.v
            else:
                total -= row
        while total < 50.0:
            total = total * 2.0 + 1.0
        return total

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def clipped(self, x):
        @tf.custom_gradient
        def f(x):
            return x * 3.0, lambda g: tf.clip_by_value(g * x, -1.0, 1.0)
        return f(x)

    @tf.function(input_signature=[tf.TensorSpec([4], tf.float32)])
    def noise(self, x):
        return tf.nn.dropout(x, 0.5), tf.random.normal([2])

    @tf.function
    def structured(self, x, options=None, *, factor=2):
        low, high = x["pair"]
        return Pair(low * factor, [high, {"n": None, "text": "a"}]), options

    @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None])])
    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(tf.reduce_sum(x, 1) * self.v) - y) ** 2)
        self.v.assign_sub(0.1 * tape.gradient(loss, self.v))
        return loss


def test_control_flow_draws_gradients_and_structures(tmp_path):
    module = Everything()
    pair = {"pair": (tf.constant(1.0), tf.constant([2.0]))}
    module.structured(pair)
    module.structured(pair, options=[1, "a"], factor=3)
    loaded = saved(module, tmp_path / "m")
    for x in ([1.0, -2.0, 3.0], [-1.0, -2.0, -3.0], [100.0, 1.0, 1.0]):
        with tf.GradientTape() as tape:
            is_ = loaded.flow(x)
        with tf.GradientTape() as own:
            wanted = module.flow(x)
        assert float(is_) == float(wanted)
        assert float(tape.gradient(is_, loaded.v)) == float(own.gradient(wanted, module.v))
    x = tf.constant([0.5, -4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded.clipped(x)
    np.testing.assert_array_equal(y, [1.5, -12])
    np.testing.assert_array_equal(tape.gradient(y, x), [0.5, -1])
    (a, n), (b, m) = loaded.noise(tf.ones([4])), loaded.noise(tf.ones([4]))
    assert set(np.asarray(a)) <= {0.0, 2.0} and not np.array_equal(n, m) and b.shape == (4,)
    result, options = loaded.structured(pair, None)
    assert options is None and float(result.low) == 2 and result[1][1] == {"n": None, "text": "a"}
    assert type(result).__name__ == "Pair"
    result, options = loaded.structured(pair, options=[1, "a"], factor=3)
    assert float(result.low) == 3 and [int(options[0]), options[1]] == [1, "a"]
    with pytest.raises(ValueError, match="(?s)Could not find matching concrete function.*Option 2"):
        loaded.structured(pair, factor=4)
    for _ in range(3):
        batch = tf.random.normal([5, 2]), tf.random.normal([5])
        assert float(loaded.train(*batch)) == float(module.train(*batch))
    assert float(loaded.v) == float(module.v)


def test_what_files_cannot_hold(tmp_path):
    module = tf.Module()
    object_of_python = tf.function(lambda x, o: x)
    object_of_python(tf.constant(1.0), object())
    optimizer, v = keras.optimizers.Adam(), tf.Variable(1.0)

    def train(x):
        optimizer.apply_gradients([(x * v, v)])
        return x

    for f, why in (
            (tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32), input_signature=[tf.TensorSpec([2])]), "trace"),
            (tf.function(lambda x: x * x.shape[0], input_signature=[tf.TensorSpec([None])]), "length"),
            (tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.string)]), "texts"),
            (tf.function(train, input_signature=[tf.TensorSpec([])]), "(optimizer_step|host_value)"),
            (object_of_python, "among its arguments or results")):
        module.f = f
        with pytest.raises(ValueError, match="(?s)no function can be saved.*" + why):
            tf.saved_model.save(module, tmp_path / "m")
    assert not (tmp_path / "m").exists()
    # Others of the object are saved, and a signature has to be.
    module.g = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([])])
    with pytest.warns(UserWarning, match="a function is left out; f: "):
        loaded = saved(module, tmp_path / "m")
    assert float(loaded.g(1.0)) == 2 and not hasattr(loaded, "f")
    module.f = tf.function(train, input_signature=[tf.TensorSpec([])])
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="cannot be saved"):
        tf.saved_model.save(module, tmp_path / "n", signatures=module.f)
    with pytest.raises(ValueError, match="Trackable"):
        tf.saved_model.save({}, tmp_path / "m")
    assert not (tmp_path / "n").exists()
    with pytest.raises(OSError, match="saved_model.capstan"):
        tf.saved_model.load(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(OSError, match="TensorFlow's saved_model.pb"):
        tf.saved_model.load(tmp_path)


def test_models_of_keras(tmp_path):
    model = keras.Sequential([keras.Input((6,)), keras.layers.Reshape((3, 2)), keras.layers.LSTM(4), keras.layers.Dropout(0.5),
                              keras.layers.BatchNormalization(), keras.layers.Dense(2, activation="softmax")])
    x = np.random.default_rng(0).normal(size=(5, 6)).astype("float32")
    wanted = model(x)
    loaded = saved(model, tmp_path / "m")
    assert len(loaded.variables) == len(model.variables)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    np.testing.assert_allclose(loaded.signatures["serving_default"](tf.constant(x))["output_0"], wanted, atol=1e-6)
    model.export(tmp_path / "e", verbose=False)
    served = tf.saved_model.load(tmp_path / "e")
    np.testing.assert_allclose(served.serve(x), wanted, atol=1e-6)
    assert sorted(served.signatures) == ["serve", "serving_default"]
    layer = keras.layers.TFSMLayer(tmp_path / "e")
    np.testing.assert_allclose(keras.Sequential([keras.Input((6,)), layer]).predict(x, verbose=0), wanted, atol=1e-6)
    two = keras.Model([a := keras.Input((2,), name="a"), b := keras.Input((3,), name="b")],
                      {"sum": keras.layers.Dense(1)(keras.layers.Concatenate()([a, b])), "a": a * 2})
    two.export(tmp_path / "two", verbose=False)
    served = tf.saved_model.load(tmp_path / "two")
    inputs = [tf.ones([4, 2]), tf.ones([4, 3])]
    np.testing.assert_allclose(served.serve(inputs)["sum"], two(inputs)["sum"], atol=1e-6)
    np.testing.assert_allclose(served.signatures["serve"](a=inputs[0], b=inputs[1])["a"], np.full((4, 2), 2.0))


def test_a_model_of_ones_own_and_archives(tmp_path):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x, training=False):
            return self.dense(x) + (100.0 if training else 0.0)

    model = Own()
    with pytest.raises(ValueError, match="input_signature"):
        model.export(tmp_path / "no")
    x = tf.ones([3, 4])
    wanted = model(x)
    model.export(tmp_path / "e", input_signature=[tf.TensorSpec([None, 4])], verbose=False)
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "e").serve(x), wanted, atol=1e-6)
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("train_time", lambda x: model(x, training=True), [keras.layers.InputSpec(shape=(None, 4))])
    archive.add_endpoint("fixed", tf.function(lambda x: x + 1, input_signature=[tf.TensorSpec([2], tf.int32)]))
    archive.add_variable_collection("own", model.trainable_variables)
    with pytest.raises(ValueError, match="already taken"):
        archive.add_endpoint("fixed", lambda x: x, [tf.TensorSpec([2])])
    with pytest.raises(ValueError, match="input_signature"):
        archive.add_endpoint("none", lambda x: x)
    archive.write_out(tmp_path / "a", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "a")
    np.testing.assert_allclose(loaded.train_time(x), wanted + 100.0, atol=1e-4)
    np.testing.assert_array_equal(loaded.fixed([1, 2]), [2, 3])
    assert len(loaded.own) == 2 and "serving_default" in loaded.signatures


def test_onnx(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)])
    model.export(tmp_path / "m.onnx", format="onnx", verbose=False)
    assert (tmp_path / "m.onnx").stat().st_size > 100
    with pytest.raises(ValueError, match="format="):
        model.export(tmp_path / "m", format="litert")


def test_another_process_loads_it_without_the_code(tmp_path):
    module = Everything()
    tf.saved_model.save(module, tmp_path / "m")
    code = f"""
        import capstan as tf
        loaded = tf.saved_model.load({str(tmp_path / "m")!r})
        print(float(loaded.flow(tf.constant([1.0, -2.0, 3.0]))))
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True).stdout
    assert float(out) == float(module.flow(tf.constant([1.0, -2.0, 3.0])))


def test_models_of_ones_own_are_exported_for_what_they_were_built_for(tmp_path):
    class Wide(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        def call(self, inputs):
            a, b = inputs
            return self.dense(a) + tf.reduce_sum(b, axis=1, keepdims=True)
    model = Wide()
    with pytest.raises(ValueError, match="inputs of 'wide.*' are not known"):
        model.export(str(tmp_path / "none"), verbose=False)
    a, b = tf.random.normal([3, 4]), tf.random.normal([3, 5])
    expected = model((a, b)).numpy()
    model.export(str(tmp_path / "wide"), verbose=False)
    found = tf.saved_model.load(str(tmp_path / "wide")).serve([a, b]).numpy()
    np.testing.assert_array_equal(found, expected)
    one = tf.keras.layers.TFSMLayer(str(tmp_path / "wide"))
    np.testing.assert_array_equal(one([a[:1], b[:1]]).numpy(), expected[:1])
