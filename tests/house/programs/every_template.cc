// Instantiates what the public headers have as templates, for the warnings of strict compilers.
#include <capstan/capstan.h>

#include <complex>
#include <map>

using namespace capstan;

class Scale : public LayerBody {
 public:
  explicit Scale(double by) : by_(by) {}
  Tensor call(const Tensor& x, const CallOptions&) override { return x * by_; }

 private:
  double by_;
};

class Wrapped : public ModelBody {
 public:
  Tensor call(const Tensor& x, const CallOptions&) override { return scale(x); }
  LayerOf<Scale> scale{2.0};
};

int main() {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  const std::vector<std::size_t> lengths{2, 2};
  Variable v(x * lengths.size() + 2.0L);
  v.assign_slice({slice(0, 1), -1}, 7);
  Tensor y = reduce_sum(v, {.axis = {0, 1}, .keepdims = true}) + reduce_sum(x, {.keepdims = true});
  y += reduce_sum(x, std::vector<int>{0}) + count_nonzero(x, {.dtype = int32}).item<long long>();
  y -= constant(std::vector<std::vector<short>>{{1, 2}, {3, 4}})(lengths.size() - 1, ellipsis).item<short>();
  y += static_cast<double>(x.to_vector<unsigned>().size() + constant({1, 2})(1u).item<std::size_t>());
  y += constant(std::complex<double>(1, 2)).item<std::complex<float>>().real();
  y += constant(std::vector<bool>{true})[0].item<bool>() ? 1 : 0;
  y += float{reshape(x, lengths)(0, 0).item<BFloat16>()};

  auto step = function([&](const Tensor& a, const std::map<std::string, Tensor>& named, double scale) {
    GradientTape tape({.persistent = true});
    tape.watch(a);
    const Tensor loss = cond(
        a(0, 0) > 0.0, [&] { return reduce_sum(a * v * named.at("b") * scale); }, [&] { return reduce_sum(a); });
    auto both = tape.gradient(loss, std::tuple{a, v});
    return std::pair{loss, std::get<0>(both)};
  });
  const auto [loss, gradient] = step(x, std::map<std::string, Tensor>{{"b", x}}, 2.0);
  auto [i, sum] = while_loop([](const Tensor& n, const Tensor&) { return n < 3; },
                             [](const Tensor& n, const Tensor& s) {
                               return std::tuple{n + 1, s + 1.0};
                             },
                             std::tuple{constant(0), constant(0.0)});
  y += vectorized_map([](const Tensor& row) { return reduce_sum(row * row); }, x);
  y += jvp([](const Tensor& a) { return sin(a); }, x, x).second;
  const auto rows = from_tensor_slices(x, x).cache("rows").map_vectorized(2, [](const Tensor& a, const Tensor& b) {
    return std::pair{a + b, b};
  });
  rows.batch(2, {.num_parallel_calls = kAutotune}).with_options({}).snapshot("folder").save("file");
  y += Dataset<std::int64_t>::load("file").size() + pad_sequences(std::vector<std::vector<int>>{{1}, {2, 3}});
  layers::Dense dense(3, {.activation = [](const Tensor& a) { return relu(a); }, .input_shape = lengths});
  const std::vector<Layer> layers = {dense, ModelOf<Wrapped>()};
  y += ModelOf<Wrapped>()->scale(x) + layers.size();
  const losses::MeanSquaredError loss_fn;
  return loss.has_value() && gradient.has_value() && i.has_value() && sum.has_value() ? 0 : 1;
}
