// The steps of optimizers as loops: what src/train, which knows the rules, and the layers that run them share.
//
// A rule is written in tensor ops. If what it does with a variable is elementwise, it is recorded once and becomes one
// loop that changes the variable and its slots where they lie: with dense and row-sparse gradients, at once and as a
// node of a traced function. src/graph records (step_loop.cc), src/ops runs (optimizer.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

// A loop over the elements of a variable and its slots. Loops live as long as the process.
class StepLoop {
 public:
  StepLoop(std::string name, DType dtype, std::size_t slots, std::size_t numbers)
      : name(std::move(name)), dtype(dtype), slots(slots), numbers(numbers) {}
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  // `slots[0]` is the variable; n elements of each are changed where they lie. No gradient stands for zeros. Each
  // number is one element.
  virtual void run(void* const* slots, const void* gradient, const void* const* numbers, std::int64_t n) const = 0;

  const std::string name;   // one for each loop
  const DType dtype;        // float32 or float64
  const std::size_t slots;  // with the variable
  const std::size_t numbers;

 protected:
  ~StepLoop() = default;
};

inline constexpr std::size_t kMostSlots = 8;     // with the variable
inline constexpr std::size_t kMostNumbers = 32;  // of a loop

// A rule for one variable: from its value and slots, the gradient and the numbers to values and slots after the step.
using StepFormula = std::function<void(std::span<const Tensor> slots, const Tensor& gradient,
                                       std::span<const Tensor> numbers, std::span<Tensor> after)>;

// What was recorded of a formula: the loop, whose last numbers are the constants of the formula. Without a loop the
// formula is more than one, and has to be run op by op.
struct RecordedStep {
  const StepLoop* loop = nullptr;
  std::vector<Tensor> constants;  // scalars
};

// Records a formula for a variable of this dtype and shape with so many slots, itself among them. Rules with the same
// arithmetic share one loop, whatever their numbers are.
RecordedStep record_step(const std::string& name, DType dtype, const Shape& shape, std::size_t slots,
                         std::size_t numbers, const StepFormula& formula);

// What a step does where there is no gradient: in rows that a row-sparse one lacks.
enum class Elsewhere : bool { kNothing, kZeroGradient };

// A variable of a step as memory.
struct SteppedPart {
  std::int64_t size;
  std::byte* slots[kMostSlots] = {};
  const std::byte* before[kMostSlots] = {};  // where a slot lies now, if not where it is written; else null
  const std::byte* gradient = nullptr;
  // The gradient may be `picked` rows of `width` elements, in the order of their numbers.
  bool is_rows = false;
  const std::int64_t* rows = nullptr;
  std::int64_t picked = 0, width = 1;
};

// Runs a loop over variables and their slots, where they lie. These lie end to end, and that is cut into tasks. A
// gradient of rows is walked along with the table: its rows with their gradient, the rows between them with none.
void run_parts(const StepLoop& loop, Elsewhere elsewhere, const void* const* numbers,
               std::span<const SteppedPart> parts);

// A variable with its slots, and its gradient.
struct SteppedVariable {
  std::span<const Variable> slots;  // the variable first
  Tensor gradient;
};

// Makes a step of one variable, now. A variable or slot whose value somebody else still holds (a snapshot, a persistent
// tape) gets a copy of its own first. `op` is for messages. Errors, before anything is changed: ValueError, ShapeError,
// DTypeError and IndexError for slots, gradients and rows that do not fit.
void run_step(const char* op, const StepLoop& loop, Elsewhere elsewhere, std::span<const Variable> slots,
              const Tensor& gradient, const void* const* numbers);

// Adds steps of several variables to the trace: one node for all dense gradients, whose work threads share however it
// is spread over the variables, and one for each row-sparse gradient.
void trace_steps(const char* op, const StepLoop& loop, Elsewhere elsewhere, std::span<const SteppedVariable> variables,
                 std::span<const Tensor> numbers);

}  // namespace capstan
