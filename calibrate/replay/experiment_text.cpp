#include "calibrate/replay/experiment_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "sim/config/config_error.h"

namespace c3sim::calibrate {

namespace {

using std::chrono::microseconds;

// Shorter ones are part of the delay: a GEMM has at least one step of its depth.
constexpr sim::Time shortest_gemm = microseconds(100);
constexpr sim::Time shortest_kernel = microseconds(5);

class Writer {
 public:
  Writer(const Profile& profile, const Run& run, Contention& machine, models::Backend backend)
      : profile_(profile), run_(run), machine_(machine), backend_(backend), streams_(profile.streams.size()) {}

  std::string write() {
    find_awaited();
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      if (run_.pieces[i].work) add(i);
    }
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) flush(stream);
    return text_;
  }

 private:
  struct Stream {
    sim::Time idle{0}, matrix{0}, memory{0};  // not yet written
    std::set<std::string> after;              // of what is written next
    std::optional<sim::Time> end;             // traced, of the last piece
    std::string last;                         // operation written
  };

  std::size_t stream_of(std::size_t piece) const { return profile_.work[*run_.pieces[piece].work].stream; }
  bool is_of_other(const After& after, std::size_t piece) const {
    return !after.of_begin && run_.pieces[after.node].work && stream_of(after.node) != stream_of(piece);
  }
  void find_awaited() {
    awaited_.resize(run_.pieces.size());
    ended_by_.resize(run_.pieces.size());
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      if (!run_.pieces[i].work) continue;
      for (const After& after : run_.pieces[i].after) {
        if (is_of_other(after, i)) awaited_[after.node] = true;
      }
    }
  }

  void add(std::size_t i) {
    const Piece& piece = run_.pieces[i];
    Stream& stream = streams_[stream_of(i)];
    const bool waits = std::ranges::any_of(piece.after, [&](const After& after) { return is_of_other(after, i); });
    if (waits) {
      flush(stream_of(i));
      for (const After& after : piece.after) {
        if (is_of_other(after, i) && !ended_by_[after.node].empty()) stream.after.insert(ended_by_[after.node]);
      }
    } else {
      stream.idle += std::max(sim::Time(0), piece.begin - stream.end.value_or(profile_.begin()));
    }
    stream.end = piece.end;
    if (piece.kind == PieceKind::moving) {
      flush(stream_of(i));
      const models::CollectiveSpec& spec = run_.collectives[*piece.collective];
      const models::Backend backend = machine_.can(spec, backend_) ? backend_ : models::Backend::rccl;
      write(stream_of(i), "collective",
            fmt::format(
                "collective: {{kind: {}, bytes: {}, gpus: {}, backend: {}{}}}", models::to_string(spec.kind),
                sim::to_string(spec.bytes), spec.gpus, models::to_string(backend),
                spec.channels && models::by_kernels(backend) ? fmt::format(", channels: {}", *spec.channels) : ""));
    } else {
      (piece.kind == PieceKind::matrix   ? stream.matrix
       : piece.kind == PieceKind::memory ? stream.memory
                                         : stream.idle) += piece.alone;
    }
    if (!awaited_[i]) return;
    flush(stream_of(i));
    ended_by_[i] = stream.last;
  }

  void flush(std::size_t place) {
    Stream& stream = streams_[place];
    if (stream.matrix < shortest_gemm) {
      stream.memory += stream.matrix;
      stream.matrix = sim::Time(0);
    }
    if (stream.memory < shortest_kernel) {
      stream.idle += stream.memory;
      stream.memory = sim::Time(0);
    }
    if (stream.idle > sim::Time(0)) {
      write(place, "idle", fmt::format("delay: {:.3f}us", sim::to_microseconds(stream.idle)));
    }
    if (stream.matrix > sim::Time(0)) {
      const auto gemm = std::get<models::GemmShape>(machine_.company(Beside::matrix, stream.matrix));
      write(place, "products", "gemm: " + models::to_string(gemm));
    }
    if (stream.memory > sim::Time(0)) {
      const auto kernel = std::get<models::ElementwiseSpec>(machine_.company(Beside::memory, stream.memory));
      write(place, "kernels", fmt::format("kernel: {{read: {0}, write: {0}}}", sim::to_string(kernel.read)));
    }
    stream.idle = stream.matrix = stream.memory = sim::Time(0);
  }

  void write(std::size_t place, std::string_view kind, const std::string& work) {
    Stream& stream = streams_[place];
    stream.last = fmt::format("{}_{}", kind, ++written_);
    text_ += fmt::format("  - {{name: {}, stream: s{}, {}", stream.last, profile_.streams[place].stream, work);
    if (!stream.after.empty()) text_ += fmt::format(", after: [{}]", fmt::join(stream.after, ", "));
    text_ += "}\n";
    stream.after.clear();
  }

  const Profile& profile_;
  const Run& run_;
  Contention& machine_;
  models::Backend backend_;
  std::vector<Stream> streams_;
  std::vector<bool> awaited_;          // by piece: another stream waits for its end
  std::vector<std::string> ended_by_;  // by piece that is awaited: the operation that it ends with
  std::size_t written_ = 0;
  std::string text_;
};

}  // namespace

std::string experiment_text(const Profile& profile, const Run& run, Contention& machine, models::Backend backend) {
  for (const ProfiledStream& stream : profile.streams) {
    if (stream.device == profile.streams.front().device) continue;
    throw sim::ConfigError({{profile.file, "", "of several GPUs: an experiment is written of a trace of one"}});
  }
  std::string text = fmt::format(
      "# {} as traced: what computes between two waits is one GEMM and one kernel of the same length.\n"
      "name: replay\nplatform: {}\nset: [gpus={}]\noperations:\n",
      profile.file, machine.platform().name, machine.platform().gpus);
  return text + Writer(profile, run, machine, backend).write();
}

}  // namespace c3sim::calibrate
