// Parts of elements: tensors and texts. Those of other types are templates in capstan/dataset_parts.h.
#include "capstan/dataset_parts.h"

#include <atomic>
#include <cstring>

#include "capstan/dataset_nodes.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/row_shape.h"
#include "src/data/stage.h"

namespace capstan::detail {

namespace {

const std::string& text_of(const Part& part) { return object_of<std::string>(part); }

// The bytes of texts, one after the other, and their lengths.
std::vector<Tensor> bytes_of(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> lengths;
  std::string all;
  for (const std::string& text : texts) {
    lengths.push_back(static_cast<std::int64_t>(text.size()));
    all += text;
  }
  const Tensor bytes = new_tensor(uint8, {static_cast<std::int64_t>(all.size())});
  if (!all.empty()) std::memcpy(mutable_raw_data(bytes), all.data(), all.size());
  return {numbers_as_tensor(lengths), bytes};
}

std::vector<std::string> texts_of_bytes(const Tensor& lengths, const Tensor& bytes) {
  if (lengths.dtype() != int64 || bytes.dtype() != uint8 || lengths.rank() != 1) throw_wrong_position("texts");
  std::vector<std::string> texts;
  std::int64_t at = 0;
  const auto* data = static_cast<const char*>(bytes.raw_data());
  for (const std::int64_t length : lengths.to_vector<std::int64_t>()) {
    if (length < 0 || length > bytes.size() - at) throw_wrong_position("texts");
    texts.emplace_back(data + at, static_cast<std::size_t>(length));
    at += length;
  }
  if (at != bytes.size()) throw_wrong_position("texts");
  return texts;
}

Part batch_tensors(const PartColumn& items) {
  std::vector<Tensor> tensors(items.count);
  for (std::size_t i = 0; i < items.count; ++i) tensors[i] = items[i].tensor;
  return {joined(tensors), nullptr};
}

std::vector<Part> unbatch_tensor(const Part& part) {
  std::vector<Part> parts;
  for (Tensor& row : rows_of(part.tensor)) parts.push_back({std::move(row), nullptr});
  return parts;
}

Part batch_strings(const PartColumn& items) {
  std::vector<std::string> texts(items.count);
  for (std::size_t i = 0; i < items.count; ++i) texts[i] = text_of(items[i]);
  return to_part<Texts>(Texts(std::move(texts)));
}

// Lists become rows, which may have different lengths.
Part batch_texts(const PartColumn& items) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < items.count; ++i) {
    const Texts& texts = object_of<Texts>(items[i]);
    CAPSTAN_CHECK(texts.rank() == 1, ShapeError, "batch: texts of rank ", texts.rank(), " are no row of a batch");
    rows.push_back(texts.values());
  }
  return to_part<Texts>(Texts(rows));
}

std::vector<Part> unbatch_texts(const Part& part) {
  const Texts& texts = object_of<Texts>(part);
  CAPSTAN_CHECK(texts.rank() == 1, ShapeError, "unbatch: texts of rank ", texts.rank(), " are no list");
  std::vector<Part> parts;
  for (const std::string& text : texts.values()) parts.push_back(to_part<std::string>(text));
  return parts;
}

std::vector<Tensor> save_texts(const Part& part) {
  const Texts& texts = object_of<Texts>(part);
  std::vector<std::int64_t> form = {texts.rank()};
  for (std::size_t i = 0; i < texts.row_count(); ++i) form.push_back(static_cast<std::int64_t>(texts.row(i).size()));
  std::vector<Tensor> tensors = bytes_of(texts.values());
  tensors.push_back(numbers_as_tensor(form));
  return tensors;
}

Part restore_texts(const std::vector<Tensor>& tensors) {
  if (tensors.size() != 3 || tensors[2].dtype() != int64 || tensors[2].size() < 1) throw_wrong_position("texts");
  const std::vector<std::string> values = texts_of_bytes(tensors[0], tensors[1]);
  const std::vector<std::int64_t> form = tensors[2].to_vector<std::int64_t>();
  if (form[0] == 0 && values.size() == 1) return to_part<Texts>(Texts(values[0]));
  if (form[0] == 1) return to_part<Texts>(Texts(values));
  std::vector<std::vector<std::string>> rows;
  std::size_t at = 0;
  for (std::size_t i = 1; i < form.size(); ++i) {
    const auto count = static_cast<std::size_t>(form[i]);
    if (form[i] < 0 || count > values.size() - at) throw_wrong_position("texts");
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    at += count;
  }
  if (form[0] != 2 || at != values.size()) throw_wrong_position("texts");
  return to_part<Texts>(Texts(rows));
}

}  // namespace

bool is_only_holder([[maybe_unused]] const Part& part) {
#ifdef __SANITIZE_THREAD__
  return false;  // it does not know fences, and would report what another thread read before it let go
#else
  if (part.object.use_count() != 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
#endif
}

Tensor readable(const char* what, const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, what, ": a tensor is empty",
                help("a missing gradient is an empty tensor; test it with has_value()"));
  if (is_symbolic(tensor.block())) throw_symbolic(what, tensor.block());
  return tensor.is_row_sparse() ? tensor.to_dense() : tensor;
}

constinit const PartType kTensorPart = {
    .name = "Tensor",
    .is_tensor = true,
    .batch = batch_tensors,
    .unbatch = unbatch_tensor,
    .save = [](const Part& part) { return std::vector<Tensor>{readable("save", part.tensor)}; },
    .restore =
        [](const std::vector<Tensor>& tensors) {
          if (tensors.size() != 1) throw_wrong_position("Tensor");
          return Part{tensors[0], nullptr};
        },
};

constinit const PartType kStringPart = {
    .name = "std::string",
    .batch = batch_strings,
    .save = [](const Part& part) { return bytes_of({text_of(part)}); },
    .restore =
        [](const std::vector<Tensor>& tensors) {
          std::vector<std::string> texts = restore_keys(tensors);
          if (tensors.size() != 2 || texts.size() != 1) throw_wrong_position("std::string");
          return to_part<std::string>(std::move(texts[0]));
        },
};

constinit const PartType kTextsPart = {
    .name = "Texts",
    .batch = batch_texts,
    .unbatch = unbatch_texts,
    .save = save_texts,
    .restore = restore_texts,
};

std::vector<Tensor> save_keys(const std::vector<std::string>& keys) { return bytes_of(keys); }

std::vector<std::string> restore_keys(const std::vector<Tensor>& tensors) {
  if (tensors.size() < 2) throw_wrong_position("texts");
  return texts_of_bytes(tensors[0], tensors[1]);
}

Tensor joined(const std::vector<Tensor>& tensors) {
  const Tensor first = readable("batch", tensors.at(0));
  CAPSTAN_CHECK(first.rank() < kMaxRank, ShapeError, "batch: elements of rank ", first.rank(),
                " cannot be joined, the highest rank is ", kMaxRank);
  const Tensor batch =
      new_tensor(first.dtype(), stacked_shape(static_cast<std::int64_t>(tensors.size()), first.shape()));
  const std::size_t bytes = static_cast<std::size_t>(first.size()) * size_of(first.dtype());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor element = readable("batch", tensors[i]);
    CAPSTAN_CHECK(element.shape() == first.shape() && element.dtype() == first.dtype(), ShapeError, "batch: element ",
                  i, " is ", describe(element), ", the first ", describe(first));
    if (bytes > 0) std::memcpy(static_cast<std::byte*>(mutable_raw_data(batch)) + i * bytes, element.raw_data(), bytes);
  }
  return batch;
}

std::vector<Tensor> rows_of(const Tensor& tensor) {
  const Tensor dense = readable("unbatch", tensor);
  CAPSTAN_CHECK(dense.rank() >= 1, ShapeError, "unbatch: a scalar has no rows", arguments({{"tensor", dense}}));
  const Shape shape = row_shape(dense.shape());
  std::vector<Tensor> rows;
  rows.reserve(static_cast<std::size_t>(dense.dim(0)));
  for (std::int64_t i = 0; i < dense.dim(0); ++i) rows.push_back(make_view(dense, shape, i * shape.size()));
  return rows;
}

Tensor number_as_tensor(DType dtype, const void* number) {
  const Tensor tensor = new_tensor(dtype, {});
  std::memcpy(mutable_raw_data(tensor), number, size_of(dtype));
  return tensor;
}

void throw_different_structures() {
  throw ShapeError("batch: the structures of elements have different numbers of tensors");
}

}  // namespace capstan::detail
