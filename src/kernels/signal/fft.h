// Discrete Fourier transforms along one axis, in float32 and float64.
//
//     out[k] = sum over j of in[j] * exp(-2 pi i j k / n)
//
// KISS FFT does the work where the prime factors of n are small. Its time grows with the largest of them, so a length
// with a prime factor above 31 is a convolution of a power-of-two length instead (Bluestein), computed in float64: any
// length takes time in proportion to n log n. Nothing is scaled; a transform there and back multiplies by n. Bits
// depend on the shape only.
#pragma once

#include <complex>
#include <cstdint>

namespace capstan {

// [outer, n, inner]: transforms along the middle axis; n >= 1. `in` and `out` may be the same. The inverse has
// exp(+...).
void fft_axis(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<float>* in,
              std::complex<float>* out);
void fft_axis(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner, const std::complex<double>* in,
              std::complex<double>* out);

// Rows of n real numbers to the first n / 2 + 1 elements of their transforms; the others are the conjugates of these.
void fft_real(std::int64_t rows, std::int64_t n, const float* in, std::complex<float>* out);
void fft_real(std::int64_t rows, std::int64_t n, const double* in, std::complex<double>* out);

// The way back: rows of n / 2 + 1 elements to n real numbers, times n. The imaginary parts of the first element, and of
// the last one for an even n, count as 0.
void fft_to_real(std::int64_t rows, std::int64_t n, const std::complex<float>* in, float* out);
void fft_to_real(std::int64_t rows, std::int64_t n, const std::complex<double>* in, double* out);

}  // namespace capstan
