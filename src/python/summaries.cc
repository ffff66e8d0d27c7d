// tf.summary: writers of logs for TensorBoard.
#include "capstan/summary.h"

#include "src/python/objects.h"

namespace capstan::python {

void add_summaries(nb::module_& m) {
  using summary::Writer;
  nb::class_<Writer>(m, "SummaryWriter")
      .def("scalar", [](const Writer& w, const std::string& name, nb::handle value, std::int64_t step,
                        const std::string& text) { w.scalar(name, to_tensor(value.ptr()), step, text); })
      .def("histogram",
           [](const Writer& w, const std::string& name, nb::handle values, std::int64_t step, std::int64_t buckets,
              const std::string& text) {
             w.histogram(name, to_tensor(values.ptr()), step, {.buckets = buckets, .description = text});
           })
      .def("image",
           [](const Writer& w, const std::string& name, nb::handle images, std::int64_t step, std::int64_t most,
              const std::string& text) {
             w.image(name, to_tensor(images.ptr()), step, {.max_outputs = most, .description = text});
           })
      .def("text",
           [](const Writer& w, const std::string& name, const std::vector<std::string>& texts, std::int64_t step,
              bool is_one, const std::string& description) {
             w.text(name, is_one ? Texts(texts[0]) : Texts(texts), step, description);
           })
      .def("flush", &Writer::flush)
      .def("close", &Writer::close)
      .def_prop_ro("path", &Writer::path);
  m.def("create_file_writer",
        [](const std::string& logdir, std::int64_t max_queue, std::int64_t flush_millis, const std::string& suffix) {
          return summary::create_file_writer(
              logdir, {.max_queue = max_queue, .flush_millis = flush_millis, .filename_suffix = suffix});
        });
}

}  // namespace capstan::python
