// Paths of what stands in lists whose rows have names, by these: gpu.gemm.libraries[rocblas].efficiency. By its place,
// gpu.gemm.libraries[0].efficiency, a path means something else as soon as a row is put before it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_parameter.h"

namespace c3sim::models {

class ListNames {
 public:
  // Of the lists that these parameters are of: their rows have a parameter `name`.
  explicit ListNames(std::span<const sim::Parameter* const> parameters);

  // The path by places, as parameters have it; as it is where a name is none of its list's, or of several rows.
  std::string by_place(std::string_view path) const { return respelled(path, false); }
  // The path by names, where they tell the rows apart.
  std::string by_name(std::string_view path) const { return respelled(path, true); }

 private:
  std::string respelled(std::string_view path, bool named) const;

  std::map<std::string, std::vector<std::string>, std::less<>> names_;  // of rows, by the path of the list
};

}  // namespace c3sim::models
