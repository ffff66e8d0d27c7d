// Who knows where a function is declared knows where it is defined: the functions of ops/math.h are in src/ops/math,
// those of other headers in the folders of the table.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/house/prose.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

// Headers that are not in ops/ or layers/, and the folders of src that define their functions.
const std::map<std::string, std::set<std::string>> kFolders = {
    {"activations", {"train"}},
    {"applications", {"applications"}},
    {"bindings", {"core"}},
    {"checkpoint", {"checkpoint"}},
    {"checkpoint_callbacks", {"checkpoint"}},
    {"config", {"train"}},
    {"confusion_metrics", {"train"}},
    {"constraints", {"train"}},
    {"control_flow", {"transforms"}},
    {"dataset_nodes", {"data"}},
    {"dataset_parts", {"data"}},
    {"datasets", {"datasets"}},
    {"debugging", {"ops/debugging"}},
    {"derivatives", {"transforms"}},
    {"directory_datasets", {"datasets"}},
    {"dtype", {"core"}},
    {"dtype_policy", {"train"}},
    {"dynamic", {"transforms"}},
    {"fields", {"core"}},
    {"file_datasets", {"data"}},
    {"function", {"transforms"}},
    {"hdf5_files", {"io"}},
    {"image_files", {"io"}},
    {"implicit", {"transforms"}},
    {"initializers", {"train"}},
    {"io", {"io"}},
    {"layer", {"train"}},
    {"loss_functions", {"train"}},
    {"losses", {"train"}},
    {"memory", {"core"}},
    {"metrics", {"train"}},
    {"minimize", {"train"}},
    {"model_graph", {"train"}},
    {"models", {"train", "checkpoint"}},  // load_model
    {"onnx", {"onnx"}},
    {"op_calls", {"ops"}},
    {"optimizers", {"train"}},
    {"plots", {"train/plots"}},
    {"print", {"ops/debugging"}},
    {"recompute", {"transforms"}},
    {"register_op", {"ops"}},
    {"registry", {"ops"}},
    {"regularizers", {"train"}},
    {"runtime", {"core"}},
    {"saved_model", {"saved_model"}},
    {"schedules", {"train"}},
    {"shape", {"core"}},
    {"state", {"train"}},
    {"summary", {"logs"}},
    {"tape", {"tape", "transforms"}},           // custom_gradient
    {"tensor", {"core", "tape", "ops/array"}},  // what gives a tensor back its memory; slices
    {"tensorboard", {"logs"}},
    {"tensorflow_files", {"io"}},
    {"testing", {"tape"}},
    {"text_batches", {"train"}},
    {"text_files", {"io"}},
    {"texts", {"core"}},
    {"torch_files", {"io"}},
    {"training", {"train"}},
    {"utils", {"train"}},
    {"vectorized_map", {"transforms"}},
};

// The functions that a header exports. Operators are made by macros; members and constructors stand with their class.
std::set<std::string> exported(const std::string& text) {
  static const std::regex function(R"(\bCAPSTAN_EXPORT\s+(?!class\b|struct\b)[^;{}()=]*?[\w>&*]\s+[&*]?(\w+)\()");
  const std::string code = without_comments(text);
  std::set<std::string> names;
  for (std::sregex_iterator match(code.begin(), code.end(), function), end; match != end; ++match) {
    names.insert((*match)[1].str());
  }
  return names;
}

// Names that stand before a parenthesis in a line that begins with a type.
void add_defined(const std::string& text, std::set<std::string>* names) {
  static const std::regex function(R"(^[A-Za-z_][\w:<>,&*\[\] ]*[ &*](?:\w+::)*(\w+)\()");
  for (const std::string& line : SourceFile{"", without_comments(text)}.lines()) {
    std::smatch match;
    if (std::regex_search(line, match, function)) names->insert(match[1].str());
  }
}

std::set<std::string> folders_of(const std::string& header) {
  if (header.starts_with("ops/")) return {header};
  if (header.starts_with("layers/")) return {"train"};
  const auto found = kFolders.find(header);
  return found == kFolders.end() ? std::set<std::string>() : found->second;
}

TEST(Places, OfFunctionsAreWhereTheirHeadersSay) {
  std::map<std::string, std::set<std::string>> defined;
  for (const SourceFile& file : source_files("src")) {
    if (!file.path.ends_with(".cc")) continue;
    // src/train/plots/curves.cc is a file of train and of train/plots.
    for (std::size_t end = file.path.find('/', 4); end != std::string::npos; end = file.path.find('/', end + 1)) {
      add_defined(file.text, &defined[file.path.substr(4, end - 4)]);
    }
  }
  std::size_t functions = 0;
  for (const SourceFile& file : source_files("include/capstan")) {
    const std::size_t begin = std::string("include/capstan/").size();
    const std::string header = file.path.substr(begin, file.path.size() - begin - 2);
    const std::set<std::string> folders = folders_of(header);
    for (const std::string& name : exported(file.text)) {
      ++functions;
      bool found = false;
      for (const std::string& folder : folders) found = found || defined[folder].contains(name);
      EXPECT_TRUE(found) << file.path << " declares " << name << ", which no folder of this header defines";
    }
  }
  EXPECT_GT(functions, 600u) << "the declarations were not found";
}

TEST(Places, ReaderOfDeclarationsKnowsItsForms) {
  EXPECT_EQ(exported("CAPSTAN_EXPORT Tensor f(Operand x);\nclass CAPSTAN_EXPORT A {};\nnamespace image {\n"
                     "CAPSTAN_EXPORT std::vector<Tensor>\n  g(int a = h(1));  // CAPSTAN_EXPORT int i();\n}"),
            (std::set<std::string>{"f", "g"}));
  std::set<std::string> names;
  add_defined("Tensor f(Operand x) {\n  return k(x);\n}\nstd::vector<Tensor> image::g(int a) {}\n// int h() {}\n",
              &names);
  EXPECT_EQ(names, (std::set<std::string>{"f", "g"}));
}

}  // namespace
}  // namespace capstan::house
