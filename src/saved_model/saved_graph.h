// A graph from a file. It calls the library's ops as a program would, so it can be traced, watched and batched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/op_calls.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan::saved_model {

class SavedControl;

// What is read: how many constants and variables there are, and who throws in the name of the file.
struct Reading {
  std::size_t constants = 0, variables = 0;
  std::function<void(const std::string& problem)> fail;

  // Members of a form; fail unless they are what they have to be.
  const AttributeValue& member(const AttributeValue& form, const char* key) const;
  std::size_t number(const AttributeValue& value, std::size_t limit, const char* what) const;
  std::vector<std::size_t> numbers(const AttributeValue& value, std::size_t limit, const char* what) const;
  const std::vector<AttributeValue>& list(const AttributeValue& value, const char* what) const;
};

using Constants = std::shared_ptr<const std::vector<Tensor>>;

class SavedGraph {
 public:
  // Checks the form, which graph_form.h describes.
  SavedGraph(const AttributeValue& form, const Reading& reading);

  // The number of inputs, and of results, empty ones included.
  std::size_t inputs() const { return inputs_.size(); }
  std::size_t results() const { return results_.size(); }

  std::vector<Tensor> run(std::vector<Tensor> inputs, const Constants& constants) const;

 private:
  static constexpr std::size_t kEmpty = ~std::size_t{0};  // a result

  struct Node {
    std::string name;
    std::optional<Op> op;  // of the registry, with its attributes
    std::optional<AttributeSet> attributes;
    AttributeValue form;                          // of an op of traces, its attributes
    std::shared_ptr<const SavedControl> control;  // of control flow
    std::vector<std::size_t> inputs, outputs;
  };

  Node read_node(const AttributeValue& form, const Reading& reading) const;
  std::vector<Tensor> run_node(const Node& node, std::vector<Tensor> inputs, const Constants& constants) const;

  std::size_t values_ = 0;  // how many there are
  std::vector<std::size_t> inputs_;
  std::vector<std::pair<std::size_t, std::size_t>> constants_;  // the value, and its place in the file
  std::vector<Node> nodes_;
  std::vector<std::size_t> results_;
};

}  // namespace capstan::saved_model
