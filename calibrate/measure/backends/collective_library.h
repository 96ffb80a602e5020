// NCCL or RCCL, which have one interface: declared here, since machines have the library more often than its header.
#pragma once

#include <memory>
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

class CollectiveLibrary {
 public:
  // Without the library every call throws GpuError.
  explicit CollectiveLibrary(Library library) : library_(std::move(library)) {}

  explicit operator bool() const { return static_cast<bool>(library_); }
  std::string version() const;  // "2.28.9"
  GroupName name_group() const;
  // Of the GPU that is current on this thread.
  std::unique_ptr<Communicator> join(const GroupName& group, int rank, int members, int channels) const;

 private:
  Library library_;
};

}  // namespace c3sim::measure
