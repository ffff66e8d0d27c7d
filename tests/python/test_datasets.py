"""Datasets: pipelines with and without functions of Python."""
import numpy as np
import pytest

import capstan as tf

Dataset = tf.data.Dataset


def numbers(dataset):
    return [element.numpy().tolist() for element in dataset]


def test_slices_in_their_structure():
    data = Dataset.from_tensor_slices({"a": np.arange(3), "b": (np.ones((3, 2)), [1, 2, 3])})
    element = next(iter(data))
    assert element["a"].numpy() == 0 and element["b"][0].shape == (2,) and element["b"][1].numpy() == 1
    assert len(data) == 3 and data.cardinality().numpy() == 3
    x, y = next(iter(Dataset.from_tensor_slices((np.zeros(2), np.ones(2)))))
    assert x.numpy() == 0 and y.numpy() == 1
    assert data.element_spec["a"].dtype == tf.int64


def test_pipelines():
    data = Dataset.range(10)
    assert numbers(data.batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers(data.batch(4, drop_remainder=True).take(1)) == [[0, 1, 2, 3]]
    assert sorted(numbers(data.shuffle(10, seed=1))) == list(range(10)) != numbers(data.shuffle(10, seed=1))
    assert numbers(data.shuffle(10, seed=1)) == numbers(data.shuffle(10, seed=1))
    assert numbers(data.skip(7).repeat(2).prefetch(2).cache()) == [7, 8, 9] * 2
    assert numbers(data.map(lambda x: x * 2).filter(lambda x: x > 14).batch(2)) == [[16, 18]]
    assert numbers(data.shard(3, 1)) == [1, 4, 7] and numbers(data.take(2).concatenate(data.take(1))) == [0, 1, 0]
    assert [(a.numpy(), b.numpy()) for a, b in Dataset.zip((data.take(2), data.skip(5)))] == [(0, 5), (1, 6)]
    assert data.reduce(0, lambda a, b: a + tf.cast(b, tf.int32)).numpy() == 45
    assert numbers(data.batch(5).unbatch().take(3)) == [0, 1, 2]


def test_functions_of_python():
    data = Dataset.from_tensor_slices((np.arange(4.0), np.arange(4))).map(lambda x, y: {"x": x + 1, "y": (y, [y, y])})
    batch = next(iter(data.batch(2)))
    assert batch["x"].numpy().tolist() == [1, 2] and batch["y"][0].numpy().tolist() == [0, 1]
    assert batch["y"][1].numpy().tolist() == [[0, 0], [1, 1]]
    made = Dataset.from_generator(lambda: iter(range(3)), output_signature=tf.TensorSpec((), tf.float32))
    assert numbers(made) == numbers(made) == [0, 1, 2] and next(iter(made)).dtype == tf.float32
    with pytest.raises(TypeError):
        len(Dataset.range(2).repeat())
    assert list(Dataset.range(2).as_numpy_iterator()) == [0, 1]


def test_what_generators_give_is_what_their_signature_says():
    def given(item, signature=None, **options):
        return next(iter(Dataset.from_generator(lambda: iter([item]), output_signature=signature, **options)))
    number, pair = tf.TensorSpec((), tf.int32), tf.TensorSpec((2,), tf.float32)
    for made in (given((1, [1.5, 2]), (number, pair)), given((1, [1.5, 2]), output_types=(tf.int32, tf.float32)),
                 given((1, [1.5, 2]), output_types=(tf.int32, tf.float32), output_shapes=((), (2,)))):
        assert isinstance(made, tuple) and made[0].numpy() == 1 and made[1].numpy().tolist() == [1.5, 2]
        assert (made[0].dtype, made[1].dtype) == (tf.int32, tf.float32)
    nested = given(({"a": [1.5, 2], "b": "x"}, 1.75), ({"a": pair, "b": tf.TensorSpec((), tf.string)}, number))
    assert nested[0]["a"].numpy().tolist() == [1.5, 2] and nested[0]["b"].numpy() == b"x" and nested[1].numpy() == 1
    assert given(np.array([1.5, 2.0]), tf.TensorSpec((None,), tf.bfloat16)).dtype == tf.bfloat16
    for item, signature in (([1, 2.5], (number, number)), ((1, 2, 3), (number, number)), ({"a": 1}, {"b": number}),
                            ({"a": 1}, number), (1, (number,))):
        with pytest.raises(TypeError, match="from_generator"):
            given(item, signature)
    for item, signature in (([1, 2, 3], pair), (1, pair), ((1, [1, 2, 3]), (number, pair))):
        with pytest.raises(ValueError, match="from_generator"):
            given(item, signature)
    with pytest.raises(ValueError, match="2 output_types and 1 output_shapes"):
        given((1, 2), output_types=(tf.int32, tf.int32), output_shapes=((),))
    empty = Dataset.from_generator(lambda: iter([]), output_signature=(number, pair))
    assert list(empty) == [] and empty.element_spec == (number, pair)
    joined = next(iter(Dataset.from_generator(lambda: iter([(1, [1, 2]), (2, [3, 4])]), output_types=(tf.int32, tf.float32))
                       .map(lambda x, y: (y, x)).batch(2)))
    assert joined[0].numpy().tolist() == [[1, 2], [3, 4]] and joined[1].numpy().tolist() == [1, 2]


def test_orders_and_numbers_are_tensorflows():
    tf.random.set_seed(5)
    drawn = Dataset.sample_from_datasets([Dataset.range(10), Dataset.range(100, 110)], weights=[0.3, 0.7], seed=45)
    assert numbers(drawn) == [100, 101, 102, 0, 103, 104, 1, 105, 106, 2, 3, 107, 4, 108, 109, 5, 6, 7, 8, 9]
    assert numbers(Dataset.random(seed=3).take(4)) == [799339370, 1364733611, 2614644758, 848062436]
    ragged = Dataset.from_tensor_slices([1, 5, 2, 8, 3]).map(lambda n: tf.range(n))
    buckets = ragged.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 1])
    assert numbers(buckets) == [[[0, 0], [0, 1]], [[0, 1, 2, 3, 4, 5, 6, 7]], [[0, 1, 2, 3, 4], [0, 1, 2, 0, 0]]]
    padded = ragged.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 7], [1, 1, 1], pad_to_bucket_boundary=True)
    assert [len(b[0]) for b in numbers(padded.take(3))] == [2, 6, 2]
    with pytest.raises(ValueError, match="longer than the last boundary"):
        numbers(padded)
    with pytest.raises(ValueError, match="need 3 batch sizes, not 1"):
        ragged.bucket_by_sequence_length(lambda x: 1, [3, 6], [2])
    assert numbers(Dataset.range(7).batch(4).rebatch([1, 2])) == [[0], [1, 2], [3], [4, 5], [6]]
    grouped = Dataset.range(5).group_by_window(lambda x: 1 - x % 2, lambda key, group: group.batch(2), window_size=9)
    assert numbers(grouped) == [[1, 3], [0, 2], [4]]


def test_numbers_of_elements_are_known():
    named = Dataset.from_tensor_slices({"a": np.arange(5), "b": np.arange(5)})
    assert len(named.padded_batch(2)) == 3 and len(named.padded_batch(2, drop_remainder=True)) == 2
    assert len(named.enumerate().map(lambda n, x: x)) == 5 == len(named.scan(0, lambda s, x: (s, x)))
    assert named.filter(lambda x: x["a"] > 9).cardinality().numpy() == -2
    assert Dataset.zip((Dataset.counter().map(lambda x: (x, x)), Dataset.counter())).cardinality().numpy() == -1
    assert numbers(Dataset.range(2).concatenate(Dataset.range(2).map(lambda x: x + 5))) == [0, 1, 5, 6]
    with pytest.raises(ValueError, match="the dataset is empty"):
        Dataset.range(0).element_spec  # noqa: B018


def test_functions_of_elements_are_traced():
    calls = []

    def grown(x, y):
        calls.append(type(x))
        if x > 2:  # a statement on a tensor
            y = y * 10
        return {"sum": x + y, "both": [x, y]}

    data = Dataset.from_tensor_slices((np.arange(5), np.arange(5) + 1)).map(grown, num_parallel_calls=tf.data.AUTOTUNE)
    for _ in range(2):
        assert [e["sum"].numpy() for e in data] == [1, 3, 5, 43, 54]
    assert len(calls) == 1
    assert numbers(data.map(lambda e: e["both"]).batch(2).take(1)) == [[[0, 1], [1, 2]]]
    predicates = []
    even = Dataset.range(100).filter(lambda x: predicates.append(1) or x % 2 == 0)
    assert len(numbers(even)) == 50 and len(predicates) == 1


def test_elements_of_other_shapes_share_a_trace():
    calls = []
    lengths = Dataset.from_tensor_slices(np.arange(20)).map(lambda n: tf.ones([n]))
    with pytest.warns(UserWarning, match="<lambda> runs without a trace"):
        rows = [row for row in lengths]
    assert [len(row) for row in rows] == list(range(20))
    sums = Dataset.from_generator(lambda: iter(rows)).map(lambda row: calls.append(1) or tf.reduce_sum(row * row))
    assert numbers(sums) == list(range(20)) and len(calls) < 8
    mixed = Dataset.from_generator(lambda: iter([1, 2.5, [1, 2], np.float64(3)])).map(lambda x: x + x)
    assert numbers(mixed) == [2, 5, [2, 4], 6]


def test_draws_and_variables_in_functions_of_elements():
    tf.random.set_seed(3)
    noisy = Dataset.range(50).map(lambda x: tf.random.uniform([]))
    assert len(set(numbers(noisy))) == 50
    count = tf.Variable(0)

    def counted(x):
        count.assign_add(1)
        return x + tf.cast(count, tf.int64)
    assert numbers(Dataset.range(4).map(counted)) == [1, 3, 5, 7] and count.numpy() == 4
    scaled = Dataset.from_tensors(tf.ones([2, 3])).map(tf.keras.layers.Rescaling(0.5))
    assert numbers(scaled) == [[[0.5] * 3] * 2]
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = tf.add_n([x for x in Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * v)])
    assert tape.gradient(loss, v).numpy() == 3
    doubled = tf.function(lambda x: 2 * x)
    assert numbers(Dataset.range(3).map(doubled)) == [0, 2, 4]


def test_what_cannot_be_traced_is_called():
    seen = []

    def look(x):
        seen.append(x.numpy())
        return x + 1
    with pytest.warns(UserWarning) as said:
        assert numbers(Dataset.range(4).map(look)) == [1, 2, 3, 4]
    assert len(said) == 1 and seen == [0, 1, 2, 3]
    with pytest.warns(UserWarning, match="cannot call back to Python"):
        assert numbers(Dataset.range(3).map(lambda x: tf.py_function(lambda y: int(y) * 2, [x], tf.int64))) == [0, 2, 4]
    windows = Dataset.range(4).window(2).map(lambda w: next(iter(w)))  # elements are datasets
    assert numbers(windows) == [0, 2]

    def fails(x):
        raise KeyError("no such thing")
    with pytest.raises(KeyError, match="no such thing"):
        numbers(Dataset.range(3).map(fails))
    with pytest.raises(tf.errors.InvalidArgumentError):
        numbers(Dataset.from_tensor_slices(np.ones([3, 2])).map(lambda x: tf.matmul(x, x)))
    tf.config.run_functions_eagerly(True)
    try:
        assert numbers(Dataset.range(3).map(lambda x: int(x) + 1)) == [1, 2, 3]
    finally:
        tf.config.run_functions_eagerly(False)
