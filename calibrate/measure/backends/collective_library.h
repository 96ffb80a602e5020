// NCCL or RCCL, which have one interface: declared here, since machines have the library more often than its header.
// Without the library every call throws GpuError.
#pragma once

#include <memory>
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

GpuError collective_fault(const Library& library, const std::string& call, int result);

std::string version_of_collectives(const Library& library);  // "2.28.9"
GroupName name_group(const Library& library);
// Of the GPU that is current on this thread.
std::unique_ptr<Communicator> join_group(const Library& library, const GroupName& group, int rank, int members,
                                         int channels);

}  // namespace c3sim::measure
