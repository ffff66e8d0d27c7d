"""Texts as tensors, tf.strings, tf.io, tf.lookup, records, layers of texts. Values are TensorFlow's."""
import os

import numpy as np
import pytest

import capstan as tf

c = tf.constant
S = tf.strings
IMAGE = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)


def plain(x):
    """A structure of tensors as lists of Python."""
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, tf.RaggedTensor):
        return {"rows": x.to_list()}
    x = x.numpy() if hasattr(x, "numpy") else x
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def ragged(*rows):
    return {"rows": list(rows)}


@pytest.mark.parametrize("make, expected", [
    (lambda: [c("abc"), c(["a", "bé"]), c([["a"], ["b"]])], [b"abc", [b"a", b"b\xc3\xa9"], [[b"a"], [b"b"]]]),
    (lambda: [tf.convert_to_tensor("a"), c(np.array(["a", "b"])), c(b"x"), c(["a"], dtype=tf.string), c("a", shape=[2])],
     [b"a", [b"a", b"b"], b"x", [b"a"], [b"a", b"a"]]),
    (lambda: [c(["a", "b"]) == "a", tf.equal(c(["a", "b"]), ["a", "c"]), c("a") != c("b")],
     [[True, False], [True, False], True]),
    (lambda: [c("a") + "b", "b" + c("a"), c(["x", "y"]) + c("z")], [b"ab", b"ba", [b"xz", b"yz"]]),
    (lambda: [c(["a", "b", "c"])[1], c(["a", "b", "c"])[1:], c([["a", "b"], ["c", "d"]])[:, 0]],
     [b"b", [b"b", b"c"], [b"a", b"c"]]),
    (lambda: [tf.reshape(c(["a", "b"]), [2, 1]), tf.expand_dims(c(["a"]), -1), tf.concat([c(["a"]), c(["b"])], 0)],
     [[[b"a"], [b"b"]], [[b"a"]], [b"a", b"b"]]),
    (lambda: [tf.stack([c("a"), c("b")]), tf.gather(c(["a", "b", "c"]), [2, 0]), tf.squeeze(c([["a"]]))],
     [[b"a", b"b"], [b"c", b"a"], b"a"]),
    (lambda: [tf.shape(c(["a", "b"])), tf.size(c(["a", "b"])), tf.rank(c(["a"])), tf.unstack(c(["a", "b"]))],
     [[2], 2, 1, [b"a", b"b"]]),
    (lambda: [tf.where(c([True, False]), c(["a", "b"]), c(["c", "d"])), tf.boolean_mask(c(["a", "b"]), [False, True]),
              tf.transpose(c([["a", "b"]])), tf.tile(c(["a"]), [2])],
     [[b"a", b"d"], [b"b"], [[b"a"], [b"b"]], [b"a", b"a"]]),
])
def test_texts_are_tensors(make, expected):
    assert plain(make()) == expected


def test_what_texts_say_of_themselves():
    assert repr(c("abc")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'abc'>"
    assert repr(c(["a"])) == "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'a'], dtype=object)>"
    assert str(c("abc")) == "tf.Tensor(b'abc', shape=(), dtype=string)"
    assert c(["a", "b"]).dtype == tf.string and c(["a", "b"]).shape == (2,) and tf.is_tensor(c("a"))
    assert [t.numpy() for t in c(["a", "b"])] == [b"a", b"b"] and len(c(["a", "b"])) == 2
    assert tf.dtypes.as_dtype(str) is tf.string and tf.dtypes.as_dtype("string") is tf.string
    assert os.fspath(c("folder/file")) == "folder/file"


@pytest.mark.parametrize("make, expected", [
    (lambda: [S.lower(["ABc", "É"]), S.upper("abc é", encoding="utf-8"), S.strip(["  a b ", "\tx"])],
     [[b"abc", b"\xc3\x89"], b"ABC \xc3\x89", [b"a b", b"x"]]),
    (lambda: [S.length(["abc", "é"]), S.length("é", unit="UTF8_CHAR")], [[3, 2], 1]),
    (lambda: [S.substr(["hello", "world"], 1, 3), S.substr("hello", -3, 2), S.substr(["abc", "defg"], [0, 1], [2, 2])],
     [[b"ell", b"orl"], b"ll", [b"ab", b"ef"]]),
    (lambda: [S.join(["a", ["b", "c"]], separator="-"), S.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator=" "),
              S.reduce_join([["a", "b"], ["c", "d"]]), S.reduce_join([["a", "b"], ["c", "d"]], axis=0, keepdims=True)],
     [[b"a-b", b"a-c"], [b"a b", b"c d"], b"abcd", [[b"ac", b"bd"]]]),
    (lambda: [S.regex_replace(["<br />x<b>y</b>"], "<[^>]+>", " "), S.regex_replace("a1b22", r"(\d+)", r"<\1>"),
              S.regex_replace("aaa", "a", "b", replace_global=False), S.regex_replace("a.b,c", "[[:punct:]]", ""),
              S.regex_replace("x", "x", r"a\\b"), S.regex_full_match(["TF lib", "CNTK"], ".*lib$")],
     [[b" x y "], b"a<1>b<22>", b"baa", b"abc", b"a\\b", [True, False]]),
    (lambda: [S.split("hello world  x"), S.split(["a b", "c d e", ""]), S.split("a,b,,c", ","),
              S.split("a b c", maxsplit=1), S.split(["a|b"], "|").to_tensor()],
     [[b"hello", b"world", b"x"], ragged([b"a", b"b"], [b"c", b"d", b"e"], []), [b"a", b"b", b"", b"c"], [b"a", b"b c"],
      [[b"a", b"b"]]]),
    (lambda: [S.bytes_split("abc"), S.unicode_split("aé", "UTF-8"), S.unicode_decode("aé", "UTF-8"),
              S.unicode_encode([97, 233], "UTF-8"), S.unicode_decode(["ab", "c"], "UTF-8")],
     [[b"a", b"b", b"c"], [b"a", b"\xc3\xa9"], [97, 233], b"a\xc3\xa9", ragged([97, 98], [99])]),
    (lambda: [S.to_number(["1.5", "2"]), S.to_number("7", out_type=tf.int32), S.as_string([1, 2]), S.as_string([1.5, 2.25]),
              S.as_string(3.14159, precision=2), S.as_string([True, False]), S.as_string(7, width=4, fill="0"),
              S.as_string(1e10, scientific=True), S.as_string(0.1, shortest=True), S.as_string(c(1.5, tf.bfloat16))],
     [[1.5, 2.0], 7, [b"1", b"2"], [b"1.500000", b"2.250000"], b"3.14", [b"true", b"false"], b"0007", b"1.000000e+10",
      b"0.1", b"1.500000"]),
    (lambda: [S.format("{} and {}", (c([1, 2, 3]), c(2.5))), S.format("x: {}", c("a")), S.format("{}", c([1.0] * 7)),
              S.format("{}", c(["a", "b"])), S.format("{}", c([[1, 2], [3, 4]]))],
     [b"[1 2 3] and 2.5", b'x: "a"', b"[1 1 1 ... 1 1 1]", b'["a" "b"]', b"[[1 2]\n [3 4]]"]),
    (lambda: [S.ngrams(["a", "b", "c"], 2), S.ngrams(["a", "b", "c"], [1, 2], separator="-")],
     [[b"a b", b"b c"], [b"a", b"b", b"c", b"a-b", b"b-c"]]),
    (lambda: S.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, separator=":"), [b"b", b"a:c"]),
    (lambda: [S.to_hash_bucket_fast(["a", "b", "hello"], 1000), S.to_hash_bucket_strong(["a", "b"], 1000, [1, 2])],
     [[939, 822, 296], [646, 184]]),
])
def test_functions_of_texts(make, expected):
    assert plain(make()) == expected


@pytest.mark.parametrize("use, text", [
    (lambda: S.substr("abc", 5, 1), "position 5"),
    (lambda: S.to_number("x"), "could not correctly convert string: x"),
    (lambda: S.regex_replace("x", "(", ""), "regular expression"),
    (lambda: S.lower(3), "no text"),
    (lambda: c("a") + 1, "add: 1 is no text"),
    (lambda: tf.reduce_sum(c(["a"])), "reduce_sum: .* text"),
    (lambda: tf.cast(c("1"), tf.float32), "cast: .* text"),
    (lambda: c(["a", 1]), "mixed types"),
    (lambda: c([["a"], ["b", "c"]]), "non-rectangular"),
    (lambda: c(["a", "b"], dtype=tf.float32), "no dtype here"),
    (lambda: tf.gather(c(["a"]), [1]), "index"),
    (lambda: bool(c("a")), "truth"),
    (lambda: tf.keras.Sequential([tf.keras.layers.Dense(1)])(c(["a"])), "in front of a model"),
    (lambda: tf.Variable("a"), "texts? ha|text is no tensor"),
    (lambda: tf.io.read_file("no such file"), "no such file"),
    (lambda: tf.io.decode_image("no image"), "no PNG or JPEG"),
    (lambda: tf.io.parse_tensor(b"xx", tf.int32), "parse_tensor|Type mismatch"),
    (lambda: tf.io.parse_tensor(tf.io.serialize_tensor(c([1.0, 2.0])).numpy()[:-1], tf.float32), "announced"),
    (lambda: tf.io.parse_tensor(b"\x08\x03\x12\x09\x12\x07\x08\x80\x80\x80\x80\x80\x01:\x01\x05", tf.int32), "1 values for"),
    (lambda: tf.io.parse_tensor(b"\x08" + b"\xff" * 12, tf.int32), "cut off"),
    (lambda: tf.io.decode_raw(["ab", "c"], tf.uint8), "same size"),
    (lambda: tf.io.decode_csv(["1,"], [[0], tf.constant([], dtype=tf.float32)]), "Field 1 is required"),
    (lambda: tf.io.decode_csv(["1,x"], [[0], [1]]), "not a valid int32"),
    (lambda: tf.io.parse_single_example(b"no example", {}), "xample"),
    (lambda: tf.io.parse_single_example(tf.train.Example().SerializeToString(), {"x": tf.io.FixedLenFeature([2], tf.float32)}),
     "x .*required"),
    (lambda: tf.io.decode_base64("?"), "alphabet"),
    (lambda: tf.train.BytesList(value=["a"]), "expected one of: bytes"),
    (lambda: tf.data.Dataset.from_tensor_slices((["a"], [1, 2])), "number of rows"),
    (lambda: tf.RaggedTensor.from_row_splits([1, 2], [0, 3]), "row_splits"),
    (lambda: tf.ragged.constant([[1]])[3], "row 3"),
])
def test_wrong_use_is_an_error(use, text):
    with pytest.raises((ValueError, TypeError, tf.errors.OpError), match=text):
        use()


def test_files_and_their_lines(tmp_path):
    path = str(tmp_path / "sub" / "x.txt")
    tf.io.write_file(path, "line1\nline2\n")
    assert plain([tf.io.read_file(path), list(tf.data.TextLineDataset(path))]) == [b"line1\nline2\n", [b"line1", b"line2"]]
    assert plain(list(tf.data.TextLineDataset([path, path]).batch(3))) == [[b"line1", b"line2", b"line1"], [b"line2"]]
    assert plain(list(tf.data.FixedLengthRecordDataset(path, 6))) == [b"line1\n", b"line2\n"]
    assert tf.io.gfile.exists(path) and tf.io.gfile.listdir(str(tmp_path)) == ["sub"]
    tf.io.gfile.copy(path, path + "2")
    assert plain(tf.io.matching_files(path + "*")) == [path.encode(), path.encode() + b"2"]
    with pytest.raises(OSError, match="there already"):
        tf.io.gfile.copy(path, path + "2")
    with tf.io.gfile.GFile(path) as file:
        assert file.read() == "line1\nline2\n"


def test_records_and_examples(tmp_path):
    path = str(tmp_path / "r.tfrecord")
    t = tf.train
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(3):
            features = {"x": t.Feature(float_list=t.FloatList(value=[i, i + 0.5])), "n": t.Feature(int64_list=t.Int64List(value=[i])),
                        "s": t.Feature(bytes_list=t.BytesList(value=[b"ab"])),
                        "v": t.Feature(int64_list=t.Int64List(value=list(range(i))))}
            writer.write(t.Example(features=t.Features(feature=features)).SerializeToString())
    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "n": tf.io.FixedLenFeature([], tf.int64),
                "s": tf.io.FixedLenFeature([], tf.string), "d": tf.io.FixedLenFeature([], tf.float32, default_value=9.0)}
    one = list(tf.data.TFRecordDataset(path).map(lambda r: tf.io.parse_single_example(r, features)))
    assert plain(one) == [{"x": [i, i + 0.5], "n": i, "s": b"ab", "d": 9.0} for i in range(3)]
    together = {**features, "v": tf.io.RaggedFeature(tf.int64), "w": tf.io.FixedLenSequenceFeature([], tf.int64, True)}
    batch = next(iter(tf.data.TFRecordDataset([path]).batch(3).map(lambda r: tf.io.parse_example(r, together))))
    assert plain(batch) == {"x": [[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]], "n": [0, 1, 2], "s": [b"ab"] * 3, "d": [9.0] * 3,
                            "v": ragged([], [0], [0, 1]), "w": [[], [], []]}
    example = t.Example.FromString(list(tf.data.TFRecordDataset(path))[1])
    assert example.features.feature["x"].float_list.value == [1.0, 1.5]
    assert example.features.feature["n"].WhichOneof("kind") == "int64_list"
    assert t.Example.FromString(example.SerializeToString()) == example


def test_images_and_numbers_in_texts():
    assert plain(tf.io.decode_png(tf.io.encode_png(IMAGE))) == IMAGE.tolist()
    assert tf.image.decode_image(tf.io.encode_png(IMAGE), channels=1).shape == (2, 3, 1)
    np.testing.assert_allclose(tf.io.decode_image(tf.io.encode_png(IMAGE), dtype=tf.float32), IMAGE / 255, rtol=1e-6)
    jpeg = tf.io.encode_jpeg(IMAGE)
    assert tf.io.decode_jpeg(jpeg).shape == (2, 3, 3) and bool(tf.io.is_jpeg(jpeg))
    assert plain([tf.io.decode_raw(c([b"\x01\x00\x02\x00"]), tf.uint8), tf.io.decode_raw(b"\x01\x00\x00\x00", tf.int32),
                  tf.io.decode_raw(b"\x00\x01", "uint8")]) == [[[1, 0, 2, 0]], [1], [0, 1]]
    assert plain(tf.io.decode_csv(["1,2.5,a", "3,,b"], [[0], [1.5], [""]])) == [[1, 3], [2.5, 1.5], [b"a", b"b"]]
    assert plain(tf.io.decode_csv('1,"x,y"', [[0], [""]])) == [1, b"x,y"]
    # TensorFlow's bytes.
    assert tf.io.serialize_tensor(c([1.0, 2.0])).numpy() == b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'
    assert tf.io.serialize_tensor(c(["a", "b"])).numpy() == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x01b"
    assert tf.io.serialize_tensor(c([1.5], dtype=tf.bfloat16)).numpy() == b'\x08\x0e\x12\x04\x12\x02\x08\x01"\x02\xc0?'
    for value in (c([[1, 2]]), c([True]), c(2.5, tf.float64), c([1 + 2j]), c(["x"]), c([1.5, 2.5], tf.bfloat16), tf.zeros([0, 2])):
        made = tf.io.parse_tensor(tf.io.serialize_tensor(value), value.dtype)
        assert plain(made) == plain(value) and made.dtype == value.dtype and made.shape == value.shape
    # A list of values, the last of which is repeated.
    assert plain(tf.io.parse_tensor(b"\x08\x03\x12\x04\x12\x02\x08\x03:\x02\x05\x07", tf.int32)) == [5, 7, 7]
    assert plain([tf.io.encode_base64("hello?"), tf.io.decode_base64(tf.io.encode_base64("hello?"))]) == [b"aGVsbG8_", b"hello?"]


def test_datasets_of_texts():
    data = tf.data.Dataset.from_tensor_slices((["a b", "c", "d e f"], [1, 2, 3]))
    assert plain(list(data)) == [[b"a b", 1], [b"c", 2], [b"d e f", 3]] and len(data) == 3
    assert plain(list(data.batch(2))) == [[[b"a b", b"c"], [1, 2]], [[b"d e f"], [3]]]
    assert plain(list(data.map(lambda t, y: (S.length(t), y * 2)).batch(3))) == [[[3, 1, 5], [2, 4, 6]]]
    assert plain(list(data.filter(lambda t, y: y > 1).map(lambda t, y: t))) == [b"c", b"d e f"]
    assert sorted(plain([t for t, _ in data.shuffle(3)])) == [b"a b", b"c", b"d e f"]
    assert plain(list(data.map(lambda t, y: S.split(t)).padded_batch(3))) == [
        [[b"a", b"b", b""], [b"c", b"", b""], [b"d", b"e", b"f"]]]
    assert plain(list(tf.data.Dataset.from_tensor_slices(["x", "y", "x"]).unique())) == [b"x", b"y"]
    assert plain(list(tf.data.Dataset.from_tensors("q"))) == [b"q"]


def test_functions_of_texts_run_without_a_trace():
    calls = []

    @tf.function
    def lengths(texts, scale):
        calls.append(1)
        if tf.reduce_max(S.length(texts)) > 2:
            return S.length(texts) * scale
        return S.length(texts)
    assert plain(lengths(c(["abc", "d"]), 2)) == [6, 2]
    assert plain(lengths(c(["q"]), 2)) == [1]
    assert len(calls) == 2 and lengths.experimental_get_tracing_count() == 0


def test_text_dataset_from_directory(tmp_path):
    for name in ("a/1.txt", "a/2.txt", "b/3.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text {name}")
    data = tf.keras.utils.text_dataset_from_directory(tmp_path, shuffle=False, batch_size=2, verbose=False)
    assert data.class_names == ["a", "b"]
    assert plain(list(data)) == [[[b"text a/1.txt", b"text a/2.txt"], [0, 0]], [[b"text b/3.txt"], [1]]]
    plain_texts = tf.keras.utils.text_dataset_from_directory(tmp_path, shuffle=False, label_mode=None, verbose=False)
    assert plain(list(plain_texts)) == [[b"text a/1.txt", b"text a/2.txt", b"text b/3.txt"]]


L = tf.keras.layers


def test_text_vectorization():
    layer = L.TextVectorization(max_tokens=10, output_sequence_length=4)
    layer.adapt(["foo bar", "bar baz", "baz bada boom"])
    assert layer.get_vocabulary() == VOCABULARY and layer.vocabulary_size() == 7
    assert plain(layer(["foo qux bar", "qux baz"])) == [[4, 1, 3, 0], [1, 2, 0, 0]]
    assert plain(layer(c([["foo bar"]]))) == [[4, 3, 0, 0]]

    def standardize(texts):
        return S.regex_replace(S.lower(texts), "<br />", " ")
    own = L.TextVectorization(standardize=standardize, output_sequence_length=5)
    own.adapt(tf.data.Dataset.from_tensor_slices(["A<br />b", "b c", "b"]).batch(2))
    assert own.get_vocabulary() == ["", "[UNK]", "b", "c", "a"] and plain(own(["a c b"])) == [[4, 3, 2, 0, 0]]
    assert own.get_config()["standardize"] is standardize
    same = L.TextVectorization.from_config({**own.get_config(), "vocabulary": own.get_vocabulary()[2:]})
    assert plain(same(["A<br />b"])) == [[4, 2, 0, 0, 0]]
    split = L.TextVectorization(standardize=S.lower, split=lambda t: S.split(t, ","), output_mode="count")
    split.set_vocabulary(["a", "b"])
    assert plain(split(["A,b,b", "x"])) == [[0, 1, 2], [1, 0, 0]]
    with pytest.raises(ValueError):
        L.TextVectorization()(["a"])
    with pytest.raises(ValueError, match="[Tt]exts"):
        layer(tf.zeros([2]))


VOCABULARY = ["", "[UNK]", "baz", "bar", "foo", "boom", "bada"]


def test_lookups_and_hashes():
    layer = L.StringLookup()
    layer.adapt(["red", "blue", "red"])
    assert layer.get_vocabulary() == ["[UNK]", "red", "blue"] and plain(layer(["blue", "green"])) == [2, 0]
    back = L.StringLookup(vocabulary=layer.get_vocabulary(), invert=True)
    assert plain(back(layer(["blue", "x"]))) == [b"blue", b"[UNK]"]
    assert plain(L.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(["a", "z"])) == [[0, 1, 0], [1, 0, 0]]
    rows = S.unicode_split(["ab", "c"], "UTF-8")
    of_rows = L.StringLookup(vocabulary=["a", "b", "c"])
    assert plain(of_rows(rows)) == ragged([1, 2], [3])
    back = L.StringLookup(vocabulary=of_rows.get_vocabulary(), invert=True)
    assert plain(S.reduce_join(back(of_rows(rows)), axis=-1)) == [b"ab", b"c"]
    ids = L.IntegerLookup()
    ids.adapt([3, 3, 5, 7])
    assert ids.get_vocabulary() == [-1, 3, 7, 5] and plain(ids([[5, 99]])) == [[3, 0]] and ids.vocabulary_size() == 4
    assert plain([L.Hashing(3)(["A", "B", "C"]), L.Hashing(3)([1, 2, 3]), L.Hashing(5, salt=133)(["A"])]) == [
        [1, 0, 1], [0, 1, 0], [4]]
    assert plain(L.HashedCrossing(5)((c(["A", "B"]), c([101, 102])))) == [1, 1]


def test_a_classifier_of_texts_trains():
    texts = ["good film", "bad film", "good story", "bad story"] * 8
    labels = [1, 0, 1, 0] * 8
    vectorize = L.TextVectorization(output_sequence_length=2)
    data = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(8)
    vectorize.adapt(data.map(lambda t, y: t))
    tf.random.set_seed(1)
    model = tf.keras.Sequential([L.Embedding(vectorize.vocabulary_size(), 4), L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.1), tf.keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(data.map(lambda t, y: (vectorize(t), y)), epochs=10, verbose=0)
    scores = np.asarray(model(vectorize(["good film", "bad story"]))).ravel()
    assert scores[0] > 0 > scores[1]


def test_tables():
    lookup = tf.lookup
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    assert plain([table.lookup(c(["b", "z"])), table.size(), table[c("a")]]) == [[2, -1], 2, 1]
    assert plain(table.lookup(S.split(["a b", "q"]))) == ragged([1, 2], [-1])
    back = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(c([1, 2]), ["x", "y"]), "?")
    assert plain(back.lookup(c([[2, 9]]))) == [[b"y", b"?"]]
    buckets = lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a", "b"], c([0, 1])), 3)
    assert plain([buckets.lookup(c(["b", "z", "q"])), buckets.size()]) == [[1, 3, 4], 5]
    changing = lookup.MutableHashTable(tf.string, tf.int64, -1)
    changing.insert(c(["k", "l"]), c([5, 6], tf.int64))
    changing.remove(c(["l"]))
    assert plain([changing.lookup(c(["k", "l"])), changing.size(), *changing.export()]) == [[5, -1], 1, [b"k"], [5]]
    with pytest.raises(ValueError, match="two values"):
        lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    with pytest.raises(TypeError, match="string"):
        table.lookup(c([1]))


def test_features_of_open_length_are_sparse():
    make = tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5]))
    message = tf.train.Example(features=tf.train.Features(feature={"v": make})).SerializeToString()
    feature = {"v": tf.io.VarLenFeature(tf.int64)}
    assert plain(tf.io.parse_single_example(message, feature)["v"].values) == [4, 5]
    batch = tf.io.parse_example([message, tf.train.Example().SerializeToString()], feature)["v"]
    assert plain(tf.sparse.to_dense(batch)) == [[4, 5], [0, 0]]


def test_columns_of_tables_are_texts():
    class Column:
        """What pandas has: an array of objects that says so when it is asked."""

        def __array__(self, dtype=None, copy=None):
            return np.array(["a", "b"], dtype=object)
    assert plain(c(Column())) == [b"a", b"b"]
    rows = tf.data.Dataset.from_tensor_slices(({"kind": Column(), "age": np.array([1.0, 2.0])}, [0, 1]))
    assert plain(next(iter(rows.batch(2)))) == [{"kind": [b"a", b"b"], "age": [1.0, 2.0]}, [0, 1]]
