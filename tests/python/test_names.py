"""Names that scripts use beside the computation: files of elements, checkpoints read by name, averages, the tokenizer of
earlier Keras, boxes in images. Values are TensorFlow's."""
import gzip
import os

import numpy as np
import pytest

import capstan as tf

from test_texts import c, plain, ragged

data = tf.data


def test_elements_are_saved_and_loaded(tmp_path):
    elements = data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [[1.0], [2.0], [3.0]], "t": ["x", "y", "z"]})
    path = str(tmp_path / "deep" / "saved")
    elements.save(path)
    assert plain(list(data.Dataset.load(path))) == plain(list(elements))
    elements.take(1).save(path, compression="GZIP")
    assert plain(list(data.Dataset.load(path))) == plain(list(elements.take(1)))
    pairs = data.Dataset.from_tensor_slices(([1, 2], [True, False]))
    pairs.save(path)
    assert plain(list(data.Dataset.load(path))) == [[1, True], [2, False]] and type(next(iter(data.Dataset.load(path)))) is tuple
    assert os.listdir(tmp_path / "deep") == ["saved"]
    data.Dataset.range(0).save(path)
    assert list(data.Dataset.load(path)) == []
    with pytest.raises(OSError, match="no such folder"):
        data.Dataset.load(str(tmp_path / "no such folder"))
    (tmp_path / "deep" / "saved" / "structure.json").write_text("{}")
    with pytest.raises(OSError, match="structure.json"):
        data.Dataset.load(path)
    with pytest.raises(TypeError, match="RaggedTensor"):
        data.Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])).save(path)


@pytest.mark.parametrize("kept", [lambda d, p: d.snapshot(p), lambda d, p: d.cache(p)])
def test_elements_are_made_once(tmp_path, kept):
    calls = []

    def made():
        calls.append(1)
        yield from range(3)
    source = data.Dataset.from_generator(made, output_signature=tf.TensorSpec([], tf.int32))
    path = str(tmp_path / "kept")
    dataset = kept(source, path)
    next(iter(dataset))  # a pass that is left early keeps nothing
    assert not os.path.exists(path) and os.listdir(tmp_path) == []
    assert plain(list(dataset)) == plain(list(dataset)) == plain(list(kept(source, path))) == [0, 1, 2]
    assert len(calls) == 2


def test_what_tf_data_experimental_has():
    x = data.experimental
    assert x.AUTOTUNE == data.AUTOTUNE == -1 and int(x.cardinality(data.Dataset.range(3))) == 3
    filtered = data.Dataset.range(3).filter(lambda n: n > 0).apply(x.assert_cardinality(2))
    assert plain(list(filtered)) == [1, 2] and len(filtered) == 2
    for count in (1, 4):
        with pytest.raises(ValueError, match=f"contain {count} elements"):
            list(data.Dataset.range(3).apply(x.assert_cardinality(count)))
    options = data.Options()
    options.deterministic, options.threading.private_threadpool_size = False, 2
    assert options.threading.private_threadpool_size == 2 and plain(list(data.Dataset.range(2).with_options(options))) == [0, 1]


def test_classes_are_drawn_as_often_as_asked():
    labels = data.Dataset.from_tensor_slices([0] * 900 + [1] * 100).shuffle(1000, seed=1)
    for initial in ([0.9, 0.1], None):
        drawn = [int(n) for _, n in labels.rejection_resample(lambda n: n, [0.5, 0.5], initial, seed=3)]
        assert abs(np.mean(drawn) - 0.5) < 0.12 and len(drawn) > 150


def test_ragged_batches():
    rows = data.Dataset.range(3).map(lambda n: tf.range(n))
    assert plain(list(rows.ragged_batch(2))) == [ragged([], [0]), ragged([0, 1])]


def test_averages_of_variables():
    v, averages = tf.Variable(1.0), tf.train.ExponentialMovingAverage(0.9)
    averages.apply([v])
    v.assign(2.0)
    averages.apply([v])
    np.testing.assert_allclose(averages.average(v), 1.1)
    w, counted = tf.Variable(1.0), tf.train.ExponentialMovingAverage(0.9, num_updates=1)
    counted.apply([w])
    w.assign(2.0)
    tf.function(lambda: counted.apply([w]))()
    np.testing.assert_allclose(counted.average(w), 1.81818, rtol=1e-5)
    assert averages.average(w) is None


def test_checkpoints_by_name(tmp_path):
    v = tf.Variable([1.0, 2.0])
    path = tf.train.Checkpoint(v=v).save(str(tmp_path / "ck"))
    names = [name for name, _ in tf.train.list_variables(path)]
    name = next(n for n in names if n.startswith("v"))
    np.testing.assert_allclose(tf.train.load_variable(str(tmp_path), name), [1, 2])
    reader = tf.train.load_checkpoint(path)
    assert reader.has_tensor(name) and not reader.has_tensor("q") and reader.get_variable_to_shape_map()[name] == [2]
    with pytest.raises(OSError, match="Key q not found"):
        reader.get_tensor("q")


def test_the_tokenizer():
    text = tf.keras.preprocessing.text
    made = text.Tokenizer(num_words=5, oov_token="<OOV>")
    made.fit_on_texts(["The cat sat on the mat.", "The dog, the cat!"])
    assert made.word_index == {"<OOV>": 1, "the": 2, "cat": 3, "sat": 4, "on": 5, "mat": 6, "dog": 7}
    assert made.texts_to_sequences(["the cat flies"]) == [[2, 3, 1]] and made.sequences_to_texts([[1, 2, 3]]) == ["<OOV> the cat"]
    assert made.texts_to_matrix(["the the cat"], mode="count").tolist() == [[0, 0, 2, 1, 0]]
    np.testing.assert_allclose(made.texts_to_matrix(["the the cat"], mode="tfidf"), [[0, 0, 0.86490296, 0.51082562, 0]], rtol=1e-6)
    assert text.tokenizer_from_json(made.to_json()).texts_to_sequences(["the cat"]) == [[2, 3]]
    assert text.text_to_word_sequence("Hello, big World!") == ["hello", "big", "world"]
    assert tf.keras.preprocessing.sequence.pad_sequences([[1, 2], [3]], maxlen=3).tolist() == [[0, 1, 2], [0, 0, 3]]


def test_boxes_in_images():
    boxes = [[0.0, y, 1.0, y + 1] for y in (0.0, 0.1, -0.1, 10.0, 10.1, 100.0)]
    scores = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3]
    image = tf.image
    assert plain([image.non_max_suppression(boxes, scores, 3), image.non_max_suppression(boxes, scores, 10, 0.5, 0.4),
                  image.non_max_suppression(boxes, scores, 10, iou_threshold=0.9)]) == [[3, 0, 5], [3, 0], [3, 0, 1, 2, 4, 5]]
    kept, values = image.non_max_suppression_with_scores(boxes, scores, 6, iou_threshold=1.0, soft_nms_sigma=0.5)
    assert plain(kept) == [3, 0, 1, 5, 4, 2]
    np.testing.assert_allclose(values, [0.95, 0.9, 0.384, 0.3, 0.256, 0.197], atol=5e-4)
    overlaps = np.eye(3, dtype=np.float32)
    overlaps[0, 1] = overlaps[1, 0] = 0.7
    assert plain(image.non_max_suppression_overlaps(overlaps, [0.3, 0.9, 0.5], 3)) == [1, 2]
    drawn = np.asarray(image.draw_bounding_boxes(np.zeros((1, 5, 6, 3), np.float32), [[[0.1, 0.2, 0.8, 0.9]]], [[1.0, 0.0, 0.0]]))
    assert drawn[0, :, :, 0].tolist() == [[0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 0], [0] * 6]
    np.testing.assert_allclose(image.rgb_to_yiq(c([[[0.2, 0.5, 0.7]]])), [[[0.4331, -0.24304, -0.00123]]], atol=1e-5)
    np.testing.assert_allclose(image.yiq_to_rgb(image.rgb_to_yiq(c([[[0.2, 0.5, 0.7]]]))), [[[0.2, 0.5, 0.7]]], atol=1e-4)
    with pytest.raises(ValueError, match="boxes"):
        image.non_max_suppression([[0.0, 1.0]], [1.0], 1)


def test_states_and_shapes_of_layers(tmp_path):
    layers = tf.keras.layers
    assert plain([layers.GRU(3).get_initial_state(2), layers.LSTM(2).get_initial_state(1)]) == [
        [[[0, 0, 0], [0, 0, 0]]], [[[0, 0]], [[0, 0]]]]
    assert layers.GRU(3).state_size == [3] and layers.GRUCell(3).state_size == 3 and layers.LSTM(2).state_size == [2, 2]
    with pytest.raises(AttributeError, match="get_initial_state"):
        layers.Dense(2).get_initial_state(1)
    model = tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(2)])
    model.save(str(tmp_path / "m.keras"))
    assert tf.keras.models.load_model(str(tmp_path / "m.keras")).output_shape == (None, 2)
    called = tf.keras.Sequential([layers.Dense(2)])
    called(tf.ones([4, 3]))
    assert called.output_shape == (None, 2)


def test_calls_with_none_beside_the_inputs():
    class Own(tf.keras.Model):
        def call(self, inputs, states=None):
            return inputs if states is None else inputs + states
    assert plain(Own()(c([1.0]), states=None)) == [1.0] and plain(Own()(c([1.0]), states=c([2.0]))) == [3.0]


def test_calls_by_name_alone():
    class Own(tf.keras.layers.Layer):
        def call(self, x, context):
            return x - context
    assert plain(Own()(x=c([3.0]), context=c([1.0]))) == plain(Own()(context=c([1.0]), x=c([3.0]))) == [2.0]

    class Two(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.own = Own()

        def call(self, inputs):
            first, second = inputs
            return self.own(x=first, context=second)
    model = Two()
    assert plain(model(inputs=(c([3.0]), c([1.0])))) == [2.0]
    assert plain(model.predict((np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)), verbose=0)) == [[1.0], [1.0]]
    with pytest.raises(TypeError, match="lacks its argument 'x'"):
        Own()(context=c([1.0]))


def test_small_names():
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])) == (2, 3)
    assert plain(tf.broadcast_dynamic_shape(c([2, 1]), c([1, 3]))) == [2, 3]
    assert plain(tf.histogram_fixed_width_bins(c([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), [0.0, 5.0], nbins=5)) == [0, 0, 1, 2, 4, 4]
    assert tf.compat.as_bytes("a") == b"a" and tf.compat.as_text(b"a") == "a" and tf.test.gpu_device_name() == ""

    @tf.autograph.experimental.do_not_convert
    def plain_branch(x):
        return x + 1 if x is not None else x
    assert plain(tf.function(lambda x: plain_branch(x))(c(1))) == 2


def test_files_of_keras_are_found(tmp_path):
    (tmp_path / "datasets" / "flowers").mkdir(parents=True)
    found = tf.keras.utils.get_file("flowers.tgz", origin="https://host/flowers.tgz", extract=True, cache_dir=str(tmp_path))
    assert found == str(tmp_path / "datasets" / "flowers")
    with pytest.raises(OSError, match="nothing is downloaded"):
        tf.keras.utils.get_file(origin="https://host/other.bin", cache_dir=str(tmp_path))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('age,fare,name,y\n1,2.5,"a,b",0\n2,,c,1\n3,4,d,0\n')
    return str(path)


def test_tables_as_datasets(table):
    x = data.experimental
    rows = x.CsvDataset(table, [tf.int32, [1.0], [""]], header=True, select_cols=[0, 1, 2])
    assert plain(list(rows)) == [[1, 2.5, b"a,b"], [2, 1.0, b"c"], [3, 4.0, b"d"]]

    def made(**options):
        return plain(list(x.make_csv_dataset(table, 2, label_name="y", num_epochs=1, shuffle=False, **options)))
    assert made() == [[{"age": [1, 2], "fare": [2.5, 0.0], "name": [b"a,b", b"c"]}, [0, 1]],
                      [{"age": [3], "fare": [4.0], "name": [b"d"]}, [0]]]
    assert made(select_columns=["age", "y"]) == [[{"age": [1, 2]}, [0, 1]], [{"age": [3]}, [0]]]
    assert made(select_columns=["fare", "y"], column_defaults=[tf.float32, tf.int32], ignore_errors=True) == [
        [{"fare": [2.5, 4.0]}, [0, 0]]]
    shuffled = x.make_csv_dataset(table, 1, select_columns=["age"], num_epochs=2, shuffle_seed=1)
    assert sorted(plain([batch["age"] for batch in shuffled])) == [[1], [1], [2], [2], [3], [3]]
    with gzip.open(table + ".gz", "wt") as file:
        file.write('1,"two\nlines"\n')
    assert plain(list(x.CsvDataset(table + ".gz", [tf.int32, tf.string], compression_type="GZIP"))) == [[1, b"two\nlines"]]
    endless = x.make_csv_dataset(table, 4, select_columns=["age"], shuffle=False)
    assert plain([batch["age"] for batch in endless.take(2)]) == [[1, 2, 3, 1], [2, 3, 1, 2]]


@pytest.mark.parametrize("use, error, text", [
    (lambda x, t: list(x.CsvDataset(t, [tf.int32, tf.float32, tf.string, tf.int32], header=True)), ValueError,
     "missing\n.*record 3, field 1"),
    (lambda x, t: list(x.CsvDataset(t, [tf.int32], header=True)), ValueError, "4 fields, and 1 are read"),
    (lambda x, t: list(x.CsvDataset(t, [tf.int32] * 4)), ValueError, "'age' is no int32"),
    (lambda x, t: x.make_csv_dataset(t, 2, label_name="z"), ValueError, "'z' is none of the columns"),
    (lambda x, t: x.make_csv_dataset(t + "x", 2), OSError, "no file"),
    (lambda x, t: x.make_csv_dataset(t, 2, column_defaults=[0]), ValueError, "1 column_defaults for 4"),
    (lambda x, t: list(x.make_csv_dataset(t, 2, column_names=list("abc"), header=False, num_epochs=1)), ValueError,
     "4 fields for 3 columns"),
])
def test_wrong_tables_are_errors(table, use, error, text):
    with pytest.raises(error, match=text):
        use(data.experimental, table)


def test_pairs_of_words():
    sequence = tf.keras.preprocessing.sequence
    np.testing.assert_allclose(sequence.make_sampling_table(6), [0.003152, 0.003152, 0.005476, 0.007416, 0.009128, 0.010684],
                               atol=1e-6)
    assert sorted(sequence.skipgrams([1, 2, 3], 10, window_size=1, negative_samples=0)[0]) == [[1, 2], [2, 1], [2, 3], [3, 2]]
    couples, labels = sequence.skipgrams([1, 0, 2, 3], 10, window_size=2, seed=1)
    assert sum(labels) == len(labels) / 2 == 4 and all(0 < b < 10 for _, b in couples)


def test_losses_over_drawn_classes():
    draws = np.random.default_rng(0)
    weights, biases = draws.normal(size=(20, 4)).astype(np.float32), draws.normal(size=20).astype(np.float32)
    inputs, labels = draws.normal(size=(3, 4)).astype(np.float32), np.array([[1], [5], [7]])
    values = c([3, 5, 9, 11]), c([[0.3], [0.2], [0.1]]), c([0.5, 0.4, 0.3, 0.2])

    def checked(loss, expected, sums, **options):
        w, b, x = tf.Variable(weights), tf.Variable(biases), tf.Variable(inputs)
        with tf.GradientTape() as tape:
            made = loss(w, b, labels, x, 4, 20, sampled_values=values, **options)
        np.testing.assert_allclose(made, expected, atol=2e-4)
        found = [np.abs(np.asarray(tf.convert_to_tensor(g))).sum() for g in tape.gradient(made, [w, b, x])]
        np.testing.assert_allclose(found, sums, rtol=1e-3)
    checked(tf.nn.nce_loss, [6.2156, 8.2851, 14.2734], [13.851, 9.413, 15.884])
    checked(tf.nn.nce_loss, [6.2156, 7.3855, 14.2734], [15.074, 8.82, 16.805], remove_accidental_hits=True)
    checked(tf.nn.sampled_softmax_loss, [3.4621, 3.2441, 0.926], [13.342, 3.554, 8.961])


@pytest.mark.parametrize("sampler", [tf.random.log_uniform_candidate_sampler, tf.random.uniform_candidate_sampler])
def test_candidates(sampler):
    true = c([[1], [5]], tf.int64)
    chosen, true_count, counts = sampler(true, 1, 5, False, 20, seed=3)
    share = (np.log(np.asarray(chosen) + 2) - np.log(np.asarray(chosen) + 1)) / np.log(21)
    share = share if sampler is tf.random.log_uniform_candidate_sampler else np.full(5, 0.05)
    np.testing.assert_allclose(counts, 5 * share, rtol=1e-5)
    assert true_count.shape == (2, 1) and chosen.dtype == tf.int64 and 0 <= int(tf.reduce_min(chosen))
    chosen, _, counts = sampler(true, 1, 20, True, 20)
    assert sorted(plain(chosen)) == list(range(20)) and float(tf.reduce_max(counts)) <= 1
    many = np.asarray(sampler(true, 1, 20000, False, 20)[0])
    expected = np.log1p(1 / np.arange(1, 21)) / np.log(21) if sampler is tf.random.log_uniform_candidate_sampler else 0.05
    np.testing.assert_allclose(np.bincount(many, minlength=20) / 20000, expected, atol=0.012)
    assert len(set(plain(tf.function(lambda: sampler(true, 1, 50, False, 20)[0])()))) > 5
    with pytest.raises(ValueError, match="21 different classes of 20"):
        sampler(true, 1, 21, True, 20)
    with pytest.raises(tf.errors.OpError, match="traced"):
        tf.function(lambda: sampler(true, 1, 5, True, 20)[0])()
    with pytest.raises(ValueError, match="true_classes"):
        sampler(true, 2, 5, False, 20)


def test_import_of_all_names():
    names = {}
    exec("from capstan.image import *; from capstan.keras.utils import *", names)
    for name in ("non_max_suppression", "resize", "get_file", "to_categorical"):
        assert callable(names[name])
    assert not [name for name in names if name.startswith("_") and name != "__builtins__"]


def test_results_with_names():
    x = tf.constant([[3.0, 1.0], [2.0, 4.0]])
    top = tf.math.top_k(x, 1)
    np.testing.assert_array_equal(top.values, [[3], [4]])
    np.testing.assert_array_equal(tf.nn.top_k(x, 1).indices, [[0], [1]])
    np.testing.assert_array_equal(tf.unique([5, 5, 7]).y, [5, 7])
    counted = tf.unique_with_counts([5, 5, 7])
    np.testing.assert_array_equal(counted.count, [2, 1])
    np.testing.assert_array_equal(counted.idx, counted[1])
    np.testing.assert_allclose(tf.linalg.qr(x).q @ tf.linalg.qr(x).r, x, atol=1e-6)
    assert float(tf.linalg.slogdet(x).log_abs_determinant) == pytest.approx(np.log(10), rel=1e-6)
    assert tf.linalg.lu(x).p.shape == (2,)
    assert type(tf.function(lambda x: tf.math.top_k(x, 2))(x)).__name__ == "top_k"


# --- what books and courses written for TensorFlow do ---

def test_items_of_variables_are_assigned():
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert v[0, 1].assign(42).numpy().tolist() == [[1, 42, 3], [4, 5, 6]]
    v[:, 2].assign([0.0, 1.0])
    v[0].assign(7.0)
    v[..., -1].assign([1, 2])
    v[tf.constant(1)].assign([0.0, 0.0, 0.0])
    assert v.numpy().tolist() == [[7, 7, 1], [0, 0, 0]]
    assert hasattr(v[0], "assign") and not hasattr(v[0] + 0, "assign") and not hasattr(tf.constant([1])[0], "assign")
    with pytest.raises(tf.errors.InvalidArgumentError):
        v[0].assign([1.0, 2.0])

    @tf.function
    def f(x):
        v[1].assign(x * 2)
        return v + 0
    assert f(tf.constant([1.0, 2.0, 3.0])).numpy().tolist() == [[7, 7, 1], [2, 4, 6]]
    assert len(f.pretty_printed_concrete_signatures()) > 0
    item = v[1]
    del v
    item.assign([0.0, 0.0, 0.0])  # an item keeps the variable alive


def test_items_of_variables_do_not_leak():
    import gc
    import weakref
    v = tf.Variable([1.0, 2.0])
    gone = weakref.ref(v)
    for _ in range(200):
        v[0]
    kept = [v[0] for _ in range(200)]
    del v, kept
    gc.collect()
    assert gone() is None


def test_sequence_examples():
    def of(**lists):
        return tf.train.Feature(**lists)
    words = [of(bytes_list=tf.train.BytesList(value=[b"x", b"y"])), of(bytes_list=tf.train.BytesList(value=[b"z"]))]
    numbers = [of(float_list=tf.train.FloatList(value=[1.0, 2.0]))] * 3
    whole = tf.train.SequenceExample(
        context=tf.train.Features(feature={"a": of(int64_list=tf.train.Int64List(value=[1, 2]))}),
        feature_lists=tf.train.FeatureLists(feature_list={"w": tf.train.FeatureList(feature=words),
                                                          "n": tf.train.FeatureList(feature=numbers)}))
    message = whole.SerializeToString()
    assert len(message) == 90 and tf.train.SequenceExample.FromString(message) == whole  # the length of TensorFlow's
    context, lists = tf.io.parse_single_sequence_example(
        message, {"a": tf.io.FixedLenFeature([2], tf.int64)},
        {"w": tf.io.VarLenFeature(tf.string), "n": tf.io.FixedLenSequenceFeature([2], tf.float32)})
    assert context["a"].numpy().tolist() == [1, 2] and lists["n"].numpy().tolist() == [[1, 2]] * 3
    assert tf.sparse.to_dense(lists["w"]).numpy().tolist() == [[b"x", b"y"], [b"z", b""]]
    ragged = tf.io.parse_single_sequence_example(message, {}, {"w": tf.io.RaggedFeature(tf.string)})[1]["w"]
    assert ragged.to_list() == [[b"x", b"y"], [b"z"]]
    for end in range(len(message)):
        try:
            tf.io.parse_single_sequence_example(message[:end], {}, {"n": tf.io.FixedLenSequenceFeature([2], tf.float32)})
        except (IOError, ValueError):
            continue
    with pytest.raises(ValueError, match="could not be found"):
        tf.io.parse_single_sequence_example(message, {}, {"q": tf.io.FixedLenSequenceFeature([2], tf.float32)})
    with pytest.raises(IOError, match="no list of features has"):
        tf.io.parse_single_sequence_example(b"\x08\x01", {}, {})


def test_small_things():
    assert float(tf.timestamp()) > 1e9 and tf.timestamp().dtype == tf.float64
    assert tf.constant_initializer([1, 2, 3, 4])(shape=[2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.constant_initializer(3)(shape=[2]).numpy().tolist() == [3, 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant_initializer([1, 2, 3])(shape=[2, 2])
    assert tf.strings.unicode_decode("a\u00e9", "UTF8").numpy().tolist() == [97, 233]
    with pytest.raises(ValueError, match="input_encoding"):
        tf.strings.unicode_decode("a", "UTF-16-BE")
    assert tf.keras.__version__ == tf.keras.version()
    with pytest.raises(ValueError, match="names of the classes are not downloaded"):
        tf.keras.applications.resnet50.decode_predictions(np.zeros((1, 1000)))
    with pytest.raises(ValueError, match=r"\[images, 1000\]"):
        tf.keras.applications.resnet50.decode_predictions(np.zeros((1, 10)))
