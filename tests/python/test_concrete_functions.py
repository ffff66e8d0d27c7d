"""get_concrete_function(), and traced functions as methods."""
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import capstan as tf


def test_it_traces_and_runs_nothing():
    count = tf.Variable(1.0)

    @tf.function
    def step(x):
        count.assign_add(x)
        return count * 2

    concrete = step.get_concrete_function(tf.TensorSpec([], tf.float32))
    step.get_concrete_function(tf.constant(3.0))
    assert count.numpy() == 1
    assert concrete(tf.constant(2.0)).numpy() == 6 and count.numpy() == 3
    assert concrete.structured_outputs == tf.TensorSpec([], tf.float32)
    assert [node.op for node in concrete.graph.as_graph_def().node] and "step" in concrete.function_type


def test_it_is_called_with_all_arguments_or_with_tensors_alone():
    power = tf.function(lambda a, b: a ** b)
    square = power.get_concrete_function(tf.TensorSpec([None], tf.float32), 2)
    for call in (lambda x: square(x), lambda x: square(a=x), lambda x: square(x, 2), lambda x: square(x, b=2)):
        np.testing.assert_allclose(call(tf.constant([10.0, 3.0])), [100, 9])
    np.testing.assert_allclose(square(np.ones(3, "float32")), np.ones(3))
    assert square.output_shapes == (None,) and square.output_dtypes == tf.float32
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    np.testing.assert_allclose(tape.gradient(y, x), [2, 4])
    for call, error in ((lambda: square(x, b=3), TypeError), (lambda: square(), TypeError),
                        (lambda: square(x, a=x), TypeError), (lambda: square(tf.constant(1.0)), tf.errors.InvalidArgumentError),
                        (lambda: square(tf.constant([1])), tf.errors.InvalidArgumentError)):
        with pytest.raises(error, match="made for"):
            call()


def test_structures_and_objects():
    class Model:
        weight = tf.Variable(3.0)

    @tf.function
    def f(model, x, options):
        return {"a": model.weight * x["p"], "b": (options["q"] + x["p"], 3)}

    concrete = f.get_concrete_function(Model(), {"p": tf.TensorSpec([2], tf.float32)}, options={"q": tf.constant(1.0)})
    result = concrete({"p": tf.constant([1.0, 2.0])}, options={"q": tf.constant(3.0)})
    assert result["a"].numpy().tolist() == [3, 6] and result["b"][0].numpy().tolist() == [4, 5]
    assert [spec.shape for spec in concrete.inputs] == [(2,), ()] and len(concrete.outputs) == 3


def test_without_a_rank_and_of_texts():
    square = tf.function(lambda a, b: a ** b).get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
    assert square(tf.constant(10.0)).numpy() == 100 and square(tf.constant([1.0, 3.0])).numpy().tolist() == [1, 9]
    with pytest.raises(ValueError, match="no trace"):
        square.structured_outputs
    twice = tf.function(lambda a: a + a).get_concrete_function(tf.TensorSpec([], tf.string))
    assert twice(tf.constant("x")).numpy() == b"xx"
    with pytest.raises(tf.errors.InvalidArgumentError):
        twice(tf.constant(1))


class Sums(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def declared(self, x):
        return tf.reduce_sum(x, 0) * self.scale

    @tf.function
    def free(self, x, power=1):
        return x ** power * self.scale


def test_methods():
    sums = Sums()
    np.testing.assert_allclose(sums.declared(tf.ones([2, 3])), [4, 4, 4])
    concrete = sums.declared.get_concrete_function()
    np.testing.assert_allclose(concrete(tf.ones([4, 3])), [8, 8, 8])
    assert concrete.output_shapes == (3,)
    cube = sums.free.get_concrete_function(tf.TensorSpec([], tf.float32), power=3)
    assert cube(tf.constant(2.0)).numpy() == 16
    method = sums.free
    assert method(tf.constant(3.0)).numpy() == 6 and method(tf.constant(3.0), power=2).numpy() == 18
    assert method == sums.free and hash(method) == hash(sums.free) and method != Sums().free
    assert method.__self__ is sums and method.__func__ is Sums.free and method.__name__ == "free"
    assert method.experimental_get_tracing_count() >= 2
    with pytest.raises(AttributeError):
        method.none
    assert pickle.loads(pickle.dumps(method))(tf.constant(3.0)).numpy() == 6
    assert Sums.free(sums, tf.constant(1.0)).numpy() == 2


def test_many_arguments_of_a_method():
    class Adds:
        @tf.function
        def all(self, *values, **named):
            return tf.add_n([*values, *named.values()])

    adds = Adds()
    call = adds.all
    assert call(*[tf.constant(float(i)) for i in range(12)], last=tf.constant(100.0)).numpy() == 166


def test_one_that_needs_values_runs_without_a_trace():
    f = tf.function(lambda x: tf.numpy_function(lambda a: a + 1, [x], tf.float32))
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 3]


def test_it_is_made_while_other_threads_run_python():
    f = tf.function(lambda x, n: x * n)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: f.get_concrete_function(tf.TensorSpec([], tf.float32), n), range(200)))
    assert [concrete(tf.constant(2.0)).numpy() for concrete in found] == [2 * n for n in range(200)]


def test_each_object_makes_variables_in_its_first_trace():
    class Step(tf.Module):
        def __init__(self, optimizer):
            super().__init__()
            self.optimizer, self.count = optimizer, None

        @tf.function
        def __call__(self, w, x):
            if self.count is None:
                self.count = tf.Variable(0)
            self.count.assign_add(1)
            with tf.GradientTape() as tape:
                loss = (w * x) ** 2
            self.optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    w = tf.Variable(2.0)
    steps = [Step(tf.keras.optimizers.Adam(rate)) for rate in (0.1, 0.2)]
    for step in steps:
        before = float(w)
        step(w, tf.constant(1.0))
        assert before - float(w) == pytest.approx(float(step.optimizer.learning_rate), rel=1e-3)
        step(w, tf.constant([1.0])[0])
        assert int(step.count) == 2

    class Leaks:
        @tf.function
        def make(self, x):
            self.v = tf.Variable(1.0)
            return x * self.v

    leaks = Leaks()
    leaks.make(tf.constant(1.0))
    with pytest.raises(ValueError, match="first trace only"):
        leaks.make(tf.constant([1.0]))


def test_arguments_that_a_signature_does_not_allow():
    f = tf.function(lambda x, y: x + y, input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)])
    g = tf.function(lambda x: 2 * x, input_signature=[tf.TensorSpec([2])])
    np.testing.assert_array_equal(g([1, 2]), [2, 4])
    np.testing.assert_array_equal(g((1.0, 2.0)), [2, 4])
    for wrong in ([[1.0]], [1.0, 2.0, 3.0], tf.ones([3])):
        with pytest.raises(TypeError, match="its input_signature says"):
            g(wrong)
        with pytest.raises(ValueError, match="its input_signature says"):
            g(wrong)
    with pytest.raises(TypeError):
        f(tf.ones([2]), 1.5)
    texts = tf.function(lambda x: tf.strings.length(x), input_signature=[tf.TensorSpec([None], tf.string)])
    np.testing.assert_array_equal(texts(tf.constant(["a", "bcd"])), [1, 3])


def test_a_tensor_without_elements_has_no_array():
    leaked = []
    f = tf.function(lambda x: leaked.append(x) or x)
    f(tf.constant(1.0))
    with pytest.raises(AttributeError, match="whose trace has ended"):
        leaked[0].numpy()


def test_what_a_function_was_traced_for():
    f = tf.function(lambda a, b=2: a * b)
    f(tf.constant(1))
    f(tf.constant([1.0, 2.0]), b=3)
    text = f.pretty_printed_concrete_signatures()
    assert "shape=()" in text and "shape=(2,)" in text
    texts = tf.function(lambda x: x + x).get_concrete_function(tf.constant("a"))
    assert texts.inputs == [tf.TensorSpec([], tf.string)] and texts(tf.constant("b")).numpy() == b"bb"


def test_source_as_it_is_traced():
    def relu(x):
        if x > 0.0:
            return x
        return 0.0 * x

    code = tf.autograph.to_code(relu)
    assert code.startswith("def relu(x):") and "ag__" in code
    assert float(tf.autograph.to_graph(relu)(2.0)) == 2
    with pytest.raises(ValueError, match="no source"):
        tf.autograph.to_code(len)


def test_a_list_of_integers_after_a_float():
    assert tf.maximum(0.0, [1, -1]).dtype == tf.float32
    np.testing.assert_array_equal(tf.function(lambda x: tf.maximum(0.0, x))([1, -1]), [1, 0])
    with pytest.raises(TypeError):
        tf.maximum([1, -1], 0.5)
