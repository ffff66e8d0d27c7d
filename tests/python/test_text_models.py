"""Models whose inputs are texts."""
import numpy as np
import pytest

import capstan as tf

layers = tf.keras.layers
TEXTS = ["the good film", "a bad film", "good good", "bad"]
LABELS = np.array([1.0, 0.0, 1.0, 0.0], "float32")


def vectorizer(**options):
    layer = layers.TextVectorization(**{"max_tokens": 20, "output_sequence_length": 4, **options})
    layer.adapt(TEXTS)
    return layer


def classifier():
    tf.random.set_seed(1)
    return tf.keras.Sequential([layers.Embedding(20, 3), layers.GlobalAveragePooling1D(), layers.Dense(1)])


def rest(model):
    """The numbers' part of a model that begins with texts: what it computes is the reference."""
    return model.layers[1:]


@pytest.mark.parametrize("make", [
    lambda v: tf.keras.Sequential([v, classifier()]),
    lambda v: tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), v, classifier()]),
    lambda v: tf.keras.Sequential([tf.keras.Input((), dtype=tf.string), v, *classifier().layers]),
    lambda v: functional(v),
    lambda v: tf.keras.Sequential([functional(v), layers.Activation("linear")]),
])
def test_models_of_texts_compute_what_their_numbers_give(make):
    v = vectorizer()
    model = make(v)
    expected = classifier()(v(TEXTS)).numpy()
    first = model(tf.constant(TEXTS))
    assert first.shape == (4, 1)
    for given in (TEXTS, np.array(TEXTS), np.array(TEXTS)[:, None]):
        assert np.array_equal(model(tf.constant(given)), first)
        assert np.allclose(model.predict(tf.constant(given), verbose=0), first, atol=1e-6)
    assert np.allclose(model.predict_on_batch(tf.constant(TEXTS)), first, atol=1e-6)
    assert first.numpy().shape == expected.shape
    batches = tf.data.Dataset.from_tensor_slices(TEXTS).batch(3)
    assert np.allclose(model.predict(batches, verbose=0), first, atol=1e-6)


def functional(v):
    text = tf.keras.Input((1,), dtype="string", name="text")
    return tf.keras.Model(text, classifier()(v(text)))


@pytest.mark.parametrize("make", [functional, lambda v: tf.keras.Sequential([v, classifier()])])
def test_models_of_texts_train_as_those_of_their_numbers(make):
    def trained(model, x):
        model.compile("sgd", tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
        data = x if isinstance(x, tf.data.Dataset) else None
        history = model.fit(data, epochs=3, verbose=0) if data is not None else model.fit(
            x, LABELS, batch_size=2, shuffle=False, epochs=3, verbose=0, validation_data=(x, LABELS))
        return history.history["loss"]

    v = vectorizer()
    texts = tf.constant(TEXTS)
    batches = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(2)
    expected = trained(classifier(), v(TEXTS))
    assert expected[-1] < expected[0]
    assert trained(make(v), texts) == expected
    model = make(v)
    assert trained(model, batches) == expected
    assert model.evaluate(batches, verbose=0) == model.evaluate(texts, LABELS, verbose=0, batch_size=2)
    assert len(model.train_on_batch(texts, LABELS)) == len(model.test_on_batch(texts, LABELS)) == 2
    assert model.fit(batches, validation_data=batches, verbose=0).history["val_loss"]


def test_layers_of_texts_may_learn_after_the_model_is_made():
    texts = tf.constant([["good film"], ["bad"]])
    for options, width in [({}, 4), ({"output_mode": "multi_hot", "pad_to_max_tokens": True}, 20),
                           ({"output_mode": "tf_idf", "pad_to_max_tokens": True}, 20)]:
        options = {"max_tokens": 20, **({} if width == 20 else {"output_sequence_length": 4}), **options}
        layer = layers.TextVectorization(**options)
        inputs = tf.keras.Input((1,), dtype="string")
        numbers = layer(inputs)
        assert numbers.shape.as_list() == [None, width]
        model = tf.keras.Model(inputs, numbers)
        with pytest.raises(ValueError, match="has no vocabulary yet"):
            model(texts)
        layer.adapt(TEXTS)
        like = layers.TextVectorization(**options)
        like.adapt(TEXTS)
        np.testing.assert_array_equal(model(texts), like(texts))


def test_a_table_of_texts_and_numbers():
    kind = layers.StringLookup(vocabulary=["cat", "dog"], output_mode="one_hot")
    inputs = {"kind": tf.keras.Input((1,), name="kind", dtype="string"), "age": tf.keras.Input((1,), name="age"),
              "day": tf.keras.Input((1,), name="day", dtype="int64")}
    day = layers.IntegerLookup(vocabulary=[1, 2], output_mode="one_hot")
    joined = layers.Concatenate()([kind(inputs["kind"]), inputs["age"], day(inputs["day"])])
    model = tf.keras.Model(inputs, layers.Dense(1, kernel_initializer="ones")(joined))
    rows = {"age": np.array([[3.0], [4.0]], "float32"), "kind": np.array([["dog"], ["bird"]]), "day": np.array([[2], [9]])}
    assert np.array_equal(model(rows), [[5.0], [6.0]])
    data = tf.data.Dataset.from_tensor_slices((rows, np.ones((2, 1), "float32"))).batch(2)
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(data, verbose=0).history["loss"][0])
    assert [tuple(t.shape) for t in model.inputs] == [(None, 1)] * 3
    assert model.get_layer(kind.name) is kind
    listed = tf.keras.Model(list(inputs.values()), model.outputs)
    assert np.array_equal(listed([rows["kind"], rows["age"], rows["day"]]), listed(rows))
    with pytest.raises(ValueError, match=r"lacking: \['kind'\]"):
        model({"age": rows["age"], "day": rows["day"]})
    with pytest.raises(ValueError, match="3 inputs"):
        listed([rows["kind"]])


def test_one_text_may_go_through_several_layers():
    text = tf.keras.Input((1,), dtype=tf.string)
    bag, ids = vectorizer(output_mode="multi_hot", output_sequence_length=None), vectorizer()
    ids_of = ids(text)
    assert tuple(ids_of.shape) == (None, 4) and ids(text) is ids_of
    model = tf.keras.Model(text, [bag(text), layers.Rescaling(1.0)(ids_of)])
    texts = tf.constant(TEXTS)
    for got, want in zip(model(texts), (bag(texts), ids(texts))):
        assert np.array_equal(got, want)
    assert tf.keras.Model(text, layers.Rescaling(1.0)(ids_of)).layers[0] is ids  # and the other one has no part in it
    open_length = vectorizer(output_sequence_length=None)
    assert tuple(open_length(text).shape) == (None, None)
    mean = tf.keras.Model(text, layers.GlobalAveragePooling1D()(layers.Embedding(20, 2)(open_length(text))))
    assert mean(texts[:1]).shape == mean(texts[3:]).shape == (1, 2)


def test_sources_of_values():
    one, other, none = tf.keras.Input((2,), name="one"), tf.keras.Input((2,), name="other"), tf.keras.Input((2,))
    h = layers.Add()([one, other])
    found = tf.keras.utils.get_source_inputs([layers.Multiply()([h, one]), h])
    assert sorted(t.name for t in found) == ["one", "other"]
    assert tf.keras.utils.get_source_inputs(none)[0].name == none.name
    model = tf.keras.Model(found, layers.Add()(found))
    assert np.array_equal(model([tf.ones([1, 2]), tf.ones([1, 2])]), [[2, 2]])


def test_hashed_texts_in_models():
    text = tf.keras.Input((2,), dtype=tf.string)
    hashing = layers.Hashing(num_bins=5)
    model = tf.keras.Model(text, layers.Embedding(5, 2)(hashing(text)))
    texts = tf.constant([["a", "b"], ["c", "d"]])
    assert np.array_equal(model(texts), model.layers[-1](hashing(texts)))


def test_crossed_texts_in_models():
    one, other = tf.keras.Input((1,), dtype="string"), tf.keras.Input((1,), dtype="string")
    number = tf.keras.Input((1,), dtype="int64")
    crossing = layers.HashedCrossing(5, output_mode="one_hot")
    model = tf.keras.Model([one, other, number], layers.Concatenate()([crossing((one, other)), crossing((one, number))]))
    a, b, n = tf.constant([["a"], ["b"]]), tf.constant([["x"], ["y"]]), tf.constant([[1], [2]], dtype=tf.int64)
    got = model([a, b, n])
    assert np.array_equal(got[:, :5], crossing((a, b))) and np.array_equal(got[:, 5:], crossing((a, n)))
    assert np.array_equal(crossing((a, b)), [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0]])  # of Keras
    assert model.layers[0] is crossing
    with pytest.raises(ValueError, match="not among the inputs"):
        tf.keras.Model([one, number], model.outputs)


def test_layers_of_ones_own_are_given_texts():
    class Lengths(layers.Layer):
        def call(self, texts):
            return tf.strings.length(texts)

    class Whole(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.rest = vectorizer(), classifier()

        def call(self, texts, training=False):
            return self.rest(self.first(texts), training=training)

    assert np.array_equal(Lengths()(tf.constant(["a", "bcd"])), [1, 3])
    model = Whole()
    assert model(tf.constant(TEXTS), training=True).shape == (4, 1)
    assert len(model.trainable_variables) == 3


def test_add_makes_models_of_texts():
    model = tf.keras.Sequential()
    model.add(tf.keras.Input((1,), dtype=tf.string))
    v = vectorizer()
    model.add(v)
    for layer in classifier().layers:
        model.add(layer)
    assert model(tf.constant(TEXTS)).shape == (4, 1)
    assert model.layers[0] is v and len(model.layers) == 4
    called = tf.keras.Sequential([v, *classifier().layers[:2]])  # the shape of its texts was not given
    assert called(tf.constant(TEXTS)).shape == (4, 3)
    called.add(layers.Dense(1))
    assert called(tf.constant(TEXTS)).shape == (4, 1)
    with pytest.raises(AttributeError, match="shape of the input is not known"):
        called.output
    assert model.pop().name == model.layers[-1].name or len(model.layers) == 3


@pytest.mark.parametrize("wrong, text", [
    (lambda m: m.save("/tmp/none.keras"), "vocabularies"),
    (lambda m: m.to_json(), "vocabularies"),
    (lambda m: m.get_config(), "vocabularies"),
    (lambda m: tf.keras.models.clone_model(m), "vocabularies"),
    (lambda m: m(tf.constant([[["a", "b"]]])), "shape"),
    (lambda m: m(tf.zeros([2, 1])), "no text"),
    (lambda m: m.predict(np.zeros([2, 1], "float32"), verbose=0), "no text"),
    (lambda m: tf.keras.Model(tf.keras.Input((1,), dtype="string"), m.outputs), "do not depend on"),
    (lambda m: layers.Dense(1)(tf.keras.Input((1,), dtype="string")), "text"),
    (lambda m: layers.Concatenate()([tf.keras.Input((1,), dtype="string"), tf.keras.Input((1,))]), "text"),
    (lambda m: tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), layers.Dense(1)])(tf.constant(["a"])), "text"),
    (lambda m: tf.strings.lower(tf.keras.Input((1,), dtype="string")), "text"),
    (lambda m: tf.keras.Sequential([layers.Dense(1), vectorizer()])(tf.zeros([1, 1])), "text"),
])
def test_what_models_of_texts_refuse(wrong, text):
    model = functional(vectorizer())
    with pytest.raises((ValueError, TypeError), match=text):
        wrong(model)
