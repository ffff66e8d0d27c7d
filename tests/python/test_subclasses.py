"""Classes of one's own that derive from the library's, options as attributes, and callbacks in a loop of one's own. What would
not take effect is an error."""
import numpy as np
import pytest

import capstan as tf

keras = tf.keras
layers = keras.layers
X, Y = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")


class Scaled(layers.Dense):
    def __init__(self, units, scale=2.0, **kwargs):
        super().__init__(units, **kwargs)
        self.scale = scale

    def call(self, x):
        return super().call(x) * self.scale

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


class Placed(layers.Embedding):
    """With a layer and a weight of its own."""

    def __init__(self, words, width):
        super().__init__(words, width)
        self.places = layers.Embedding(3, width, embeddings_initializer="ones")

    def build(self, shape):
        super().build(shape)
        self.shift = self.add_weight(shape=(1,), initializer="ones", name="shift")

    def call(self, ids):
        return super().call(ids) + self.places(tf.range(3)) + self.shift


def test_layers(tmp_path):
    layer = Scaled(3, scale=3.0, kernel_initializer="ones")
    assert layer(tf.ones([2, 2])).numpy().tolist() == [[6.0] * 3] * 2
    assert (layer.units, layer.kernel.shape, len(layer.weights), layer.count_params()) == (3, (2, 3), 2, 9)
    assert layer.name.startswith("scaled")
    model = keras.Sequential([layers.Input((2,)), layer, layers.Dense(1)])
    model.compile("sgd", "mse")
    before = layer.get_weights()[0]
    model.fit(X, Y, verbose=0)
    assert not np.allclose(before, layer.get_weights()[0])
    model.save(tmp_path / "model.keras")
    read = keras.models.load_model(tmp_path / "model.keras", custom_objects={"Scaled": Scaled})
    assert np.array_equal(read.predict(X, verbose=0), model.predict(X, verbose=0)) and read.layers[-2].scale == 3.0
    wrapped = layers.TimeDistributed(Scaled(1, kernel_initializer="ones"))
    assert wrapped(tf.ones([1, 4, 2])).numpy().ravel().tolist() == [4.0] * 4
    traced = tf.function(lambda x: layer(x))
    assert np.allclose(traced(X), layer(X))

    placed = Placed(5, 2)
    rows = placed(tf.constant([[1, 2, 4]]))
    assert rows.shape == (1, 3, 2) and len(placed.trainable_variables) == 3
    table = placed.get_weights()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(placed(tf.constant([[1, 2, 4]])))
    gradients = tape.gradient(loss, placed.trainable_variables)
    assert len(table) == 3 and all(g is not None for g in gradients)


class PlainDense(layers.Dense):
    """Other options are all that differs."""

    def __init__(self, units):
        super().__init__(units, use_bias=False)


def test_classes_that_only_choose_options():
    layer = PlainDense(3)
    layer(tf.ones([1, 2]))
    assert len(layer.weights) == 1 and not layer.use_bias


class Halved(keras.optimizers.schedules.ExponentialDecay):
    def __call__(self, step):
        return super().__call__(step) / 2


class Sevens(keras.initializers.RandomNormal):
    def __call__(self, shape, dtype=None):
        return super().__call__(shape, dtype) * 0 + 7.0


class Tripled(keras.losses.MeanSquaredError):
    def call(self, y_true, y_pred):
        return super().call(y_true, y_pred) * 3


class Doubled(keras.metrics.MeanSquaredError):
    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(y_true, y_pred + 1.0, sample_weight)


class Adam(keras.optimizers.Adam):
    def __init__(self, rate=0.25):
        super().__init__(learning_rate=rate)


class Doubling(keras.optimizers.SGD):
    def apply_gradients(self, pairs, name=None):
        return super().apply_gradients([(g * 2, v) for g, v in pairs])


def test_what_models_are_trained_with():
    assert float(keras.optimizers.SGD(Halved(0.5, 2, 0.5)).learning_rate) == 0.25
    assert layers.Dense(1, kernel_initializer=Sevens())(tf.ones([1, 2])).numpy().tolist() == [[14.0]]
    assert float(Tripled()(tf.ones([2, 2]), tf.zeros([2, 2]))) == 3.0
    assert float(Adam().learning_rate) == 0.25 and Adam().beta_1 == 0.9
    metric = Doubled(name="doubled")
    metric.update_state(tf.constant([[1.0]]), tf.constant([[1.0]]))
    assert float(metric.result()) == 1.0 and len(metric.variables) == 2
    metric.reset_state()
    assert float(metric.result()) == 0.0
    model = keras.Sequential([layers.Dense(1, kernel_initializer="zeros")])
    model.compile("sgd", Tripled(), metrics=[metric, "mse"])
    logs = model.evaluate(X, Y, verbose=0, return_dict=True)
    assert logs == {"loss": 3.0, "doubled": 0.0, "mse": 1.0}  # a prediction of 0 becomes 1, the label
    variable = tf.Variable(1.0)
    Doubling(0.25).apply_gradients([(tf.constant(1.0), variable)])
    assert variable.numpy() == 0.5
    with pytest.raises(ValueError, match="would not call apply_gradients"):
        model.compile(Doubling(), "mse")
    with pytest.raises(NotImplementedError, match="derives from one of the library's"):
        type("Own", (keras.optimizers.Optimizer,), {})(name="own")


class Counting(keras.callbacks.EarlyStopping):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.ends = 0

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.ends += 1


def test_callbacks(tmp_path):
    model = keras.Sequential([layers.Input((2,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    # No step improves by 10: the second epoch is the last.
    stopping = Counting(monitor="loss", min_delta=10.0, patience=1)
    history = model.fit(X, Y, epochs=9, verbose=0, callbacks=[stopping, recorded := keras.callbacks.History()])
    assert (stopping.ends, stopping.stopped_epoch, history.epoch) == (2, 1, [0, 1])
    assert recorded.history == history.history and recorded.epoch == [0, 1]
    plain = keras.callbacks.EarlyStopping(monitor="loss", min_delta=10.0, patience=1)
    model.fit(X, Y, epochs=9, verbose=0, callbacks=[plain])
    assert (plain.stopped_epoch, plain.best_epoch, plain.wait, plain.patience, plain.monitor) == (1, 0, 1, 1, "loss")
    written = keras.callbacks.ModelCheckpoint(str(tmp_path / "best.weights.h5"), "loss", save_best_only=True,
                                              save_weights_only=True)
    history = model.fit(X, Y, verbose=0, callbacks=[written])
    assert written.best == history.history["loss"][0] and written.monitor == "loss" and written.verbose == 0

    stopping = keras.callbacks.EarlyStopping(monitor="loss", patience=2, start_from_epoch=1)
    slower = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1)
    model.stop_training = False
    listed = keras.callbacks.CallbackList([stopping, slower], add_history=True, model=model, epochs=9)
    listed.on_train_begin()
    rates, losses = [], [9.0, 3.0, 2.0, 2.5, 2.5, 2.5]
    for epoch, loss in enumerate(losses):
        listed.on_epoch_begin(epoch)
        listed.on_train_batch_begin(0)
        listed.on_train_batch_end(0, {"loss": loss})
        listed.on_epoch_end(epoch, {"loss": tf.constant(loss)})
        rates.append(float(model.optimizer.learning_rate))
        if model.stop_training:
            break
    listed.on_train_end()
    assert (stopping.stopped_epoch, stopping.best, stopping.best_epoch) == (4, 2.0, 2)
    assert np.allclose(rates, [0.01, 0.01, 0.01, 0.005, 0.0025])
    kept = listed.callbacks[-1]
    assert kept.epoch == [0, 1, 2, 3, 4] and kept.history["loss"] == losses[:5] and len(kept.history["learning_rate"]) == 5
    with pytest.raises(ValueError, match="set_model"):
        keras.callbacks.EarlyStopping().on_train_begin()


def test_options_are_attributes():
    optimizer = keras.optimizers.SGD(0.5, momentum=0.25, clipnorm=1.0)
    assert (optimizer.momentum, optimizer.nesterov, optimizer.clipnorm, optimizer.use_ema) == (0.25, False, 1.0, False)
    rate = optimizer.learning_rate
    assert rate == 0.5 and rate.numpy() == np.float32(0.5) and float(rate.assign(0.125)) == 0.125
    assert optimizer.learning_rate == 0.125
    assert keras.regularizers.L2(0.5).l2 == 0.5 and keras.losses.MeanSquaredError().reduction == "sum_over_batch_size"
    assert keras.optimizers.schedules.CosineDecay(0.5, 4).decay_steps == 4
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        optimizer.speed
    for change in (lambda: setattr(optimizer, "momentum", 0.5),
                   lambda: setattr(keras.callbacks.EarlyStopping(), "patience", 3),
                   lambda: setattr(keras.losses.Huber(), "delta", 2.0)):
        with pytest.raises(AttributeError, match="fixed when the object is made"):
            change()


def test_averages_of_an_optimizer():
    variable = tf.Variable([4.0])
    optimizer = keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    with pytest.raises(ValueError, match="takes all 1 variables"):
        optimizer.finalize_variable_values([])
    optimizer.finalize_variable_values([variable])
    # As in Keras: after the first update the average is the variable, 3, after the second 0.5 * 3 + 0.5 * 2.
    assert variable.numpy().tolist() == [2.5]
    values = [v.numpy() for v in optimizer.variables]
    optimizer.set_weights(values)
    with pytest.raises(ValueError, match="set_weights"):
        optimizer.set_weights(values[1:])
    assert float(keras.optimizers.SGD(loss_scale_factor=4.0).scale_loss(tf.constant(2.0))) == 8.0


def test_options_that_a_layer_reads_at_every_call():
    model = keras.Sequential([layers.Dense(3, activation="softmax")])
    x = tf.constant([[1.0, 2.0]])
    probabilities = model(x).numpy()
    model.layers[-1].activation = None
    scores = model(x).numpy()
    assert np.allclose(tf.nn.softmax(scores), probabilities) and not np.allclose(scores, probabilities)
    model.layers[-1].activation = tf.nn.softmax
    assert np.allclose(model(x), probabilities)
    dropout = layers.Dropout(0.5)
    dropout.rate = 0.0
    assert dropout(x, training=True).numpy().tolist() == x.numpy().tolist() and dropout.get_config()["rate"] == 0.0
    norm = layers.BatchNormalization()
    norm.momentum = 0.5
    norm(tf.ones([4, 1]), training=True)
    assert norm.moving_mean.numpy().tolist() == [0.5]
    with pytest.raises(ValueError, match="at most 1"):
        dropout.rate = 2.0
    assert dropout.rate == 0.0
    for layer, option, value in ((layers.LSTM(2), "return_sequences", True), (layers.Dense(2), "units", 3),
                                 (layers.Dense(2), "kernel_regularizer", "l2")):
        with pytest.raises(ValueError, match="fixed when the layer is made"):
            setattr(layer, option, value)


def test_defaults_of_keras_may_be_given():
    assert layers.Conv1D(2, 3, data_format=None, dtype=None, name=None)(tf.ones([1, 5, 1])).shape == (1, 3, 2)
    assert layers.Dense(2, lora_rank=None, quantization_config=None)(tf.ones([1, 2])).shape == (1, 2)
    assert layers.LSTM(2, use_cudnn="auto")(tf.ones([1, 2, 3])).shape == (1, 2)
    assert keras.metrics.MeanIoU(2, dtype=None).num_classes == 2
    with pytest.raises(ValueError, match="lora_rank=3 is not supported"):
        layers.Dense(2, lora_rank=3)
    table = np.arange(6.0).reshape(3, 2)
    assert layers.Embedding(3, 2, weights=[table])(tf.constant([2])).numpy().tolist() == [[4.0, 5.0]]
    with pytest.raises(ValueError, match=r"\[3, 2\]"):
        layers.Embedding(3, 2, weights=[table[:2]])


def test_shapes_without_inputs():
    assert layers.Conv1D(2, 3).compute_output_shape((None, None, 3)) == (None, None, 2)
    assert layers.Conv1D(2, 3).compute_output_shape((4, 9, 3)) == (4, 7, 2)
    assert layers.Concatenate().compute_output_shape([(None, 2, 3), (None, 2, 4)]) == (None, 2, 7)
    shapes = layers.LSTM(3, return_state=True, return_sequences=True).compute_output_shape((None, None, 4))
    assert [tuple(s) for s in shapes] == [(None, None, 3), (None, 3), (None, 3)]


def test_what_a_model_was_compiled_with_can_be_set():
    model = keras.Sequential([layers.Input((2,)), layers.Dense(1, kernel_initializer="zeros")])
    model.optimizer = None  # before compile() an attribute as any other
    model.compile("sgd", "mse", metrics=["mae"])
    model.optimizer = keras.optimizers.SGD(0.0)
    model.fit(X, Y, verbose=0)
    assert model.get_weights()[0].tolist() == [[0.0], [0.0]]
    model.loss = "mae"
    assert model.evaluate(X, 3 * Y, verbose=0, return_dict=True) == {"loss": 3.0, "mae": 3.0}
    calls = []
    seen = keras.Sequential([layers.Input((2,)), layers.Lambda(lambda x: calls.append(1) or x)])
    seen.compile("sgd", "mse")
    seen.run_eagerly = True
    calls.clear()
    seen.evaluate(X, X, batch_size=2, verbose=0)
    assert len(calls) >= 4  # one for each batch; a trace would be one in all
    seen.loss_weights = "an attribute of the program's own"
    assert len(seen.evaluate(X, X, verbose=0, return_dict=True)) == 1
    norm = layers.BatchNormalization()
    norm(tf.ones([1, 2]))
    with pytest.raises(AttributeError, match="'moving_mean' is a weight"):
        norm.moving_mean = tf.ones([2])


class Batches(keras.callbacks.Callback):
    """What each step was given."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def on_epoch_begin(self, epoch, logs=None):
        self.counts.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.counts[-1] += 1


def test_steps_of_epochs():
    x = np.arange(16.0, dtype="float32").reshape(16, 1)
    model = keras.Sequential([layers.Input((1,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    weights = model.get_weights()
    # Two batches, two steps: each epoch has both. Keras's mean of the losses, too, is that of all examples.
    for batch_size, steps, epochs, counts in ((8, 2, 3, [2, 2, 2]), (8, 1, 4, [1, 1, 1, 1]), (4, 3, 3, [3, 1, 3]), (None, 4, 2, [4, 4]),
                                              (None, 3, 2, [3, 3]), (None, None, 1, [1]), (64, 2, 2, [1, 1])):
        seen = Batches()
        history = model.fit(x, x, batch_size=batch_size, steps_per_epoch=steps, epochs=epochs, shuffle=False, verbose=0, callbacks=[seen])
        assert seen.counts == counts, (batch_size, steps)
    predictions = x * weights[0][0, 0] + weights[1][0]
    halves = [float(np.mean((predictions - x)[part] ** 2)) for part in (slice(0, 8), slice(8, 16))]
    history = model.fit(x, x, batch_size=8, steps_per_epoch=1, epochs=4, shuffle=False, verbose=0)
    assert np.allclose(history.history["loss"], halves * 2, rtol=1e-5)
    seen = Batches()
    model.fit(x, x, validation_split=0.25, steps_per_epoch=3, verbose=0, callbacks=[seen])
    assert seen.counts == [3]
    assert len(model.predict(x, steps=2, verbose=0)) == 16 and np.allclose(model.evaluate(x, x, steps=5, verbose=0), np.mean(halves))


def test_schedules_of_epochs(capsys):
    model = keras.Sequential([layers.Input((2,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    for schedule in (lambda epoch: 0.25 / (epoch + 1), lambda epoch, rate: 0.25 if epoch == 0 else rate / 2):
        history = model.fit(X, Y, epochs=2, verbose=0, callbacks=[keras.callbacks.LearningRateScheduler(schedule, verbose=1)])
        assert history.history["learning_rate"] == [0.25, 0.125]
        assert "Epoch 2: LearningRateScheduler setting learning rate to 0.125." in capsys.readouterr().out


def test_models_that_were_read(tmp_path):
    for layer in (layers.Dense(1, trainable=False), layers.Rescaling(0.5)):
        model = keras.Sequential([layers.Input((2,)), layer])
        model.compile("adam", "mse")
        model.save(tmp_path / "model.keras")
        read = keras.models.load_model(tmp_path / "model.keras")
        assert read.compiled and read.optimizer.name.startswith("adam")
        assert read.evaluate(X, X[:, :1], verbose=0) == model.evaluate(X, X[:, :1], verbose=0)
        with pytest.raises(AttributeError, match=r"call compile\(\) again"):
            read.run_eagerly = True
        read.compile("sgd", "mae", run_eagerly=True)
        read.run_eagerly = False
    assert not keras.models.load_model(tmp_path / "model.keras", compile=False).compiled
