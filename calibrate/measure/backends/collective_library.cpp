#include "calibrate/measure/backends/collective_library.h"

#include <climits>
#include <cstring>

namespace c3sim::measure {

namespace {

// As nccl.h and rccl.h have them: ncclResult_t, ncclDataType_t and ncclRedOp_t are enumerations.
constexpr int int8 = 0;
constexpr int bfloat16 = 9;
constexpr int sum = 0;

struct UniqueId {
  char internal[128];
};
static_assert(sizeof(UniqueId) == sizeof(GroupName));

// ncclConfig_t of version 2.17, the first with a number of workgroups; later ones read what is there.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21700;
  int blocking = 1;
  int cluster_size = INT_MIN;  // left to the library, as all that is INT_MIN or null
  int min_workgroups = INT_MIN;
  int max_workgroups = INT_MIN;
  const char* net_name = nullptr;
};

using Comm = void*;

class Member : public Communicator {
 public:
  Member(const Library& library, const GroupName& group, int rank, int members, int channels)
      : library_(library), members_(members) {
    UniqueId id;
    std::memcpy(id.internal, group.data(), group.size());
    if (channels == 0) {
      library_.call("ncclCommInitRank", &comm_, members, id, rank);
    } else {
      Config config;
      config.min_workgroups = config.max_workgroups = channels;
      library_.call("ncclCommInitRankConfig", &comm_, members, id, rank, &config);
    }
  }
  ~Member() override { abort_.result(comm_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void launch(Collective collective, const void* source, void* destination, std::size_t bytes, Stream on) override {
    const std::size_t shard = bytes / static_cast<std::size_t>(members_);
    const std::size_t numbers = bytes / bytes_of_bfloat16, shard_numbers = shard / bytes_of_bfloat16;
    switch (collective) {
      case Collective::all_gather:
        return all_gather_(source, destination, shard, int8, comm_, on);
      case Collective::all_to_all:
        return all_to_all(static_cast<const char*>(source), static_cast<char*>(destination), shard, on);
      case Collective::all_reduce:
        return all_reduce_(source, destination, numbers, bfloat16, sum, comm_, on);
      case Collective::reduce_scatter:
        return reduce_scatter_(source, destination, shard_numbers, bfloat16, sum, comm_, on);
      case Collective::broadcast:
        return broadcast_(source, destination, bytes, int8, 0, comm_, on);
    }
  }

 private:
  void all_to_all(const char* source, char* destination, std::size_t shard, Stream on) const {
    begin_group_();
    for (int peer = 0; peer < members_; ++peer) {
      const std::size_t at = shard * static_cast<std::size_t>(peer);
      send_(source + at, shard, int8, peer, comm_, on);
      receive_(destination + at, shard, int8, peer, comm_, on);
    }
    end_group_();
  }

  template <class... Parameters>
  using Call = Library::Call<Parameters...>;

  Library library_;
  int members_;
  Comm comm_ = nullptr;
  Call<const void*, void*, std::size_t, int, Comm, Stream> all_gather_{library_, "ncclAllGather"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> all_reduce_{library_, "ncclAllReduce"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> reduce_scatter_{library_, "ncclReduceScatter"};
  Call<const void*, void*, std::size_t, int, int, Comm, Stream> broadcast_{library_, "ncclBroadcast"};
  Call<const void*, std::size_t, int, int, Comm, Stream> send_{library_, "ncclSend"};
  Call<void*, std::size_t, int, int, Comm, Stream> receive_{library_, "ncclRecv"};
  Call<> begin_group_{library_, "ncclGroupStart"}, end_group_{library_, "ncclGroupEnd"};
  Call<Comm> abort_{library_, "ncclCommAbort"};
};

}  // namespace

GpuError collective_fault(const Library& library, const std::string& call, int result) {
  const char* (*const describe)(int) = library.need("ncclGetErrorString");
  return {GpuError::Kind::failed, "{}: {}", call, describe(result)};
}

std::string version_of_collectives(const Library& library) {
  int code = 0;
  if (!library.succeeds("ncclGetVersion", &code)) return "of unknown version";
  // From 2.9 on two digits for each part.
  if (code >= 10000) return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

GroupName name_group(const Library& library) {
  UniqueId id;
  library.call("ncclGetUniqueId", &id);
  GroupName name;
  std::memcpy(name.data(), id.internal, name.size());
  return name;
}

std::unique_ptr<Communicator> join_group(const Library& library, const GroupName& group, int rank, int members,
                                         int channels) {
  return std::make_unique<Member>(library, group, rank, members, channels);
}

}  // namespace c3sim::measure
