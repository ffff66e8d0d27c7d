// A layer includes only what lies below it.
//
// The order is that of docs/design.md. Both kinds of headers have a layer: those in src/
// by their folder, those in include/capstan/ by the table below.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

// What each layer may include beside itself. Training code sees of the library's inside only the core.
const std::map<std::string, std::set<std::string>> kBelow = {
    {"core", {}},
    {"kernels", {"core"}},
    {"emit", {"core", "kernels"}},
    {"formula", {"core", "kernels"}},
    {"ops", {"core", "kernels", "formula"}},
    {"tape", {"core", "kernels", "ops"}},
    {"graph", {"core", "kernels", "ops", "emit"}},
    {"transforms", {"core", "kernels", "ops", "tape", "graph"}},
    {"train", {"core"}},
    {"io", {"core"}},
    {"data", {"core", "io"}},
    {"logs", {"core", "io"}},
    {"checkpoint", {"core", "io", "train"}},
    {"datasets", {"core", "io"}},
    {"applications", {"core"}},
    {"cli", {}},
    {"onnx", {"core", "ops", "graph", "transforms", "io"}},
    {"saved_model", {"core", "ops", "tape", "graph", "transforms", "io"}},
    {"python", {}},
};

// The same for public headers, which are made for users: training code and datasets are users of
// ops and tapes.
const std::map<std::string, std::set<std::string>> kPublicBelow = {
    {"core", {}},
    {"ops", {"core"}},
    {"tape", {"core", "ops"}},
    {"emit", {"core"}},
    {"graph", {"core", "ops"}},
    {"transforms", {"core", "ops", "tape", "graph"}},
    {"train", {"core", "ops", "tape", "transforms", "data"}},
    {"io", {"core", "ops"}},
    {"data", {"core", "ops", "io"}},
    {"logs", {"core", "ops", "tape", "transforms", "data", "train", "io"}},
    {"checkpoint", {"core", "ops", "tape", "transforms", "train", "data", "io"}},
    {"datasets", {"core", "ops", "tape", "transforms", "train", "data", "io"}},
    {"applications", {"core", "ops", "train"}},
    {"cli", {"core", "ops", "io", "onnx", "saved_model"}},
    {"onnx", {"core", "ops", "tape", "transforms", "train"}},
    {"saved_model", {"core", "ops", "tape", "transforms"}},
    {"python",
     {"core", "ops", "tape", "transforms", "train", "data", "io", "checkpoint", "logs", "datasets", "applications",
      "onnx", "saved_model"}},
};

// The layer of each public header; those of capstan/ops/ are of the ops, those of
// capstan/layers/ of the training code.
const std::map<std::string, std::set<std::string>> kPublicLayers = {
    {"core",
     {"bindings.h", "dtype.h", "error.h", "export.h", "fields.h", "graph_nodes.h", "index.h", "memory.h", "nest.h",
      "register_op.h", "registry.h", "runtime.h", "seed.h", "shape.h", "structure.h", "tensor.h", "tensor_spec.h",
      "texts.h", "variable.h"}},
    {"ops", {"debugging.h", "op_calls.h", "print.h"}},
    {"tape", {"tape.h", "testing.h"}},
    {"transforms",
     {"control_flow.h", "derivatives.h", "dynamic.h", "forward.h", "function.h", "function_of_tensors.h", "implicit.h",
      "jacobian.h", "profile.h", "recompute.h", "vectorized_map.h"}},
    {"train", {"activations.h", "callbacks.h",      "config.h",       "confusion_metrics.h",
               "constraints.h", "dtype_policy.h",   "initializers.h", "layer.h",
               "layers.h",      "loss_functions.h", "losses.h",       "metrics.h",
               "minimize.h",    "model_graph.h",    "models.h",       "optimizers.h",
               "plots.h",       "progbar.h",        "progress.h",     "regularizers.h",
               "schedules.h",   "state.h",          "text_batches.h", "training.h",
               "update_rule.h", "utils.h"}},
    {"data",
     {"data.h", "dataset_conversions.h", "dataset_nodes.h", "dataset_options.h", "dataset_parts.h", "datasets.h",
      "file_datasets.h"}},
    {"io",
     {"hdf5_files.h", "image_files.h", "io.h", "records.h", "tensorflow_files.h", "text_files.h", "torch_files.h"}},
    {"logs", {"summary.h", "tensorboard.h"}},
    {"checkpoint", {"checkpoint.h", "checkpoint_callbacks.h"}},
    {"datasets", {"directory_datasets.h"}},
    {"applications", {"applications.h"}},
    {"onnx", {"onnx.h"}},
    {"saved_model", {"saved_model.h"}},
    {"everything", {"capstan.h"}},
};

// Headers of other projects, and the folders that may see them; no folder may see the last two.
const std::map<std::string, std::set<std::string>> kForeign = {
    {"hwy/", {"src/core", "src/emit", "src/formula", "src/kernels", "src/ops", "tests/kernels"}},
    {"xbyak/", {"src/emit"}},
    {"zlib.h", {"src/io", "tests"}},
    {"zip.h", {"src/io", "tests"}},
    {"png.h", {"src/io", "examples/mnist", "examples/support", "tests", "benchmarks"}},
    {"jpeglib.h", {"src/io", "benchmarks"}},
    {"CLI/", {"src/cli"}},
    {"Python.h", {"src/python"}},
    {"nanobind/", {"src/python"}},
    {"nlohmann/", {"tests", "tools"}},
    {"gtest/", {"tests"}},
    {"benchmark/", {"benchmarks"}},
    {"cblas", {}},  // never linked: src/kernels/decompositions/lapack.h opens what is there
    {"lapacke", {}},
};

bool starts_with(const std::string& text, const std::string& beginning) { return text.rfind(beginning, 0) == 0; }

// Of "capstan/tape.h"; empty for one that the table lacks.
std::string public_layer(const std::string& header) {
  if (starts_with(header, "capstan/ops/")) return "ops";
  if (starts_with(header, "capstan/layers/")) return "train";
  for (const auto& [layer, names] : kPublicLayers) {
    if (names.contains(header.substr(8))) return layer;
  }
  return "";
}

// "src/ops/math/math.cc" -> "ops"; empty for a file elsewhere.
std::string private_layer(const std::string& path) {
  if (!starts_with(path, "src/")) return "";
  const std::size_t end = path.find('/', 4);
  return end == std::string::npos ? "" : path.substr(4, end - 4);
}

// Why `path` may not include `name`; empty if it may.
std::string objection(const std::string& path, const std::string& name) {
  const std::string own = private_layer(path);
  const bool is_public = starts_with(path, "include/capstan/");
  const std::string own_public = is_public ? public_layer(path.substr(8)) : "";

  for (const auto& [beginning, folders] : kForeign) {
    if (!starts_with(name, beginning)) continue;
    for (const std::string& folder : folders) {
      if (starts_with(path, folder + "/")) return "";
    }
    return name + " belongs to a library that this folder does not use";
  }

  if (starts_with(name, "src/") || starts_with(name, "tests/")) {
    if (is_public) return "a public header includes only public headers";
    if (starts_with(path, "examples/")) return "an example includes only what a user can";
    if (own.empty()) return "";
    if (starts_with(name, "tests/")) return "the library does not include its tests";
    const auto below = kBelow.find(own);
    if (below == kBelow.end()) return "src/" + own + " is not a layer of the design";
    const std::string other = private_layer(name);
    if (other == own || below->second.count(other) != 0) return "";
    return own + " may not include " + other;
  }

  if (starts_with(name, "capstan/")) {
    const std::string other = public_layer(name);
    if (is_public) {
      if (own_public == "everything" || other == own_public) return "";
      return kPublicBelow.at(own_public).count(other) != 0 ? "" : own_public + " may not include " + other;
    }
    if (own.empty()) return "";
    if (other == "everything") return "the library includes the headers that it needs, one by one";
    if (own == "kernels") {
      // Kernels know raw memory only.
      return name == "capstan/dtype.h" || name == "capstan/export.h" ? "" : "a kernel knows no tensor";
    }
    const auto below = kPublicBelow.find(own);
    if (other == own || other == "core") return "";
    if (below == kPublicBelow.end()) return "src/" + own + " is not a layer of the design";
    return below->second.count(other) != 0 ? "" : own + " may not include " + other;
  }
  return "";
}

TEST(Layers, EveryIncludePointsDown) {
  int files = 0;
  for (const char* folder : {"include", "src", "examples", "benchmarks", "tests"}) {
    for (const SourceFile& file : source_files(folder)) {
      ++files;
      for (const Include& include : includes(file)) {
        const std::string why = objection(file.path, include.name);
        EXPECT_EQ(why, "") << file.path << ":" << include.line << " includes " << include.name;
      }
    }
  }
  EXPECT_GT(files, 20) << "the sources were not found";
}

TEST(Layers, HaveAllPublicHeadersAndNoOthers) {
  for (const SourceFile& header : source_files("include"))
    EXPECT_NE(public_layer(header.path.substr(8)), "") << header.path << " is of no layer";
  for (const auto& [layer, names] : kPublicLayers) {
    for (const std::string& name : names)
      EXPECT_NE(read_file("include/capstan/" + name), "") << name << " is not there";
  }
}

TEST(Layers, OfTheTableAreFolders) {
  for (const auto& [layer, below] : kBelow) EXPECT_FALSE(source_files("src/" + layer).empty()) << layer;
}

TEST(Layers, TheCheckObjectsToWhatIsForbidden) {
  EXPECT_EQ(objection("src/core/apply.cc", "src/ops/registry.h"), "core may not include ops");
  EXPECT_EQ(objection("src/tape/tape.cc", "src/graph/graph.h"), "tape may not include graph");
  EXPECT_EQ(objection("src/graph/graph.cc", "src/tape/tape.h"), "graph may not include tape");
  EXPECT_EQ(objection("src/train/dense.cc", "src/ops/registry.h"), "train may not include ops");
  EXPECT_EQ(objection("src/core/apply.cc", "capstan/tape.h"), "core may not include tape");
  EXPECT_NE(objection("src/kernels/matmul.cc", "capstan/tensor.h"), "");
  EXPECT_NE(objection("include/capstan/tape.h", "src/tape/tape.h"), "");
  EXPECT_NE(objection("include/capstan/tensor.h", "capstan/tape.h"), "");
  EXPECT_NE(objection("src/tape/tape.cc", "hwy/highway.h"), "");
  EXPECT_NE(objection("src/data/dataset.cc", "zip.h"), "");
  EXPECT_NE(objection("src/ops/math/math.cc", "tests/ops/samples.h"), "");
  EXPECT_NE(objection("src/new_layer/a.cc", "src/core/check.h"), "");
  EXPECT_NE(objection("examples/01_basic.cc", "src/core/check.h"), "");
}

TEST(Layers, TheCheckAllowsWhatLiesBelow) {
  EXPECT_EQ(objection("src/ops/math/math.cc", "src/kernels/reduce/reduce.h"), "");
  EXPECT_EQ(objection("src/ops/math/math.cc", "hwy/highway.h"), "");
  EXPECT_EQ(objection("src/tape/tape.cc", "src/core/apply.h"), "");
  EXPECT_EQ(objection("src/train/dense.cc", "capstan/ops/linalg.h"), "");
  EXPECT_EQ(objection("src/data/mnist.cc", "src/io/npz.h"), "");
  EXPECT_EQ(objection("include/capstan/tape.h", "capstan/tensor.h"), "");
  EXPECT_EQ(objection("include/capstan/capstan.h", "capstan/tape.h"), "");
  EXPECT_EQ(objection("src/core/apply.cc", "vector"), "");
}

}  // namespace
}  // namespace capstan::house
