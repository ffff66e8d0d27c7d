"""Files with classes and functions of Python's, and keras.saving."""
import json
import pathlib
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
layers = keras.layers
X = np.random.default_rng(0).random((6, 4)).astype(np.float32)


@keras.saving.register_keras_serializable(package="Tests")
class Scale(layers.Layer):
    """With options of its own and a weight."""

    def __init__(self, factor, start="ones", **kwargs):
        super().__init__(**kwargs)
        self.factor, self.start = factor, keras.initializers.get(start)

    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), initializer=self.start, name="gain")

    def call(self, inputs):
        return inputs * self.gain * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor,
                "start": keras.saving.serialize_keras_object(self.start)}

    @classmethod
    def from_config(cls, config):
        config["start"] = keras.saving.deserialize_keras_object(config["start"])
        return cls(**config)


class Block(layers.Layer):
    """Not registered, with layers inside; its configuration is what its constructor took."""

    def __init__(self, units, rate=0.5):
        super().__init__()
        self.dense, self.scale = layers.Dense(units, activation="relu"), Scale(rate)

    def call(self, inputs):
        return self.scale(self.dense(inputs))


class Wrapper(layers.Layer):
    """Holds a layer that it was given."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, inputs):
        return inputs + self.inner(inputs)

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config.pop("inner"))
        return cls(inner=inner, **config)


class Net(keras.Model):
    """A model whose layers make their weights when it is called."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.block, self.head = Block(units), layers.Dense(2)

    def call(self, inputs, training=False):
        return self.head(self.block(inputs))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def functional():
    inputs = keras.Input((4,))
    hidden = Scale(2.0, start=keras.initializers.RandomUniform(0.5, 1.5), name="scaled")(inputs)
    hidden = Wrapper(layers.Dense(4, activation="tanh"))(hidden) + 1.0
    return keras.Model(inputs, [Block(3)(hidden), layers.Dense(1)(hidden)])


def sequential():
    return keras.Sequential([keras.Input((4,)), Block(5), Scale(3.0), layers.Dense(2)])


def subclassed():
    model = Net(3)
    model(X)
    return model


def outputs(model):
    made = model(X)
    return [y.numpy() for y in (made if isinstance(made, (list, tuple)) else [made])]


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
def test_a_model_with_own_classes_is_read_as_it_was_written(make, tmp_path):
    model = make()
    model.compile("adam", "mse")
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert type(again) is type(model) and type(again.optimizer) is keras.optimizers.Adam
    for one, two in zip(outputs(model), outputs(again)):
        np.testing.assert_array_equal(one, two)
    assert [w.shape for w in model.weights] == [w.shape for w in again.weights]
    assert not any(a is b for a, b in zip(model.weights, again.weights))


@pytest.mark.parametrize("make", [functional, sequential])
def test_a_clone_has_own_classes_and_weights_of_its_own(make):
    model = make()
    clone = keras.models.clone_model(model)
    assert [type(layer) for layer in clone.layers] == [type(layer) for layer in model.layers]
    clone.set_weights(model.get_weights())
    for one, two in zip(outputs(model), outputs(clone)):
        np.testing.assert_array_equal(one, two)


def test_a_model_that_was_read_can_be_trained(tmp_path):
    model = functional()
    model.compile("sgd", ["mse", "mse"])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    labels = [np.zeros((6, 3), "float32"), np.zeros((6, 1), "float32")]
    for one in (model, again):
        one.fit(X, labels, batch_size=3, epochs=2, shuffle=False, verbose=0)
    for one, two in zip(outputs(model), outputs(again)):
        np.testing.assert_array_equal(one, two)


def test_the_configuration_has_the_form_of_keras():
    config = functional().get_config()
    scale, wrapper = config["layers"][1], config["layers"][2]
    assert scale["class_name"] == "Scale" and scale["registered_name"] == "Tests>Scale" and scale["module"] is None
    assert scale["config"]["factor"] == 2.0 and scale["config"]["start"]["class_name"] == "RandomUniform"
    assert wrapper["registered_name"] == "Wrapper" and wrapper["module"] == __name__
    assert wrapper["config"]["inner"]["class_name"] == "Dense"
    assert Block(3, rate=0.25).get_config() == {"units": 3, "rate": 0.25}


class Mix(layers.Layer):
    """Takes two tensors."""

    def build(self, input_shape):
        self.weight = self.add_weight(shape=(input_shape[-1],), initializer="ones")

    def call(self, first, second, training=False):
        return first * self.weight - second


class Optional(layers.Layer):
    def call(self, inputs, context=None):
        return inputs if context is None else inputs + context


def test_layers_that_take_several_tensors(tmp_path):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, Mix()(layers.Dense(3)(inputs), layers.Dense(3)(inputs)))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))
    model = keras.Model(inputs, Optional()(inputs, context=inputs))
    with pytest.raises(ValueError, match="arguments that have defaults, which files do not hold"):
        model.save(tmp_path / "other.keras")


def test_numbers_between_layers_keep_their_digits(tmp_path):
    inputs = keras.Input((2,), dtype="float64")
    model = keras.Model(inputs, keras.layers.Identity(dtype="float64")(inputs) * 0.1 + 1e-9)
    model.save(tmp_path / "model.keras")
    x = np.array([[1.0, 3.0]])
    for one in (model, keras.models.load_model(tmp_path / "model.keras")):
        np.testing.assert_array_equal(one(x), x * 0.1 + 1e-9)


def doubled(x):
    return x * 2.0


@keras.saving.register_keras_serializable("Tests")
def halves(weight):
    return tf.reduce_sum(weight) / 2.0


def test_functions_as_options(tmp_path):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2, activation=doubled, kernel_regularizer=halves)])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))
    assert float(again.losses[0]) == float(model.losses[0])
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone(X), model(X))
    with keras.saving.custom_object_scope({"doubled": lambda x: x * 3.0}):
        other = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(other(X), model(X) * 1.5, rtol=1e-6)
    nameless = keras.Sequential([keras.Input((4,)), layers.Dense(2, activation=lambda x: x + 1.0)])
    with pytest.raises(ValueError, match="a function without a name"):
        nameless.save(tmp_path / "other.keras")
    assert not (tmp_path / "other.keras").exists()


def test_layers_in_lists(tmp_path):
    class Stack(layers.Layer):
        def __init__(self, count):
            super().__init__()
            self.blocks = [layers.Dense(4) for _ in range(count)]
            self.by_name = {"last": layers.Dense(2)}

        def call(self, inputs):
            for block in self.blocks:
                inputs = block(inputs)
            return self.by_name["last"](inputs)
    model = keras.Sequential([keras.Input((4,)), Stack(3)])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))


def test_the_summary_names_own_classes():
    lines = []
    sequential().summary(print_fn=lines.append)
    assert "(Block)" in "\n".join(lines) and "(Scale)" in "\n".join(lines)


PROGRAM = """
import sys
import numpy as np
import capstan as tf

class Twice(tf.keras.layers.Layer):
    def call(self, inputs):
        return inputs * 2.0
{more}
print(tf.keras.models.load_model(sys.argv[1]{arguments})(np.ones((1, 2), "float32")).numpy().tolist())
"""


def run(program, *arguments):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)], capture_output=True,
                          text=True, timeout=120)


def test_another_program_reads_the_file_with_its_classes(tmp_path):
    path = tmp_path / "model.keras"
    written = run(PROGRAM.format(more="tf.keras.Sequential([tf.keras.Input((2,)), Twice()]).save(sys.argv[1])",
                                 arguments=""), path)
    assert written.stdout.strip() == "[[2.0, 2.0]]", written.stderr
    read = run(PROGRAM.format(more="", arguments=""), path)
    assert read.stdout.strip() == "[[2.0, 2.0]]", read.stderr
    other = run("""
        import sys
        import numpy as np
        import capstan as tf

        class Thrice(tf.keras.layers.Layer):
            def call(self, inputs):
                return inputs * 3.0
        load = tf.keras.models.load_model
        print(load(sys.argv[1], custom_objects={"Twice": Thrice})(np.ones((1, 2), "float32")).numpy().tolist())
        try:
            load(sys.argv[1])
        except tf.IoError as error:
            print(" ".join(str(error).split()))
    """, path)
    lines = other.stdout.splitlines()
    assert lines[0] == "[[3.0, 3.0]]", other.stderr
    assert "there is no class 'Twice' help: give it as custom_objects" in lines[1], lines


def test_a_class_may_have_the_name_of_one_of_the_librarys(tmp_path):
    @keras.saving.register_keras_serializable(package="Mine")
    class Dense(layers.Layer):
        def __init__(self, add, **kwargs):
            super().__init__(**kwargs)
            self.add = add

        def call(self, inputs):
            return inputs + self.add

        def get_config(self):
            return {**super().get_config(), "add": self.add}
    model = keras.Sequential([keras.Input((4,)), Dense(5.0), layers.Dense(2, kernel_initializer="ones")])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert [type(layer) for layer in again.layers] == [Dense, layers.Dense]
    np.testing.assert_array_equal(model(X).numpy(), again(X).numpy())


def test_scopes_hold_names_for_a_time():
    class Local(layers.Layer):
        def call(self, inputs):
            return -inputs
    with keras.saving.custom_object_scope({"Other": Local}):
        assert keras.saving.get_registered_object("Other") is Local
        layer = keras.saving.deserialize_keras_object({"class_name": "Other", "config": {"name": "x"}})
        assert isinstance(layer, Local) and layer.name == "x"
    assert keras.saving.get_registered_object("Other") is None


def test_objects_as_data():
    save, load = keras.saving.serialize_keras_object, keras.saving.deserialize_keras_object
    for plain in (None, 3, 2.5, "text", True, [1, "a"], {"a": [1.5]}):
        assert load(save(plain)) == plain
    np.testing.assert_array_equal(load(save(X)), X)
    again = load(save(layers.Dense(3, activation="relu")))
    assert isinstance(again, layers.Dense) and again.get_config()["units"] == 3
    assert isinstance(load(save(keras.regularizers.L2(0.25))), keras.regularizers.L2)
    assert float(load(save(keras.optimizers.Adam(0.25))).learning_rate) == 0.25

    @keras.utils.register_keras_serializable("Tests")
    def half(x):
        return x / 2
    assert save(half)["config"] == "Tests>half" and load(save(half)) is half


def test_errors_say_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match="no get_config"):
        keras.saving.register_keras_serializable()(type("Plain", (), {}))
    with pytest.raises(ValueError, match="no function 'lost'"):
        keras.saving.deserialize_keras_object({"class_name": "function", "config": "lost"})
    with pytest.raises(TypeError, match="is no data"):
        keras.saving.serialize_keras_object(object())

    class Opaque(layers.Layer):
        def __init__(self, thing):
            super().__init__()

        def call(self, inputs):
            return inputs
    model = keras.Sequential([keras.Input((4,)), Opaque(object())])
    with pytest.raises(ValueError, match="Opaque.get_config: .* is no data"):
        model.save(tmp_path / "model.keras")
    assert not (tmp_path / "model.keras").exists()

    class Narrow(layers.Layer):
        def call(self, inputs):
            return inputs

        def get_config(self):
            return {**super().get_config(), "unknown": 1}
    model = keras.Sequential([keras.Input((4,)), Narrow()])
    model.save(tmp_path / "model.keras")
    with pytest.raises(tf.IoError, match="Narrow.from_config: Narrow: unknown options"):
        keras.models.load_model(tmp_path / "model.keras")


def test_a_function_logs_at_every_run(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path / "logs"))
    loss = tf.Variable(0.0)

    @tf.function
    def train_step(x, step):
        loss.assign_add(x)
        with writer.as_default():
            tf.summary.scalar("loss", loss * 2, step=step)
            tf.summary.histogram("values", tf.stack([x, loss]), step=step)
            tf.summary.text("note", "constant", step=step)
        return loss + 0
    for i in range(3):
        train_step(tf.constant(float(i)), tf.constant(i, tf.int64))
    writer.close()
    path, = (tmp_path / "logs").iterdir()
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(path))]
    assert sum(b"loss" in r for r in records) == sum(b"values" in r for r in records) == 3
    assert sum(b"note" in r for r in records) == 3
    import struct
    for value in (0.0, 2.0, 6.0):
        assert any(b"loss" in r and struct.pack("<f", value) in r for r in records)


def test_whole_models_in_hdf5_are_loaded_and_go_on():
    folder = pathlib.Path(__file__).parents[1] / "golden" / "files" / "legacy_weights"
    model = keras.models.load_model(str(folder / "trained.h5"))
    x, y = np.linspace(0, 1, 32, dtype=np.float32).reshape(8, 4), np.ones((8, 2), np.float32)
    assert set(model.fit(x, y, shuffle=False, verbose=0).history) == {"loss", "mae"}
    wanted = json.loads((folder / "trained.json").read_text())["after"]
    np.testing.assert_allclose(model.predict(x, verbose=0).ravel(), wanted["data"], atol=2e-6)
    with pytest.raises(ValueError, match="ends with neither .keras nor .h5"):
        model.save("model.pb")


def distance(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_files_of_a_callback_and_of_save_have_losses_of_the_program(ending, tmp_path):
    x, y = X, np.ones((6, 2), np.float32)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="relu"), layers.BatchNormalization(), layers.Dense(2)])
    model.compile("adam", distance, metrics=["mae"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(x, y, epochs=2, verbose=0, callbacks=[keras.callbacks.ModelCheckpoint(str(tmp_path / f"{{epoch}}.{ending}"))])
        model.save(tmp_path / f"whole.{ending}")
    for name in ("2", "whole"):
        loaded = keras.models.load_model(tmp_path / f"{name}.{ending}", custom_objects={"distance": distance})
        assert loaded.optimizer.iterations.numpy() == 2
        np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
        other = keras.models.load_model(tmp_path / f"{name}.{ending}", custom_objects={"distance": distance})
        assert loaded.fit(x, y, shuffle=False, verbose=0).history == other.fit(x, y, shuffle=False, verbose=0).history


def test_files_in_hdf5_have_no_place_for_classes_of_the_program(tmp_path):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    model = Net()
    model(X)
    with pytest.raises(ValueError, match="is of a class of its own"):
        model.save(tmp_path / "model.h5")
    assert not (tmp_path / "model.h5").exists()
