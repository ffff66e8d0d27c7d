// GradientTape: the handle to a tape.
#include "capstan/tape.h"

#include <utility>

#include "src/core/check.h"
#include "src/tape/tape_impl.h"

namespace capstan {

GradientTape::GradientTape(const GradientTapeOptions& options) : impl_(TapeImpl::create(options)) {}

GradientTape::GradientTape(GradientTape&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}

GradientTape& GradientTape::operator=(GradientTape&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

GradientTape::~GradientTape() {
  if (impl_ != nullptr) TapeImpl::destroy(impl_);
}

[[gnu::cold, gnu::noinline]] void throw_moved_from() { throw GradientError("tape: this tape was moved from"); }

void GradientTape::start() { checked(impl_).start(); }
void GradientTape::stop() { checked(impl_).stop(); }
bool GradientTape::is_recording() const { return impl_ != nullptr && impl_->recording; }
void GradientTape::reset() { checked(impl_).reset(); }
std::vector<Variable> GradientTape::watched_variables() const { return checked(impl_).watched_variables(); }
void GradientTape::watch_leaf(const Tensor& tensor) { checked(impl_).watch(tensor); }
void GradientTape::watch_leaf(const Variable& variable) { checked(impl_).watch(variable); }

void GradientTape::compute(std::span<const Source> targets, std::span<const Source> sources,
                           std::span<Tensor> gradients, const GradientOptions& options) {
  checked(impl_).gradient(targets, sources, gradients, options);
}

std::string GradientTape::explain(const Source& target, const Source& source) const {
  return checked(impl_).explain(target, source);
}

GradientTape::Pause::Pause(GradientTape& tape) : tape_(tape) {
  CAPSTAN_CHECK(checked(tape.impl_).recording, GradientError, "stop_recording: this tape is not recording");
  tape.impl_->stop();
}

// A tape that was used up during the pause stays used up.
GradientTape::Pause::~Pause() {
  TapeImpl* impl = tape_.impl_;
  if (impl != nullptr && !impl->recording && !impl->consumed) impl->start();
}

}  // namespace capstan
