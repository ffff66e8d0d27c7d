// What an ONNX file holds: the messages of onnx.proto, as far as they matter, read into structs.
//
// The generated code of onnx.proto and libprotobuf were rejected: src/io/wire.h reads the format, and the messages that
// matter are seven. Graphs may hold graphs (the branches of If, the bodies of Loop and Scan), so this reader calls
// itself, but not deeper than kDeepestGraph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::onnx {

/// Graphs within graphs, at most.
inline constexpr int kDeepestGraph = 16;
/// The opsets of the standard operators that are read.
inline constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 28;

struct GraphProto;

struct Attribute {
  std::string name;
  std::optional<double> number;
  std::optional<std::int64_t> integer;
  std::string text;
  Tensor tensor;
  std::shared_ptr<const GraphProto> graph;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
};

struct NodeProto {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  // an empty name stands for one that is left out
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
  /// "node "relu1" (Relu)", as errors name it.
  std::string title() const;
};

struct ValueProto {
  std::string name;
  int type = 0;                                    // of TensorProto; 0: not told, or no tensor
  std::optional<std::vector<std::int64_t>> shape;  // open lengths are -1
  std::vector<std::string> lengths = {};           // of a graph that is written: what open lengths are called
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueProto> inputs, outputs;
};

struct ModelProto {
  std::int64_t opset = 0;
  GraphProto graph;
  std::string description = {};  // of a model that is written
};

/// Where a message is from, for errors: the reader's name and the file.
struct Origin {
  std::string reader, file;
  [[noreturn]] void fail(const std::string& problem, const std::string& help = "") const;
};

ModelProto read_model(const Origin& origin, std::string_view bytes);
/// A TensorProto; its name goes to `name` unless that is null.
Tensor read_tensor(const Origin& origin, std::string_view bytes, std::string* name = nullptr);

/// Writes a model: the file is there as a whole or not at all. Throws IoError in the name of `writer`, and ValueError
/// for a model that is longer than a message may be.
void write_model(const std::string& writer, const std::string& path, const ModelProto& model);

/// The dtype for a number of TensorProto.DataType, if tensors have it.
std::optional<DType> find_dtype(std::int64_t type);
/// The same. Throws IoError for one that tensors do not have.
DType dtype_of(const Origin& origin, std::int64_t type, const std::string& what);
/// The number for a dtype.
int type_number(DType dtype);
/// "float16" for 10, as errors name types.
std::string type_name(std::int64_t type);

}  // namespace capstan::onnx
