#include "calibrate/measure/backends/collective_library.h"

#include <fmt/format.h>

#include <climits>
#include <cstring>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

namespace {

// As nccl.h and rccl.h have them: ncclResult_t, ncclDataType_t and ncclRedOp_t are enumerations.
using Result = int;
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

struct Functions {
  Library library;
  const char* (*describe)(Result) = library.need("ncclGetErrorString");
  Result (*all_gather)(const void*, void*, std::size_t, int, Comm, Stream) = library.need("ncclAllGather");
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, Stream) = library.need("ncclAllReduce");
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, Stream) = library.need("ncclReduceScatter");
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Comm, Stream) = library.need("ncclBroadcast");
  Result (*send)(const void*, std::size_t, int, int, Comm, Stream) = library.need("ncclSend");
  Result (*receive)(void*, std::size_t, int, int, Comm, Stream) = library.need("ncclRecv");
  Result (*begin_group)() = library.need("ncclGroupStart");
  Result (*end_group)() = library.need("ncclGroupEnd");
  Result (*abort)(Comm) = library.need("ncclCommAbort");

  void check(Result result, const char* call) const {
    if (result == success) return;
    throw GpuError(GpuError::Kind::failed, fmt::format("{}: {}", call, describe(result)));
  }
};

class Member : public Communicator {
 public:
  Member(Functions functions, Comm comm, int members) : functions_(functions), comm_(comm), members_(members) {}
  ~Member() override { functions_.abort(comm_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void launch(Collective collective, const void* source, void* destination, std::size_t bytes, Stream on) override {
    const std::size_t shard = bytes / static_cast<std::size_t>(members_);
    const std::size_t numbers = bytes / bytes_of_bfloat16, shard_numbers = shard / bytes_of_bfloat16;
    const Functions& nccl = functions_;
    switch (collective) {
      case Collective::all_gather:
        return nccl.check(nccl.all_gather(source, destination, shard, int8, comm_, on), "ncclAllGather");
      case Collective::all_to_all:
        return all_to_all(static_cast<const char*>(source), static_cast<char*>(destination), shard, on);
      case Collective::all_reduce:
        return nccl.check(nccl.all_reduce(source, destination, numbers, bfloat16, sum, comm_, on), "ncclAllReduce");
      case Collective::reduce_scatter:
        return nccl.check(nccl.reduce_scatter(source, destination, shard_numbers, bfloat16, sum, comm_, on),
                          "ncclReduceScatter");
      case Collective::broadcast:
        return nccl.check(nccl.broadcast(source, destination, bytes, int8, 0, comm_, on), "ncclBroadcast");
    }
  }

 private:
  void all_to_all(const char* source, char* destination, std::size_t shard, Stream on) {
    functions_.check(functions_.begin_group(), "ncclGroupStart");
    for (int peer = 0; peer < members_; ++peer) {
      const std::size_t at = shard * static_cast<std::size_t>(peer);
      functions_.check(functions_.send(source + at, shard, int8, peer, comm_, on), "ncclSend");
      functions_.check(functions_.receive(destination + at, shard, int8, peer, comm_, on), "ncclRecv");
    }
    functions_.check(functions_.end_group(), "ncclGroupEnd");
  }

  Functions functions_;
  Comm comm_;
  int members_;
};

}  // namespace

std::string CollectiveLibrary::version() const {
  int code = 0;
  Result (*const ask)(int*) = library_.look_up("ncclGetVersion");
  if (ask == nullptr || ask(&code) != success) return "of unknown version";
  // From 2.9 on two digits for each part.
  if (code >= 10000) return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
}

GroupName CollectiveLibrary::name_group() const {
  const Functions functions{library_};
  UniqueId id;
  Result (*const get)(UniqueId*) = library_.need("ncclGetUniqueId");
  functions.check(get(&id), "ncclGetUniqueId");
  GroupName name;
  std::memcpy(name.data(), id.internal, name.size());
  return name;
}

std::unique_ptr<Communicator> CollectiveLibrary::join(const GroupName& group, int rank, int members,
                                                      int channels) const {
  const Functions functions{library_};
  UniqueId id;
  std::memcpy(id.internal, group.data(), group.size());
  Comm comm = nullptr;
  if (channels == 0) {
    Result (*const init)(Comm*, int, UniqueId, int) = library_.need("ncclCommInitRank");
    functions.check(init(&comm, members, id, rank), "ncclCommInitRank");
  } else {
    Result (*const init)(Comm*, int, UniqueId, int, Config*) = library_.need("ncclCommInitRankConfig");
    Config config;
    config.min_workgroups = config.max_workgroups = channels;
    functions.check(init(&comm, members, id, rank, &config), "ncclCommInitRankConfig");
  }
  return std::make_unique<Member>(functions, comm, members);
}

}  // namespace c3sim::measure
