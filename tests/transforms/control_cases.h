// Functions of tensors with control flow, run in every way in which it can be run.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan::testing {

using ListToTensor = std::function<Tensor(const std::vector<Tensor>&)>;

std::vector<double> numbers(const Tensor& x);
std::vector<double> numbers(const std::vector<Tensor>& tensors);

// Value, first and second order of sum(f(x) * weights), where the second order is that of the sum of the squares of the
// first. Gradients that are missing are zeros.
std::vector<Tensor> tensors_of_orders(const ListToTensor& f, const std::vector<Tensor>& inputs);

// Along a fixed direction: value, first and second derivative of f by two accumulators, and the Hessian of
// sum(sin(f(x))) times the direction by one around a tape.
std::vector<Tensor> tangents_of_orders(const ListToTensor& f, const std::vector<Tensor>& inputs);

std::vector<double> orders(const ListToTensor& f, const std::vector<Tensor>& inputs);

// The same, or what else `compute` makes of f, computed inside of a function.
std::vector<double> traced_orders(const ListToTensor& f, const std::vector<Tensor>& inputs,
                                  std::vector<Tensor> (*compute)(const ListToTensor&,
                                                                 const std::vector<Tensor>&) = tensors_of_orders);

void expect_close(const std::vector<double>& a, const std::vector<double>& b, const char* what);

// Compares value, first and second order of f outside of a function, in one, and of a function, in reverse and in
// forward mode.
void expect_same_everywhere(const ListToTensor& f, const std::vector<Tensor>& inputs);

inline Tensor vector64(std::initializer_list<Literal> list) { return constant(Literal(list), float64); }

}  // namespace capstan::testing
