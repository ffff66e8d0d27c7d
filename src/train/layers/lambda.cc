// A function of the program as a layer.
#include "capstan/layers.h"
#include "src/train/common.h"

namespace capstan::layers {

namespace {

class LambdaBody final : public LayerBodyOf<Nest(Nest)> {
 public:
  LambdaBody(Lambda::Function function, const LambdaOptions& options)
      : LayerBodyOf("Lambda", {options.name, options.input_shape, options.trainable, options.dtype}),
        function_(std::move(function)),
        mask_(options.mask) {
    CAPSTAN_CHECK(function_ != nullptr, ValueError, "lambda: the function is empty");
  }

 protected:
  Nest call(const Nest& inputs, const CallOptions& options) override { return function_(inputs, options); }
  Nest compute_mask(const Nest& inputs, const Nest& mask) override { return mask_ ? mask_(inputs, mask) : Nest(); }

  AttributeValue get_config() const override {
    throw ValueError(detail::join("get_config: ", name(), " is a function of the program and has no configuration",
                                  help("write a class of your own and register it, see ConfiguredLayer")));
  }

 private:
  Lambda::Function function_;
  std::function<Nest(const Nest& inputs, const Nest& mask)> mask_;
};

}  // namespace

Lambda::Lambda(Function function, const LambdaOptions& options, int)
    : Layer(make_configurable<LambdaBody>(std::move(function), options)) {}

}  // namespace capstan::layers
