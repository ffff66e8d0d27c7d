"""What books and courses that were written for TensorFlow and Keras do with models. Values and dtypes are Keras 3.15's."""
import json
import zipfile

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
layers = keras.layers


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


# --- dtypes of what a training is given ---

def dtypes_of(run):
    """The dtypes that functions of the program see, by where."""
    seen = {}

    def note(where, *tensors):
        seen.setdefault(where, [t.dtype.name for t in tensors])

    def loss(y_true, y_pred):
        note("loss", y_true, y_pred)
        return tf.reduce_mean(tf.square(y_true - y_pred), -1)

    class LossClass(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return loss(y_true, y_pred)

    def metric(y_true, y_pred):
        note("metric", y_true, y_pred)
        return tf.reduce_mean(tf.abs(tf.cast(y_true, "float32") - y_pred))

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            note("call", inputs)
            return self.dense(inputs)
    for given in (loss, LossClass()):
        seen.clear()
        model = Net()
        model.compile("sgd", loss=given, metrics=[metric])
        run(model)
        yield dict(seen)


def test_a_training_has_floats_of_floatx():
    x, y = numbers(8, 3), numbers(8, 1)
    floats = {"call": ["float32"], "loss": ["float32"] * 2, "metric": ["float32"] * 2}
    for seen in dtypes_of(lambda model: model.fit(x, y, validation_data=(x, y), sample_weight=numbers(8), verbose=0)):
        assert seen == floats
    for seen in dtypes_of(lambda model: model.evaluate(x, y, verbose=0)):
        assert seen == floats
    integers = np.arange(8).reshape(8, 1)
    for seen in dtypes_of(lambda model: model.fit(x, integers, verbose=0)):
        assert seen == floats | {"metric": ["int64", "float32"]}
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)  # whose elements stay as they are
    for seen in dtypes_of(lambda model: model.fit(batches, verbose=0)):
        assert seen == floats | {"metric": ["float64", "float32"]}
    for seen in dtypes_of(lambda model: (model.predict(x, verbose=0), model(x), model.train_on_batch(x, y))):
        assert seen["call"] == ["float32"] and seen["loss"] == ["float32"] * 2

    class Loss(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.reduce_mean(tf.square(y_true - y_pred), -1)
    assert Loss()(np.array([1, 2]), np.array([2, 4])).numpy() == 2.5

    class Twice(keras.Model):
        def call(self, inputs):
            return inputs[0] + inputs[1]["a"]
    assert Twice()([numbers(2, 2), {"a": numbers(2, 2)}]).dtype == tf.float32
    assert Twice(dtype="float64")([numbers(2, 2), {"a": numbers(2, 2)}]).dtype == tf.float64
    assert Twice()([np.arange(2), {"a": np.arange(2)}]).dtype == tf.int64


# --- what compile() was given, in files ---

def huber(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred), -1)


class Threshold(keras.losses.Loss):
    def __init__(self, threshold=1.0, **kwargs):
        self.threshold = threshold
        super().__init__(**kwargs)

    def call(self, y_true, y_pred):
        return tf.reduce_mean(tf.minimum(tf.abs(y_true - y_pred), self.threshold), -1)

    def get_config(self):
        return {**super().get_config(), "threshold": self.threshold}


class Largest(keras.metrics.Metric):
    def __init__(self, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale
        self.most = self.add_weight(name="most", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.most.assign(tf.maximum(self.most, self.scale * tf.reduce_max(tf.abs(y_true - y_pred))))

    def result(self):
        return self.most

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


def small_model(loss, metrics):
    model = keras.Sequential([layers.Dense(2, input_shape=[3])])
    model.compile(keras.optimizers.Adam(0.02), loss=loss, metrics=metrics)
    model.fit(numbers(8, 3), numbers(8, 2), epochs=2, verbose=0)
    return model


@pytest.mark.parametrize("loss, metrics, custom", [
    (huber, ["mae"], {"huber": huber}), (Threshold(0.3, name="t"), [huber], {"huber": huber, "Threshold": Threshold}),
    ("mse", [Largest(2.0, name="l"), "accuracy"], {"Largest": Largest})])
def test_losses_and_metrics_of_the_program_are_in_files(tmp_path, loss, metrics, custom):
    model = small_model(loss, metrics)
    model.save(tmp_path / "m.keras")
    if isinstance(loss, Threshold):
        with pytest.raises(OSError, match="it cannot be compiled as it was, there is no class 'Threshold'\\n"):
            keras.models.load_model(tmp_path / "m.keras")
        with pytest.raises(OSError, match="it cannot be compiled as it was, there is no function 'huber'\\n"):
            keras.models.load_model(tmp_path / "m.keras", custom_objects={"Threshold": Threshold})
    loaded = keras.models.load_model(tmp_path / "m.keras", custom_objects=custom)
    assert int(loaded.optimizer.iterations.numpy()) == 2 and float(loaded.optimizer.learning_rate) == pytest.approx(0.02)
    x, y = numbers(8, 3, seed=1), numbers(8, 2, seed=2)
    assert loaded.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)
    for one in (model, loaded):  # the optimizer goes on where it was
        one.fit(x, y, epochs=1, verbose=0, shuffle=False)
    np.testing.assert_array_equal(model.predict(x, verbose=0), loaded.predict(x, verbose=0))
    if isinstance(loss, Threshold):
        assert loaded.loss.threshold == 0.3 and loaded.loss.name == "t"
    with pytest.raises(ValueError, match="not compiled"):
        keras.models.load_model(tmp_path / "m.keras", compile=False).evaluate(x, y)
    assert keras.models.clone_model(loaded).count_params() == 8


def test_accuracy_by_name_is_in_files(tmp_path):
    model = keras.Sequential([layers.Dense(3, activation="softmax", input_shape=[4])])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = numbers(20, 4), np.arange(20) % 3
    model.fit(x, y, validation_data=(x, y), verbose=0,
              callbacks=[keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"), save_best_only=True)])
    loaded = keras.models.load_model(tmp_path / "best.keras")
    assert loaded.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)
    config = json.loads(zipfile.ZipFile(tmp_path / "best.keras").read("config.json"))["compile_config"]
    assert config["metrics"] == ["accuracy"] and config["loss"]["class_name"] == "SparseCategoricalCrossentropy"


def test_a_lambda_is_left_out_of_files(tmp_path):
    model = small_model(lambda a, b: tf.reduce_mean(tf.abs(a - b)), None)
    with pytest.warns(UserWarning, match="a lambda has no name"):
        model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="not compiled"):
        keras.models.load_model(tmp_path / "m.keras").evaluate(numbers(2, 3), numbers(2, 2))


# --- layers and models that are built in other ways ---

class Own(layers.Layer):
    builds = 0

    def build(self, input_shape):
        self.builds += 1
        self.kernel = self.add_weight(shape=(input_shape[-1], 2), name="kernel")
        super().build(input_shape)

    def call(self, x):
        return x @ self.kernel


class OwnModel(keras.Model):
    builds = 0

    def build(self, input_shape):
        self.builds += 1
        self.first, self.last = layers.Dense(4, activation="relu"), layers.Dense(1)
        super().build(input_shape)

    def call(self, x):
        return self.last(self.first(x))


def test_layers_are_built_by_hand_once():
    layer = Own()
    layer.build((None, 3))
    assert layer.built and len(layer.weights) == 1 and layer(tf.ones([1, 3])).shape == (1, 2) and layer.builds == 1
    for build in (lambda m: m.build((None, 3)), lambda m: m.build(input_shape=[None, 3]), lambda m: m(tf.ones([2, 3])),
                  tf.function(lambda m: m(tf.ones([2, 3])))):
        model = OwnModel()
        build(model)
        assert model.built and len(model.weights) == 4 and model.builds == 1

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            return tape.gradient(loss, model.trainable_variables)
        assert [tuple(g.shape) for g in step(tf.ones([5, 3]))] == [(3, 4), (4,), (4, 1), (1,)] and model.builds == 1

    class WithoutShapes(layers.Layer):
        def build(self):
            self.scale = self.add_weight(shape=(), initializer="ones")

        def call(self, x):
            return x * self.scale
    layer = WithoutShapes()
    assert layer(tf.ones([2])).numpy().tolist() == [1, 1] and len(layer.weights) == 1

    class Plain(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, inputs):
            return self.dense(inputs[0]) + self.dense(inputs[1])
    model = Plain()
    model.build([(None, 3), (None, 3)])
    assert [tuple(w.shape) for w in model.weights] == [(3, 2), (2,)]


def test_layers_are_made_in_the_first_trace():
    class Lazy(tf.Module):
        layer = dropout = None

        @tf.function
        def __call__(self, x):
            if self.layer is None:
                self.layer, self.dropout = layers.Dense(2), layers.Dropout(0.5)
            return self.dropout(self.layer(x), training=True)
    lazy = Lazy()
    first, second = lazy(tf.ones([50, 3])), lazy(tf.ones([50, 3]))
    assert len(lazy.trainable_variables) == 2 and (first.numpy() == 0).any() and (first.numpy() != second.numpy()).any()

    @tf.function
    def draws():
        return keras.initializers.RandomNormal()((2,))
    with pytest.raises(Exception, match="would be the same at every call"):
        draws()


def test_a_sequential_has_a_layer_several_times():
    block = layers.Dense(4)
    model = keras.Sequential([layers.Dense(4), block, block, block, layers.Dense(1)])
    assert model(tf.ones([2, 4])).shape == (2, 1) and len(model.weights) == 6 and len(model.layers) == 5
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.ones([2, 4])))
    assert len(tape.gradient(loss, model.trainable_variables)) == 6
    with pytest.raises(ValueError, match="already"):
        keras.Sequential([layers.Dense(2, name="a"), layers.Dense(2, name="a")])


def test_ops_and_layers_share_their_names():
    inputs = keras.Input((3,))
    x = layers.Dense(3)(inputs)
    outputs = layers.add([x, inputs]) + layers.add([x, x]) + keras.activations.relu(x)
    model = keras.Model(inputs, [outputs, x])
    assert len({layer.name for layer in model.layers}) == len(model.layers) and len(model.output_names) == 2
    value = model(-tf.ones([1, 3]))[1].numpy()
    np.testing.assert_allclose(model(-tf.ones([1, 3]))[0].numpy(), value - 1 + 2 * value + np.maximum(value, 0), rtol=1e-6)
    again = keras.Model.from_config(keras.Model(inputs, keras.activations.relu(x)).get_config())
    assert again(tf.ones([1, 3])).shape == (1, 3)
    keras.backend.clear_session()
    assert layers.Dense(1).name == "dense" and Own().name == "own" and layers.Dense(1).name == "dense_1"


def test_options_as_they_were_called():
    with pytest.warns(UserWarning, match="negative_slope"):
        assert layers.LeakyReLU(alpha=0.2).negative_slope == 0.2
    with pytest.warns(UserWarning, match="not used"):
        layers.Embedding(10, 4, input_length=5)
    with pytest.warns(UserWarning, match="not used"):
        layers.LSTM(4, implementation=1)
    assert layers.InputLayer(batch_input_shape=(2, 4)).batch_shape == (2, 4)
    conv = layers.Conv2D(2, 3, padding="SAME", data_format="CHANNELS_LAST")
    assert conv.padding == "same" and conv(tf.ones([1, 4, 4, 1])).shape == (1, 4, 4, 2)
    for wrong in (TypeError, ValueError):
        with pytest.raises(wrong, match="foo"):
            layers.Dense(2, foo=1)
    with pytest.raises(ValueError, match="padding"):
        layers.Conv2D(2, 3, padding="WRONG")


def test_what_layers_know_of_their_options():
    dense = layers.Dense(2, kernel_initializer="he_normal", kernel_regularizer="l2", kernel_constraint="non_neg")
    assert type(dense.kernel_initializer).__name__ == "HeNormal" and type(dense.kernel_regularizer).__name__ == "L2"
    assert type(dense.bias_initializer).__name__ == "Zeros" and dense.bias_regularizer is None
    dense.build((None, 1))
    assert dense.kernel.constraint(tf.constant([[-1.0], [2.0]])).numpy().ravel().tolist() == [0, 2]
    assert dense.bias.constraint is None and tf.Variable(1.0).constraint is None
    assert isinstance(keras.losses.get(keras.losses.MeanSquaredError), keras.losses.MeanSquaredError)
    assert keras.activations.serialize(keras.activations.relu) == "relu"
    assert keras.activations.deserialize("relu")(tf.constant([-1.0])).numpy()[0] == 0


def test_lists_of_images_and_inputs_of_texts():
    images = [np.full((8, 9, 3), i, "uint8") for i in (1, 2)]
    assert layers.CenterCrop(4, 4)(images).shape == (2, 4, 4, 3)
    np.testing.assert_allclose(layers.Rescaling(0.5)(images).numpy()[:, 0, 0, 0], [0.5, 1.0])
    with pytest.raises(ValueError, match="it takes one tensor, not 2"):
        layers.Conv2D(1, 1)(images)
    vectors = layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=2)
    for make in (lambda: keras.Sequential([layers.InputLayer(shape=[], dtype=tf.string), vectors, layers.Embedding(4, 2)]),
                 lambda: add_all(keras.Sequential(), layers.InputLayer(input_shape=[], dtype="string"), vectors,
                                 layers.Embedding(4, 2))):
        assert make()(tf.constant(["a b", "b"])).shape == (2, 2, 2)


def add_all(model, *given):
    for layer in given:
        model.add(layer)
    return model


def test_one_output_in_a_list_is_given_without_it():
    first, second, dense = keras.Input((3,)), keras.Input((3,)), layers.Dense(2)
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    for inputs, outputs, given in ((first, [dense(first)], x), ([first], (dense(first),), [x]),
                                   ([first, second], [dense(layers.add([first, second]))], [x, x])):
        model = keras.Model(inputs, outputs)
        assert model(given).shape == (4, 2) and model.predict(given, verbose=0).shape == (4, 2) and len(model.outputs) == 1
        for loss in ("mse", ["mse"]):
            for labels in (y, [y], (y,)):
                model.compile("sgd", loss, metrics=["mae"])
                model.fit(given, labels, validation_data=(given, labels), verbose=0)
                model.evaluate(given, labels, verbose=0)
                model.train_on_batch(given, labels)
        assert keras.Model.from_config(model.get_config())(given).shape == (4, 2)
    chain = keras.Sequential([keras.Model([first], [dense(first)]), layers.Dense(1)])
    assert chain(x).shape == (4, 1) and chain.input_shape == (None, 3)
    assert len(keras.Model(first, [dense(first), dense(first)])(x)) == 2 and list(keras.Model(first, {"a": dense(first)})(x)) == ["a"]


def test_layers_of_models_know_what_they_take_and_give():
    x = np.ones((2, 4), "float32")

    def chain():
        return keras.Sequential([layers.Input((4,)), layers.Dense(3, name="h"), layers.Dense(1, name="o")])

    def graph():
        first, second = keras.Input((4,)), keras.Input((4,))
        joined = layers.Dense(3, name="h")(layers.Concatenate(name="c")([first, second]))
        return keras.Model([first, second], layers.Dense(1, name="o")(joined + 1.0))
    for make, given in ((chain, x), (graph, [x, x])):
        model = make()
        features = keras.Model(model.inputs, model.get_layer("h").output)
        assert features(given).shape == (2, 3)
        wanted = keras.Model(model.inputs, model.get_layer("o").input)(given)
        np.testing.assert_allclose(wanted, features(given) + float(make is graph))
        every = keras.Model(model.inputs, [layer.output for layer in model.layers if layer.name in "ho"])
        assert [tuple(y.shape) for y in every(given)] == [(2, 3), (2, 1)]
        head = keras.Model(model.inputs, layers.Dense(2)(model.get_layer("h").output))
        assert head(given).shape == (2, 2) and len(head.trainable_variables) == 4
    assert [tuple(t.shape) for t in graph().get_layer("c").input] == [(None, 4)] * 2
    model = chain()
    assert [tuple(t.shape) for t in (model.layers[0].input, model.layers[1].input, model.output)] == [
        (None, 4), (None, 3), (None, 1)]
    model.add(layers.Dense(5, name="more"))
    assert tuple(model.get_layer("more").input.shape) == (None, 1) and tuple(model.layers[-1].output.shape) == (None, 5)
    called = keras.Sequential([layers.Dense(3), layers.Dense(1)])
    called(x)
    assert keras.Model(called.inputs, called.layers[0].output)(x).shape == (2, 3)
    with pytest.raises(AttributeError, match="take the layer from a model"):
        layers.Dense(2).input


def test_callbacks_know_the_training_and_metrics_what_they_count():
    class Seen(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.seen = dict(self.params)

    class Own(keras.callbacks.EarlyStopping):
        def on_epoch_end(self, epoch, logs=None):
            super().on_epoch_end(epoch, logs)
    x, y = numbers(10, 3), numbers(10, 2)
    model, seen = small_model("mse", None), Seen()
    model.fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=[seen])
    assert seen.seen == {"epochs": 2, "steps": 3, "verbose": 0}
    model.fit(x, y, validation_split=0.5, verbose=0, callbacks=seen)
    assert seen.seen["steps"] == 1
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
    for data, steps in ((batches, 3), (batches.filter(lambda a, b: True), None)):
        model.fit(data, verbose=0, callbacks=[seen, Own(monitor="loss")])
        assert seen.seen["steps"] == steps
    model.fit(batches.repeat(), steps_per_epoch=2, verbose=0, callbacks=[seen])
    assert seen.seen["steps"] == 2
    mean = keras.metrics.Mean()
    mean.update_state([1.0, 2.0])
    assert float(mean.total) == 3 and float(mean.count) == 2
    with pytest.raises(AttributeError):
        mean.nothing
