#include "src/cli/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "capstan/error.h"
#include "capstan/hdf5_files.h"
#include "capstan/image_files.h"
#include "capstan/io.h"
#include "capstan/onnx.h"
#include "capstan/records.h"
#include "capstan/saved_model.h"
#include "capstan/tensorflow_files.h"
#include "capstan/torch_files.h"

namespace capstan::cli {

namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;
using std::literals::operator""sv;

// The first bytes, which tell what a file is: none of a folder, nothing if it cannot be opened.
std::optional<std::string> beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string begin(64, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return begin;
}

constexpr std::string_view kValueKey = "/.ATTRIBUTES/VARIABLE_VALUE";

bool ends_with(const std::string& path, std::string_view ending) { return path.ends_with(ending); }

// --- Arrays ---

Content content_of(const io::NamedArrays& arrays) {
  Content content{arrays};
  for (const auto& [key, text] : arrays.metadata()) content.notes.emplace_back(key, text);
  return content;
}

void write_npy(const std::string& path, const Tensors& tensors) {
  if (tensors.size() != 1) {
    throw ValueError("convert: a .npy file has one array, but there are " + std::to_string(tensors.size()) +
                     "\n  help: write an .npz file");
  }
  io::save_npy(path, tensors.begin()->second);
}

// --- TensorFlow ---

std::string prefix_of(const std::string& path) {
  return ends_with(path, ".index") ? path.substr(0, path.size() - 6) : path;
}

Content read_tensorflow(const std::string& path) {
  const io::TensorflowCheckpoint checkpoint = io::load_tensorflow_checkpoint(prefix_of(path));
  Content content;
  // By the names that a program gives them, not by those of the format.
  for (const auto& [key, tensor] : checkpoint.tensors) {
    content.tensors[key.ends_with(kValueKey) ? key.substr(0, key.size() - kValueKey.size()) : key] = tensor;
  }
  for (const auto& [key, texts] : checkpoint.texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
    content.notes.emplace_back(key, all);
  }
  return content;
}

// Names of PyTorch's modules become paths.
void write_tensorflow(const std::string& path, const Tensors& tensors) {
  Tensors by_path;
  for (const auto& [name, tensor] : tensors) {
    std::string key = name;
    std::replace(key.begin(), key.end(), '.', '/');
    if (!by_path.emplace(key, tensor).second) {
      throw ValueError("convert: two tensors would be called \"" + key + "\" in a checkpoint of TensorFlow");
    }
  }
  io::save_tensorflow_checkpoint(prefix_of(path), by_path);
}

// --- PyTorch ---

Content read_torch(const std::string& path) {
  io::TorchFile file = io::load_torch(path);
  Content content{file.tensors};
  for (const auto& [name, value] : file.values) content.notes.emplace_back(name, value.to_string());
  return content;
}

// --- Records ---

bool is_gzip(std::string_view begin) { return begin.starts_with("\x1f\x8b"); }

// The head of a zlib stream is a multiple of 31 for this; that of a file of records is a length below 4 GiB.
bool is_zlib(std::string_view begin) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(begin[i]); };
  return begin.size() > 8 && at(0) == 0x78 && (at(0) * 256 + at(1)) % 31 == 0 && begin.substr(4, 4) != "\0\0\0\0"sv;
}

std::size_t size_of(const io::Feature& feature) {
  if (feature.kind() == "bytes") return feature.bytes().size();
  return feature.kind() == "floats" ? feature.floats().size() : feature.integers().size();
}

// The features of the first record, if it is an Example.
void note_features(const std::string& record, Content& content) {
  try {
    const io::Example example = io::Example::parse(record);
    for (const auto& [name, feature] : example.features()) {
      content.notes.emplace_back("feature " + name,
                                 std::to_string(size_of(feature)) + " " + std::string(feature.kind()));
    }
  } catch (const IoError&) {
  }
}

Content read_records(const std::string& path) {
  const std::string begin = beginning_of(path).value_or("");
  const std::string compression = is_gzip(begin) ? "GZIP" : is_zlib(begin) ? "ZLIB" : "";
  io::RecordReader reader(path, {.compression = compression});
  Content content;
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
  while (const std::optional<std::string> record = reader.next()) {
    if (count++ == 0) note_features(*record, content);
    bytes += record->size();
  }
  content.notes.emplace_back("records", std::to_string(count));
  content.notes.emplace_back("bytes in records", std::to_string(bytes));
  return content;
}

// --- Models and functions ---

std::string text_of(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) text += (text.empty() ? "" : ", ") + spec.to_string();
  return text;
}

// Names of variables may occur twice; names of tensors may not.
void add_variables(const std::vector<Variable>& variables, Content& content) {
  for (const Variable& variable : variables) {
    std::string name = variable.name();
    for (int i = 1; content.tensors.contains(name); ++i) name = variable.name() + "_" + std::to_string(i);
    content.tensors.emplace(name, variable.value());
  }
}

Content read_onnx(const std::string& path) {
  const OnnxModel model = load_onnx(path);
  Content content;
  add_variables(model.variables(), content);
  std::string outputs;
  for (const std::string& name : model.output_names()) outputs += (outputs.empty() ? "" : ", ") + name;
  content.notes = {{"inputs", text_of(model.inputs())}, {"outputs", outputs}, {"opset", std::to_string(model.opset())}};
  return content;
}

constexpr std::string_view kSavedModel = "saved_model.capstan";

Content read_saved_model(const std::string& path) {
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  const saved_model::Loaded loaded = saved_model::load(folder.empty() ? "." : folder.string());
  Content content;
  add_variables(loaded.variables, content);
  for (const saved_model::LoadedFunction& f : loaded.functions) {
    content.notes.emplace_back("function " + f.name(), text_of(f.inputs()) + " -> " + text_of(f.outputs()));
  }
  return content;
}

bool is_zip(std::string_view begin) { return begin.starts_with("PK\3\4") || begin.starts_with("PK\5\6"); }

const Format kFormats[] = {
    {"safetensors",
     "weights, as of Hugging Face",
     {".safetensors"},
     [](const std::string& path, std::string_view) { return ends_with(path, ".safetensors"); },
     [](const std::string& path) { return content_of(io::load_safetensors(path)); },
     [](const std::string& path, const Tensors& tensors) { io::save_safetensors(path, tensors); }},
    {"npz",
     "arrays of NumPy by name",
     {".npz"},
     [](const std::string& path, std::string_view begin) { return is_zip(begin) && ends_with(path, ".npz"); },
     [](const std::string& path) { return content_of(io::load_npz(path)); },
     [](const std::string& path, const Tensors& tensors) { io::save_npz(path, tensors); }},
    {"npy",
     "one array of NumPy",
     {".npy"},
     [](const std::string&, std::string_view begin) { return begin.starts_with("\x93NUMPY"); },
     [](const std::string& path) {
       return Content{{{"array", io::load_npy(path)}}};
     },
     write_npy},
    {"tensorflow",
     "a checkpoint of TensorFlow: its prefix, or its index",
     {".index"},
     [](const std::string& path, std::string_view) { return fs::is_regular_file(prefix_of(path) + ".index"); },
     read_tensorflow,
     write_tensorflow},
    {"hdf5",
     "arrays of HDF5, and weights of Keras",
     {".h5", ".hdf5"},
     // Bytes of the user's may be before the signature.
     [](const std::string& path, std::string_view begin) {
       return begin.starts_with("\x89HDF\r\n\x1a\n") || ends_with(path, ".h5") || ends_with(path, ".hdf5");
     },
     [](const std::string& path) { return content_of(io::load_hdf5(path)); },
     [](const std::string& path, const Tensors& tensors) { io::save_hdf5(path, tensors); }},
    {"keras",
     "the weights and the optimizer of a model of Keras",
     {".keras"},
     [](const std::string& path, std::string_view begin) { return is_zip(begin) && ends_with(path, ".keras"); },
     [](const std::string& path) { return content_of(io::load_hdf5(path)); },
     nullptr},
    {"torch",
     "a state dictionary of PyTorch",
     {".pt", ".pth"},
     [](const std::string& path, std::string_view) { return ends_with(path, ".pt") || ends_with(path, ".pth"); },
     read_torch,
     nullptr},
    {"onnx",
     "a model of ONNX, its weights as the library has them",
     {".onnx"},
     [](const std::string& path, std::string_view) { return ends_with(path, ".onnx"); },
     read_onnx,
     nullptr},
    // Before the files that this one is one of.
    {"saved_model",
     "traced functions of Capstan: a folder, or the file in it",
     {kSavedModel},
     [](const std::string& path, std::string_view) {
       return ends_with(path, kSavedModel) || fs::is_regular_file(fs::path(path) / kSavedModel);
     },
     read_saved_model,
     nullptr},
    {"checkpoint",
     "a checkpoint of Capstan",
     {},
     [](const std::string&, std::string_view begin) { return begin.starts_with("CAPSTANC"); },
     [](const std::string& path) { return content_of(io::load_checkpoint(path)); },
     nullptr},
    {"image",
     "a picture, as PNG or JPEG",
     {".png", ".jpg", ".jpeg"},
     [](const std::string&, std::string_view begin) {
       return begin.starts_with("\x89PNG") || begin.starts_with("\xff\xd8\xff");
     },
     [](const std::string& path) {
       return Content{{{"image", io::load_image(path)}}};
     },
     nullptr},
    {"tfrecord",
     "records, perhaps with Examples, or logs of TensorBoard",
     {".tfrecord", ".tfrecords"},
     [](const std::string& path, std::string_view) {
       return ends_with(path, ".tfrecord") || ends_with(path, ".tfrecords") ||
              path.find("events.out.tfevents") != std::string::npos;
     },
     read_records,
     nullptr},
    {"idx",
     "the format of the MNIST digits, plain or gzipped",
     {"-ubyte", "-ubyte.gz"},
     [](const std::string& path, std::string_view begin) {
       const bool is_plain = begin.size() >= 4 && begin[0] == 0 && begin[1] == 0 && begin[2] >= 8 && begin[2] <= 14;
       return is_plain || path.find("-ubyte") != std::string::npos || path.find(".idx") != std::string::npos;
     },
     [](const std::string& path) {
       return Content{{{"array", io::load_idx(path)}}};
     },
     nullptr},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format& format_of(const std::string& path) {
  const std::optional<std::string> found = beginning_of(path);
  const bool is_prefix = !fs::exists(path) && fs::is_regular_file(prefix_of(path) + ".index");
  if (!found && !is_prefix) throw IoError("capstan: cannot open the file\n  file: " + path);
  const std::string begin = found.value_or("");
  for (const Format& format : kFormats) {
    if (format.is_one(path, begin)) return format;
  }
  std::string known;
  for (const Format& format : kFormats) known += (known.empty() ? "" : ", ") + std::string(format.name);
  throw IoError("capstan: the file is of no format that is known\n  file: " + path + "\n  help: there are " + known);
}

const Format& format_to_write(const std::string& name, const std::string& path) {
  std::string written;
  for (const Format& format : kFormats) {
    if (format.write == nullptr) continue;
    const bool is_asked = name.empty() ? std::any_of(format.endings.begin(), format.endings.end(),
                                                     [&](std::string_view end) { return path.ends_with(end); })
                                       : name == format.name;
    if (is_asked) return format;
    written += (written.empty() ? "" : ", ") + std::string(format.name);
  }
  throw ValueError(
      "convert: " + (name.empty() ? "the end of \"" + path + "\" names no format" : "\"" + name + "\" is no format") +
      " that can be written\n  help: there are " + written + "; --to says which");
}

}  // namespace capstan::cli
