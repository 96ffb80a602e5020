#include "calibrate/measure/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::string_view slowest =
    "microseconds by the host's clock, from before the first launch until it knows of the last end; event_us: by "
    "events, from before the first launch on a GPU until after its last work, of the slowest GPU";

constexpr auto all_kinds = std::to_array<Kind>({

    {"launches", "launch, synchronisation and graph-launch costs",
     "what,count,gpus,time_us,time_p10_us,time_p90_us,event_us,n",
     "microseconds of one of `count` by the host's clock: *_call, of its thread in the call; others, until it knows of "
     "the end; event_us: by events around all",
     measure_launch},
    {"gemms", "GEMMs by shape and by CUs, alone on every GPU",
     "gemm,cus,gpus,time_us,time_p10_us,time_p90_us,event_us,n", slowest, measure_gemm},
    {"copies", "one copy by size, within a GPU, over each link, and to and from the host",
     "from,to,bytes,gpus,time_us,time_p10_us,time_p90_us,event_us,n", slowest, measure_copy},
    {"fan_outs", "copies from GPU 0 to several peers at once",
     "peers,bytes,gpus,time_us,time_p10_us,time_p90_us,event_us,n", slowest, measure_links},
    {"collectives", "collectives by size and channels, by kernels and by copies",
     "collective,bytes,backend,variant,channels,gpus,host_threads,graph,time_us,time_p10_us,time_p90_us,event_us,n",
     slowest, measure_collective},
    {"streams", "kernels that stream through memory and caches, by size",
     "read,written,bytes,passes,gpus,time_us,time_p10_us,time_p90_us,GBps,event_us,n",
     "microseconds of one pass, of the slowest GPU, by the host's clock over all passes; event_us: by events; bytes of "
     "all arrays together",
     measure_stream},
    {"loads", "latency of memory, alone and beside streams at several rates",
     "bytes,beside,threads,pause_cycles,gpus,streamed_GBps,latency_ns,reads",
     "one thread follows a chain of pointers while the other CUs stream with pauses; the mean of 16000 loads",
     measure_load},
    {"series", "GEMMs back to back from rest, each timed: how the governor lowers the clock",
     "label,gemm,index,end_ms,duration_us,gpus", "of GPU 0, by events around each, while every GPU runs the same",
     measure_series},
    {"steady", "time, board power and clock of GEMMs back to back for seconds",
     "gemm,beside,gemm_us,power_W,clock_MHz,gpus,samples", "means over the GPUs in the second half", measure_steady},
    {"duty_cycles", "one GEMM, then a pause, by turns",
     "gemm,pause_ms,period_us,gemm_us,power_W,clock_MHz,gpus,samples",
     "means over the GPUs in the second half, pauses included", measure_steady},
    {"phases", "board power at rest, streaming and in collectives", "phase,mean_power_W,mean_sm_clock_MHz,samples,gpus",
     "means over the GPUs in the second half", measure_phase},
    {"pairs", "a GEMM beside a collective, by strategy",
     "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch,gpus,"
     "makespan_us,makespan_p10_us,makespan_p90_us,gemm_us,collective_us,isolated_gemm_us,collective_alone_us,event_us,"
     "n",
     "microseconds by the host's clock, from before the first launch until it knows of the last end; event_us: by "
     "events, of the slowest GPU; gemm_us, collective_us: by events from their own launch; alone: each by itself, as "
     "makespan_us. c3_base: GEMM launched first, c3_sp: collective first, conccl: collective by copies, launched "
     "first, serial: GEMM, then collective; _rp: with reserved_cus kept from the GEMM",
     measure_pair},
    {"probes", "what running at once costs: a GEMM beside a collective by channels, either beside a hog",
     "gemm,collective,bytes,channels,first,hog,hog_workgroups,role,gpus,wall_us,wall_p10_us,wall_p90_us,gemm_us,"
     "collective_us,gemm_alone_us,collective_alone_us,event_us,n",
     "microseconds by the host's clock, from before the first launch until it knows of the last end; event_us: by "
     "events, of the slowest GPU; gemm_us, collective_us: by events from their own launch; alone: the same in a loop "
     "of both one after the other, in the order of `first`. hog: so many workgroups of 1024 threads that stay, "
     "multiply and add (fma), read 24 MiB again and again (cache) or triad through 3 GiB (memory) until the other "
     "ends, which is launched 50 us behind it; alone: the same without the hog",
     measure_probe},
    {"dependent", "a GEMM and the all-gather that feeds it, by schedule",
     "gemm,schedule,gpus,time_us,time_p10_us,time_p90_us,event_us,n", slowest, measure_dependent},
    {"copy_phases", "what one copy's time is made of, as the host sees it",
     "from,to,bytes,gpus,call_us,device_us,seen_us,n",
     "medians: call, of the host's thread in the call; device, by events around the copy; seen, of the host from "
     "before the call until it knows of the end",
     measure_copy_phases},
    {"engines", "one copy on each copy engine",
     "from,to,bytes,engine,preferred,gpus,time_us,start_us,data_us,seen_us,n",
     "medians by the engine's own time stamps: from the call to the start, from there to the end, from there until the "
     "host knows; time_us: all of it",
     measure_engine},
    {"back_to_back", "copies one behind another in a stream",
     "from,to,bytes,copies,gpus,time_us,time_p10_us,time_p90_us,event_us,n",
     "microseconds of all copies by the host's clock; event_us: by events", measure_copy},
    {"links", "copies over many links at once", "pattern,bytes,gpus,time_us,time_p10_us,time_p90_us,event_us,n",
     slowest, measure_links},
    {"dispatch", "two kernels at once: who gets a CU that falls free",
     "threads,local_memory,first,second,stay_us,gpus,first_begin_us,first_end_us,second_begin_us,second_end_us,"
     "places,freed,to_second",
     "on GPU 0: workgroups of both kernels stay for a set time; by their own clocks, from the first begin. freed: "
     "places that fell free while both kernels had workgroups waiting; to_second: how many of them the second got",
     measure_dispatch},
    {"link_power", "board power of two GPUs by rate of copies between them",
     "phase,copy_bytes,rate_GBps,power0_W,clock0_MHz,power1_W,clock1_MHz,gpus",
     "means in the second half; rate: of each pair of buffers, one way", measure_link_power},
    {"matrix_power", "board power of GEMMs by CUs, on random numbers and on zeros",
     "gemm,cus,operands,rate_TFLOPs,power_W,clock_MHz,samples,gpus", "means over the GPUs in the second half",
     measure_steady},
});

}  // namespace

const std::string& Arguments::text(std::string_view column) const {
  static const std::string nothing;
  const auto found = std::ranges::find(cells_, column, &std::pair<std::string, std::string>::first);
  return found == cells_.end() ? nothing : found->second;
}

std::int64_t Arguments::number(std::string_view column) const {
  const std::string& cell = text(column);
  return cell.empty() ? 0 : parse_count(cell, 0, std::numeric_limits<std::int64_t>::max());
}

GemmShape Arguments::shape() const { return parse_shape(text("gemm")); }

std::string Arguments::spelled() const {
  std::string all;
  for (const auto& [column, cell] : cells_) all += fmt::format("{}{}={}", all.empty() ? "" : " ", column, cell);
  return all;
}

std::span<const Kind> kinds() { return all_kinds; }

const Kind* kind_of(std::string_view name) {
  const auto found = std::ranges::find(all_kinds, name, &Kind::name);
  return found == all_kinds.end() ? nullptr : found;
}

Row row_of(std::string_view name, const Summary& summary, double count) {
  return {{fmt::format("{}_us", name), spelled(summary.median / count)},
          {fmt::format("{}_p10_us", name), spelled(summary.low / count)},
          {fmt::format("{}_p90_us", name), spelled(summary.high / count)},
          {"n", std::to_string(summary.count)}};
}

Row row_of(const Timing& timing, double count, std::string_view name) {
  Row row = row_of(name, timing.wall, count);
  row["event_us"] = spelled(timing.all.median / count);
  return row;
}

Row row_of(const BoardMean& mean, const std::string& power, const std::string& clock) {
  return {{power, fmt::format("{:.1f}", mean.state.power)},
          {clock, fmt::format("{:.0f}", mean.state.clock)},
          {"samples", std::to_string(mean.samples)}};
}

}  // namespace c3sim::measure
