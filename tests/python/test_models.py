"""Keras: classes from the tables of options, classes of Python's, and training."""
import inspect
import pickle

import numpy as np
import pytest

import capstan as tf
from capstan import _core

X = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 0).astype(np.float32)


def test_every_class_of_the_tables_is_there():
    places = {"layer": tf.keras.layers, "loss": tf.keras.losses, "metric": tf.keras.metrics,
              "optimizer": tf.keras.optimizers, "schedule": tf.keras.optimizers.schedules,
              "initializer": tf.keras.initializers, "regularizer": tf.keras.regularizers,
              "constraint": tf.keras.constraints, "activation": tf.keras.activations, "callback": tf.keras.callbacks}
    elsewhere = {"Sequential", "Functional", "PythonFunction"}
    for kind, place in places.items():
        for name, _, text, _, can_make, options, _ in _core.classes_of(kind):
            if not can_make or name in elsewhere:
                continue
            made = getattr(place, name)
            assert text in made.__doc__
            if isinstance(made, type) and kind != "layer" and made.__init__.__signature__.parameters:
                assert {o for o, _ in options} <= set(made.__init__.__signature__.parameters)


def test_signatures_are_kerass():
    assert list(inspect.signature(tf.keras.layers.Dense).parameters)[:3] == ["units", "activation", "use_bias"]
    adam = inspect.signature(tf.keras.optimizers.Adam).parameters
    assert list(adam)[:4] == ["learning_rate", "beta_1", "beta_2", "epsilon"] and adam["beta_1"].default == 0.9
    assert list(inspect.signature(tf.keras.layers.MaxPooling2D).parameters)[:3] == ["pool_size", "strides", "padding"]


def test_configurations():
    layer = tf.keras.layers.Dense(4, activation="relu", kernel_regularizer=tf.keras.regularizers.L2(1e-4))
    config = layer.get_config()
    assert config["units"] == 4 and config["activation"] == "relu"
    assert config["kernel_regularizer"]["class_name"] == "L2"
    assert tf.keras.layers.Dense.from_config(config).units == 4
    adam = pickle.loads(pickle.dumps(tf.keras.optimizers.Adam(0.01)))
    assert adam.learning_rate == 0.01


def test_functions_of_python_as_options():
    layer = tf.keras.layers.Dense(
        2, activation=lambda x: x * 3, kernel_initializer=lambda shape, dtype: tf.ones(shape, dtype),
        kernel_regularizer=lambda w: tf.reduce_sum(w), kernel_constraint=lambda w: tf.minimum(w, 0.5))
    assert layer(np.ones((1, 2), np.float32)).numpy().tolist() == [[6, 6]]
    assert layer.losses[0].numpy() == 4

    class Halving(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.5 ** (int(step) + 1)
    v = tf.Variable(0.0)
    sgd = tf.keras.optimizers.SGD(Halving())
    for _ in range(2):
        sgd.apply_gradients([(tf.constant(1.0), v)])
    assert v.numpy() == -0.75


class Block(tf.keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.inner = [tf.keras.layers.Dense(units), tf.keras.layers.Dropout(0.5)]
        self.scale = tf.Variable(1.0, name="scale")

    def build(self, input_shape):
        self.offset = self.add_weight(shape=(self.units,), initializer="zeros", name="offset")

    def call(self, inputs, training=None):
        for layer in self.inner:
            inputs = layer(inputs, training=training)
        return inputs * self.scale + self.offset


class Network(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block(4)
        self.head = tf.keras.layers.Dense(1)

    def call(self, inputs, training=None):
        return self.head(tf.nn.relu(self.block(inputs, training=training)))


def test_classes_of_python():
    model = Network()
    assert model(X, training=False).shape == (64, 1)
    assert [w.name for w in model.trainable_variables] == ["scale", "offset", "kernel", "bias", "kernel", "bias"]
    assert model.layers == [model.block, model.head] and model.block.layers[0] is model.block.inner[0]
    assert (model(X, training=True).numpy() != model(X, training=False).numpy()).any()
    assert model.count_params() == 1 + 4 + 16 + 5
    model.block.trainable = False
    assert len(model.trainable_variables) == 2
    both = tf.keras.Sequential([Block(2), tf.keras.layers.Dense(1)])
    assert both(X).shape == (64, 1) and len(both.trainable_variables) == 6


def test_fit_evaluate_predict():
    tf.random.set_seed(0)
    model = Network()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.05),
                  loss=tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(X, Y, epochs=20, batch_size=16, validation_split=0.25, verbose=0)
    assert history.history["loss"][-1] < 0.6 * history.history["loss"][0] and "val_loss" in history.history
    loss, accuracy = model.evaluate(X, Y, verbose=0)
    assert accuracy > 0.8 and loss < 0.5
    assert model.evaluate(X, Y, verbose=0, return_dict=True)["loss"] == pytest.approx(loss)
    predictions = model.predict(X, verbose=0)
    assert isinstance(predictions, np.ndarray) and predictions.shape == (64, 1)
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
    assert model.evaluate(data, verbose=0)[0] == pytest.approx(loss, rel=1e-5)


def test_own_train_step_and_callbacks():
    seen = []

    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return {"loss": loss, "twice": 2 * loss}

    class Watch(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, logs["twice"] / logs["loss"]))
            if epoch == 1:
                self.model.stop_training = True
    model = Own()
    model.compile(optimizer="sgd", loss="mse")
    model.fit(X, Y, epochs=5, verbose=0, callbacks=[Watch()])
    assert [epoch for epoch, _ in seen] == [0, 1] and seen[0][1] == pytest.approx(2)


def test_progress_goes_to_pythons_stdout(capsys):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(X, Y, epochs=2, verbose=2)
    out = capsys.readouterr().out
    assert "Epoch 1/2" in out and "loss:" in out


def test_functional_models_and_files(tmp_path):
    inputs = tf.keras.Input((3,))
    hidden = tf.keras.layers.Dense(4, activation="tanh")(inputs)
    model = tf.keras.Model(inputs, tf.keras.layers.Add()([hidden, tf.keras.layers.Dense(4)(inputs)]))
    expected = model(X).numpy()
    model.save(str(tmp_path / "model.keras"))
    again = tf.keras.models.load_model(str(tmp_path / "model.keras"))
    np.testing.assert_array_equal(again(X).numpy(), expected)
    model.save_weights(str(tmp_path / "w.weights.h5"))
    model.set_weights([w * 0 for w in model.get_weights()])
    model.load_weights(str(tmp_path / "w.weights.h5"))
    np.testing.assert_array_equal(model(X).numpy(), expected)
    assert tf.keras.models.model_from_json(model.to_json()).count_params() == model.count_params()


def test_losses_and_metrics():
    y, p = np.eye(3, dtype=np.float32), np.full((3, 3), 1 / 3, np.float32)
    assert tf.keras.losses.categorical_crossentropy(y, p).shape == (3,)
    assert tf.keras.losses.CategoricalCrossentropy()(y, p).numpy() == pytest.approx(np.log(3), rel=1e-5)
    assert tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)([0, 1], np.zeros((2, 3), "f4")).numpy() == (
        pytest.approx(np.log(3), rel=1e-5))
    mean = tf.keras.metrics.Mean()
    mean.update_state([1.0, 2.0, 3.0])
    assert mean.result().numpy() == 2
    mean.reset_state()
    assert mean.result().numpy() == 0 and mean.name == "mean"
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="acc")
    assert accuracy([0, 1], [[0.9, 0.1], [0.9, 0.1]]).numpy() == 0.5 and accuracy.name == "acc"

    class Own(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            return tf.abs(y_true - y_pred)
    assert Own()([1.0, 2.0], [2.0, 4.0]).numpy() == 1.5


def test_recurrent_layers_and_masks():
    sequences = np.random.default_rng(1).normal(size=(2, 5, 3)).astype(np.float32)
    result, hidden, cell = tf.keras.layers.LSTM(4, return_state=True)(sequences)
    assert result.shape == hidden.shape == cell.shape == (2, 4)
    assert tf.keras.layers.Bidirectional(tf.keras.layers.GRU(4, return_sequences=True))(sequences).shape == (2, 5, 8)
    attention = tf.keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
    assert attention(sequences, sequences, use_causal_mask=True).shape == (2, 5, 3)
    words = np.array([[1, 2, 0], [3, 0, 0]])
    assert tf.keras.Sequential([tf.keras.layers.Embedding(5, 4, mask_zero=True), tf.keras.layers.LSTM(2)])(
        words).shape == (2, 2)


def test_utilities_for_arrays_and_tensors():
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert isinstance(tf.keras.utils.normalize(rows), np.ndarray)
    assert tf.keras.utils.normalize(rows).tolist() == [[0.6, 0.8], [0, 0]]
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.keras.utils.normalize(x)
    assert y.shape == (2,) and tape.gradient(y, x).numpy().tolist() == pytest.approx([0.032, -0.024], rel=1e-5)
    accuracy = tf.keras.metrics.sparse_categorical_accuracy
    assert accuracy([0.5, 1.0], [[0.75, 0.25], [0.25, 0.75]]).numpy().tolist() == [0, 1]
    with pytest.raises(TypeError, match="complex64 are not supported"):
        tf.keras.losses.MAE(tf.constant([1.0]), tf.constant([1j], tf.complex64))


def test_policies_of_dtypes():
    from capstan.keras import mixed_precision
    assert tf.keras.config.dtype_policy().name == "float32"
    mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        assert mixed_precision.global_policy() == mixed_precision.Policy("mixed_bfloat16")
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, activation="relu"),
                                     tf.keras.layers.Dense(1, dtype="float32")])

        class Twice(tf.keras.layers.Layer):
            def call(self, x):
                return 2 * x
        own = Twice()
        assert own(tf.ones([2])).dtype == tf.bfloat16 and own.dtype_policy.name == "mixed_bfloat16"
        assert Twice.from_config(own.get_config()).compute_dtype == "bfloat16"
        given = tf.keras.layers.Dense(2, dtype=mixed_precision.Policy("float64"))
        assert given.compute_dtype == given.variable_dtype == "float64"
    finally:
        mixed_precision.set_global_policy("float32")
    hidden = model.layers[0]
    assert hidden.compute_dtype == "bfloat16" and hidden.variable_dtype == "float32"
    assert model(tf.ones([3, 4])).dtype == tf.float32
    model.compile("sgd", "mse")
    losses = model.fit(np.ones((32, 4)), np.ones((32, 1)), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert tf.keras.models.clone_model(model).layers[0].compute_dtype == "bfloat16"
    assert tf.keras.layers.Dense(1).compute_dtype == "float32"
    with pytest.raises(ValueError):
        mixed_precision.set_global_policy("mixed_float16")


def test_layers_come_and_go(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((4,))])
    model.add(tf.keras.layers.Dense(3, name="first"))
    model.add(tf.keras.layers.Dense(2, name="last"))
    assert model.output_shape == (None, 2) and len(model.weights) == 4
    kept = model.get_layer("first").get_weights()
    last = model.pop()
    assert last.name == "last" and model.output_shape == (None, 3) and len(model.layers) == 1
    model.add(tf.keras.layers.Dense(5))
    assert model(tf.ones([1, 4])).shape == (1, 5) and model.predict(np.ones((2, 4)), verbose=0).shape == (2, 5)
    assert np.array_equal(kept[0], model.get_layer("first").get_weights()[0])
    model.save(tmp_path / "m.keras")
    for copy in (tf.keras.models.clone_model(model), tf.keras.models.model_from_json(model.to_json()),
                 tf.keras.models.load_model(tmp_path / "m.keras")):
        assert copy.pop().name == model.layers[-1].name and len(copy.layers) == 1
        copy.add(tf.keras.layers.Dense(7))
        assert copy(tf.ones([1, 4])).shape == (1, 7) and len(copy.layers) == 2
    called = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    called(tf.ones([1, 4]))
    called.add(tf.keras.layers.Dense(2))
    assert called(tf.ones([1, 4])).shape == (1, 2)
    with pytest.raises(IndexError):
        tf.keras.Sequential().pop()


def test_configurations_of_objects():
    for module, thing in ((tf.keras.layers, tf.keras.layers.Dense(3, activation="relu")),
                          (tf.keras.losses, tf.keras.losses.Huber(0.5)),
                          (tf.keras.metrics, tf.keras.metrics.Precision(name="p")),
                          (tf.keras.optimizers, tf.keras.optimizers.Adam(0.02)),
                          (tf.keras.initializers, tf.keras.initializers.HeNormal(seed=3)),
                          (tf.keras.regularizers, tf.keras.regularizers.L2(0.25)),
                          (tf.keras.constraints, tf.keras.constraints.MaxNorm(3)),
                          (tf.keras.optimizers.schedules, tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5))):
        config = module.serialize(thing)
        again = module.deserialize(config)
        assert type(again) is type(thing) and again.get_config() == thing.get_config(), config


def test_functions_of_the_backend_of_keras_2():
    K = tf.keras.backend
    x = tf.constant([[1.0, -2.0], [3.0, 4.0]])
    assert K.mean(K.square(x), axis=-1).numpy().tolist() == [2.5, 12.5] and K.int_shape(x) == (2, 2)
    assert K.clip(x, 0, 3).numpy().tolist() == [[1, 0], [3, 3]] and K.ndim(x) == 2 and K.dtype(x) == "float32"
    assert K.get_value(K.sum(K.abs(x))) == 10 and K.max(x).numpy() == 4 and K.epsilon() == 1e-7
    assert np.allclose(K.l2_normalize(x, axis=1).numpy()[1], [0.6, 0.8])
    assert K.binary_crossentropy(tf.constant([0.0, 1.0]), tf.constant([0.5, 0.5])).shape == (2,)
    v = K.variable([1.0, 2.0])
    K.update_add(v, tf.ones([2]))
    K.set_value(v, K.get_value(v) * 2)
    assert v.numpy().tolist() == [4, 6]
    assert K.switch(tf.constant(True), lambda: x, lambda: -x).numpy()[0, 0] == 1
    assert K.switch(x > 0, x, K.zeros_like(x)).numpy().tolist() == [[1, 0], [3, 4]]
    assert K.random_uniform((2, 3)).shape == (2, 3) and K.permute_dimensions(x, (1, 0)).numpy()[0, 1] == 3
    assert K.image_data_format() == "channels_last"


def test_small_helpers():
    rates = tf.keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.5)(np.array([0, 10, 20]))
    np.testing.assert_allclose(rates, [0.5, 0.25, 0.125], rtol=1e-6)
    assert tf.keras.utils.to_categorical([1, 0]).dtype == np.float64
    assert tf.keras.utils.to_categorical(tf.constant([1, 0])).dtype == tf.float32
    count = tf.keras.layers.CategoryEncoding(3, output_mode="count")
    np.testing.assert_allclose(count(tf.constant([[0, 2]]), count_weights=tf.constant([[0.5, 2.0]])), [[0.5, 0, 2]])
    assert tf.linspace(-2, 2, 3).dtype == tf.float64 and tf.dtypes.string == tf.string
    triple = tf.py_function(Tout=tf.float32)(lambda x: x * 3)
    assert triple(tf.constant(2.0)).numpy() == 6
