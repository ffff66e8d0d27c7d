// Datasets: pipelines of the library, whose elements are structures of Python.
//
// An element is a list of tensors as long as the pipeline only moves elements; capstan/data.py knows their structure.
// What a function of Python gives is one part that holds a structure, so that nothing has to be known of it before.
#include <nanobind/stl/optional.h>

#include "src/python/composites.h"
#include "src/python/datasets.h"
#include "src/python/texts.h"

namespace capstan::python {

namespace {

using detail::DatasetNodePtr;
using detail::Part;
using detail::PartColumn;
using detail::PartType;
using detail::PartTypes;

constexpr std::size_t kMostParts = 64;
constexpr std::string_view kStructureName = "a structure of Python";

std::shared_ptr<const void> held(nb::handle o) {
  const auto object = std::make_shared<Held>(o);
  return {object, object->get().ptr()};
}
PyObject* object_of_part(const Part& part) { return static_cast<PyObject*>(const_cast<void*>(part.object.get())); }

// Structures of one form, joined leaf by leaf.
Part batch_structures(const PartColumn& items) {
  const Locked lock;
  std::vector<std::vector<PyObject*>> leaves(items.count);
  for (std::size_t i = 0; i < items.count; ++i) flatten(object_of_part(items[i]), leaves[i]);
  std::size_t leaf = 0;
  nb::object joined = map_leaves(object_of_part(items[0]), [&](PyObject*) {
    if (is_composite(leaves[0][leaf])) {
      nb::list composites;
      for (const std::vector<PyObject*>& one : leaves) {
        if (one.size() != leaves[0].size()) throw ValueError("batch: elements have different structures");
        composites.append(nb::handle(one[leaf]));
      }
      ++leaf;
      return stacked_composites(composites).release().ptr();
    }
    std::vector<Tensor> column;
    for (const std::vector<PyObject*>& one : leaves) {
      if (one.size() != leaves[0].size()) throw ValueError("batch: elements have different structures");
      column.push_back(to_tensor(one[leaf]));
    }
    ++leaf;
    return wrap(detail::joined(column));
  });
  return {{}, held(std::move(joined))};
}

// For positions of passes that hold elements, such as the buffer of a shuffle.
std::vector<Tensor> save_structure(const Part& part) {
  const Locked lock;
  std::vector<Tensor> tensors;
  const std::string form = form_of(object_of_part(part), tensors);
  std::vector<Tensor> saved = detail::save_keys({form});
  saved.insert(saved.end(), tensors.begin(), tensors.end());
  return saved;
}
Part restore_structure(const std::vector<Tensor>& saved) {
  constexpr std::ptrdiff_t kTensorsOfKeys = 2;
  if (std::ssize(saved) < kTensorsOfKeys) detail::throw_wrong_position(kStructureName);
  const std::vector<std::string> form = detail::restore_keys({saved.begin(), saved.begin() + kTensorsOfKeys});
  if (form.size() != 1) detail::throw_wrong_position(kStructureName);
  const Locked lock;
  return {{}, held(structure_of(form[0], {saved.begin() + kTensorsOfKeys, saved.end()}))};
}

const PartType kStructurePart = {kStructureName, false, batch_structures, nullptr, save_structure, restore_structure};

// Types of elements of so many tensors, or of one structure.
PartTypes tensors(std::size_t count) {
  static const auto all = [] {
    std::array<const PartType*, kMostParts> list;
    list.fill(&detail::kTensorPart);
    return list;
  }();
  if (count == 0 || count > kMostParts) throw ValueError("dataset: an element has 1 to 64 tensors");
  return PartTypes(all.data(), count);
}
PartTypes structure() {
  static const PartType* const list[] = {&kStructurePart};
  return PartTypes(list, 1);
}

// An element as an argument of a function: a list of tensors, or the structure.
nb::object to_python(const Part* parts, PartTypes types) {
  if (types.data() == structure().data()) return nb::borrow(object_of_part(parts[0]));
  nb::list list;
  for (std::size_t i = 0; i < types.size(); ++i) list.append(steal(wrap(parts[i].tensor)));
  return list;
}

// What a function of Python threw: the library hands on a text with the place of the element, and Python gets this.
std::exception_ptr& thrown() {
  static auto* const exception = new std::exception_ptr;  // read and written with the lock
  return *exception;
}

}  // namespace

nb::object DatasetPass::next() {
  if (cursor_ == nullptr) throw nb::stop_iteration();
  std::vector<Part> parts(cursor_->types.size());
  bool found = false;
  try {
    const Unlocked unlocked;
    found = cursor_->next(parts.data());
  } catch (const Error&) {
    if (thrown() == nullptr) throw;
    std::rethrow_exception(std::exchange(thrown(), nullptr));
  }
  if (!found) throw nb::stop_iteration();
  return to_python(parts.data(), cursor_->types);
}

DatasetPosition DatasetPass::save() const {
  return cursor_ == nullptr ? detail::save_end() : detail::save_position(*cursor_);
}

void DatasetPass::restore(const DatasetPosition& position) {
  detail::DatasetCursorPtr cursor = node_->open();
  if (!detail::restore_position(*cursor, position)) cursor = nullptr;
  cursor_ = std::move(cursor);
}

namespace {

// Calls `f`, and keeps what Python throws in it.
template <class F>
auto kept(const F& f) {
  try {
    return f();
  } catch (const nb::python_error&) {
    thrown() = std::current_exception();
    throw;
  }
}

// A function of Python, called with the lock, and let go of with it.
template <class Result, class F>
auto callback(const nb::object& function, PartTypes types, const F& convert) {
  const std::shared_ptr<const void> f = held(function);
  return [f, types, convert](const Part* element) -> Result {
    const Locked lock;
    const nb::handle call(static_cast<PyObject*>(const_cast<void*>(f.get())));
    return kept([&] { return convert(call(to_python(element, types))); });
  };
}

DatasetHandle mapped(const DatasetHandle& input, const nb::object& function, std::int64_t parallel) {
  const auto call = callback<Part>(function, input.node->types, [](nb::object o) {
    return Part{{}, held(std::move(o))};
  });
  // Several threads would take turns with the lock of Python.
  static_cast<void>(parallel);
  return {detail::mapped("map", structure(), input.node,
                         [call](const Part* element, Part* result) { *result = call(element); })};
}

DatasetHandle filtered(const DatasetHandle& input, const nb::object& predicate) {
  return {detail::filtered(input.node, callback<bool>(predicate, input.node->types, [](const nb::object& o) {
                             return to_tensor(o.ptr()).item<bool>();
                           }))};
}

DatasetHandle generated(const nb::object& open) {
  const std::shared_ptr<const void> f = held(open);
  return {detail::generated(structure(), [f]() -> detail::PartGenerator {
    const Locked lock;
    const nb::handle call(static_cast<PyObject*>(const_cast<void*>(f.get())));
    const std::shared_ptr<const void> iterator = kept([&] { return held(nb::iter(call())); });
    return [iterator](Part* element) {
      const Locked inner;
      return kept([&] {
        PyObject* const item = PyIter_Next(static_cast<PyObject*>(const_cast<void*>(iterator.get())));
        if (item == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
        if (item != nullptr) *element = {{}, held(nb::steal(item))};
        return item != nullptr;
      });
    };
  })};
}

std::vector<DatasetNodePtr> nodes_of(const std::vector<DatasetHandle>& handles) {
  std::vector<DatasetNodePtr> nodes;
  for (const DatasetHandle& handle : handles) nodes.push_back(handle.node);
  return nodes;
}

}  // namespace

DatasetHandle structures_of(DatasetNodePtr input, std::function<nb::object(const Part*)> make) {
  return {detail::mapped("map", structure(), std::move(input), [make = std::move(make)](const Part* in, Part* out) {
    const Locked lock;
    *out = {{}, held(kept([&] { return make(in); }))};
  })};
}

void add_datasets(nb::module_& m) {
  nb::class_<DatasetPass>(m, "DatasetCursor")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &DatasetPass::next);
  nb::class_<DatasetHandle>(m, "DatasetNode")
      .def("open", [](const DatasetHandle& n) { return DatasetPass(n); })
      .def_prop_ro("cardinality", [](const DatasetHandle& n) { return n.node->cardinality(); })
      .def_prop_ro("is_structure", [](const DatasetHandle& n) { return n.node->types.data() == structure().data(); })
      .def(
          "shuffle",
          [](const DatasetHandle& n, std::int64_t size, Seed seed, bool reshuffle) {
            return DatasetHandle{detail::shuffled(n.node, size, seed, reshuffle)};
          },
          nb::arg(), nb::arg().none(), nb::arg())
      .def("batch", [](const DatasetHandle& n, std::int64_t size,
                       bool drop) { return DatasetHandle{detail::batched(n.node->types, n.node, size, drop)}; })
      .def("unbatch", [](const DatasetHandle& n) { return DatasetHandle{detail::unbatched(n.node->types, n.node)}; })
      .def("repeat",
           [](const DatasetHandle& n, std::int64_t count) { return DatasetHandle{detail::repeated(n.node, count)}; })
      .def("take",
           [](const DatasetHandle& n, std::int64_t count) { return DatasetHandle{detail::taken(n.node, count)}; })
      .def("skip",
           [](const DatasetHandle& n, std::int64_t count) { return DatasetHandle{detail::skipped(n.node, count)}; })
      .def("shard", [](const DatasetHandle& n, std::int64_t count,
                       std::int64_t i) { return DatasetHandle{detail::sharded(n.node, count, i)}; })
      .def("cache", [](const DatasetHandle& n) { return DatasetHandle{detail::cached(n.node)}; })
      .def("prefetch",
           [](const DatasetHandle& n, std::int64_t size) { return DatasetHandle{detail::prefetched(n.node, size)}; })
      .def("concatenate", [](const DatasetHandle& a,
                             const DatasetHandle& b) { return DatasetHandle{detail::concatenated(a.node, b.node)}; })
      .def("with_cardinality",
           [](const DatasetHandle& n, std::int64_t count) {
             return DatasetHandle{detail::with_cardinality(n.node, count)};
           })
      .def("map", &mapped)
      .def("filter", &filtered);
  m.def("dataset_of_slices", [](const nb::list& list) {
    std::vector<Tensor> rows;
    for (const nb::handle item : list) rows.push_back(to_tensor(item.ptr()));
    static_cast<void>(tensors(rows.size()));
    return DatasetHandle{detail::slices_of(std::move(rows))};
  });
  m.def("dataset_of_range", [](std::int64_t start, std::int64_t stop, std::int64_t step) {
    return DatasetHandle{detail::range_of(tensors(1), start, stop, step)};
  });
  m.def("dataset_of_generator", &generated);
  m.def("dataset_of_counter", [](std::int64_t start, std::int64_t step) {
    return DatasetHandle{detail::counter_of(tensors(1), start, step)};
  });
  m.def(
      "dataset_of_random_words",
      [](Seed seed, bool rerandomize) { return DatasetHandle{detail::random_words(tensors(1), seed, rerandomize)}; },
      nb::arg().none(), nb::arg());
  m.def(
      "dataset_sampled",
      [](const std::vector<DatasetHandle>& nodes, const std::vector<double>& weights, Seed seed, bool stop_on_empty,
         bool rerandomize) {
        return DatasetHandle{detail::sampled(nodes_of(nodes), weights, seed, stop_on_empty, rerandomize)};
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("dataset_chosen",
        [](const std::vector<DatasetHandle>& nodes, const DatasetHandle& choices, bool stop_on_empty) {
          return DatasetHandle{detail::chosen(nodes_of(nodes), choices.node, stop_on_empty)};
        });
  m.def("dataset_zipped", [](const std::vector<DatasetHandle>& nodes) {
    std::vector<DatasetNodePtr> inputs;
    std::size_t parts = 0;
    for (const DatasetHandle& n : nodes) {
      if (n.node->types.data() == structure().data()) throw ValueError("zip: elements of a function of Python");
      parts += n.node->types.size();
      inputs.push_back(n.node);
    }
    return DatasetHandle{detail::zipped(tensors(parts), std::move(inputs))};
  });
}

}  // namespace capstan::python
