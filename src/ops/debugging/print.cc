// print(): texts and tensors for people, at every call of a traced function.
#include "capstan/print.h"

#include <charconv>
#include <iostream>

#include "src/core/check.h"
#include "src/ops/debugging/effect.h"

namespace capstan {

namespace {

using detail::PrintJob;

void run_print(const Call& call, std::span<Tensor> outputs) {
  const PrintJob& job = *call.attributes<EffectAttributes<PrintJob>>().job;
  std::string text = job.texts[0];
  for (int i = 0; i < call.input_count(); ++i) {
    text += share(call.input(i).block()).to_string() + job.texts[static_cast<std::size_t>(i) + 1];
  }
  text += job.options.end;
  // At once, so that what several threads print does not mix.
  if (job.options.sink) {
    job.options.sink(text);
  } else {
    (job.options.stream == nullptr ? std::cerr : *job.options.stream) << text << std::flush;
  }
  write_token(outputs);
}

constinit const OpDef kPrint = effect_op<PrintJob>(
    "print", "Prints texts and tensors.", [](const Call&, OutputSpecs& outputs) { add_token(outputs); }, run_print);

}  // namespace

void detail::PrintJob::add(std::string_view text) { texts.back() += text; }

void detail::PrintJob::add(const Tensor& tensor) {
  if (!tensor.has_value()) return add(std::string_view("none"));
  tensors.push_back(tensor);
  texts.emplace_back();
}

void detail::PrintJob::add(const Variable& variable) { add(variable.value()); }

void detail::PrintJob::add_number(double number) {
  char buffer[64];
  texts.back().append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr);
}

void detail::PrintJob::add_number(std::int64_t number) { texts.back() += std::to_string(number); }

void detail::run_print(PrintJob job) {
  CAPSTAN_CHECK(job.options.stream == nullptr || !job.options.sink, ValueError,
                "print: both a stream and a sink are given");
  // The tensors are operands; what is kept are the texts.
  const std::vector<Tensor> tensors = std::exchange(job.tensors, {});
  run_effect(kPrint, {tensors.begin(), tensors.end()}, std::move(job));
}

}  // namespace capstan
