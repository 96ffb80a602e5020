#include "study/bar_chart.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "sim/output_file.h"

namespace study {

namespace {

// Inside double quotes of gnuplot, and of its data files: no character may end the text or be taken for a command.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool harmless = c != '"' && c != '\\' && c != '`' && static_cast<unsigned char>(c) >= ' ';
    result += harmless ? c : ' ';
  }
  return result + '"';
}

// The colours of the series: of Okabe and Ito, which people tell apart however they see colours, and greys.
constexpr std::array<std::string_view, 9> colours{"#d55e00", "#7f7f7f", "#0072b2", "#e69f00", "#56b4e9",
                                                  "#009e73", "#cc79a7", "#f0e442", "#000000"};

std::string data_of(const BarChart& chart) {
  std::string text = "label";
  for (const std::string& series : chart.series) text += ' ' + quoted(series);
  text += '\n';
  for (const Bar& bar : chart.bars) {
    text += quoted(bar.label);
    for (const std::optional<double>& value : bar.values) text += value ? fmt::format(" {}", *value) : " NaN";
    text += '\n';
  }
  return text;
}

std::string script_of(const BarChart& chart, const std::string& stem, const std::string& picture) {
  constexpr std::size_t most_level_characters = 70;
  const bool stacked = chart.layout == BarChart::Layout::stacked;
  const bool many_series = chart.series.size() > 2;
  std::size_t characters = 0;
  for (const Bar& bar : chart.bars) characters += bar.label.size();
  std::string script;
  script +=
      fmt::format("set terminal svg size {},480 font 'sans-serif,14' background 'white'\n", many_series ? 1200 : 900);
  script += fmt::format("set output {}\n", quoted(picture));
  script += fmt::format("set title {} noenhanced\n", quoted(chart.title));
  script += fmt::format("set ylabel {} noenhanced\n", quoted(chart.value_axis));
  script += fmt::format("set style data histograms\nset style histogram {}\nset style fill solid 0.9 noborder\n",
                        stacked ? "rowstacked\nset boxwidth 0.7" : "clustered gap 1");
  script +=
      fmt::format("set xtics noenhanced nomirror {}\n", characters > most_level_characters ? "rotate by 35 right" : "");
  script += fmt::format("set ytics nomirror\nset grid ytics\nset border 3\nset key {} noenhanced\n",
                        many_series ? "outside right" : "top left");
  script += "set datafile missing 'NaN'\n";
  script += fmt::format("data = {}\n", quoted(stem + ".dat"));
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    script += fmt::format("{} using {}{} title {} linecolor rgb '{}'", i == 0 ? "plot data" : ", data", i + 2,
                          i == 0 ? ":xtic(1)" : "", quoted(chart.series[i]), colours[i % colours.size()]);
  }
  script += '\n';
  return script;
}

// Runs `gnuplot <script>` in the directory and waits for its end.
std::string run_gnuplot(const std::filesystem::path& directory, std::string script) {
  std::string program = "gnuplot";
  std::array<char*, 3> arguments{program.data(), script.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return "no picture: gnuplot cannot be started (is the package gnuplot-nox installed?)";
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fmt::format("no picture: gnuplot failed on {}", (directory / script).string());
  }
  return {};
}

}  // namespace

std::string draw(const BarChart& chart, const std::filesystem::path& directory, const std::string& stem) {
  std::filesystem::create_directories(directory);
  const std::string partial = stem + ".svg.partial";
  sim::write_file(directory / (stem + ".dat"), data_of(chart));
  sim::write_file(directory / (stem + ".gp"), script_of(chart, stem, partial));
  std::string problem = run_gnuplot(directory, stem + ".gp");
  if (problem.empty()) std::filesystem::rename(directory / partial, directory / (stem + ".svg"));
  return problem;
}

}  // namespace study
