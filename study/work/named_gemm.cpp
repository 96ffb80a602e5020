#include "study/work/named_gemm.h"

namespace c3sim::study {

std::vector<NamedGemm> read_gemms(sim::Section section) {
  std::vector<NamedGemm> gemms;
  for (const std::string& name : section.keys()) {
    const models::ParsedGemmShape parsed = models::parse_gemm_shape(section.text(name));
    if (!parsed.ok() && section.is_sound(name)) section.fault(name, parsed.error);
    gemms.push_back({name, parsed.shape});
  }
  return gemms;
}

}  // namespace c3sim::study
