// LearningRateScheduler.
#include <cmath>
#include <cstdio>

#include "capstan/callbacks.h"
#include "src/core/check.h"

namespace capstan::callbacks {

namespace {

struct Body final : CallbackBody {
  Body(LearningRateScheduler::Function function, int how) : schedule(std::move(function)), verbose(how) {
    CAPSTAN_CHECK(schedule != nullptr, ValueError, "learning_rate_scheduler: the schedule is an empty function");
  }

  void on_epoch_begin(std::int64_t epoch) override {
    const Optimizer& optimizer = model().optimizer();
    const double rate = schedule(epoch, optimizer.learning_rate());
    CAPSTAN_CHECK(std::isfinite(rate), ValueError, "learning_rate_scheduler: the schedule gave ", rate, " for epoch ",
                  epoch);
    optimizer.set_learning_rate(rate);
    if (verbose > 0) {
      std::printf("\nEpoch %lld: LearningRateScheduler setting learning rate to %s.\n",
                  static_cast<long long>(epoch) + 1, AttributeValue(rate).to_json().c_str());
    }
  }
  void on_epoch_end(std::int64_t, Logs& logs) override { logs["learning_rate"] = model().optimizer().learning_rate(); }

  LearningRateScheduler::Function schedule;
  int verbose;
};

}  // namespace

LearningRateScheduler::LearningRateScheduler(Function schedule, int verbose)
    : Callback(make_configurable<Body>(std::move(schedule), verbose)) {}

}  // namespace capstan::callbacks
