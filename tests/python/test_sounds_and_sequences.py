"""tf.signal for sound, decoders of CTC, morphology and moments; settings that scripts touch. Values are TensorFlow 2.21's."""
import numpy as np
import pytest

import capstan as tf

RAMP = np.linspace(-1, 1, 8).astype("float32")


def close(value, expected):
    assert np.allclose(value, expected, atol=2e-5)


def test_sound():
    mel = tf.signal.linear_to_mel_weight_matrix(3, 9, 8000, 100.0, 3000.0)
    close(mel, [[0, 0, 0], [0.94098, 0.05902, 0], [0.03125, 0.96875, 0], [0, 0.35784, 0.64216], [0, 0, 0.82295], [0, 0, 0.3792],
                [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    close(tf.signal.mfccs_from_log_mel_spectrograms(RAMP), [0, -1.84066, 0, -0.19242, 0, -0.0574, 0, -0.01449])
    close(tf.signal.mdct(RAMP, 8), [[-1.62318, -1.31914, -0.28502, -0.00599]])
    close(tf.signal.kaiser_bessel_derived_window(4), [0.00726, 0.99997, 0.99997, 0.00726])
    close(tf.signal.vorbis_window(4), [0.22801, 0.97366, 0.97366, 0.22801])
    close(tf.signal.inverse_stft_window_fn(2)(4), [0, 1, 1, 1])
    signal = np.random.default_rng(1).normal(size=(2, 64)).astype("float32")
    for norm in (None, "ortho"):
        for window in (tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window, None):
            again = tf.signal.inverse_mdct(tf.signal.mdct(signal, 16, window, norm=norm), window, norm)
            close(again[:, 8:-8], signal[:, 8:-8])
    for bad in (lambda: tf.signal.mdct(RAMP, 6), lambda: tf.signal.mdct(RAMP, 8, norm="other"),
                lambda: tf.signal.linear_to_mel_weight_matrix(sample_rate=100), lambda: tf.signal.linear_to_mel_weight_matrix(0)):
        with pytest.raises(ValueError, match="mdct|linear_to_mel"):
            bad()


LOGITS = np.log(np.array([[[.1, .6, .3]], [[.3, .3, .4]], [[.2, .5, .3]], [[.45, .15, .4]]], "float32"))


def dense(decoded):
    return [tf.sparse.to_dense(labels).numpy().tolist() for labels in decoded]


def test_decoders():
    labels, sums = tf.nn.ctc_greedy_decoder(LOGITS, [4])
    assert dense(labels) == [[[1, 1, 0]]] and labels[0].values.dtype == tf.int64
    close(sums, [[2.91877]])
    labels, sums = tf.nn.ctc_greedy_decoder(LOGITS, [3], merge_repeated=False, blank_index=0)
    assert dense(labels) == [[[1, 2, 1]]]
    close(sums, [[2.12026]])
    labels, scores = tf.nn.ctc_beam_search_decoder(LOGITS, [4], 10, 3)
    assert dense(labels) == [[[1, 0]], [[1]], [[1, 1]]]
    close(scores, [[-1.21909, -1.74956, -2.41968]])
    batch = np.transpose(LOGITS, (1, 0, 2))
    found, _ = tf.keras.ops.ctc_decode(batch, [3], mask_index=2)
    assert found.numpy().tolist() == [[[1, 1, -1, -1]]] and found.dtype == tf.int32
    found, _ = tf.keras.ops.ctc_decode(batch[..., [2, 0, 1]], [4], strategy="beam_search", beam_width=10)
    assert found.numpy().tolist() == [[[2, 1, -1, -1]]]  # class 0 is the blank now, so the labels are one larger
    assert dense(tf.nn.ctc_greedy_decoder(LOGITS, [0])[0]) == [[[]]]
    for bad in (lambda: tf.nn.ctc_greedy_decoder(LOGITS, [5]), lambda: tf.nn.ctc_greedy_decoder(LOGITS, [1, 2]),
                lambda: tf.nn.ctc_greedy_decoder(LOGITS, [4], blank_index=3), lambda: tf.nn.ctc_beam_search_decoder(LOGITS, [4], 1, 2),
                lambda: tf.keras.ops.ctc_decode(batch, [3], strategy="best")):
        with pytest.raises(ValueError, match="ctc_"):
            bad()


def test_morphology_and_moments():
    image, filters = np.arange(12.0, dtype="float32").reshape(1, 3, 4, 1), np.array([[0, 1], [2, -5]], "float32")[..., None]
    dilated = tf.nn.dilation2d(image, filters, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1])
    assert dilated.numpy().ravel().tolist() == [6, 7, 8, 9, 10, 11, 12, 13, 10, 11, 12, 11]
    eroded = tf.nn.erosion2d(image, filters, [1, 2, 1, 1], "VALID", "NHWC", [1, 1, 1, 1])
    assert eroded.numpy().ravel().tolist() == [-1, 0, 1]
    with pytest.raises(ValueError, match="dilation2d: strides"):
        tf.nn.dilation2d(image, filters, [2, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1])
    statistics = tf.nn.sufficient_statistics(tf.constant(image), [1, -1], shift=2.0)
    assert float(statistics[0]) == 3.0
    mean, variance = tf.nn.normalize_moments(*statistics)
    assert np.allclose(mean, image.mean((1, 3))) and np.allclose(variance, image.var((1, 3)), rtol=1e-5)
    one = np.ones((1, 2, 3), "float32")
    assert np.array_equal(tf.nn.conv_transpose(one, one.reshape(2, 1, 3), [1, 4, 1], 2), np.full((1, 4, 1), 3))


def test_settings():
    assert [d.device_type for d in tf.config.list_physical_devices()] == ["CPU"] and tf.config.list_physical_devices("GPU") == []
    tf.config.set_visible_devices([], "GPU")
    tf.config.optimizer.set_jit(True)
    tf.get_logger().setLevel("ERROR")
    for bad in (lambda: tf.config.set_visible_devices([], "CPU"), lambda: tf.config.experimental.set_memory_growth("GPU:0", True)):
        with pytest.raises(ValueError, match="config"):
            bad()
    assert (tf.errors.OK, tf.errors.NOT_FOUND, tf.VariableAggregation.MEAN.name) == (0, 5, "MEAN")
    assert tf.type_spec_from_value([1.0]).shape == (1,) and not tf.is_symbolic_tensor(tf.constant(1))
    assert tf.function(lambda x: float(tf.is_symbolic_tensor(x)))(tf.constant(1.0)) == 1.0
    assert tf.TensorShape([None, 3]).merge_with([2, None]) == (2, 3) and tf.TensorShape([1]).with_rank_at_least(1) == (1,)
    for bad in (lambda: tf.TensorShape([None]).assert_is_fully_defined(), lambda: tf.TensorShape([2]).merge_with([3]),
                lambda: tf.TensorShape([2]).with_rank(2)):
        with pytest.raises(ValueError, match="Shape"):
            bad()


def test_passes_and_rows():
    elements = iter(tf.data.Dataset.from_tensor_slices(([1, 2], [3.0, 4.0])))
    assert [int(part) for part in elements.get_next()] == [1, 3] and elements.element_spec[1].dtype == tf.float32
    next(elements)
    with pytest.raises(tf.errors.OutOfRangeError):
        elements.get_next()
    variable = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    variable.scatter_max(tf.IndexedSlices(tf.constant([[9.0, 0.0]]), tf.constant([1])))
    variable.scatter_min(tf.IndexedSlices(tf.constant([[0.0, 9.0]]), tf.constant([0])))
    assert variable.numpy().tolist() == [[0, 2], [9, 4]]


def test_names_of_keras():
    keras = tf.keras
    assert isinstance(keras.Input((3,)), keras.KerasTensor) and not isinstance(tf.constant(1.0), keras.KerasTensor)
    assert type(keras.metrics.get("mse")).__name__ == "MeanSquaredError" and keras.utils.standardize_dtype(None) == "float32"
    mean = keras.metrics.MeanMetricWrapper(keras.losses.mean_squared_error, name="m")
    mean.update_state(tf.constant([[1.0, 2.0]]), tf.constant([[0.0, 0.0]]))
    assert (mean.name, float(mean.result())) == ("m", 2.5)
    images = np.arange(2 * 8 * 6, dtype="float32").reshape(2, 8, 6, 1)
    assert keras.preprocessing.image.smart_resize(images, (4, 4)).shape == (2, 4, 4, 1)
    with pytest.raises(ValueError, match="set_epsilon"):
        keras.backend.set_epsilon(1e-3)


class OldStep(tf.keras.Model):
    """Its train_step is one of programs for Keras 2."""

    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1, kernel_initializer="zeros")

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        self.compiled_metrics.update_state(y, y_pred)
        return {metric.name: metric.result() for metric in self.metrics}


def test_steps_of_keras_2(caplog, capsys):
    model = OldStep()
    assert not model.compiled
    model.compile("sgd", "mse", metrics=["mae"])
    logs = model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0).history
    assert model.compiled and logs == {"loss": [1.0], "mae": [1.0]}
    tf.keras.utils.disable_interactive_logging()
    with caplog.at_level("INFO", "keras"):
        model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=2)
    tf.keras.utils.enable_interactive_logging()
    assert "loss" in caplog.text and capsys.readouterr().out == ""
