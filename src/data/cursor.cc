// Cursors and nodes: batches from cursors, errors of users' functions, numbers of elements.
//
// A batch of rows of tensors in memory never sees elements: it asks for numbers of rows, and gives a view if these
// follow each other. Otherwise elements are collected and joined.
#include <cstring>
#include <new>
#include <span>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/named_errors.h"
#include "src/core/row_shape.h"
#include "src/core/seed_stream.h"
#include "capstan/ops/random.h"
#include "src/data/stage.h"

namespace capstan::detail {

DatasetCursor::~DatasetCursor() = default;
DatasetNode::~DatasetNode() = default;

namespace {

bool are_consecutive(const std::vector<std::int64_t>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] != rows[i - 1] + 1) return false;
  }
  return true;
}

Tensor gathered(const Tensor& tensor, const std::vector<std::int64_t>& rows, bool as_view) {
  const Shape row = row_shape(tensor.shape());
  const Shape shape = stacked_shape(static_cast<std::int64_t>(rows.size()), row);
  if (as_view) return make_view(tensor, shape, rows[0] * row.size());
  const Tensor batch = new_tensor(tensor.dtype(), shape);
  const std::size_t bytes = static_cast<std::size_t>(row.size()) * size_of(tensor.dtype());
  if (bytes == 0) return batch;
  const auto* from = static_cast<const std::byte*>(tensor.raw_data());
  auto* to = static_cast<std::byte*>(mutable_raw_data(batch));
  for (const std::int64_t number : rows) {
    std::memcpy(to, from + static_cast<std::size_t>(number) * bytes, bytes);
    to += bytes;
  }
  return batch;
}

// TensorFlow's stand-in for a process seed that nobody has set.
constexpr std::uint64_t kNoProcessSeed = 87654321;
constexpr std::uint64_t kSeedRange = 2147483647;

}  // namespace

std::int64_t DatasetCursor::next_batch(std::int64_t count, Part* batch) {
  if (const RowTable table = rows()) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t row = 0; static_cast<std::int64_t>(numbers.size()) < count && (row = next_row()) >= 0;) {
      numbers.push_back(row);
    }
    const bool as_view = are_consecutive(numbers);
    for (std::size_t i = 0; i < table->size() && !numbers.empty(); ++i) {
      batch[i] = {gathered((*table)[i], numbers, as_view), nullptr};
    }
    return static_cast<std::int64_t>(numbers.size());
  }
  const std::size_t width = types.size();
  std::vector<Part> items;
  std::exception_ptr error;
  std::int64_t found = 0;
  for (bool more = true; more && found < count;) {
    items.resize(items.size() + width);
    try {
      more = next(items.data() + items.size() - width);
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
    if (more) ++found;
    if (!more || error != nullptr) items.resize(error != nullptr ? 0 : items.size() - width);
  }
  if (error != nullptr) std::rethrow_exception(error);
  const auto elements = static_cast<std::size_t>(found);
  for (std::size_t i = 0; i < width && found > 0; ++i) batch[i] = types[i]->batch({items.data() + i, elements, width});
  return found;
}

void read_row(const std::vector<Tensor>& tensors, std::int64_t row, Part* element) {
  for (const Tensor& tensor : tensors) {
    const Shape shape = row_shape(tensor.shape());
    *element++ = {make_view(tensor, shape, row * shape.size()), nullptr};
  }
}

void rethrow_at(const char* stage, std::int64_t element) {
  const ErrorLine line{stage, "element " + std::to_string(element)};
  try {
    throw;
  } catch (const Error&) {
    rethrow_with(std::span(&line, 1));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(std::string(error.what()) + "\n  " + stage + ": element " + std::to_string(element)));
  }
}

StreamSeeds stream_seeds(std::optional<std::uint64_t> own) {
  // Without a seed of its own the order comes from the process's stream, so that set_seed decides it.
  if (!own) return {next_seed(), 0};
  StreamSeeds seeds{process_seed().value_or(kNoProcessSeed) % kSeedRange, *own % kSeedRange};
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = kSeedRange;
  return seeds;
}

void throw_past_end() {
  throw IndexError(join("dataset: the iterator is past the last element",
                        help("compare it with end() before it is read or moved on")));
}

std::int64_t known_size(std::int64_t cardinality) {
  CAPSTAN_CHECK(cardinality != kInfinite, ValueError, "dataset: the dataset is infinite, it has no size",
                help("take() gives a finite one"));
  CAPSTAN_CHECK(cardinality >= 0, ValueError, "dataset: the number of elements is unknown",
                help("count them in a loop, or state it with assert_cardinality()"));
  return cardinality;
}

void check_finite(const char* what, std::int64_t cardinality) {
  CAPSTAN_CHECK(cardinality != kInfinite, ValueError, what, ": the dataset is infinite",
                help("take() gives a finite one"));
}

void throw_not_single(bool has_several) {
  fail<ValueError>("get_single_element: the dataset has ", has_several ? "more than one element" : "no element");
}

bool truth_of(const char* what, const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value() && tensor.dtype() == bool_ && tensor.rank() == 0, ValueError, what,
                ": the function gives no scalar bool", arguments({{"value", tensor}}));
  return tensor.item<bool>();
}

void check_state(const char* what, const Tensor& before, const Tensor& after) {
  if (!before.has_value() || !after.has_value()) return;
  CAPSTAN_CHECK(before.dtype() == after.dtype(), DTypeError, what, ": the dtype of the state changes from ",
                name_of(before.dtype()), " to ", name_of(after.dtype()));
}

}  // namespace capstan::detail
