#include "src/kernels/signal/fft.h"

#include <complex>
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#include "src/core/thread_pool.h"

#include "kissfft/kissfft.hh"

namespace capstan {

namespace {

// Elements per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 14;

constexpr std::int64_t kLongLine = 1 << 18;

// Lines along an inner axis are fetched side by side, because neighbours share cache lines.
constexpr std::int64_t kLinesTogether = 8;

constexpr std::size_t kLargestRadix = 31;

std::size_t largest_prime_factor(std::size_t n) {
  std::size_t largest = 1;
  for (std::size_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = p;
      n /= p;
    }
  }
  return std::max(largest, n);
}

// A transform of length n as a convolution: jk = (j^2 + k^2 - (k - j)^2) / 2, so with w[j] = exp(-+ i pi j^2 / n) the
// result is w[k] times the sum of in[j] w[j] conj(w[k - j]).
class Bluestein {
 public:
  using Complex = std::complex<double>;

  Bluestein(std::size_t n, bool inverse)
      : n_(n),
        padded_(std::bit_ceil(2 * n - 1)),
        chirp_(n),
        filter_(padded_),
        forward_(padded_, false),
        backward_(padded_, true) {
    const double sign = inverse ? 1 : -1;
    for (std::size_t j = 0; j < n; ++j) {
      // The square modulo 2n keeps the angle exact.
      const auto square = static_cast<std::size_t>(static_cast<unsigned __int128>(j) * j % (2 * n));
      const double angle = sign * 3.14159265358979323846 * static_cast<double>(square) / static_cast<double>(n);
      chirp_[j] = {std::cos(angle), std::sin(angle)};
    }
    std::vector<Complex> kernel(padded_);
    kernel[0] = std::conj(chirp_[0]);
    for (std::size_t j = 1; j < n; ++j) kernel[j] = kernel[padded_ - j] = std::conj(chirp_[j]);
    forward_.transform(kernel.data(), filter_.data());
    for (Complex& value : filter_) value /= static_cast<double>(padded_);
  }

  template <class T>
  void run(const std::complex<T>* in, std::complex<T>* out) const {
    std::vector<Complex> a(padded_);
    std::vector<Complex> b(padded_);
    for (std::size_t j = 0; j < n_; ++j) a[j] = Complex(in[j]) * chirp_[j];
    forward_.transform(a.data(), b.data());
    for (std::size_t j = 0; j < padded_; ++j) b[j] *= filter_[j];
    backward_.transform(b.data(), a.data());
    for (std::size_t k = 0; k < n_; ++k) out[k] = std::complex<T>(a[k] * chirp_[k]);
  }

 private:
  std::size_t n_;
  std::size_t padded_;
  std::vector<Complex> chirp_;
  std::vector<Complex> filter_;  // the transform of the conjugate chirp, divided by its length
  kissfft<double> forward_;
  kissfft<double> backward_;
};

// The transforms of one length and direction.
template <class T>
class Plan {
 public:
  using Complex = std::complex<T>;

  Plan(std::size_t n, bool inverse) : n_(n), inverse_(inverse) {
    const std::size_t largest = largest_prime_factor(n);
    if (largest > kLargestRadix) {
      bluestein_ = std::make_unique<Bluestein>(n, inverse);
    } else {
      direct_ = std::make_unique<kissfft<T>>(n, inverse);
      writes_itself_ = largest > 5;
    }
  }

  bool fits(std::size_t n, bool inverse) const { return n_ == n && inverse_ == inverse; }
  std::size_t length() const { return n_; }
  bool is_direct() const { return direct_ != nullptr; }

  // Runs body(transform) with something that the calling thread may use: KISS FFT's plans for other radices than 2, 3,
  // 4 and 5 hold a buffer that they write.
  template <class Body>
  void use(const Body& body) const {
    if (bluestein_ != nullptr) {
      body([&](const Complex* in, Complex* out) { bluestein_->run(in, out); });
    } else if (writes_itself_) {
      const kissfft<T> own = *direct_;
      body([&](const Complex* in, Complex* out) { own.transform(in, out); });
    } else {
      body([&](const Complex* in, Complex* out) { direct_->transform(in, out); });
    }
  }
  // Direct plans only: the transform of 2n real numbers, packed as KISS FFT does.
  template <class Body>
  void use_real(const Body& body) const {
    const kissfft<T> own = *direct_;
    body([&](const T* in, Complex* out) { own.transform_real(in, out); });
  }

 private:
  std::size_t n_;
  bool inverse_;
  bool writes_itself_ = false;
  std::unique_ptr<const kissfft<T>> direct_;
  std::unique_ptr<const Bluestein> bluestein_;
};

// The process keeps its last plans, because a program transforms the same few lengths again and again; long ones are
// not kept, because they cost memory and little time next to their transforms.
template <class T>
class Plans {
 public:
  std::shared_ptr<const Plan<T>> get(std::size_t n, bool inverse) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& plan : kept_) {
        if (plan != nullptr && plan->fits(n, inverse)) return plan;
      }
    }
    auto plan = std::make_shared<const Plan<T>>(n, inverse);
    if (n <= kLongest) {
      const std::lock_guard lock(mutex_);
      kept_[next_] = plan;
      next_ = (next_ + 1) % kKept;
    }
    return plan;
  }

 private:
  static constexpr std::size_t kKept = 8;
  static constexpr std::size_t kLongest = 16384;
  std::mutex mutex_;
  std::shared_ptr<const Plan<T>> kept_[kKept];
  std::size_t next_ = 0;
};

template <class T>
std::shared_ptr<const Plan<T>> plan_for(std::int64_t n, bool inverse) {
  static Plans<T>* const plans = new Plans<T>;  // never destroyed: what runs while the process ends may transform
  return plans->get(static_cast<std::size_t>(n), inverse);
}

// Calls body(first, last) for items that hold so many elements each. A task must not throw, so work on long lines,
// whose buffers may be more than there is memory, stays on the calling thread.
template <class Body>
void in_tasks(std::int64_t items, std::int64_t elements, const Body& body) {
  if (elements > kLongLine) return body(0, items);
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / elements);
  const std::int64_t tasks = (items + per_task - 1) / per_task;
  const auto run = [&](std::int64_t task) { body(task * per_task, std::min(items, (task + 1) * per_task)); };
  if (tasks == 1) {
    run(0);
  } else {
    parallel_for(tasks, run);
  }
}

template <class T>
void transform_axis(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<T>* in,
                    std::complex<T>* out) {
  using Complex = std::complex<T>;
  if (outer == 0 || inner == 0) return;
  const std::shared_ptr<const Plan<T>> plan = plan_for<T>(n, inverse);
  const auto length = static_cast<std::size_t>(n);
  if (inner == 1 && in != out) {
    in_tasks(outer, n, [&](std::int64_t first, std::int64_t last) {
      plan->use([&](const auto& transform) {
        for (std::int64_t row = first; row < last; ++row) transform(in + row * n, out + row * n);
      });
    });
    return;
  }
  const std::int64_t width = std::min(inner, kLinesTogether);
  const std::int64_t groups = (inner + width - 1) / width;
  in_tasks(outer * groups, n * width, [&](std::int64_t first, std::int64_t last) {
    std::vector<Complex> lines(length * static_cast<std::size_t>(width));
    std::vector<Complex> result(length);
    plan->use([&](const auto& transform) {
      for (std::int64_t item = first; item < last; ++item) {
        const std::int64_t start = item / groups * n * inner + item % groups * width;
        const std::int64_t count = std::min(width, inner - item % groups * width);
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < count; ++j) {
            lines[static_cast<std::size_t>(j * n + i)] = in[start + i * inner + j];
          }
        }
        for (std::int64_t j = 0; j < count; ++j) {
          Complex* const line = lines.data() + j * n;
          transform(line, result.data());
          std::copy(result.begin(), result.end(), line);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < count; ++j) {
            out[start + i * inner + j] = lines[static_cast<std::size_t>(j * n + i)];
          }
        }
      }
    });
  });
}

template <class T>
void real_rows(std::int64_t rows, std::int64_t n, const T* in, std::complex<T>* out) {
  using Complex = std::complex<T>;
  if (rows == 0) return;
  const std::int64_t half = n / 2 + 1;
  if (n % 2 == 0) {
    // The even and the odd elements as one complex row of half the length.
    const std::shared_ptr<const Plan<T>> plan = plan_for<T>(n / 2, false);
    if (plan->is_direct()) {
      in_tasks(rows, n, [&](std::int64_t first, std::int64_t last) {
        plan->use_real([&](const auto& transform) {
          for (std::int64_t row = first; row < last; ++row) {
            Complex* const to = out + row * half;
            transform(in + row * n, to);
            to[half - 1] = to[0].imag();
            to[0] = to[0].real();
          }
        });
      });
      return;
    }
  }
  const std::shared_ptr<const Plan<T>> plan = plan_for<T>(n, false);
  in_tasks(rows, n, [&](std::int64_t first, std::int64_t last) {
    std::vector<Complex> line(static_cast<std::size_t>(n));
    std::vector<Complex> result(static_cast<std::size_t>(n));
    plan->use([&](const auto& transform) {
      for (std::int64_t row = first; row < last; ++row) {
        std::copy_n(in + row * n, n, line.begin());
        transform(line.data(), result.data());
        std::copy_n(result.begin(), half, out + row * half);
        out[row * half] = result[0].real();
      }
    });
  });
}

template <class T>
void rows_to_real(std::int64_t rows, std::int64_t n, const std::complex<T>* in, T* out) {
  using Complex = std::complex<T>;
  if (rows == 0) return;
  const std::int64_t half = n / 2 + 1;
  const std::shared_ptr<const Plan<T>> plan = plan_for<T>(n, true);
  in_tasks(rows, n, [&](std::int64_t first, std::int64_t last) {
    std::vector<Complex> line(static_cast<std::size_t>(n));
    std::vector<Complex> result(static_cast<std::size_t>(n));
    plan->use([&](const auto& transform) {
      for (std::int64_t row = first; row < last; ++row) {
        const Complex* const from = in + row * half;
        line[0] = from[0].real();
        for (std::int64_t k = 1; 2 * k < n; ++k) {
          line[static_cast<std::size_t>(k)] = from[k];
          line[static_cast<std::size_t>(n - k)] = std::conj(from[k]);
        }
        if (n % 2 == 0) line[static_cast<std::size_t>(n / 2)] = from[n / 2].real();
        transform(line.data(), result.data());
        for (std::int64_t i = 0; i < n; ++i) out[row * n + i] = result[static_cast<std::size_t>(i)].real();
      }
    });
  });
}

}  // namespace

void fft_axis(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<float>* in,
              std::complex<float>* out) {
  transform_axis(inverse, outer, n, inner, in, out);
}
void fft_axis(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<double>* in,
              std::complex<double>* out) {
  transform_axis(inverse, outer, n, inner, in, out);
}
void fft_real(std::int64_t rows, std::int64_t n, const float* in, std::complex<float>* out) {
  real_rows(rows, n, in, out);
}
void fft_real(std::int64_t rows, std::int64_t n, const double* in, std::complex<double>* out) {
  real_rows(rows, n, in, out);
}
void fft_to_real(std::int64_t rows, std::int64_t n, const std::complex<float>* in, float* out) {
  rows_to_real(rows, n, in, out);
}
void fft_to_real(std::int64_t rows, std::int64_t n, const std::complex<double>* in, double* out) {
  rows_to_real(rows, n, in, out);
}

}  // namespace capstan
