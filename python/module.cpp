// c3sim._core offers every command as an object that Python can ask. The public interface is built
// on it in c3sim/__init__.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sim/config/config_error.h"
#include "sim/simulator.h"
#include "validate/ask/commands.h"

namespace py = pybind11;

namespace c3sim {
namespace {

using study::Command;

// Thrown on Ctrl-C, when Python's error indicator is already set.
struct Interrupted {};

bool interrupted() {
  const py::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

void check_interrupted() {
  if (interrupted()) throw Interrupted();
}

study::Listener listener_of(std::vector<std::string>& warnings) {
  return {.progress = [](std::size_t, std::size_t) { check_interrupted(); },
          .warn = [&warnings](std::string_view sentence) { warnings.emplace_back(sentence); },
          .interruptible = [] { return interrupted; }};
}

// Converts text of the user's files, which may not be UTF-8; invalid bytes are replaced, as in JSON.
py::object text_of(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace"));
}

// Returns an answer as Python values: the tables of --format json, and warnings, notes, text and whether checks hold.
py::object answer_of(const study::Results& results, const std::vector<std::string>& warnings, bool holds) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const study::NamedTable& named : results.tables) tables[named.key] = named.table.to_json();
  const nlohmann::ordered_json answer{{"platform", results.platform}, {"tables", std::move(tables)},
                                      {"warnings", warnings},         {"notes", results.notes},
                                      {"text", results.text},         {"holds", holds}};
  return py::module_::import("json").attr("loads")(study::json_text(answer));
}

// Returns what the command line would refuse before it reads any file; empty where it would accept the options.
std::string refused(const Command& command, const study::Given& given) {
  for (const auto& [name, texts] : given) {
    const bool known = std::ranges::count(command.options, name, &study::Option::name) > 0;
    if (known) continue;
    return "error: " + command.unknown(study::typed_name(name), {}) + "\n";
  }
  return command.missing(given);
}

// Raises InputError. The text may contain names of files that are not UTF-8.
void raise_input_error(const std::string& why) {
  PyErr_SetObject(py::module_::import("c3sim._core").attr("InputError").ptr(), text_of(why).ptr());
}

// Returns all commands without --format, as answers are Python values.
std::vector<Command> commands() {
  std::vector<Command> commands = validate::all_commands();
  for (Command& command : commands) {
    std::erase_if(command.options, [](const study::Option& option) { return option.name == "format"; });
  }
  return commands;
}

py::object ask(const Command& command, const study::Given& given, study::PlatformShelf& shelf) {
  if (const std::string why = refused(command, given); !why.empty()) {
    raise_input_error(why);
    throw py::error_already_set();
  }
  command.check(given);
  std::vector<std::string> warnings;
  study::Request request(given, {C3SIM_VERSION, "c3sim " + study::command_line(command.name, command.options, given)},
                         listener_of(warnings), &shelf);
  study::Results results;
  try {
    const py::gil_scoped_release others_run;
    // Work asks for interruptions thousands of times a second, but Python is asked only every 10 ms: another thread may
    // hold its lock, and the work would wait for it each time.
    const sim::Interruption interruption([next = std::chrono::steady_clock::time_point()]() mutable {
      constexpr std::chrono::milliseconds between_looks(10);
      const auto now = std::chrono::steady_clock::now();
      if (now < next) return;
      check_interrupted();
      next = now + between_looks;
    });
    results = command.answer(request);
  } catch (const Interrupted&) {
    throw py::error_already_set();
  } catch (const std::system_error& error) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();  // Ctrl-C; a study keeps its finished points
    PyErr_SetString(PyExc_OSError, error.what());
    throw py::error_already_set();
  }
  request.check_behind();
  warnings.insert(warnings.end(), results.warnings.begin(), results.warnings.end());
  return answer_of(results, warnings, !request.check_failed());
}

}  // namespace
}  // namespace c3sim

PYBIND11_MODULE(_core, module) {
  using namespace c3sim;
  const py::exception<sim::ConfigError> input_error(module, "InputError", PyExc_ValueError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const sim::ConfigError& error) {
      raise_input_error(error.what());
    }
  });
  py::class_<study::Option>(module, "Option")
      .def_readonly("name", &study::Option::name)
      .def_readonly("form", &study::Option::form)
      .def_readonly("help", &study::Option::help)
      .def_property_readonly("said", [](const study::Option& option) { return sim::to_string(option.said); })
      .def_readonly("required", &study::Option::required)
      .def_readonly("alone", &study::Option::alone)
      .def_property_readonly("typed", &study::Option::typed);
  py::class_<study::PlatformShelf>(module, "PlatformShelf").def(py::init<>());
  py::class_<Command>(module, "Command")
      .def_readonly("name", &Command::name)
      .def_readonly("about", &Command::about)
      .def_readonly("notes", &Command::notes)
      .def_readonly("options", &Command::options)
      .def("ask", &ask);
  module.def("commands", &commands);
  module.attr("version") = C3SIM_VERSION;
}
