// Connectionist temporal classification with the conventions of Keras: class 0 is the blank, and labels that are 0 are
// no labels.
#include "capstan/ops/array.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/train/fit_ranks.h"
#include "src/train/losses/formula.h"

namespace capstan {

namespace losses {

Tensor ctc(const Tensor& y_true, const Tensor& y_pred) {
  try {
    return with_errors_of("ctc", [&] {
      CAPSTAN_CHECK(y_true.rank() == 2 && y_pred.rank() == 3, ShapeError,
                    "ctc: labels must be [batch, length] and logits [batch, time, classes]");
      const Tensor logits = detail::floating_predictions(y_pred);
      const Tensor labels = detail::as_real("labels", y_true, int32);
      const Tensor label_length = cast(reduce_sum(cast(not_equal(labels, zeros_like(labels)), int32), -1), int32);
      // As many frames as there are, computed where a traced function knows the length.
      const Tensor logit_length = reduce_sum(ones_like(argmax(logits, -1, int32)), -1);
      return ctc_loss(labels, logits, label_length, logit_length, {.logits_time_major = false});
    });
  } catch (const Error&) {
    detail::rethrow_with({"loss", "ctc", y_true, y_pred});
  }
}

namespace {

struct Temporal {
  static constexpr std::string_view kName = "CTC", kText = "Connectionist temporal classification of sequences.";
  static constexpr auto kFunction = ctc;
};

}  // namespace

CTC::CTC(const LossOptions& options, std::string_view name)
    : Loss(detail::FunctionLoss<Temporal>::make(options), name) {}

}  // namespace losses

const ClassInfo& detail::ctc_loss_class() { return detail::FunctionLoss<losses::Temporal>::info(); }

}  // namespace capstan
