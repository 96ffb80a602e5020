#include "study/experiment/experiment_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/config/config_error.h"
#include "study/c3/c3_study.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

namespace fs = std::filesystem;

const fs::path shipped = C3SIM_SOURCE_DIR "/configs/experiments";

class ExperimentFiles : public testing::Test {
 protected:
  ExperimentFiles() { fs::create_directories(folder_); }
  ~ExperimentFiles() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string fault(const auto& read) {
    try {
      read();
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return {};
  }
  static ExperimentMachine machine_of(const fs::path& file, std::vector<std::string> parameters = {}) {
    sim::Config config = experiment_config(file);
    set_parameters(config, parameters);
    return read_machine(config);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "experiments";
};

TEST_F(ExperimentFiles, LieOverWhatTheyInclude) {
  write("sizes.yaml", "parameters: {tokens: 1, hidden: 2}\nplatform: h200\n");
  write("other.yaml", "parameters: {tokens: 3, ffn: 4}\nprotocol: shot\n");
  const fs::path file = write("top.yaml",
                              "include: [sizes.yaml, other.yaml]\nname: top\nparameters: {hidden: 5}\n"
                              "set: [\"a=$(tokens)\", \"b=$(hidden)\", \"c=$(ffn)\"]\n");
  const ExperimentMachine machine = machine_of(file);
  EXPECT_EQ(machine.platform, "h200");
  EXPECT_EQ(machine.protocol, models::Protocol::shot);
  EXPECT_THAT(machine.assignments, ElementsAre("a=1", "b=5", "c=4"));
}

TEST_F(ExperimentFiles, ThatIncludeEachOtherAreAFault) {
  write("a.yaml", "include: b.yaml\n");
  write("b.yaml", "x: 1\ninclude: a.yaml\n");
  EXPECT_THAT(fault([&] { experiment_config(folder_ / "a.yaml"); }),
              HasSubstr("b.yaml:2:10: include: files include each other in a circle"));
  const fs::path missing = write("c.yaml", "include: d.yaml\n");
  EXPECT_THAT(fault([&] { experiment_config(missing); }), HasSubstr("d.yaml"));
}

// Whoever is sent an experiment reads no other file with it, and is told nothing of what is in one.
TEST_F(ExperimentFiles, IncludeWhatLiesBesideOrBelowAlone) {
  fs::create_directories(folder_ / "models");
  write("models/sizes.yaml", "platform: h200\n");
  EXPECT_EQ(machine_of(write("top.yaml", "include: models/sizes.yaml\n")).platform, "h200");
  for (const char* const elsewhere : {"/etc/passwd", "../experiments/models/sizes.yaml", "models/../../x.yaml"}) {
    const fs::path file = write("top.yaml", std::string("include: ") + elsewhere + "\n");
    EXPECT_THAT(fault([&] { experiment_config(file); }),
                HasSubstr(std::string("top.yaml:1:10: include: '") + elsewhere +
                          "' lies elsewhere: files beside this one or in folders below it are accepted, and those of "
                          "the folder experiments of the configurations"));
  }
  write("shadow", "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n");
  const std::string said = fault([&] { experiment_config(write("top.yaml", "include: shadow\n")); });
  EXPECT_THAT(said, HasSubstr("shadow:1:1: this key is not a name"));
  EXPECT_THAT(said, testing::Not(HasSubstr("19000")));
}

TEST_F(ExperimentFiles, SayHowKernelsAreLaunched) {
  EXPECT_EQ(machine_of(write("a.yaml", "launch: graph\n")).launch, models::LaunchMode::graph);
  EXPECT_EQ(machine_of(write("b.yaml", "launch: op_by_op\n")).beside().launch, models::LaunchMode::op_by_op);
  EXPECT_THAT(fault([&] { machine_of(write("c.yaml", "launch: eager\n")); }), HasSubstr("c.yaml:1"));
}

TEST_F(ExperimentFiles, GetValuesOfTheirParametersFromOutside) {
  const fs::path file = write("a.yaml", "parameters: {n: 1, m: $(2 * n)}\nset: [\"x=$(m)\"]\n");
  EXPECT_THAT(machine_of(file, {"n=5"}).assignments, ElementsAre("x=10"));
  EXPECT_THAT(machine_of(file, {"n=$(3 * 7)"}).assignments, ElementsAre("x=42"));
  EXPECT_THAT(fault([&] { machine_of(file, {"k=5"}); }),
              HasSubstr("--param k=5: parameters.k: the configuration has no such value"));
  EXPECT_THAT(fault([&] { machine_of(file, {"n"}); }), HasSubstr("--param n: parameters.n: an assignment reads"));
}

// Every file of configs/experiments can be run, whatever it is.
TEST(ShippedExperiments, AreRead) {
  Testbed testbed(mi300x().spec);
  int read = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped)) {
    sim::Config config = experiment_config(entry.path());
    set_parameters(config, {});
    read_machine(config);
    const sim::Section root = config.root();
    if (holds_paper_study(root)) continue;
    EXPECT_FALSE(read_experiment(config, testbed).graph.nodes().empty()) << entry.path();
    ++read;
  }
  EXPECT_GE(read, 8);
}

// What a shipped experiment measures on an MI300X with parameters such as "hops=4".
template <class... Parameters>
Quantities measured(const std::string& name, const Parameters&... parameters) {
  sim::Config config = experiment_config(shipped / name);
  set_parameters(config, std::vector<std::string>{parameters...});
  read_machine(config);
  const std::vector<fs::path> folders{fs::path(C3SIM_SOURCE_DIR) / "configs"};
  Testbed testbed(read_platform(find_platform("mi300x", "platform", folders), {}, folders).spec);
  return measure(testbed, read_experiment(config, testbed));
}

// A chain of h hops in p pieces takes as long as p + h - 1 pieces one after the other.
TEST(ShippedExperiments, APipelineOfCopiesFillsItsLinks) {
  const auto makespan = [](int pieces) {
    return measured("copy_pipeline.yaml", "pieces=" + std::to_string(pieces), "hops=4").at("makespan_us").value();
  };
  EXPECT_NEAR(makespan(8) / makespan(1), (8.0 + 3.0) / (8.0 * 4.0), 0.01);
}

// As they are shipped, they are worth their trouble.
TEST(ShippedExperiments, DefaultToSchedulesThatPay) {
  for (const char* const name :
       {"copy_pipeline.yaml", "expert_parallel.yaml", "fsdp_layer.yaml", "gemm_then_all_to_all.yaml",
        "layer_overlap.yaml", "sdma_handshake.yaml", "tensor_parallel.yaml", "transformer_layer.yaml"}) {
    EXPECT_GT(measured(name).at("speedup").value(), 1.0) << name;
  }
}

TEST(ExperimentParameters, ThatThereAreNotAreNamed) {
  EXPECT_THROW(measured("copy_pipeline.yaml", "byte=64MiB"), sim::ConfigError);
}

// Of tensor parallelism any pair of schedules can be named from outside.
TEST(ExperimentParameters, TakeWordsToo) {
  const auto makespan = [](const std::string& gather) {
    return measured("tensor_parallel.yaml", "gather=" + gather).at("makespan_us").value();
  };
  EXPECT_LT(makespan("finer_hetero_fused_1d"), makespan("serial_rccl"));
}

}  // namespace
}  // namespace c3sim::study
