// Exceptions of the library as those of Python, and the hooks by which it reaches Python.
//
// Each class derives from the builtin that TensorFlow raises in its place, so that the `except` clauses of scripts
// work, whichever they name. The text is the library's; what a help line tells to write is put into Python's words
// here, since nothing below this folder knows of Python.
#include <time.h>

#include <atomic>
#include <cstdio>

#include "capstan/bindings.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {

enum Class {
  kBase,
  kInvalid,
  kShape,
  kDType,
  kIndex,
  kValue,
  kGradient,
  kTrace,
  kUntraceable,
  kIo,
  kSignature,
  kNoArray,
  kClasses
};
PyObject* classes[kClasses];

// Phrases of help lines.
constexpr std::pair<std::string_view, std::string_view> kPhrases[] = {
    {"GradientTape tape({.persistent = true})", "tf.GradientTape(persistent=True)"},
    {"a missing gradient is an empty tensor; test it with has_value()", "a missing gradient is None"},
    {"read with item<T>() or to_vector<T>(), which convert", "read with numpy(), and astype() of the array"},
    {"cast(x, ", "tf.cast(x, tf."},
    {"choose by values with where() or cond()",
     "choose by values with tf.where(condition, a, b) or tf.cond(condition, lambda: a, lambda: b)"},
    {"call the C++ function itself", "call the Python function itself"},
    {"skip_mismatch = true", "skip_mismatch=True"},
    {"with_slice", "tf.tensor_scatter_nd_update"},
};

void replace_all(std::string& text, std::size_t from, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what, from); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// Options in braces are keywords in Python: `({.axis = 0})` is `(axis=0)`.
void replace_options(std::string& text, std::size_t from) {
  for (std::size_t at = text.find("({.", from); at != std::string::npos; at = text.find("({.", at)) {
    const std::size_t end = text.find("})", at);
    if (end == std::string::npos) return;
    std::string inside = text.substr(at + 3, end - at - 3);
    replace_all(inside, 0, " = ", "=");
    replace_all(inside, 0, ", .", ", ");
    replace_all(inside, 0, "=true", "=True");
    replace_all(inside, 0, "=false", "=False");
    text.replace(at, end + 2 - at, "(" + inside + ")");
  }
}

std::string in_words_of_python(std::string text) {
  const std::size_t help = text.find("\n  help: ");
  if (help == std::string::npos) return text;
  for (const auto& [what, by] : kPhrases) replace_all(text, help, what, by);
  replace_options(text, help);
  return text;
}

void set(Class which, const std::exception& error) {
  PyErr_SetString(classes[which], in_words_of_python(error.what()).c_str());
}

PyObject* make_class(nb::module_& m, const char* name, PyObject* base, PyObject* second = nullptr) {
  const std::string full = std::string("capstan.") + name;
  PyObject* const bases = second == nullptr ? PyTuple_Pack(1, base) : PyTuple_Pack(2, base, second);
  PyObject* const made = PyErr_NewException(full.c_str(), bases, nullptr);
  Py_DECREF(bases);
  m.attr(name) = nb::borrow(made);
  return made;
}

// --- Hooks ---

// Asked by long runs, most often without the lock of Python, which is taken 20 times a second.
void interrupt() {
  static std::atomic<std::int64_t> last{0};
  timespec time;  // of the clock that ticks with the scheduler: short programs ask, too, and the other one costs 20 ns
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const std::int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  if (now - last.load(std::memory_order_relaxed) < 50) return;
  last.store(now, std::memory_order_relaxed);
  const Locked lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::string package_folder;  // whose files are not the user's

// The file that a frame runs, if it is not of this package.
const char* file_of_user(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const char* const file = PyUnicode_AsUTF8(code->co_filename);
  Py_DECREF(code);  // the frame keeps it
  return file != nullptr && !std::string_view(file).starts_with(package_folder) ? file : nullptr;
}

bool is_called_by_package() {
  PyFrameObject* const frame = PyEval_GetFrame();
  return frame != nullptr && file_of_user(frame) == nullptr;
}

// The innermost line of Python that is not of this package.
std::string place() {
  if (PyGILState_Check() == 0) return "";
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string text;
  while (frame != nullptr && text.empty()) {
    if (const char* const file = file_of_user(frame); file != nullptr) {
      text = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    }
    PyFrameObject* const back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  PyErr_Clear();
  return text;
}

// A warning of Python, or, if a filter makes it an error, which no caller here could pass on, a message.
void warning(std::string_view text) {
  if (Py_IsInitialized() == 0) return;
  const Locked lock;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyErr_WarnEx(PyExc_UserWarning, ("capstan: " + std::string(text)).c_str(), 1) != 0)
    PyErr_WriteUnraisable(nullptr);
  PyErr_Restore(type, value, traceback);
}

bool needs_value() {
  const Locked lock;
  try {
    throw;
  } catch (const nb::python_error& error) {
    return error.matches(classes[kUntraceable]);
  } catch (...) {
    return false;
  }
}

}  // namespace

void set_op_error() noexcept {
  try {
    throw;
  } catch (const ValueNeededError& error) {
    set(kUntraceable, error);
  } catch (nb::python_error& error) {  // of the conversion of an attribute
    const nb::object text = error.matches(classes[kTrace]) ? nb::str(error.value()) : nb::object();
    text.is_valid() ? PyErr_SetObject(classes[kUntraceable], text.ptr()) : error.restore();
  } catch (...) {
    set_error();
  }
}

void rethrow_as_value_error(const nb::python_error& error) {
  if (!error.matches(PyExc_Exception)) throw;
  throw ValueError(nb::cast<std::string>(nb::str(error.value())));
}

bool is_untraceable_error() { return PyErr_ExceptionMatches(classes[kUntraceable]) != 0; }

void set_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyObject* const type = error.type() == nb::exception_type::type_error       ? PyExc_TypeError
                           : error.type() == nb::exception_type::index_error    ? PyExc_IndexError
                           : error.type() == nb::exception_type::key_error      ? PyExc_KeyError
                           : error.type() == nb::exception_type::stop_iteration ? PyExc_StopIteration
                                                                                : PyExc_ValueError;
    PyErr_SetString(type, error.what() == nullptr ? "" : error.what());
  } catch (const ShapeError& error) {
    set(kShape, error);
  } catch (const DTypeError& error) {
    set(kDType, error);
  } catch (const IndexError& error) {
    set(kIndex, error);
  } catch (const ValueError& error) {
    set(kValue, error);
  } catch (const GradientError& error) {
    set(kGradient, error);
  } catch (const ValueNeededError& error) {
    set(is_called_by_package() ? kUntraceable : kTrace, error);
  } catch (const TraceError& error) {
    set(kTrace, error);
  } catch (const IoError& error) {
    set(kIo, error);
  } catch (const Error& error) {
    set(kBase, error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

void set_signature_error(const std::exception& error) noexcept { set(kSignature, error); }
void set_no_array_error(const TraceError& error) noexcept {
  const bool runs_anyway = dynamic_cast<const ValueNeededError*>(&error) != nullptr && is_called_by_package();
  set(runs_anyway ? kUntraceable : kNoArray, error);
}

PyObject* import_from(const char* module, const char* name) {
  const nb::object imported = steal(PyImport_ImportModule(module));
  return steal(PyObject_GetAttrString(imported.ptr(), name)).release().ptr();
}

Signature::Signature(const char* f, std::initializer_list<const char*> list, Py_ssize_t count)
    : function(f), required(count) {
  for (const char* name : list) names.push_back(PyUnicode_InternFromString(name));
}

bool Signature::read(PyObject* const* args, Py_ssize_t n, PyObject* keywords, PyObject** given) const {
  const auto count = static_cast<Py_ssize_t>(names.size());
  if (n > count) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments, not %zd", function, count, n);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) given[i] = i < n ? args[i] : nullptr;
  for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, k);
    Py_ssize_t at = 0;
    while (at < count && names[static_cast<std::size_t>(at)] != name) ++at;
    if (at == count) {  // not interned, or wrong
      for (at = 0; at < count && PyUnicode_Compare(names[static_cast<std::size_t>(at)], name) != 0;) ++at;
    }
    if (at == count) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", function, name);
      return false;
    }
    if (given[at] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument %R", function, name);
      return false;
    }
    given[at] = args[n + k];
  }
  for (Py_ssize_t i = 0; i < required; ++i) {
    if (given[i] != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "%s() missing a required argument: %R", function, names[static_cast<std::size_t>(i)]);
    return false;
  }
  return true;
}

void add_errors(nb::module_& m) {
  classes[kBase] = make_class(m, "Error", PyExc_RuntimeError);
  classes[kInvalid] = make_class(m, "InvalidArgumentError", classes[kBase], PyExc_ValueError);
  classes[kShape] = make_class(m, "ShapeError", classes[kInvalid]);
  classes[kDType] = make_class(m, "DTypeError", classes[kInvalid], PyExc_TypeError);
  classes[kIndex] = make_class(m, "IndexError_", classes[kInvalid], PyExc_IndexError);
  classes[kValue] = make_class(m, "ValueError_", classes[kInvalid]);
  classes[kGradient] = make_class(m, "GradientError", classes[kBase], PyExc_ValueError);
  classes[kTrace] = make_class(m, "TraceError", classes[kBase], PyExc_TypeError);
  classes[kUntraceable] = make_class(m, "UntraceableError", classes[kTrace]);
  classes[kIo] = make_class(m, "IoError", classes[kBase], PyExc_OSError);
  classes[kSignature] = make_class(m, "SignatureError", classes[kInvalid], PyExc_TypeError);
  classes[kNoArray] = make_class(m, "NoArrayError", classes[kTrace], PyExc_AttributeError);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      set_error();
    }
  });
}

void add_hooks(nb::module_& m) {
  m.def("set_package_folder", [](std::string folder) { package_folder = std::move(folder); });
  set_binding_hooks({.interrupt = interrupt, .place = place, .warning = warning, .needs_value = needs_value});
}

}  // namespace capstan::python
