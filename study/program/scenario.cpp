#include "study/program/scenario.h"

#include <fmt/format.h>

namespace c3sim::study {

namespace {

// Returns why a count of CUs is impossible; `most` is the largest accepted, and all are multiples of the XCDs.
std::string why_no_count(const models::PlatformSpec& platform, int cus, int most) {
  const int xcds = platform.gpu.memory.xcds;
  if (cus >= xcds && cus <= most && cus % xcds == 0) return {};
  if (xcds == 1) return fmt::format("{} CUs cannot be used: {} has 1 to {}", cus, platform.name, most);
  std::string reason =
      fmt::format("{} CUs cannot be used: a stream's mask holds as many CUs of each of the {} XCDs of {}", cus, xcds,
                  platform.name);
  return reason + fmt::format("; multiples of {} from {} to {} are accepted", xcds, xcds, most);
}

}  // namespace

std::string why_no_mask(const models::PlatformSpec& platform, int cus) {
  return why_no_count(platform, cus, platform.gpu.cus());
}

models::CuMask first_cus(const models::PlatformSpec& platform, int cus) {
  const int per_xcd = cus / platform.gpu.memory.xcds;
  // All CUs give no mask, so that asking for all and asking for no mask are the same question.
  return per_xcd == platform.gpu.cus_per_xcd ? models::CuMask{} : models::CuMask{0, per_xcd};
}

std::string why_no_reservation(const models::PlatformSpec& platform, int cus) {
  if (cus == 0) return {};
  return why_no_count(platform, cus, platform.gpu.cus() - platform.gpu.memory.xcds);
}

std::vector<int> cu_reservations(const models::PlatformSpec& platform) {
  constexpr int smallest = 8;
  constexpr int largest = 128;
  std::vector<int> reservations;
  for (int cus = smallest; cus <= largest; cus *= 2) {
    if (why_no_reservation(platform, cus).empty()) reservations.push_back(cus);
  }
  return reservations;
}

CuPartition reserve(const models::PlatformSpec& platform, int cus) {
  if (cus == 0) return {};
  const int per_xcd = cus / platform.gpu.memory.xcds;
  return {{0, per_xcd}, {per_xcd, platform.gpu.cus_per_xcd}, cus};
}

std::vector<NamedGemm> read_gemms(sim::Section section) {
  std::vector<NamedGemm> gemms;
  for (const std::string& name : section.keys()) {
    const sim::Parsed<models::GemmShape> parsed = models::parse_gemm_shape(section.text(name));
    if (!parsed.ok() && section.is_sound(name)) section.fault(name, parsed.error);
    gemms.push_back({name, parsed.value});
  }
  return gemms;
}

}  // namespace c3sim::study
