// TensorBoard.
#include "capstan/tensorboard.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "capstan/model_graph.h"
#include "capstan/ops/array.h"
#include "capstan/profile.h"
#include "capstan/summary.h"
#include "src/core/check.h"
#include "src/io/output_file.h"
#include "src/logs/event_message.h"
#include "src/logs/writer_state.h"

namespace capstan::callbacks {

UpdateFrequency::UpdateFrequency(std::string_view name) : batches_(name == "batch" ? 1 : 0) {
  CAPSTAN_CHECK(name == "batch" || name == "epoch", ValueError, "tensor_board: update_freq \"", name,
                "\" is not \"batch\", \"epoch\" or a number of batches");
}

UpdateFrequency::UpdateFrequency(std::int64_t batches) : batches_(batches) {
  CAPSTAN_CHECK(batches >= 1, ValueError, "tensor_board: update_freq must be at least 1, not ", batches);
}

void set_field(UpdateFrequency& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kString) {
    field = std::string_view(value.text);
  } else {
    CAPSTAN_CHECK(value.kind == AttributeValue::Kind::kInt, ValueError, owner, ": option \"", name,
                  "\" must be a text or a number of batches, not ", value.to_string());
    field = value.integer;
  }
}

AttributeValue get_field(const UpdateFrequency& field) {
  if (field.batches() > 1) return field.batches();
  return field.batches() == 1 ? "batch" : "epoch";
}

std::span<const OptionField> TensorBoardOptions::fields() {
  using O = TensorBoardOptions;
  static constexpr OptionField all[] = {
      option<&O::histogram_freq>("histogram_freq").at_least(0),
      option<&O::write_graph>("write_graph"),
      option<&O::write_images>("write_images"),
      option<&O::write_steps_per_second>("write_steps_per_second"),
      option<&O::update_freq>("update_freq"),
      option<&O::profile_batch>("profile_batch"),
      option<&O::embeddings_freq>("embeddings_freq").at_least(0),
  };
  return all;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The rows of TensorBoardOptions, and the folder.
struct TensorBoardConfig : TensorBoardOptions {
  std::string log_dir = "logs";
  static std::span<const OptionField> fields() {
    using O = TensorBoardConfig;
    static const std::vector<OptionField> all = [] {
      std::vector<OptionField> rows = {option<&O::log_dir>("log_dir")};
      const auto others = TensorBoardOptions::fields();
      rows.insert(rows.end(), others.begin(), others.end());
      return rows;
    }();
    return all;
  }
};

// A weight as images [images, height, width, channels], or nothing if it has no such form: a vector as a row, a matrix
// lying, the last axis of three as images, and kernels of convolutions with few filters as they are.
std::optional<Tensor> image_of(const Tensor& weight) {
  if (weight.size() == 0) return std::nullopt;
  Tensor image = squeeze(weight);
  if (image.rank() == 1) image = reshape(image, {1, image.dim(0), 1, 1});
  if (image.rank() == 2) {
    if (image.dim(0) > image.dim(1)) image = transpose(image);
    image = reshape(image, {1, image.dim(0), image.dim(1), 1});
  }
  if (image.rank() == 3) image = expand_dims(transpose(image, {2, 0, 1}), -1);
  if (image.rank() != 4) return std::nullopt;
  const std::int64_t channels = image.dim(3);
  if (channels != 1 && channels != 3 && channels != 4) return std::nullopt;
  return image;
}

AttributeValue map_of(std::vector<std::pair<std::string, AttributeValue>> items) {
  AttributeValue map = AttributeValue::map();
  for (auto& [key, value] : items) map.set(key, std::move(value));
  return map;
}

// The layers as TensorBoard reads them from configurations of Keras's models: names, classes, and what each is called
// on. It looks at nothing else.
std::string model_json(const Model& model, const std::vector<GraphNode>& nodes) {
  using List = std::vector<AttributeValue>;
  List layers;
  for (const GraphNode& node : nodes) {
    List inputs;
    for (const std::string& input : node.inputs) {
      inputs.push_back(
          map_of({{"class_name", "__keras_tensor__"}, {"config", map_of({{"keras_history", List{input, 0, 0}}})}}));
    }
    List calls;
    if (!inputs.empty()) calls.push_back(map_of({{"args", List(1, AttributeValue(inputs))}}));
    layers.push_back(map_of({{"class_name", node.op},
                             {"name", node.name},
                             {"config", map_of({{"name", node.name}})},
                             {"inbound_nodes", calls}}));
  }
  return map_of({{"class_name", model.type_name()}, {"config", map_of({{"name", model.name()}, {"layers", layers}})}})
      .to_json();
}

class TensorBoardBody final : public Configured<TensorBoardBody, CallbackBody, TensorBoardConfig> {
 public:
  static constexpr std::string_view kName = "TensorBoard";
  static constexpr std::string_view kText = "Logs a training for TensorBoard.";

  explicit TensorBoardBody(const TensorBoardConfig& given = {}) : Configured(given) {
    const std::vector<std::int64_t>& batches = options.profile_batch;
    CAPSTAN_CHECK(batches.size() <= 2 && (batches.empty() || (batches[0] >= 1 && batches.back() >= batches[0])),
                  ValueError, "tensor_board: profile_batch must be one batch, or the first and the last, not ",
                  capstan::get_field(batches).to_string(), help("batches count from 1"));
  }

  void on_train_begin() override {
    is_training_ = true;
    batch_ = 0;
    if (options.write_graph) write_graph();
  }

  void on_train_end(const Logs&) override {
    is_training_ = false;
    if (session_) stop_profile();
    for (std::optional<summary::Writer>* writer : {&train_, &validation_}) {
      if (*writer) (*writer)->close();
      writer->reset();
    }
  }

  void on_epoch_begin(std::int64_t) override {
    epoch_start_ = Clock::now();
    iterations_ = iterations();
  }

  void on_train_batch_begin(std::int64_t) override {
    ++batch_;
    batch_start_ = Clock::now();
    if (!options.profile_batch.empty() && batch_ == options.profile_batch[0]) session_.emplace();
  }

  void on_train_batch_end(std::int64_t, const BatchLogs& logs) override {
    if (options.update_freq.is_due(batch_)) {
      if (options.write_steps_per_second) {
        train().scalar("batch_steps_per_second", 1 / seconds_since(batch_start_), batch_);
      }
      for (const auto& [name, value] : logs.numbers()) train().scalar("batch_" + name, value, batch_);
    }
    if (session_ && batch_ >= options.profile_batch.back()) stop_profile();
  }

  void on_test_end(const Logs& logs) override {
    if (!model().is_compiled()) return;
    for (const auto& [name, value] : logs) {
      validation().scalar("evaluation_" + name + "_vs_iterations", value, iterations());
    }
    // Outside of a training nothing says when the last evaluation was.
    if (!is_training_) validation().flush();
  }

  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    write_values(epoch, logs);
    if (is_due(options.histogram_freq, epoch)) write_weights(epoch);
    if (is_due(options.embeddings_freq, epoch)) write_embeddings();
  }

 private:
  static bool is_due(std::int64_t frequency, std::int64_t epoch) { return frequency != 0 && epoch % frequency == 0; }

  // A log is there once something is written to it.
  const summary::Writer& train() { return opened(train_, "train"); }
  const summary::Writer& validation() { return opened(validation_, "validation"); }
  const summary::Writer& opened(std::optional<summary::Writer>& writer, const char* name) const {
    if (!writer) writer = summary::create_file_writer((std::filesystem::path(options.log_dir) / name).string());
    return *writer;
  }

  std::int64_t iterations() const { return model().is_compiled() ? model().optimizer().iterations() : 0; }

  void write_graph() {
    const std::vector<GraphNode> nodes = model_nodes(model());
    if (nodes.size() == 1 && nodes[0].name == model().name()) return;  // its layers are not known
    const std::string json = model_json(model(), nodes);
    train().state()->add("keras", {"graph_keras_model", "1"}, logs::tensor_message(std::span(&json, 1), {}), 0, {});
  }

  void write_values(std::int64_t epoch, const Logs& logs) {
    constexpr std::string_view kOfValidation = "val_";
    for (const auto& [name, value] : logs) {
      if (name.starts_with(kOfValidation)) {
        validation().scalar("epoch_" + name.substr(kOfValidation.size()), value, epoch);
      } else if (name != "learning_rate" || !model().is_compiled()) {
        train().scalar("epoch_" + name, value, epoch);
      }
    }
    if (model().is_compiled()) train().scalar("epoch_learning_rate", model().optimizer().learning_rate(), epoch);
    if (options.write_steps_per_second) {
      const double steps = static_cast<double>(iterations() - iterations_) / seconds_since(epoch_start_);
      train().scalar("epoch_steps_per_second", steps, epoch);
    }
  }

  void write_weights(std::int64_t epoch) {
    for (const Layer& layer : model().layers()) {
      for (const Variable& weight : layer.weights()) {
        const Tensor value = weight.value();
        if (is_complex(value.dtype())) continue;
        train().histogram(weight.path() + "/histogram", value, epoch);
        if (!options.write_images) continue;
        if (const std::optional<Tensor> image = image_of(value)) train().image(weight.path() + "/image", *image, epoch);
      }
    }
    train().flush();
  }

  void write_embeddings() {
    for (const Layer& layer : model().layers()) {
      if (layer.type_name() != "Embedding" || layer.weights().empty()) continue;
      train().embedding(layer.name() + "/embeddings", layer.weights()[0].value());
    }
  }

  // Where TensorBoard looks for profiles: a folder for each, with a compressed file of each host.
  void stop_profile() {
    const Profile profile = session_->stop();
    session_.reset();
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(options.log_dir) / "train/plugins/profile" / ("batch_" + std::to_string(batch_));
    std::error_code error;
    fs::create_directories(folder, error);
    CAPSTAN_CHECK(!error, IoError, "tensor_board: cannot make the folder, ", error.message(),
                  "\n  file: ", folder.string());
    const fs::path plain = folder / (logs::host_name() + ".trace.json");
    profile.save(plain.string());
    std::ifstream file(plain, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    io::OutputFile compressed("tensor_board", plain.string() + ".gz", io::Compression::kGzip);
    compressed.write(text);
    compressed.close();
    fs::remove(plain, error);
  }

  std::optional<summary::Writer> train_, validation_;
  std::optional<ProfileSession> session_;
  bool is_training_ = false;
  std::int64_t batch_ = 0, iterations_ = 0;
  Clock::time_point epoch_start_, batch_start_;
};

}  // namespace

TensorBoard::TensorBoard(const std::string& log_dir, const TensorBoardOptions& options)
    : Callback(std::make_shared<TensorBoardBody>(TensorBoardConfig{options, log_dir})) {}

}  // namespace capstan::callbacks
