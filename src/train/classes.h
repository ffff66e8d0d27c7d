// The classes with configurations that the library has. A new class is a row in one of these lists.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

std::vector<const ClassInfo*> built_in_classes();
// Whether a class is one of them, not one of the program.
CAPSTAN_EXPORT bool is_built_in(const ClassInfo& info);

std::vector<const ClassInfo*> layer_classes();        // layers/classes.cc
std::vector<const ClassInfo*> loss_classes();         // losses/formula.cc
std::vector<const ClassInfo*> metric_classes();       // metrics/classes.cc
std::vector<const ClassInfo*> callback_classes();     // callbacks/classes.cc
std::vector<const ClassInfo*> schedule_classes();     // schedules.cc
std::vector<const ClassInfo*> initializer_classes();  // initializers.cc
std::vector<const ClassInfo*> regularizer_classes();  // regularizers.cc
std::vector<const ClassInfo*> constraint_classes();   // constraints.cc
std::vector<const ClassInfo*> activation_classes();   // activations.cc

std::vector<const ClassInfo*> variance_scaling_classes();
const ClassInfo& orthogonal_class();
const ClassInfo& stft_initializer_class();

const ClassInfo& sgd_class();
const ClassInfo& adam_class();
const ClassInfo& adam_w_class();
const ClassInfo& rmsprop_class();
const ClassInfo& adagrad_class();
const ClassInfo& adadelta_class();
const ClassInfo& adamax_class();
const ClassInfo& nadam_class();
const ClassInfo& ftrl_class();
const ClassInfo& lion_class();
const ClassInfo& lamb_class();
const ClassInfo& adafactor_class();
const ClassInfo& muon_class();
const ClassInfo& schedule_free_adam_w_class();
const ClassInfo& loss_scale_optimizer_class();

// The base of bodies that are a function of the program, which have no configuration.
template <class Base>
class OfFunction : public Base {
 public:
  const ClassInfo& class_info() const final {
    static const ClassInfo info{Base::kKind, Base::kModule, "function", "A function of the program.", {}};
    return info;
  }
  const void* options_data() const final { return nullptr; }
};

// The object that an option stands for in a configuration: deserialize(), with an error that names the option.
std::shared_ptr<Configurable> object_of_option(std::string_view kind, const AttributeValue& value,
                                               std::string_view owner, std::string_view name);

}  // namespace capstan::detail
