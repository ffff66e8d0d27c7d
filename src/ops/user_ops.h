// The ops that programs and other libraries have registered (capstan/register_op.h).
#pragma once

#include <string_view>
#include <vector>

#include "capstan/registry.h"

namespace capstan {

struct UserOp;

// The op of this name, or null. It lives as long as the process.
const UserOp* find_user_op(std::string_view name);

// Checks the arguments as those of the library's ops are, and runs it.
std::vector<Tensor> call_user_op(const UserOp& op, std::span<const Tensor> inputs, const AttributeMap& attributes);

// Adds what list_ops() says of them, in the order in which they were registered.
void list_user_ops(std::vector<OpInfo>& list);

}  // namespace capstan
