// The machines that points ask: a platform with a point's assignments. The last one is kept, as neighbouring points
// often share it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "study/run/platform_file.h"
#include "study/run/testbed.h"
#include "study/sweep/sweep_axis.h"
#include "study/uncertainty/ensemble.h"

namespace c3sim::study {

// The platforms by name that a study starts from; the empty name is that of the study itself.
class Platforms {
 public:
  explicit Platforms(Platform base) { keep("", std::move(base)); }

  // Reads a further one, unless it is there, with the assignments of the base. Throws sim::ConfigError.
  void add(const std::string& name);
  const Platform& base() const { return platforms_.at(""); }
  // The one that an assignment to `platform` names, or the base where there is none.
  const Platform& named(std::span<const Assignment> assignments) const;
  // What the other assignments are to reassign(), scales as what they come to on this platform. Throws
  // sim::ConfigError where something is scaled that is no number of it.
  static std::vector<std::string> texts(const Platform& platform, std::span<const Assignment> assignments);
  // The named platform with the others. Throws sim::ConfigError.
  models::PlatformSpec with(std::span<const Assignment> assignments) const;
  // All that answers depend on, in words.
  std::string text() const;
  // Of the files that this is in, the first that cannot be read now; empty where all can.
  std::string missing_file() const;

 private:
  void keep(const std::string& name, Platform platform);

  std::map<std::string, Platform> platforms_;
  std::vector<std::filesystem::path> files_;  // that points read, as they were there when the platforms were
};

// Whether an assignment changes the machine rather than what is asked of it.
bool is_of_platform(const Assignment& assignment);
// The parameter of a platform that an assignment names; none where there is none.
const sim::Parameter* parameter_of(const Platform& platform, const Assignment& assignment);
// Whether it gives the platform what it has today.
bool is_as_today(const Platform& platform, const Assignment& assignment);

// Used by one thread.
class MachineCache {
 public:
  explicit MachineCache(const Platforms& platforms) : platforms_(platforms) {}

  // Valid until the next call.
  Testbed& machine(std::span<const Assignment> assignments);
  // The machines that one with these assignments may be: what is assigned is known. Valid until the next call.
  const Ensemble& ensemble(std::span<const Assignment> assignments, const Sampling& sampling);
  const Platforms& platforms() const { return platforms_; }

 private:
  const Platforms& platforms_;
  std::vector<Assignment> assignments_;  // of the machine that is kept
  std::unique_ptr<Testbed> testbed_;
  std::size_t asked_ = 0;
  std::vector<Assignment> assignments_of_ensemble_;
  std::unique_ptr<Ensemble> ensemble_;
};

}  // namespace c3sim::study
