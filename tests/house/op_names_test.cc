// What is known of an op is in its OpDef: no other file decides anything by its name, its text or its address.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "src/ops/registry.h"
#include "tests/house/source_tree.h"

namespace capstan::house {
namespace {

// The closed list, with reasons.
struct Exception {
  const char* file;
  const char* op;
};
const Exception kExceptions[] = {
    // The loop that accumulates cotangents is that of the sum, in place.
    {"src/tape/reverse.cc", "kAdd"},
    // The pass makes this op, which is in programs alone.
    {"src/graph/merge_products.cc", "kProducts"},
    // The word for what a profile calls a trace, which is no op there.
    {"src/transforms/profile_data.cc", "trace"},
};

bool is_excepted(const std::string& file, const std::string& op) {
  for (const Exception& exception : kExceptions) {
    if (file == exception.file && op == exception.op) return true;
  }
  return false;
}

// The layers that see calls as data. Those above them call ops as users do, with the words of Keras and ONNX: a table
// of onnx translates ops one by one, by their names.
const std::set<std::string> kLayers = {"core", "kernels", "formula", "emit", "tape", "graph", "transforms"};

std::string layer_of(const std::string& path) {
  const std::size_t begin = path.find('/') + 1;
  return path.substr(begin, path.find('/', begin) - begin);
}

std::string code_of(const std::string& line) { return line.substr(0, line.find("//")); }

// The constants that each header of src/ops declares.
std::map<std::string, std::set<std::string>> declared_ops() {
  std::map<std::string, std::set<std::string>> declared;
  const std::regex pattern(R"(extern const OpDef (k\w+);)");
  for (const SourceFile& file : source_files("src/ops")) {
    if (!file.path.ends_with(".h")) continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), pattern), end; match != end; ++match) {
      declared[file.path].insert((*match)[1].str());
    }
  }
  return declared;
}

TEST(OpNames, AreTextInNoFileThatSeesCallsAsData) {
  std::set<std::string> names;
  for (const OpDef* op : all_ops()) names.insert(std::string(op->name));
  ASSERT_GT(names.size(), 300u);
  const std::regex literal("\"([^\"]*)\"");
  for (const SourceFile& file : source_files("src")) {
    const std::string layer = layer_of(file.path);
    for (const std::string& line : file.lines()) {
      const std::string code = code_of(line);
      if (layer != "ops") {
        EXPECT_EQ(code.find("find_op(\""), std::string::npos) << file.path << ": " << line;
      }
      if (!kLayers.contains(layer)) continue;
      for (std::sregex_iterator match(code.begin(), code.end(), literal), end; match != end; ++match) {
        const std::string text = (*match)[1].str();
        EXPECT_FALSE(names.contains(text) && !is_excepted(file.path, text)) << file.path << " names \"" << text << '"';
      }
    }
  }
}

TEST(OpNames, AreConstantsInNoFileOutsideOfTheOps) {
  const auto declared = declared_ops();
  ASSERT_FALSE(declared.empty());
  std::set<std::string> used;
  for (const SourceFile& file : source_files("src")) {
    if (layer_of(file.path) == "ops") continue;
    std::set<std::string> visible;
    for (const Include& include : includes(file)) {
      const auto found = declared.find(include.name);
      if (found != declared.end()) visible.insert(found->second.begin(), found->second.end());
    }
    for (const std::string& op : visible) {
      const std::regex pattern("(^|[^:\\w])" + op + "\\b");
      for (const std::string& line : file.lines()) {
        const std::string code = code_of(line);
        if (!std::regex_search(code, pattern)) continue;
        if (is_excepted(file.path, op)) {
          used.insert(file.path + op);
        } else {
          ADD_FAILURE() << file.path << " names " << op << ": " << line;
        }
      }
    }
  }
  EXPECT_EQ(used.size(), 2u) << "an exception that nothing needs";
}

// The list of the files is made when the build is configured.
TEST(OpNames, OfAllFilesAreInTheRegistry) {
  const std::regex list("CAPSTAN_OPS\\((\\w+),([^;]*)\\);");
  std::size_t ops = 0;
  for (const SourceFile& file : source_files("src/ops")) {
    if (!file.path.ends_with(".cc")) continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), list), end; match != end; ++match) {
      const std::string names = (*match)[2].str();
      ops += static_cast<std::size_t>(std::count(names.begin(), names.end(), '&'));
      EXPECT_TRUE(file.path.ends_with("/" + (*match)[1].str() + ".cc")) << file.path;
    }
  }
  EXPECT_EQ(ops, all_ops().size()) << "configure the build again";
}

}  // namespace
}  // namespace capstan::house
