// The programs of tests/golden/tape.json, ported by hand.
//
// A program takes its inputs from a Recorder and hands back every result, fact and error of its
// case; the Recorder compares them with the stored ones. What has no meaning in C++ is left out by
// name, with the reason.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/tape.h"
#include "tests/support/compare.h"
#include "tests/support/golden_json.h"

namespace capstan::testing {

// A tensor, a missing gradient, or a structure of them.
struct Value {
  enum class Kind { kTensor, kList, kMap } kind = Kind::kTensor;
  Tensor tensor;
  std::vector<Value> list;
  std::map<std::string, Value> map;
};

Value value_of(const Tensor& tensor);
Value value_of(const Variable& variable);
inline Value value_of(const Value& value) { return value; }
template <class T>
Value value_of(const std::vector<T>& items);
template <class A, class B>
Value value_of(const std::pair<A, B>& pair);
template <class... T>
Value value_of(const std::tuple<T...>& tuple);
template <class... T>
Value value_of(const std::map<std::string, T...>& map);

template <class T>
Value value_of(const std::vector<T>& items) {
  Value value{.kind = Value::Kind::kList, .tensor = {}, .list = {}, .map = {}};
  for (const T& item : items) value.list.push_back(value_of(item));
  return value;
}
template <class A, class B>
Value value_of(const std::pair<A, B>& pair) {
  return {.kind = Value::Kind::kList, .tensor = {}, .list = {value_of(pair.first), value_of(pair.second)}, .map = {}};
}
template <class... T>
Value value_of(const std::tuple<T...>& tuple) {
  Value value{.kind = Value::Kind::kList, .tensor = {}, .list = {}, .map = {}};
  std::apply([&](const auto&... items) { (value.list.push_back(value_of(items)), ...); }, tuple);
  return value;
}
template <class... T>
Value value_of(const std::map<std::string, T...>& map) {
  Value value{.kind = Value::Kind::kMap, .tensor = {}, .list = {}, .map = {}};
  for (const auto& [key, item] : map) value.map.emplace(key, value_of(item));
  return value;
}

// Where it differs from the stored result, or nothing.
std::string difference(const Value& got, const Json& want, double relative);

class Recorder {
 public:
  explicit Recorder(const Json& golden);

  Tensor x(const std::string& name) const;
  Variable v(const std::string& name, bool trainable = true) const;

  template <class T>
  void out(const std::string& name, const T& result) {
    compare(name, value_of(result));
  }
  void fact(const std::string& name, const Json& fact);
  // A stored fact that is an input of the program.
  const Json& given(const std::string& name);
  // `call` must throw the exception that stands for the category of the error.
  void error(const std::string& name, const std::function<void()>& call);
  // A result, fact or error that has no meaning here.
  void leave_out(const std::string& name, const std::string& reason);

  // Complains of what the program did not hand back.
  void finish() const;

 private:
  void compare(const std::string& name, const Value& got);
  void mark(const char* kind, const std::string& name);

  const Json& golden_;
  std::set<std::string> seen_;
};

// What a gradient function of the tests throws.
struct OwnError {};

using Programs = std::map<std::string, std::function<void(Recorder&)>>;

Programs basic_programs();
Programs higher_order_programs();
Programs target_programs();
Programs unconnected_programs();
Programs recording_programs();
Programs custom_gradient_programs();
Programs sparse_programs();
Programs variable_programs();
Programs jacobian_programs();
Programs hessian_programs();
Programs function_programs();
Programs training_programs();
Programs forward_programs();

// Cases that are not ported, with the reason.
std::map<std::string, std::string> programs_left_out();

inline Tensor number(double value) { return constant(value, float64); }

}  // namespace capstan::testing
