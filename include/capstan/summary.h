// Logs for TensorBoard: numbers, histograms, images, texts and more over the steps of a training.
//
//     summary::Writer writer = summary::create_file_writer("logs/run1");
//     for (std::int64_t step = 0; step < 3; ++step) writer.scalar("loss", 1.0 / (step + 1), step);
//     writer.histogram("weights", weights, 3);
//
// `tensorboard --logdir logs` shows them. The files are TensorFlow's, under its names; nothing of TensorFlow is needed
// to write them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/export.h"
#include "capstan/graph_nodes.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"
#include "capstan/texts.h"

namespace capstan::summary {

/// Options of create_file_writer.
struct WriterOptions {
  std::int64_t max_queue = 10;          ///< so many events may wait before they are written
  std::int64_t flush_millis = 120'000;  ///< nor do they wait longer than this, when the next one comes
  std::string filename_suffix = ".v2";
};

/// Options of Writer::histogram.
struct HistogramOptions {
  std::int64_t buckets = 30;
  std::string description = {};
};

/// Options of Writer::image.
struct ImageOptions {
  std::int64_t max_outputs = 3;  ///< of more images the first ones are written
  std::string description = {};
};

/// Options of Writer::hparams.
struct HparamsOptions {
  /// Runs with the same one are shown as one; unless given, those with the same values are.
  std::optional<std::string> trial_id = {};
};

/// Options of Writer::embedding.
struct EmbeddingOptions {
  /// A text for each row, or several under the names of `columns`.
  Texts labels = {};
  std::vector<std::string> columns = {};
};

/// Writes one file of logs. A handle: copies write the same file, and threads may share it. The last handle's end
/// closes it, without an error: call close() to see one.
///
/// A name may have slashes, by which TensorBoard groups. `description` is shown beside what is logged, as Markdown.
/// Values are read when they are logged, so a function that is being traced cannot log. Errors, of all: ValueError for
/// a name that is empty or, as a description, not UTF-8, and after close(); IoError if the file cannot be written.
class CAPSTAN_EXPORT Writer {
 public:
  /// A number, as float32.
  void scalar(std::string_view name, double value, std::int64_t step, std::string_view description = {}) const;
  /// A tensor of one element. Errors: ShapeError for any other.
  void scalar(std::string_view name, const Tensor& value, std::int64_t step, std::string_view description = {}) const;

  /// How the elements of a tensor are distributed: buckets of the same width from the smallest to the largest. Elements
  /// that are not finite are left out. Errors: DTypeError for complex numbers; ValueError for less than one bucket or
  /// more than 100,000.
  void histogram(std::string_view name, const Tensor& values, std::int64_t step,
                 const HistogramOptions& options = {}) const;

  /// Images [images, height, width, channels] with 1, 2, 3 or 4 channels (the even ones with opacity), as PNG. Floating
  /// numbers are from 0 to 1 and are limited to that; integers are uint8, or are converted as convert_image_dtype does.
  /// Errors: ShapeError for another shape; ValueError for a negative max_outputs.
  void image(std::string_view name, const Tensor& images, std::int64_t step, const ImageOptions& options = {}) const;

  /// A text in Markdown, or a list or table of texts.
  void text(std::string_view name, const Texts& texts, std::int64_t step, std::string_view description = {}) const;

  /// The hyper-parameters of this run: numbers, truth values and texts by name. Once per run. Errors: ValueError for a
  /// value of another kind.
  ///
  ///     writer.hparams({{"rate", 0.01}, {"optimizer", "adam"}, {"use_bias", true}});
  void hparams(const AttributeMap& values, const HparamsOptions& options = {}) const;

  /// A graph of ops or layers, one per log.
  ///
  ///     writer.graph(step.get_concrete(x).graph_nodes());
  ///     writer.graph(model_nodes(model));
  void graph(const std::vector<GraphNode>& nodes) const;

  /// Rows [rows, size] for the projector, which shows them as points: a file beside the log, replaced by the next
  /// call for this name, and an entry in projector_config.pbtxt. Errors: ShapeError for another shape; ValueError for
  /// labels that do not fit the rows or the columns, and for labels with tabs or line breaks.
  ///
  ///     writer.embedding("words", table, {.labels = words});
  void embedding(std::string_view name, const Tensor& rows, const EmbeddingOptions& options = {}) const;

  /// Hands what waits to the operating system.
  void flush() const;
  /// Writes what waits and ends. A second call does nothing.
  void close() const;

  /// The file.
  const std::string& path() const;

  struct State;
  /// For the library's own use.
  explicit Writer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// A writer of a new file in a folder, which is made if it is missing: events.out.tfevents.TIME.HOST.PROCESS.N.v2.
/// Errors: ValueError for a negative option; IoError if the file cannot be made.
///
///     auto logs = summary::create_file_writer("logs/run_1");
CAPSTAN_EXPORT Writer create_file_writer(const std::string& logdir, const WriterOptions& options = {});

}  // namespace capstan::summary
