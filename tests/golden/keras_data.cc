// Datasets against tf.data: the elements of pipelines, in order, their numbers, and what follows an error.
#include <variant>

#include "src/core/seed_stream.h"
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

using Ints = Dataset<std::int64_t>;
using Strings = Dataset<std::string>;
using Tensors = Dataset<Tensor>;
using Pairs = Dataset<Tensor, Tensor>;
using Triples = Dataset<Tensor, Tensor, Tensor>;
using Map = std::map<std::string, Tensor>;
using Maps = Dataset<Map>;
using Any = std::variant<Ints, Strings, Tensors, Pairs, Triples, Maps>;

Any build(const Json& pipeline);

Tensor scalar(std::int64_t x) { return cast(constant(static_cast<double>(x)), int64); }
Tensors as_tensors(const Any& any) {
  if (const auto* ints = std::get_if<Ints>(&any)) return ints->map(scalar);
  return std::get<Tensors>(any);
}
Ints as_ints(const Any& any) {
  if (const auto* ints = std::get_if<Ints>(&any)) return *ints;
  return std::get<Tensors>(any).map([](const Tensor& x) { return x.item<std::int64_t>(); });
}

Any source(const Json& tensors) {
  if (tensors.is_array()) return from_tensors(tensor_from_json(tensors[0]), tensor_from_json(tensors[1]));
  return from_tensors(tensor_from_json(tensors));
}

Any slices(const Json& tensors) {
  if (tensors.is_array()) return from_tensor_slices(tensor_from_json(tensors[0]), tensor_from_json(tensors[1]));
  if (!tensors.contains("dtype")) {
    Map map;
    for (const auto& [key, value] : tensors.items()) map.emplace(key, tensor_from_json(value));
    return from_tensor_slices(map);
  }
  if (tensors["dtype"] == "string") return from_tensor_slices(tensors["data"].get<std::vector<std::string>>());
  return from_tensor_slices(tensor_from_json(tensors));
}

Any ragged(const std::vector<std::vector<std::int64_t>>& rows) {
  return from_generator([rows] {
    return [rows, i = std::size_t{0}]() mutable -> std::optional<Tensor> {
      if (i == rows.size()) return std::nullopt;
      const std::vector<std::int64_t>& row = rows[i++];
      return row.empty() ? zeros({0}, int64) : constant(row);
    };
  });
}

Any zipped(const Json& args) {
  const Json& pipelines = args.at("pipelines");
  if (args.value("dict", false)) {
    return zip(as_tensors(build(pipelines.at("a"))), as_tensors(build(pipelines.at("b"))))
        .map([](const Tensor& a, const Tensor& b) {
          return Map{{"a", a}, {"b", b}};
        });
  }
  std::vector<Tensors> inputs;
  for (const Json& one : pipelines) inputs.push_back(as_tensors(build(one)));
  if (inputs.size() == 2) return zip(inputs[0], inputs[1]);
  return zip(inputs.at(0), inputs.at(1), inputs.at(2));
}

Any chosen(const Json& args) {
  std::vector<Ints> inputs;
  for (const Json& one : args.at("pipelines")) inputs.push_back(std::get<Ints>(build(one)));
  return choose_from_datasets(inputs, from_range(args.at("choices").get<std::vector<std::int64_t>>()),
                              {.stop_on_empty_dataset = args.value("stop_on_empty", true)});
}

std::int64_t fail_on_three(std::int64_t x) {
  if (x == 3) throw ValueError("three");
  return x;
}

MapOptions map_options(const Json& args) {
  return {.num_parallel_calls = args.value("num_parallel_calls", 0),
          .deterministic = args.value("deterministic", true)};
}

Any mapped(const Any& from, const Json& args) {
  const std::string function = args.at("function");
  const MapOptions options = map_options(args);
  if (function == "square") return as_ints(from).map([](std::int64_t x) { return x * x; }, options);
  if (function == "pair_with_ten_times") {
    return as_ints(from).map([](std::int64_t x) { return std::pair(scalar(x), scalar(10 * x)); }, options);
  }
  if (function == "swap") {
    return std::get<Pairs>(from).map([](const Tensor& a, const Tensor& b) { return std::pair(b, a); }, options);
  }
  if (function == "sum_of_two") {
    return std::get<Pairs>(from).map([](const Tensor& a, const Tensor& b) { return a + b; }, options);
  }
  if (function == "fail_on_three") {
    return as_ints(from).map([](std::int64_t x) { return constant(static_cast<double>(fail_on_three(x)), float64); },
                             options);
  }
  throw Lacking{"function " + function};
}

Any inner(const Any& from, const std::string& operation, const Json& args) {
  const std::string function = args.at("function");
  const InterleaveOptions options{.cycle_length = args.value("cycle_length", std::int64_t{1}),
                                  .block_length = args.value("block_length", std::int64_t{1}),
                                  .num_parallel_calls = args.value("num_parallel_calls", 0),
                                  .deterministic = args.value("deterministic", true)};
  const auto apply = [&](const auto& dataset, const auto& f) -> Any {
    return operation == "flat_map" ? dataset.flat_map(f) : dataset.interleave(f, options);
  };
  if (function == "slices") {
    return apply(std::get<Tensors>(from), [](const Tensor& x) { return from_tensor_slices(x); });
  }
  if (function == "from_x_three") return apply(as_ints(from), [](std::int64_t x) { return datasets::range(x, x + 3); });
  if (function == "x_copies") return apply(as_ints(from), [](std::int64_t x) { return from_tensors(x).repeat(x); });
  if (function == "six_copies") return apply(as_ints(from), [](std::int64_t x) { return from_tensors(x).repeat(6); });
  throw Lacking{"function " + function};
}

Any scanned(const Ints& from, const Json& args) {
  const std::int64_t initial = args.at("initial");
  if (args.at("function") == "sum_state") {
    return from.scan(initial, [](std::int64_t s, std::int64_t x) { return std::pair(s + x, s + x); });
  }
  return from.scan(initial, [](std::int64_t s, std::int64_t x) { return std::pair(s + 1, s * x); });
}

Any bucketed(const Tensors& from, const Json& args) {
  return from.bucket_by_sequence_length([](const Tensor& x) { return x.dim(0); }, args.at("bucket_boundaries"),
                                        args.at("bucket_batch_sizes"),
                                        {.pad_to_bucket_boundary = args.value("pad_to_bucket_boundary", false),
                                         .no_padding = args.value("no_padding", false),
                                         .drop_remainder = args.value("drop_remainder", false)});
}

Any padded(const Tensors& from, const Json& args) {
  PaddedBatchOptions options{.drop_remainder = args.value("drop_remainder", false)};
  if (args.contains("padded_shapes")) options.padded_shapes = {{args["padded_shapes"]}};
  if (args.contains("padding_values")) options.padding_values = {scalar(args["padding_values"])};
  return from.padded_batch(args.at("batch_size"), options);
}

WindowOptions window_options(const Json& args) {
  WindowOptions options{.stride = args.value("stride", 1), .drop_remainder = args.value("drop_remainder", false)};
  if (args.contains("shift") && !args["shift"].is_null()) options.shift = args["shift"];
  return options;
}

// Transformations that all datasets have.
template <class D>
Any transformed(const D& from, const std::string& operation, const Json& args) {
  if (operation == "take") return from.take(args.at("count"));
  if (operation == "skip") return from.skip(args.at("count"));
  if (operation == "repeat") return from.repeat(args.value("count", kInfinite));
  if (operation == "shard") return from.shard(args.at("num_shards"), args.at("index"));
  if (operation == "prefetch") return from.prefetch(args.at("buffer_size"));
  if (operation == "cache") return from.cache();
  if (operation == "ignore_errors") return from.ignore_errors();
  if (operation == "shuffle") {
    return from.shuffle(args.at("buffer_size"),
                        {.seed = args.at("seed").get<std::uint64_t>(),
                         .reshuffle_each_iteration = args.value("reshuffle_each_iteration", true)});
  }
  if constexpr (!std::is_same_v<D, Strings>) {
    if (operation == "batch") {
      if (args.contains("num_parallel_calls")) throw Lacking{"num_parallel_calls of batch"};
      return from.batch(args.at("batch_size"), {.drop_remainder = args.value("drop_remainder", false)});
    }
  }
  throw Lacking{"transformation " + operation};
}

Any next(const Any& from, const std::string& operation, const Json& args) {
  if (operation == "range") {
    const std::vector<std::int64_t> numbers = args.at("args");
    if (numbers.size() == 1) return datasets::range(numbers[0]);
    return datasets::range(numbers[0], numbers[1], numbers.size() > 2 ? numbers[2] : 1);
  }
  if (operation == "slices") return slices(args.at("tensors"));
  if (operation == "tensors") return source(args.at("tensors"));
  if (operation == "ragged") return ragged(args.at("rows"));
  if (operation == "zip") return zipped(args);
  if (operation == "choose_from") return chosen(args);
  if (operation == "map") return mapped(from, args);
  if (operation == "flat_map" || operation == "interleave") return inner(from, operation, args);
  if (operation == "filter") return as_ints(from).filter([](std::int64_t x) { return x % 2 == 0; });
  if (operation == "take_while") return as_ints(from).take_while([](std::int64_t x) { return x < 5; });
  if (operation == "unique") return as_ints(from).unique();
  if (operation == "scan") return scanned(as_ints(from), args);
  if (operation == "bucket_by_sequence_length") return bucketed(as_tensors(from), args);
  if (operation == "padded_batch") return padded(as_tensors(from), args);
  if (operation == "unbatch") return as_tensors(from).unbatch();
  if (operation == "rebatch") {
    const Json& sizes = args.at("batch_size");
    return as_tensors(from).rebatch(sizes.is_array() ? sizes.get<std::vector<std::int64_t>>()
                                                     : std::vector<std::int64_t>{sizes.get<std::int64_t>()},
                                    {.drop_remainder = args.value("drop_remainder", false)});
  }
  if (operation == "enumerate") {
    return as_tensors(from).enumerate(args.value("start", 0)).map([](std::int64_t i, const Tensor& x) {
      return std::pair(scalar(i), x);
    });
  }
  if (operation == "concatenate") {
    const Any other = build(args.at("pipeline"));
    return as_tensors(from).concatenate(as_tensors(other));
  }
  if (operation == "window_batches") {
    const std::int64_t size = args.at("size");
    return as_ints(from).window(size, window_options(args)).flat_map([size](const Ints& window) {
      return window.batch(size);
    });
  }
  if (operation == "group_by_window") {
    const std::int64_t size = args.at("window_size");
    return as_ints(from).group_by_window([](std::int64_t x) { return x % 3; },
                                         [size](std::int64_t, const Ints& group) { return group.batch(size); }, size);
  }
  return std::visit([&](const auto& dataset) { return transformed(dataset, operation, args); }, from);
}

Any build(const Json& pipeline) {
  Any dataset = datasets::range(0);
  for (const Json& step : pipeline) dataset = next(dataset, step[0], step[1]);
  return dataset;
}

void expect_tensor(const Tensor& got, const Json& want) {
  const Tensor expected = tensor_from_json(want);
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  EXPECT_EQ(got.to_vector<double>(), expected.to_vector<double>());
}

void expect_element(std::int64_t got, const Json& want) { expect_tensor(scalar(got), want); }
void expect_element(const Tensor& got, const Json& want) { expect_tensor(got, want); }
void expect_element(const std::string& got, const Json& want) {
  EXPECT_EQ(want.at("dtype"), "string");
  EXPECT_EQ(Json::array({got}), want.at("data"));
}
void expect_element(const Map& got, const Json& want) {
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [key, value] : want.items()) expect_tensor(got.at(key), value);
}
template <class... T>
void expect_element(const std::tuple<T...>& got, const Json& want) {
  ASSERT_EQ(sizeof...(T), want.size());
  std::size_t i = 0;
  std::apply([&](const auto&... parts) { (expect_element(parts, want[i++]), ...); }, got);
}

template <class D>
void expect_pass(const D& dataset, const Json& want) {
  auto iterator = dataset.begin();
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE("element " + std::to_string(i));
    if (want[i].is_object() && want[i].contains("error")) {
      EXPECT_THROW(iterator.next(), Error);
      return;
    }
    const auto element = iterator.next();
    ASSERT_TRUE(element.has_value());
    expect_element(*element, want[i]);
  }
  // An endless pass is stored as its beginning.
  if (dataset.cardinality() != kInfinite) {
    EXPECT_FALSE(iterator.next().has_value());
  }
}

void expect_events(const Tensors& dataset, const Json& want) {
  Json events = Json::array();
  auto iterator = dataset.begin();
  for (bool more = true; more;) {
    try {
      const std::optional<Tensor> element = iterator.next();
      more = element.has_value();
      events.push_back(more ? Json(element->item<double>()) : Json("end"));
    } catch (const ValueError&) {
      events.push_back("error: InvalidArgumentError");
    }
  }
  EXPECT_EQ(events, want);
}

// How often a function in front of a cache is called, in passes of given lengths.
void expect_calls(bool has_cache, const Json& passes) {
  auto calls = std::make_shared<int>(0);
  Ints dataset = datasets::range(4).map([calls](std::int64_t x) {
    ++*calls;
    return x;
  });
  if (has_cache) dataset = dataset.cache();
  for (const Json& pass : passes) {
    const int before = *calls;
    auto iterator = dataset.begin();
    for (const Json& want : pass.at("read")) EXPECT_EQ(iterator.next(), want.get<std::int64_t>());
    if (pass.at("read").size() == 4) {
      EXPECT_EQ(iterator.next(), std::nullopt);
    }
    EXPECT_EQ(*calls - before, pass.at("function_calls").get<int>());
  }
}

// While it lives set_seed() was called, or was not.
struct ProcessSeed {
  explicit ProcessSeed(const Json& one) : before(process_seed()) {
    set_process_seed(one.contains("global_seed") ? std::optional(one["global_seed"].get<std::uint64_t>())
                                                 : std::nullopt);
  }
  ~ProcessSeed() { set_process_seed(before); }
  std::optional<std::uint64_t> before;
};

void run_data_case(const Json&, const Json& one) {
  const ProcessSeed seed(one);
  const std::string name = one.at("name");
  if (name.starts_with("cache_calls/")) {
    if (name == "cache_calls/partial_then_full") throw Lacking{"elements that tf.data reads ahead"};
    return expect_calls(name != "cache_calls/no_cache", one.at("passes"));
  }
  Json pipeline = one.at("pipeline");
  if (one.contains("windows")) {
    const Json window = pipeline.back();
    pipeline.erase(pipeline.size() - 1);
    const auto windows = as_ints(build(pipeline)).window(window[1].at("size"), window_options(window[1]));
    EXPECT_EQ(windows.cardinality(), one.at("cardinality").get<std::int64_t>());
    Json found = Json::array();
    for (const Ints& each : windows) {
      Json numbers = Json::array();
      for (const std::int64_t x : each) numbers.push_back(x);
      found.push_back(numbers);
    }
    EXPECT_EQ(found, one["windows"]);
    return;
  }
  const Any dataset = build(pipeline);
  if (one.contains("cardinality")) {
    const auto cardinality = std::visit([](const auto& its) { return its.cardinality(); }, dataset);
    EXPECT_EQ(cardinality, one["cardinality"].get<std::int64_t>());
  }
  if (one.contains("events")) expect_events(std::get<Tensors>(dataset), one["events"]);
  if (one.contains("count")) {
    const Tensors tensors = as_tensors(dataset);
    EXPECT_EQ(tensors.reduce(0, [](int n, const Tensor&) { return n + 1; }), one["count"].get<int>());
    const Tensor sum = tensors.reduce(scalar(0), [](const Tensor& s, const Tensor& x) { return s + reduce_sum(x); });
    EXPECT_EQ(sum.item<std::int64_t>(), one.at("sum").get<std::int64_t>());
  }
  for (const Json& pass : one.value("passes", Json::array())) {
    std::visit([&](const auto& its) { expect_pass(its, pass); }, dataset);
  }
}

const KerasFile data_file("data", run_data_case,
                          {"cardinality", "count", "events", "global_seed", "passes", "pipeline", "sum", "windows"},
                          {{"batch/parallel", "batches are made ahead by prefetch, not by several threads"},
                           {"cache_calls/partial_then_full",
                            "elements that tf.data reads ahead of a loop are not read"}});

}  // namespace
}  // namespace capstan::testing
