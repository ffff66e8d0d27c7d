"""What Keras's guides to training do: steps, losses and metrics of one's own, models of several outputs, logs."""
import numpy as np
import pytest

import capstan as tf

keras = tf.keras
layers = keras.layers
RNG = np.random.default_rng(0)
X = RNG.random((96, 8)).astype(np.float32)
Y = RNG.integers(0, 3, 96).astype(np.float32)
Z = RNG.random((96, 1)).astype(np.float32)


def classifier():
    inputs = keras.Input(shape=(8,), name="digits")
    hidden = layers.Dense(8, activation="relu", name="hidden")(inputs)
    return keras.Model(inputs, layers.Dense(3, activation="softmax", name="predictions")(hidden))


class Stepwise(keras.Model):
    """The guide's train_step and test_step."""

    def step(self, data, training):
        x, y, *weight = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=training)
            loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=weight[0] if weight else None)
        if training:
            variables = self.trainable_variables
            self.optimizer.apply(tape.gradient(loss, variables), variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred, sample_weight=weight[0] if weight else None)
        return {m.name: m.result() for m in self.metrics}

    def train_step(self, data):
        return self.step(data, True)

    def test_step(self, data):
        return self.step(data, False)


def pair_of_models():
    """One with the library's steps, one with those of the guide, with the same weights."""
    models = []
    for cls in (keras.Model, Stepwise):
        inputs = keras.Input(shape=(8,))
        model = cls(inputs, layers.Dense(1)(inputs))
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])
        models.append(model)
    models[1].set_weights(models[0].get_weights())
    return models


@pytest.mark.parametrize("weight", [None, Z[:, 0]])
def test_steps_of_ones_own_in_a_functional_model(weight):
    plain, own = pair_of_models()
    want = plain.fit(X, Z, sample_weight=weight, epochs=3, verbose=0, shuffle=False).history
    got = own.fit(X, Z, sample_weight=weight, epochs=3, verbose=0, shuffle=False).history
    assert got["loss"] == pytest.approx(want["loss"], rel=1e-5)
    assert [layer.name for layer in own.layers] != [] and own.predict(X[:2], verbose=0).shape == (2, 1)
    np.testing.assert_allclose(own.get_weights()[0], plain.get_weights()[0], rtol=1e-5)
    if weight is None:
        assert got["mae"] == pytest.approx(want["mae"], rel=1e-5)
        assert own.evaluate(X, Z, verbose=0) == pytest.approx(plain.evaluate(X, Z, verbose=0), rel=1e-5)


def test_metrics_of_the_class_begin_anew_with_each_epoch():
    class Tracked(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)
            self.tracker = keras.metrics.Sum(name="examples")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            self.tracker.update_state(tf.ones((tf.shape(data[0])[0],)))
            return {"examples": self.tracker.result()}

        @property
        def metrics(self):
            return [self.tracker]

    model = Tracked()
    model.compile()
    assert model.fit(X, Z, epochs=3, verbose=0).history == {"examples": [96, 96, 96]}


def test_loss_metrics_and_prediction_may_be_overridden():
    class Doubled(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
            return 2 * super().compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)

        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            return {**super().compute_metrics(x, y, y_pred, sample_weight), "two": tf.constant(2.0)}

        def predict_step(self, data):
            return super().predict_step(data) * 0

        def train_step(self, data):
            return super().train_step(data)

    model = Doubled()
    model.compile("sgd", "mse", metrics=["mse"])
    history = model.fit(X, Z, epochs=1, batch_size=96, verbose=0).history
    assert history["loss"][0] == pytest.approx(2 * history["mse"][0], rel=1e-5) and history["two"] == [2]
    assert not model.predict(X, verbose=0).any() and model.metrics_names == ["loss", "mse"]


def test_a_model_whose_steps_use_its_parts_needs_no_call():
    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.critic = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
            self.tracker = keras.metrics.Mean(name="d_loss")

        def compile(self, d_optimizer, loss_fn):
            super().compile()
            self.d_optimizer, self.loss_fn = d_optimizer, loss_fn

        def train_step(self, real):
            with tf.GradientTape() as tape:
                loss = self.loss_fn(tf.ones((tf.shape(real)[0], 1)), self.critic(real))
            weights = self.critic.trainable_weights
            self.d_optimizer.apply(tape.gradient(loss, weights), weights)
            self.tracker.update_state(loss)
            return {"d_loss": self.tracker.result()}

    gan = Gan()
    gan.compile(keras.optimizers.Adam(0.1), keras.losses.BinaryCrossentropy(from_logits=True))
    losses = gan.fit(X, epochs=3, verbose=0).history["d_loss"]
    assert losses[2] < losses[0]
    with pytest.raises(NotImplementedError, match="Gan: a model needs a method `call`"):
        gan(X)


def test_metrics_of_classes_of_ones_own():
    class TruePositives(keras.metrics.Metric):
        def __init__(self, name="hits", **kwargs):
            super().__init__(name=name, **kwargs)
            self.hits = self.add_weight(name="hits", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            hits = tf.cast(tf.cast(y_true, "int64") == tf.argmax(y_pred, axis=1), "float32")
            self.hits.assign_add(tf.reduce_sum(hits))

        def result(self):
            return self.hits.value  # a property in Keras

        def reset_state(self):
            self.hits.assign(0.0)

    model = classifier()
    model.compile(keras.optimizers.RMSprop(1e-3), "sparse_categorical_crossentropy",
                  metrics=[TruePositives(), "accuracy"])
    history = model.fit(X, Y, batch_size=32, epochs=2, verbose=0).history
    assert history["hits"] == pytest.approx([96 * a for a in history["accuracy"]], rel=1e-5)


def test_losses_weights_and_metrics_by_the_names_of_outputs():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    hidden = layers.concatenate([layers.Dense(4)(a), layers.Dense(4)(b)])
    model = keras.Model([a, b], [layers.Dense(1, name="score")(hidden), layers.Dense(3, name="cls")(hidden)])
    targets = {"score": Z, "cls": np.eye(3, dtype=np.float32)[Y.astype(int)]}
    losses = {"score": keras.losses.MeanSquaredError(), "cls": keras.losses.CategoricalCrossentropy(from_logits=True)}
    model.compile("sgd", loss=losses, loss_weights={"score": 2.0, "cls": 1.0},
                  metrics={"score": ["mae"], "cls": [keras.metrics.CategoricalAccuracy()]})
    values = model.evaluate({"a": X, "b": X}, targets, verbose=0, return_dict=True)
    assert sorted(values) == ["cls_categorical_accuracy", "cls_loss", "loss", "score_loss", "score_mae"]
    assert values["loss"] == pytest.approx(2 * values["score_loss"] + values["cls_loss"], rel=1e-5)
    model.compile("sgd", loss=list(losses.values()), loss_weights=[2.0, 1.0], metrics=[["mae"], ["accuracy"]])
    again = model.evaluate([X, X], list(targets.values()), verbose=0, return_dict=True)
    assert again["loss"] == pytest.approx(values["loss"], rel=1e-5)


def test_layers_that_take_several_tensors():
    class Endpoint(layers.Layer):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

        def call(self, targets, logits, scale=None):
            self.add_loss(self.loss_fn(targets, logits))
            return tf.nn.softmax(logits) if scale is None else tf.nn.softmax(logits) * scale

    inputs, targets = keras.Input((8,), name="inputs"), keras.Input((3,), name="targets")
    logits = layers.Dense(3)(inputs)
    model = keras.Model([inputs, targets], Endpoint(name="predictions")(targets, logits, scale=logits))
    model.compile("adam")
    data = {"inputs": X, "targets": np.eye(3, dtype=np.float32)[Y.astype(int)]}
    assert model.fit(data, epochs=2, verbose=0).history["loss"][1] > 0
    assert Endpoint()(tf.constant([[0.0, 1.0]]), tf.constant([[1.0, 2.0]])).shape == (1, 2)
    with pytest.raises(TypeError, match="arguments of a call are tensors"):
        Endpoint()(targets, logits, scale=3.0)
    layer = Endpoint()
    layer(targets, logits)
    with pytest.raises(ValueError, match="must have the same arguments"):
        layer(targets, logits, scale=logits)


def test_hooks_of_callbacks(capsys):
    calls = []

    class Noted(keras.callbacks.Callback):
        def __getattribute__(self, name):
            if not name.startswith("on_"):
                return super().__getattribute__(name)
            return lambda *args: calls.append((name[3:], sorted(args[-1])))

    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(X, Y, batch_size=96, verbose=0, callbacks=[Noted()])
    model.evaluate(X, Y, batch_size=96, verbose=0, callbacks=[Noted()])
    model.predict(X, batch_size=96, verbose=0, callbacks=[Noted()])
    assert calls == [("train_begin", []), ("epoch_begin", []), ("train_batch_begin", []),
                     ("train_batch_end", ["loss"]), ("epoch_end", ["loss"]), ("train_end", ["loss"]),
                     ("test_begin", []), ("test_batch_begin", []), ("test_batch_end", ["loss"]), ("test_end", ["loss"]),
                     ("predict_begin", []), ("predict_batch_begin", []), ("predict_batch_end", ["outputs"]),
                     ("predict_end", [])]
    bar = keras.utils.Progbar(2)
    bar.update(1, [("loss", 0.5)])
    bar.add(1, [("loss", 0.25)])
    assert "2/2" in capsys.readouterr().out


def test_batches_by_number_and_rates_of_schedules():
    class Batches(keras.utils.PyDataset):
        ended = 0

        def __len__(self):
            return 3

        def __getitem__(self, index):
            return X[index * 32:index * 32 + 32], Y[index * 32:index * 32 + 32]

        def on_epoch_end(self):
            self.ended += 1

    batches, model = Batches(), classifier()
    rate = keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)
    model.compile(keras.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    assert float(model.optimizer.learning_rate) == 0.5
    assert len(model.fit(batches, epochs=2, verbose=0).history["loss"]) == 2 and batches.ended == 2
    assert float(model.optimizer.learning_rate) == pytest.approx(0.5 * 0.5**6)


def test_what_inner_layers_give():
    model = classifier()
    features = keras.Model(model.input, model.layers[-2].output)
    assert features(X[:2]).shape == (2, 8)
    assert keras.Model(model.inputs, model.get_layer("hidden").output)(X).shape == (96, 8)
    assert model.input_shape == (None, 8) and model.output_shape == (None, 3) and model.output.shape == (None, 3)
    with pytest.raises(AttributeError, match="take the layer from a model"):
        layers.Dense(2).output


def test_ops_between_layers_are_layers():
    inputs = keras.Input((4,))
    halves = tf.split(inputs, 2, axis=1)
    shift = tf.Variable([1.0, 2.0])
    hidden = tf.nn.relu(tf.reshape(inputs, (-1, 2, 2)) - 0.5)
    outputs = {"sum": halves[0] + halves[1] * shift, "rows": hidden @ tf.ones((2, 3)), "part": inputs[:, 1:3] / 2,
               "large": inputs > 0.5, "all": tf.concat([inputs, layers.Dense(2)(inputs) ** 2], -1)}
    model, x = keras.Model(inputs, outputs), X[:5, :4]
    found = model(x)
    np.testing.assert_allclose(found["sum"], x[:, :2] + x[:, 2:] * [1, 2], rtol=1e-6)
    np.testing.assert_allclose(found["rows"], np.maximum(x.reshape(5, 2, 2) - 0.5, 0) @ np.ones((2, 3)), rtol=1e-5)
    np.testing.assert_allclose(found["part"], x[:, 1:3] / 2)
    assert (found["large"].numpy() == (x > 0.5)).all() and outputs["all"].shape == (None, 6)
    shift.assign([0.0, 0.0])
    np.testing.assert_allclose(tf.function(lambda a: model(a))(x[:2])["sum"], x[:2, :2])
    assert repr(inputs) == "<KerasTensor shape=(None, 4), dtype=float32>"
    assert [layer.name.split("_")[0] for layer in keras.Model(inputs, inputs - 1).layers][1:] == ["subtract"]
    residual = keras.Model(inputs, layers.Dense(1)(inputs + layers.Dense(4)(inputs)))
    residual.compile("sgd", "mse")
    assert len(residual.fit(X[:, :4], Z, epochs=2, verbose=0).history["loss"]) == 2 and len(residual.weights) == 4
    wide = keras.Input((2,), dtype="float64")
    assert keras.Model(wide, wide * 3)(np.ones((1, 2))).dtype == tf.float64


@pytest.mark.parametrize("read", [bool, float, int, len, list, np.array, lambda x: x.numpy(),
                                  lambda x: tf.ones((2, 3))[:x[0, 0]], lambda x: tf.reshape(x, (tf.shape(x)[0], 4))])
def test_values_of_functional_models_cannot_be_read(read):
    with pytest.raises((TypeError, ValueError, BufferError)):
        read(keras.Input((4,)))


def test_regression():
    column = X[:, 0]
    normalizer = layers.Normalization(input_shape=[1], axis=None)
    normalizer.adapt(column)
    model = keras.Sequential([normalizer, layers.Dense(1)])
    assert model.predict(column[:10], verbose=0).shape == (10, 1)  # vectors become columns
    model.compile(keras.optimizers.Adam(0.1), "mean_absolute_error")
    losses = model.fit(column, 3 * column + 1, epochs=20, verbose=0, validation_split=0.2).history["val_loss"]
    assert losses[-1] < losses[0] / 3
    features = layers.Normalization()
    features.adapt(tf.data.Dataset.from_tensor_slices(X).batch(32))
    np.testing.assert_allclose(features(X), (X - X.mean(0)) / X.std(0), rtol=1e-4, atol=1e-5)
    with pytest.raises(AttributeError, match="Dense has no adapt"):
        layers.Dense(1).adapt(X)


def test_parts_of_other_tutorials():
    model = keras.Sequential()
    model.add(layers.Dense(32, use_bias=False, input_shape=(10,)))
    assert model.output_shape == (None, 32) and model.input_shape == (None, 10)
    model.add(layers.Reshape((4, 4, 2)))
    assert model.output_shape == (None, 4, 4, 2) and model(tf.ones((3, 10))).shape == (3, 4, 4, 2)
    with pytest.raises(AttributeError, match="shape of the input is not known"):
        keras.Sequential([layers.Dense(1)]).output_shape  # noqa: B018
    cell = layers.LSTMCell(4)
    y, states = cell(tf.ones((2, 3)), states=[tf.zeros((2, 4)), tf.zeros((2, 4))])
    again, _ = cell(y[:, :3], states)
    assert y.shape == again.shape == (2, 4) and len(states) == 2
    attention = layers.MultiHeadAttention(num_heads=2, key_dim=3)
    found, scores = attention(query=tf.ones((1, 2, 4)), value=tf.ones((1, 5, 4)), return_attention_scores=True)
    assert found.shape == (1, 2, 4) and scores.shape == (1, 2, 2, 5)
    bias = layers.Dense(2, bias_initializer=keras.initializers.Constant(np.log([0.5, 2.0])))
    bias.build((None, 3))
    np.testing.assert_allclose(bias.bias, np.log([0.5, 2.0]), rtol=1e-6)
    positions = tf.constant(np.arange(12.0).reshape(4, 3))

    @tf.function(reduce_retracing=True)
    def beginning(x):
        return x + positions[tf.newaxis, :tf.shape(x)[1], :]
    for length in (3, 2):
        assert beginning(tf.zeros((2, length, 3), tf.float64)).shape == (2, length, 3)


def test_masks_of_classes_of_ones_own():
    class Halves(layers.Layer):
        def call(self, inputs):
            return tf.split(inputs, 2, axis=1)

        def compute_mask(self, inputs, mask=None):
            return None if mask is None else tf.split(mask, 2, axis=1)

    class Words(layers.Layer):
        def build(self, input_shape):
            self.table = self.add_weight(shape=(10, 4), initializer="random_normal")

        def call(self, inputs):
            return tf.nn.embedding_lookup(self.table, inputs)

        def compute_mask(self, inputs, mask=None):
            return tf.not_equal(inputs, 0)

    class Pass(layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, inputs):
            return inputs * 2

    class Weighted(layers.Layer):
        def call(self, inputs, mask=None):
            kept = tf.cast(mask, "float32")[:, :, tf.newaxis]
            return tf.reduce_sum(inputs * kept, axis=1) / tf.reduce_sum(kept, axis=1)

    words = np.array([[1, 2, 0, 0], [3, 0, 0, 0]], np.int32)
    inputs = keras.Input((None,), dtype="int32")
    table = Words()
    model = keras.Model(inputs, Weighted()(Pass()(table(inputs))))
    rows = 2 * table.table.numpy()
    np.testing.assert_allclose(model(words), [(rows[1] + rows[2]) / 2, rows[3]], rtol=1e-5)
    first, second = Halves()(table(words))
    assert Weighted()(first).shape == (2, 4) and not np.isfinite(Weighted()(second).numpy()).any()
    embedding = layers.Embedding(10, 4, mask_zero=True)
    embedding(words)
    assert embedding.compute_mask(words).numpy().tolist() == (words != 0).tolist()
    assert layers.Dense(2).compute_mask(tf.ones((1, 3)), None) is None


def test_cells_of_ones_own_and_states():
    class Cell(layers.Layer):
        def __init__(self, units, **kwargs):
            self.units = self.state_size = self.output_size = units
            super().__init__(**kwargs)

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
            self.r = self.add_weight(shape=(self.units, self.units), name="recurrent")

        def call(self, inputs, states):
            output = tf.tanh(inputs @ self.w + states[0] @ self.r)
            return output, [output]

    cell = Cell(4)
    steps = RNG.random((2, 5, 3)).astype(np.float32)
    found = layers.RNN(cell, return_sequences=True)(steps)
    plain = layers.SimpleRNN(4, return_sequences=True, use_bias=False)
    plain.build((None, 5, 3))
    plain.set_weights(cell.get_weights())
    np.testing.assert_allclose(found, plain(steps), rtol=1e-5)
    inputs = keras.Input((5, 3))
    model = keras.Model(inputs, layers.RNN(Cell(2))(inputs))
    model.compile("sgd", "mse")
    assert len(model.fit(steps, np.ones((2, 2), np.float32), epochs=2, verbose=0).history["loss"]) == 2
    with pytest.raises(ValueError, match="is no cell"):
        layers.RNN(layers.Lambda(lambda x: x))(steps)
    stateful = layers.LSTM(4, stateful=True)
    one, two = stateful(steps).numpy(), stateful(steps).numpy()
    stateful.reset_state()
    assert (one != two).any() and (stateful(steps).numpy() == one).all()
    stack = keras.Sequential()
    for layer in (keras.Input((5, 3)), layers.Bidirectional(layers.LSTM(2)), layers.Dense(1)):
        stack.add(layer)
    assert stack.count_params() == 101 and stack.output_shape == (None, 1) and len(stack.weights) == 8
    assert layers.TimeDistributed(Twice())(steps).numpy().tolist() == (2 * steps).tolist()


class Twice(layers.Layer):
    def call(self, inputs):
        return inputs * 2


def test_transfer_learning():
    applications = keras.applications
    base = applications.MobileNetV2(input_shape=(32, 32, 3), include_top=False, weights=None, alpha=0.35)
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    hidden = base(applications.mobilenet_v2.preprocess_input(inputs), training=False)
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling2D()(hidden)))
    assert len(model.trainable_variables) == 2 and base.name == "mobilenetv2_0.35_32" and len(base.layers) == 154
    base.trainable = True
    for layer in base.layers[:100]:
        layer.trainable = False
    assert len(model.trainable_variables) == 56
    images = np.full((1, 32, 32, 3), 255, np.float32)
    assert model(images).shape == (1, 1)
    assert applications.mobilenet_v2.preprocess_input(images).max() == 1
    assert keras.Model(base.input, base.get_layer("block_3_expand_relu").output).output_shape == (None, 8, 8, 48)
    with pytest.raises(ValueError, match="weights of ImageNet are not downloaded"):
        applications.VGG16()
    with pytest.raises(ValueError, match="have 1000 classes, not 10"):
        applications.ResNet50(classes=10)


def test_draws_of_keras():
    generator = keras.random.SeedGenerator(7)
    a, b = (keras.random.normal((4,), seed=generator).numpy() for _ in range(2))
    again = keras.random.normal((4,), seed=keras.random.SeedGenerator(7)).numpy()
    assert (a == again).all() and (a != b).any() and (keras.random.uniform((5,), 2, 3).numpy() >= 2).all()
    assert keras.random.randint((5,), 0, 3).dtype == tf.int32
    rows = keras.random.shuffle(tf.constant([[1, 2, 3], [4, 5, 6]]), axis=1, seed=3).numpy()
    assert sorted(rows[0]) == [1, 2, 3] and (rows[1] - rows[0] == 3).all()
    assert set(np.unique(keras.random.dropout(tf.ones((50,)), 0.5).numpy())) <= {0, 2}


def test_logs_of_a_loop(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    assert not tf.summary.scalar("loss", 1.0, step=1)
    with writer.as_default():
        assert tf.summary.scalar("loss", tf.constant(0.5), step=1)
        assert tf.summary.histogram("weights", X, step=1) and tf.summary.text("notes", ["a", "b"], step=1)
        assert tf.summary.image("images", np.zeros((1, 4, 4, 3), np.float32), step=1)
        with pytest.raises(ValueError, match="no step is set"):
            tf.summary.scalar("loss", 1.0)
        with tf.summary.record_if(lambda: False):
            assert not tf.summary.scalar("loss", 1.0, step=2)
    with writer.as_default(step=3):
        assert tf.summary.experimental.get_step() == 3 and tf.summary.scalar("later", 1.0)
    assert tf.summary.experimental.get_step() is None
    writer.close()
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    assert all(name in data for name in (b"loss", b"weights", b"notes", b"images", b"later"))
