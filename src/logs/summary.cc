#include "capstan/summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "src/core/check.h"
#include "src/core/utf8.h"
#include "src/io/file_sink.h"
#include "src/io/png.h"
#include "src/io/wire.h"
#include "src/logs/event_file.h"
#include "src/logs/event_message.h"
#include "src/logs/projector.h"
#include "src/logs/writer_state.h"

namespace capstan::summary {

namespace {

using logs::EventField;

void check_text(std::string_view what, std::string_view text) {
  CAPSTAN_CHECK(utf8::is_valid(text), ValueError, "summary: the ", what, " is not UTF-8");
}

void check_name(std::string_view name) {
  CAPSTAN_CHECK(!name.empty(), ValueError, "summary: the name is empty");
  check_text("name", name);
}

// All numbers are finite for whoever counts them.
std::vector<double> finite_elements(const Tensor& values) {
  std::vector<double> elements = values.to_vector<double>();
  std::erase_if(elements, [](double value) { return !std::isfinite(value); });
  return elements;
}

// google.protobuf.Value
std::string value_message(std::string_view name, const AttributeValue& value) {
  io::wire::Writer message;
  switch (value.kind) {
    case AttributeValue::Kind::kInt:
    case AttributeValue::Kind::kFloat:
      message.number(2, value.number);
      break;
    case AttributeValue::Kind::kString:
      check_text("value of a hyper-parameter", value.text);
      message.bytes(3, value.text);
      break;
    case AttributeValue::Kind::kBool:
      message.varint(4, value.truth ? 1 : 0);
      break;
    default:
      detail::fail<ValueError>("summary: the hyper-parameter \"", name, "\" is no number, truth value or text but ",
                               value.to_string());
  }
  return message.take();
}

// The same for the same values, and hardly ever for others.
std::string trial_of(const AttributeMap& values) {
  AttributeValue all = AttributeValue::map();
  for (const auto& [name, value] : values) all.set(name, value);
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : all.to_json()) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[sum >> shift & 15];
  return text;
}

}  // namespace

Writer create_file_writer(const std::string& logdir, const WriterOptions& options) {
  return Writer(std::make_shared<Writer::State>(logdir, options));
}

const std::string& Writer::path() const { return state_->file.path(); }
void Writer::flush() const { state_->file.flush(); }
void Writer::close() const { state_->file.close(); }

void Writer::scalar(std::string_view name, double value, std::int64_t step, std::string_view description) const {
  state_->add(name, {"scalars"}, logs::tensor_message(static_cast<float>(value)), step, description);
}

void Writer::scalar(std::string_view name, const Tensor& value, std::int64_t step, std::string_view description) const {
  CAPSTAN_CHECK(value.size() == 1, ShapeError, "summary: the scalar \"", name, "\" must be one number, not ",
                describe(value));
  scalar(name, value.item<double>(), step, description);
}

void Writer::histogram(std::string_view name, const Tensor& values, std::int64_t step,
                       const HistogramOptions& options) const {
  constexpr std::int64_t kMostBuckets = 100'000;
  CAPSTAN_CHECK(options.buckets >= 1 && options.buckets <= kMostBuckets, ValueError, "summary: the histogram \"", name,
                "\" must have from 1 to ", kMostBuckets, " buckets, not ", options.buckets);
  CAPSTAN_CHECK(!is_complex(values.dtype()), DTypeError, "summary: the histogram \"", name,
                "\" must be of real numbers, not ", describe(values));
  const std::vector<double> rows = logs::histogram_buckets(finite_elements(values), options.buckets);
  state_->add(name, {"histograms"}, logs::tensor_message_of_rows(rows), step, options.description);
}

void Writer::image(std::string_view name, const Tensor& images, std::int64_t step, const ImageOptions& options) const {
  CAPSTAN_CHECK(
      images.rank() == 4 && images.dim(3) >= 1 && images.dim(3) <= 4 && images.dim(1) > 0 && images.dim(2) > 0,
      ShapeError, "summary: images \"", name, "\" must be [images, height, width, channels] with 1 to 4 channels, not ",
      images.shape());
  CAPSTAN_CHECK(options.max_outputs >= 0, ValueError, "summary: max_outputs must not be negative, but is ",
                options.max_outputs);
  std::vector<std::string> texts = {std::to_string(images.dim(2)), std::to_string(images.dim(1))};
  const std::int64_t count = std::min(images.dim(0), options.max_outputs);
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor one = images[i];
    texts.push_back(io::encode_png(
        "summary", path(), one.dtype() == uint8 ? one : image::convert_image_dtype(one, uint8, {.saturate = true})));
  }
  const std::int64_t shape[] = {static_cast<std::int64_t>(texts.size())};
  state_->add(name, {"images"}, logs::tensor_message(texts, shape), step, options.description);
}

void Writer::text(std::string_view name, const Texts& texts, std::int64_t step, std::string_view description) const {
  const Shape shape = texts.shape();
  for (const std::string& text : texts.values()) check_text("text", text);
  state_->add(name, {"text"}, logs::tensor_message(texts.values(), std::span(shape.begin(), shape.end())), step,
              description);
}

void Writer::hparams(const AttributeMap& values, const HparamsOptions& options) const {
  io::wire::Writer start, content;
  for (const auto& [name, value] : values) {
    check_name(name);
    io::wire::Writer entry;
    entry.bytes(1, name);
    entry.bytes(2, value_message(name, value));
    start.bytes(1, entry.text());
  }
  const std::string trial = options.trial_id ? *options.trial_id : trial_of(values);
  check_text("trial_id", trial);
  start.bytes(4, trial);
  start.number(5, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  content.bytes(3, start.text());
  state_->add("_hparams_/session_start_info", {"hparams", content.text()},
              logs::tensor_message(std::span<const float>()), 0, {});
}

void Writer::graph(const std::vector<GraphNode>& nodes) const {
  for (const GraphNode& node : nodes) {
    check_name(node.name);
    for (const std::string* text : {&node.name, &node.op}) check_text("graph", *text);
  }
  state_->file.add(EventField::kGraph, logs::graph_message(nodes), 0);
}

void Writer::embedding(std::string_view name, const Tensor& rows, const EmbeddingOptions& options) const {
  check_name(name);
  const std::lock_guard lock(state_->projector_mutex);
  state_->projector.write(name, rows, options);
}

void Writer::State::add(std::string_view name, const logs::Plugin& plugin, std::string_view tensor, std::int64_t step,
                        std::string_view description) {
  check_name(name);
  check_text("description", description);
  file.add(EventField::kSummary, logs::summary_message(name, plugin, tensor, description), step);
}

}  // namespace capstan::summary
