#include "study/tune/size_feature.h"

#include <array>

namespace c3sim::study {

namespace {

double count(std::int64_t value) { return static_cast<double>(value); }
double product(const models::GemmShape& gemm) { return count(gemm.m) * count(gemm.n) * count(gemm.k); }

constexpr SizeFeature m{"m", "rows of the result", "m", [](const Sizes& sizes) { return count(sizes.gemm.m); }};
constexpr SizeFeature n{"n", "columns of the result", "n", [](const Sizes& sizes) { return count(sizes.gemm.n); }};
constexpr SizeFeature k{"k", "contraction", "k", [](const Sizes& sizes) { return count(sizes.gemm.k); }};
constexpr SizeFeature result{"elements", "elements of the result", "m * n",
                             [](const Sizes& sizes) { return count(sizes.gemm.m) * count(sizes.gemm.n); }};
constexpr SizeFeature flops{"flops", "operations of the GEMM", "2 * m * n * k",
                            [](const Sizes& sizes) { return 2.0 * product(sizes.gemm); }};
constexpr SizeFeature intensity{"intensity", "operations of the GEMM per element that it reads or writes",
                                "2 * m * n * k / (m * k + k * n + m * n)", [](const Sizes& sizes) {
                                  const models::GemmShape& gemm = sizes.gemm;
                                  const double elements = count(gemm.m) * count(gemm.k) +
                                                          count(gemm.k) * count(gemm.n) + count(gemm.m) * count(gemm.n);
                                  return 2.0 * product(gemm) / elements;
                                }};
constexpr SizeFeature bytes{"bytes", "whole array of one GPU", "bytes",
                            [](const Sizes& sizes) { return sizes.bytes.value(); }};
constexpr SizeFeature flops_per_byte{
    "flops_per_byte", "operations of the GEMM per byte of the array", "2 * m * n * k / bytes",
    [](const Sizes& sizes) { return 2.0 * product(sizes.gemm) / sizes.bytes.value(); }};

constexpr std::array of_pairs{bytes, flops_per_byte, flops, intensity, result, m, n, k};
constexpr std::array of_gemms{flops, intensity, result, m, n, k};
constexpr std::array of_collectives{bytes};

}  // namespace

std::span<const SizeFeature> pair_features() { return of_pairs; }
std::span<const SizeFeature> gemm_features() { return of_gemms; }
std::span<const SizeFeature> collective_features() { return of_collectives; }

}  // namespace c3sim::study
