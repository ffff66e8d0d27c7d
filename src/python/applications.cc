// keras.applications: networks for images.
#include "capstan/applications.h"

#include "src/python/graph_layers.h"
#include "src/python/layers.h"

namespace capstan::python {

void add_applications(nb::module_& m) {
  m.def(
      "make_application",
      [](const std::string& network, bool include_top, const std::string& weights, nb::handle input_shape,
         const std::string& pooling, std::int64_t classes, const std::string& activation, const std::string& name,
         double alpha, bool imagenet_scaling) {
        applications::ApplicationOptions options{.include_top = include_top,
                                                 .weights = weights,
                                                 .pooling = pooling,
                                                 .classes = classes,
                                                 .classifier_activation = activation,
                                                 .name = name};
        if (!input_shape.is_none()) options.input_shape = to_shape(input_shape.ptr());
        using namespace applications;
        if (network == "ResNet50") return LayerHandle{ResNet50(options)};
        if (network == "ResNet50V2") return LayerHandle{ResNet50V2(options)};
        if (network == "VGG16") return LayerHandle{VGG16(options)};
        if (network == "MobileNetV2") return LayerHandle{MobileNetV2(options, alpha)};
        if (network == "EfficientNetB0") return LayerHandle{EfficientNetB0(options, imagenet_scaling)};
        if (network == "DenseNet121") return LayerHandle{DenseNet121(options)};
        if (network == "Xception") return LayerHandle{Xception(options)};
        throw ValueError("applications: there is no network " + network);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg());
  m.def("preprocess_input", [](const std::string& network, nb::handle images) {
    const Tensor x = to_tensor(images.ptr());
    const auto prepare = [network](const std::vector<Tensor>& in) {
      return std::vector{applications::preprocess_input(network, in[0])};
    };
    return nb::steal(wrap((is_in_graph(x) ? call_in_graph("preprocess_input", {x}, prepare) : prepare({x}))[0]));
  });
}

}  // namespace capstan::python
