#include "study/program/layer_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "sim/config/config.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

// Reads the rows of one file, in which expressions may use the names that `known` has when they are read.
class RowReader {
 public:
  using Parts = std::map<std::string, LayerPart, std::less<>>;
  using KnownNames = std::set<std::string, std::less<>>;
  RowReader(std::span<const ElementwiseOperator> operators, const Parts& parts, const KnownNames& known)
      : operators_(operators), parts_(parts), known_(known) {}

  std::optional<sim::Expression> formula(sim::Section& row, std::string_view key) const {
    if (!row.has(key)) return {};
    return formula_of(row, key, row.text(key));
  }

  // Reads the rows of a list of operations or, if it is `of_tensors`, of tensors.
  std::vector<LayerRow> rows(sim::Section& section, std::string_view key, bool of_tensors = false) const {
    std::vector<LayerRow> read;
    for (sim::Section& row : section.list(key)) read.push_back(row_of(row, of_tensors));
    return read;
  }

 private:
  using What = LayerRow::What;
  // A KindOfRow is what a row with `key` may have as expressions; those that are due come first.
  struct KindOfRow {
    std::string_view key;
    What what;
    std::size_t due;
    std::vector<std::string_view> formulas;
  };
  static std::span<const KindOfRow> kinds(bool of_tensors) {
    static const std::vector<KindOfRow> of_operations{
        {"rows", What::rows, 0, {"of_model"}},
        {"part", What::part, 0, {}},
        {"operate", What::operate, 1, {"elements", "element", "row"}},
        {"gemm", What::gemm, 0, {"products", "plain", "of_experts", "fused", "gathered", "scattered"}},
        {"collective", What::collective, 2, {"elements", "gpus", "element"}},
        {"attention", What::attention, 0, {}}};
    static const std::vector<KindOfRow> tensors{{"rows", What::rows, 0, {"times", "gpus"}},
                                                {"tensor", What::tensor, 1, {"tensor", "gpus"}}};
    return of_tensors ? tensors : of_operations;
  }

  std::optional<sim::Expression> formula_of(sim::Section& row, std::string_view key, const std::string& text) const {
    try {
      sim::Expression expression(text);
      for (const sim::Expression::Step& step : expression.steps()) {
        if (step.name.empty() || known_.contains(step.name)) continue;
        row.fault_value(
            key, fmt::format("'{}' is not known{}", step.name, sim::name_hint(step.name, known_, std::identity())),
            false);
      }
      return expression;
    } catch (const sim::ExpressionError& error) {
      row.fault_value(key, fmt::format("'{}', at character {}: {}", text, error.at() + 1, error.what()), false);
      return {};
    }
  }

  void add_formula(sim::Section& row, std::string_view key, LayerRow& read) const {
    if (std::optional<sim::Expression> value = formula(row, key)) read.formulas.emplace(key, std::move(*value));
  }

  LayerRow row_of(sim::Section& row, bool of_tensors) const {
    LayerRow read;
    const auto is_said = [&row](const KindOfRow& kind) { return row.has(kind.key); };
    if (std::ranges::count_if(kinds(of_tensors), is_said) != 1) {
      row.fault("name",
                fmt::format("a row is one of these: {}",
                            of_tensors ? "rows or tensor" : "rows, part, operate, gemm, collective or attention"));
      return read;
    }
    const KindOfRow& kind = *std::ranges::find_if(kinds(of_tensors), is_said);
    read.what = kind.what;
    add_formula(row, "when", read);
    if (read.what != What::rows) read.name = row.text("name");
    if (of_tensors) read_holders(row, read);
    switch (read.what) {
      case What::rows:
        read.rows = rows(row, "rows", of_tensors);
        if (!of_tensors) read.with_attention = row.flag("with_attention", false);
        break;
      case What::part:
        read_call(row, read);
        break;
      case What::operate:
        read_operator(row, read);
        break;
      case What::gemm:
        read_gemm(row, read);
        break;
      case What::collective:
        read.kind =
            kind_of(row.choice<models::CollectiveKind>("collective", sim::choices_of<models::CollectiveKind>()));
        read.stream = row.name("stream", "");
        if (row.has("beside")) read.rows = rows(row, "beside");
        break;
      case What::attention:
        read.attention = row.choice<LayerRow::Attention>("attention", attentions);
        read.absorbed = row.flag("absorbed", false);
        break;
      case What::tensor:
        read.gradient = row.name("gradient", "");
        break;
    }
    for (std::size_t place = 0; place < kind.formulas.size(); ++place) {
      const std::string_view key = kind.formulas[place];
      if (place < kind.due && !row.has(key)) row.fault(key, "is missing: an expression is accepted");
      add_formula(row, key, read);
    }
    return read;
  }

  static void read_holders(sim::Section& row, LayerRow& read) {
    read.alike = row.name("alike", "");
    if (row.has("alike") != row.has("gpus"))
      row.fault("alike", "alike names GPUs, and gpus counts them: both are needed");
  }

  void read_call(sim::Section& row, LayerRow& read) const {
    read.part = row.name("part");
    const auto part = parts_.find(read.part);
    if (part == parts_.end()) {
      row.fault("part", fmt::format("no file has the part '{}'{}", read.part,
                                    sim::name_hint(read.part, parts_, &Parts::value_type::first)));
      return;
    }
    for (const auto& [argument, fallback] : part->second.takes) {
      add_formula(row, argument, read);
      if (!fallback && !row.has(argument)) {
        row.fault("part", fmt::format("'{}' is missing, which the part takes", argument));
      }
    }
  }

  void read_operator(sim::Section& row, LayerRow& read) const {
    const std::string name = row.name("operate");
    if (const ElementwiseOperator* const known = find_operator(operators_, name)) {
      read.operation = *known;
    } else {
      row.fault("operate",
                fmt::format("'{}' is no operator of operators.yaml{}", name, operator_hint(operators_, name)));
    }
    read.kind = row.choice<Kind>("kind", sim::choices_of<Kind>(), Kind::elementwise);
    read.awaits_pieces = row.flag("awaits_pieces", false);
    read.stream = row.name("stream", "");
    read_gives(row, read);
  }

  void read_gemm(sim::Section& row, LayerRow& read) const {
    for (const std::string& extent : row.texts("gemm")) {
      if (std::optional<sim::Expression> value = formula_of(row, "gemm", extent))
        read.gemm.push_back(std::move(*value));
    }
    if (row.is_sound("gemm") && read.gemm.size() != 3) row.fault("gemm", "three extents are accepted: [m, n, k]");
    read.layout = row.choice<models::Layout>("layout", sim::choices_of<models::Layout>(), read.layout);
    read_gives(row, read);
  }

  static void read_gives(sim::Section& row, LayerRow& read) {
    using Gives = LayerRow::Gives;
    constexpr std::array<std::pair<std::string_view, Gives>, 2> options{
        {{"input", Gives::input}, {"weights", Gives::weights}}};
    read.gives = row.choice<Gives>("gives", options, Gives::nothing);
  }

  static constexpr std::array<std::pair<std::string_view, LayerRow::Attention>, 3> attentions{
      {{"forward", LayerRow::Attention::forward},
       {"backward", LayerRow::Attention::backward},
       {"decoding", LayerRow::Attention::decoding}}};

  std::span<const ElementwiseOperator> operators_;
  const Parts& parts_;
  const KnownNames& known_;
};

constexpr auto piece_stream = "pieces";
constexpr std::int64_t largest = models::GemmShape::largest_extent;

}  // namespace

// LayerValues evaluates the expressions of rows for one question.
class LayerValues {
 public:
  LayerValues(const LayerTemplates& templates, const StepQuestion& question)
      : templates_(templates), question_(question) {}

 protected:
  using Arguments = LayerTemplates::Arguments;
  // A Call is a list of rows of a file that is gone through, perhaps a part.
  struct Call {
    std::size_t file = 0;
    const std::string& name;
    Arguments arguments{};

    bool has(std::string_view argument) const {
      return std::ranges::count(arguments, argument, &Arguments::value_type::first) > 0;
    }
  };

  static sim::ConfigError fault(std::string_view where, std::string what) {
    return sim::ConfigError({{"configs/layers", std::string(where), std::move(what)}});
  }

  sim::Amount value(const sim::Expression& expression, const Call& call) const {
    return expression.amount([&](std::string_view name) -> sim::NamedValue { return value(name, call); });
  }
  double number(const sim::Expression& formula, const Call& call) const {
    const sim::Amount amount = value(formula, call);
    if (amount.powers != sim::Powers{} || !std::isfinite(amount.value))
      throw sim::ExpressionError(0, "a number without a unit is needed");
    return amount.value;
  }
  // Return the value of a row's expression, if it has one under this key.
  double number(const LayerRow& row, std::string_view key, const Call& call, double otherwise) const {
    const auto formula = row.formulas.find(key);
    return formula == row.formulas.end() ? otherwise : number(formula->second, call);
  }
  // Returns the count that an expression came to, but for what its divisions lost.
  static std::int64_t whole(double count, std::string_view key, std::int64_t least = 1, std::int64_t most = largest) {
    const std::int64_t nearest = std::llround(std::clamp(count, 0.0, 1.0 + static_cast<double>(most)));
    if (nearest >= least && nearest <= most && std::abs(count - static_cast<double>(nearest)) <= 1e-9 * count)
      return nearest;
    throw sim::ExpressionError(
        0, fmt::format("{} is {}: a whole number from {} to {} is accepted", key, count, least, most));
  }
  std::int64_t integer(const LayerRow& row, std::string_view key, const Call& call, std::int64_t otherwise,
                       std::int64_t least = 1, std::int64_t most = largest) const {
    return whole(number(row, key, call, static_cast<double>(otherwise)), key, least, most);
  }
  bool holds(const LayerRow& row, std::string_view key, const Call& call) const {
    return number(row, key, call, 0.0) != 0.0;
  }
  bool is_there(const LayerRow& row, const Call& call) const { return number(row, "when", call, 1.0) != 0.0; }

  const LayerTemplates& templates_;
  const StepQuestion& question_;

 private:
  sim::Amount value(std::string_view name, const Call& call) const {
    const auto argument = std::ranges::find(call.arguments, name, &Arguments::value_type::first);
    if (argument != call.arguments.end()) return argument->second;
    for (const std::size_t file : {call.file, std::size_t{0}}) {
      const LayerTemplates::Names& names = templates_.names_[file];
      if (const auto declared = names.find(name); declared != names.end()) {
        return kept(declared->first, [&] { return value(declared->second, {file, call.name}); });
      }
    }
    const auto known = layer_names().find(name);
    return kept(known->first, [&] { return known->second(question_); });
  }

  sim::Amount kept(const std::string& name, const auto& find) const {
    const auto known = values_.find(&name);
    return known != values_.end() ? known->second : values_[&name] = find();
  }

  mutable std::map<const std::string*, sim::Amount> values_;  // of names in names_ of a file or in layer_names()
};

// A TensorWalk lists tensors for one question.
class TensorWalk : LayerValues {
  static constexpr double most_elements = 1e18;

 public:
  using LayerValues::LayerValues;

  std::vector<Tensor> tensors(std::span<const LayerRow> rows, std::size_t file) {
    add(rows, {file, no_name_}, Tensor{.gpus = question_.replicas()});
    return std::move(tensors_);
  }

 private:
  // `of` has what the rows have in common.
  void add(std::span<const LayerRow> rows, const Call& call, const Tensor& of) {
    for (const LayerRow& row : rows) {
      try {
        if (is_there(row, call)) add(row, call, of);
      } catch (const sim::ExpressionError& error) {
        throw fault(row.name, error.what());
      }
    }
  }

  void add(const LayerRow& row, const Call& call, Tensor of) {
    if (row.formulas.contains("gpus")) {
      of.gpus = static_cast<int>(integer(row, "gpus", call, 1, 1, question_.stage_gpus()));
      of.alike = of.gpus == question_.replicas() ? "" : row.alike + "_";
    }
    if (row.what == LayerRow::What::rows) {
      const auto first = static_cast<std::ptrdiff_t>(tensors_.size());
      add(row.rows, call, of);
      if (row.formulas.contains("times")) repeat(first, integer(row, "times", call, 1, 0, most_experts));
      return;
    }
    of.elements = number(row, "tensor", call, 0.0);
    if (!(of.elements >= 0.0 && of.elements <= most_elements)) {
      throw sim::ExpressionError(
          0, fmt::format("tensor is {:g}: 0 to {:g} elements are accepted", of.elements, most_elements));
    }
    of.gradient = row.gradient;
    tensors_.push_back(std::move(of));
  }

  void repeat(std::ptrdiff_t first, std::int64_t times) {
    const std::vector<Tensor> once(tensors_.begin() + first, tensors_.end());
    if (once.size() * static_cast<std::size_t>(times) > most_operations)
      throw sim::ExpressionError(0, fmt::format("more than {} tensors", most_operations));
    tensors_.resize(static_cast<std::size_t>(first));
    for (std::int64_t time = 0; time < times; ++time) tensors_.insert(tensors_.end(), once.begin(), once.end());
  }

  const std::string no_name_{};
  std::vector<Tensor> tensors_;
};

// A LayerPlay writes parts for one question.
class LayerPlay : LayerValues {
 public:
  LayerPlay(const LayerTemplates& templates, StepWriter& writer)
      : LayerValues(templates, writer.question()), writer_(writer) {}

  void write(std::string_view part, const std::string& name, Arguments arguments) {
    constexpr int most_levels = 32;
    if (level_ == most_levels) throw fault(part, "is a part that uses itself, perhaps by way of others");
    ++level_;
    const LayerPart& found = templates_.found(templates_.parts_, part);
    Call call{found.file, name, std::move(arguments)};
    for (const auto& [taken, fallback] : found.takes) {
      if (fallback && !call.has(taken)) call.arguments.emplace_back(taken, value(*fallback, call));
    }
    write(found.rows, call);
    --level_;
  }

  WrittenPart take() { return std::move(written_); }

 private:
  sim::Bytes element(const LayerRow& row, const Call& call) const {
    const auto formula = row.formulas.find("element");
    if (formula == row.formulas.end()) return writer_.element();
    const sim::Amount bytes = value(formula->second, call);
    if (bytes.powers != powers_of_bytes) throw sim::ExpressionError(0, "an element has bytes: 4B is accepted");
    return sim::Bytes(bytes.value);
  }
  static std::string full(const std::string& name, const Call& call) {
    return name.starts_with('$') ? call.name + name.substr(1) : name;
  }

  void write(std::span<const LayerRow> rows, const Call& call) {
    for (const LayerRow& row : rows) {
      try {
        if (is_there(row, call)) write(row, call);
      } catch (const sim::ExpressionError& error) {
        throw fault(row.what == LayerRow::What::part ? row.part : full(row.name, call), error.what());
      }
    }
  }

  void write(const LayerRow& row, const Call& call) {
    using What = LayerRow::What;
    const std::string name = full(row.name, call);
    const Written before = writer_.last();
    switch (row.what) {
      case What::rows:
        if (row.with_attention) writer_.go_with_attention(true);
        if (row.formulas.contains("of_model")) writer_.count_products(number(row, "of_model", call, 1.0));
        write(row.rows, call);
        if (row.formulas.contains("of_model")) writer_.count_products(1.0);
        if (row.with_attention) writer_.go_with_attention(false);
        return;
      case What::part: {
        Arguments arguments;
        for (const auto& [argument, expression] : row.formulas) {
          if (argument != "when") arguments.emplace_back(argument, value(expression, call));
        }
        return write(row.part, name, std::move(arguments));
      }
      case What::operate:
        writer_.operate(name, row.kind, row.operation, number(row, "elements", call, 0.0), element(row, call),
                        integer(row, "row", call, usual_row));
        if (!row.stream.empty()) writer_.queue_on(row.stream);
        if (row.awaits_pieces) {
          for (const Written& piece : std::exchange(scattered_, {})) writer_.wait(piece);
        }
        break;
      case What::gemm:
        multiply(name, row, call);
        break;
      case What::collective:
        move(name, row, call);
        break;
      case What::tensor:
        break;
      case What::attention:
        if (row.attention == LayerRow::Attention::decoding) return writer_.decoding_attention(name, row.absorbed);
        return writer_.attention(name, row.attention == LayerRow::Attention::backward, row.absorbed);
    }
    if (row.gives != LayerRow::Gives::nothing) give(row.gives, call.name);
    // An operation on another stream than the row before it waits for that row.
    if (written_.first && row.stream != stream_) writer_.wait(before);
    if (!written_.first) written_.first = writer_.last();
    stream_ = row.stream;
  }

  void give(LayerRow::Gives what, const std::string& of) {
    std::vector<ProductGradients>& all = written_.gradients;
    if (all.empty() || all.back().of != of) all.push_back({of, {}, {}});
    (what == LayerRow::Gives::input ? all.back().input : all.back().weights) = writer_.last();
  }

  void multiply(const std::string& name, const LayerRow& row, const Call& call) {
    const auto extent = [&](std::size_t at) {
      return whole(number(row.gemm[at], call), std::string_view("mnk").substr(at, 1));
    };
    models::GemmShape shape{.m = extent(0), .n = extent(1), .k = extent(2)};
    shape.products = integer(row, "products", call, 1);
    shape.layout = row.layout;
    shape.of_experts = holds(row, "of_experts", call);
    if (const std::int64_t pieces = integer(row, "gathered", call, 0, 0); pieces > 0)
      return multiply_in_pieces(name, shape, pieces, true);
    if (const std::int64_t pieces = integer(row, "scattered", call, 0, 0); pieces > 0)
      return multiply_in_pieces(name, shape, pieces, false);
    writer_.product(name, shape, holds(row, "plain", call));
    if (holds(row, "fused", call)) writer_.reduce_last();
  }

  // GPUs of tensor parallelism share out the tokens between products (FiCCO, arXiv 2512.10236; for a lone GEMM
  // study/program/dependent.h): tokens of all GPUs are gathered piece by piece during the products of earlier pieces,
  // and results are reduce-scattered piece by piece during the next products. Gathers and reductions take turns on
  // their own stream. The operation before the first product makes the GPU's shard of the stream.
  void multiply_in_pieces(const std::string& name, models::GemmShape shape, std::int64_t pieces, bool gathers) {
    const Written before = writer_.last();
    const std::int64_t tokens = shape.n;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      shape.n = piece_of(tokens, pieces, piece);
      const auto multiply = [&] { return writer_.product(fmt::format("{}_{}", name, piece), shape); };
      const auto move = [&] {
        return writer_.collective(fmt::format("{}_{}_{}", name, gathers ? "gather" : "scatter", piece),
                                  gathers ? models::CollectiveKind::all_gather : models::CollectiveKind::reduce_scatter,
                                  elements_of(shape.n, gathers ? shape.k : shape.m) * writer_.element(), question_.tp,
                                  piece_stream);
      };
      const Written first = gathers ? move() : multiply();
      if (gathers && piece == 0) writer_.wait(before);  // later gathers follow on the same stream
      const Written second = gathers ? multiply() : move();
      if (!gathers) scattered_.push_back(second);
      writer_.wait(first);
    }
  }

  void move(const std::string& name, const LayerRow& row, const Call& call) {
    const Written before = row.rows.empty() ? Written{} : writer_.last();
    const Written exchange =
        writer_.collective(name, *collective_of(row.kind), number(row, "elements", call, 0.0) * element(row, call),
                           static_cast<int>(integer(row, "gpus", call, 1, 1, question_.stage_gpus())),
                           row.stream.empty() ? compute_stream : row.stream);
    written_.collective = exchange;
    if (row.rows.empty()) return;
    if (!exchange) return write(row.rows, call);  // one GPU exchanges nothing
    writer_.queue_on(exchange_stream);
    writer_.wait(before);
    write(row.rows, call);
    writer_.next_waits_for(exchange);
  }

  StepWriter& writer_;
  int level_ = 0;                   // parts within each other
  std::vector<Written> scattered_;  // pieces that a later operation waits for
  std::string stream_;              // of the last row
  WrittenPart written_;
};

namespace {

// Returns the files of layers, common.yaml first.
std::vector<std::filesystem::path> layer_files(std::span<const std::filesystem::path> config_folders) {
  std::vector<std::string> names = sim::yaml_names(config_folders, "layers");
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "common"; });
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names) {
    files.push_back(*sim::first_file(config_folders, fmt::format("layers/{}.yaml", name)));
  }
  return files;
}

}  // namespace

std::vector<std::filesystem::path> template_files(std::span<const std::filesystem::path> config_folders) {
  std::vector<std::filesystem::path> files = layer_files(config_folders);
  if (const auto operators = operators_file(config_folders)) files.insert(files.begin(), *operators);
  return files;
}

LayerTemplates::LayerTemplates(std::span<const std::filesystem::path> config_folders)
    : operators_(read_operators(config_folders)) {
  const auto keep_faults = [this](std::size_t index, const auto& read) {
    try {
      read();
    } catch (const sim::ConfigError& error) {
      faulty_.insert(index);
      if (index > 0 && faulty_.contains(0)) return;
      faults_.insert(faults_.end(), error.faults().begin(), error.faults().end());
    }
  };
  std::vector<File> files;
  for (const std::filesystem::path& path : layer_files(config_folders)) {
    File& file = files.emplace_back(File{path.stem().string(), sim::Config::from_text("{}", path.string()), {}});
    keep_faults(files.size() - 1, [&] { file.config = sim::Config::from_file(path); });
  }
  for (File& file : files) declare(file);
  for (std::size_t index = 0; index < files.size(); ++index) {
    keep_faults(index, [&] { read_rows(files[index], index); });
  }
}

const LayerPart& LayerTemplates::found(const std::map<std::string, LayerPart, std::less<>>& parts,
                                       std::string_view name) const {
  const auto part = parts.find(name);
  // A file that cannot be read may be the one that has it.
  const bool is_faulty =
      part == parts.end() ? !faulty_.empty() : faulty_.contains(0) || faulty_.contains(part->second.file);
  if (is_faulty) throw sim::ConfigError(faults_);
  if (part != parts.end()) return part->second;
  throw sim::ConfigError({{"configs/layers", std::string(name), "is in no file, and this step needs it"}});
}

void LayerTemplates::declare(File& file) {
  sim::Section root = file.config.root();
  Names& names = names_.emplace_back();
  for (const auto& [one, value] : layer_names()) file.known.insert(one);
  for (const auto& [one, expression] : names_.front()) file.known.emplace(one);
  const RowReader reader(operators_, parts_, file.known);
  if (root.has("let")) {
    sim::Section let = root.section("let");
    for (const std::string& one : let.keys()) {
      // Names may use those before them, so that none stands on itself.
      if (std::optional<sim::Expression> value = reader.formula(let, one)) names.emplace(one, std::move(*value));
      if (!file.known.emplace(one).second) let.fault(one, "this name has a value already");
    }
  }
  const auto add = [&](std::string_view key, std::string name) -> LayerPart& {
    const auto [part, is_new] = parts_.try_emplace(std::move(name), LayerPart{.file = names_.size() - 1});
    if (!is_new) root.fault(key, fmt::format("the part '{}' is in another file, too", part->first));
    return part->second;
  };
  for (const char* const pass : {"forward", "backward"}) {
    if (root.has(pass)) add(pass, fmt::format("{}.{}", file.name, pass));
  }
  for (const char* const list : {"weights", "kept", "cache"}) {
    const bool is_due = root.has("forward") && list != std::string_view("cache");
    if (is_due && !root.has(list)) root.fault(list, "is missing: a list of tensors is accepted, [] for none");
    tensors_[fmt::format("{}.{}", file.name, list)].file = names_.size() - 1;
  }
  if (!root.has("parts")) return;
  sim::Section parts = root.section("parts");
  for (const std::string& one : parts.keys()) {
    LayerPart& part = add("parts", one);
    sim::Section section = parts.section(one);
    if (!section.has("takes")) continue;
    sim::Section takes = section.section("takes");
    for (const std::string& argument : takes.keys()) {
      const bool is_due = takes.text(argument) == "none";
      part.takes.emplace_back(argument, is_due ? std::nullopt : reader.formula(takes, argument));
    }
  }
}

void LayerTemplates::read_rows(File& file, std::size_t index) {
  sim::Section root = file.config.root();
  for (auto& [name, part] : parts_) {
    if (part.file != index) continue;
    RowReader::KnownNames known = file.known;
    for (const auto& [argument, fallback] : part.takes) known.emplace(argument);
    const RowReader reader(operators_, parts_, known);
    const std::size_t point = name.find('.');
    if (point != std::string::npos) {
      part.rows = reader.rows(root, name.substr(point + 1));
    } else {
      sim::Section section = root.section("parts").section(name);
      part.rows = reader.rows(section, "rows");
    }
  }
  const RowReader reader(operators_, parts_, file.known);
  for (auto& [name, list] : tensors_) {
    const std::string key = name.substr(name.find('.') + 1);
    if (list.file == index && root.has(key)) list.rows = reader.rows(root, key, true);
  }
  file.config.finish();
}

WrittenPart LayerTemplates::write(StepWriter& writer, std::string_view part, const Arguments& arguments,
                                  const std::string& name) const {
  LayerPlay play(*this, writer);
  play.write(part, name, arguments);
  return play.take();
}

std::vector<Tensor> LayerTemplates::tensors(const StepQuestion& question, std::string_view list) const {
  const LayerPart& tensors = found(tensors_, list);
  return TensorWalk(*this, question).tensors(tensors.rows, tensors.file);
}

namespace {

std::string attention_of(const ModelSpec& model) {
  if (!model.attention.empty()) return model.attention;
  return model.is_latent() ? "latent_attention" : "attention";
}
std::string feed_forward_of(const ModelSpec& model) {
  if (!model.feed_forward.empty()) return model.feed_forward;
  return model.experts > 0 ? "experts" : "feed_forward";
}

}  // namespace

Written write_forward(StepWriter& writer, bool again) {
  const Half half = writer.question().half;
  const LayerTemplates& templates = writer.templates();
  writer.do_again(again);
  if (half == Half::both || half == Half::attention) {
    StepQuestion of_layer = writer.ask(writer.question().of_attention());
    templates.write(writer, attention_of(writer.model()) + ".forward");
    writer.ask(std::move(of_layer));
  }
  if (half == Half::experts) templates.write(writer, "experts_call");
  if (half == Half::both || half == Half::feed_forward)
    templates.write(writer, feed_forward_of(writer.model()) + ".forward");
  writer.do_again(false);
  const Written last = writer.last();
  if (!last) throw sim::ConfigError({{"configs/layers", "", "the layer writes no operation for this step"}});
  return last;
}

std::vector<ProductGradients> write_backward(StepWriter& writer) {
  const LayerTemplates& templates = writer.templates();
  std::vector<ProductGradients> gradients =
      templates.write(writer, feed_forward_of(writer.model()) + ".backward").gradients;
  std::ranges::move(templates.write(writer, attention_of(writer.model()) + ".backward").gradients,
                    std::back_inserter(gradients));
  return gradients;
}

double elements_of(const std::vector<Tensor>& tensors) {
  double sum = 0.0;
  for (const Tensor& one : tensors) sum += one.elements;
  return sum;
}

std::vector<Tensor> tensors_of_layer(const StepQuestion& question, const LayerTemplates& templates,
                                     std::string_view list) {
  std::vector<Tensor> tensors =
      templates.tensors(question, fmt::format("{}.{}", feed_forward_of(question.model), list));
  // Weights count in the format of the others.
  const double larger = list == "weights" ? question.of_attention().weight_element() / question.weight_element() : 1.0;
  for (Tensor& one : templates.tensors(question, fmt::format("{}.{}", attention_of(question.model), list))) {
    one.elements *= larger;
    tensors.push_back(std::move(one));
  }
  return tensors;
}

std::vector<AlikeWeights> alike_weights(const StepQuestion& question, const LayerTemplates& templates) {
  std::vector<AlikeWeights> all{{"", question.replicas()}};
  for (Tensor& one : tensors_of_layer(question, templates, "weights")) {
    auto of = std::ranges::find(all, one.alike, &AlikeWeights::of);
    if (of == all.end()) of = all.insert(of, {one.alike, one.gpus});
    if (of->holders != one.gpus) {
      throw sim::ConfigError(
          {{"configs/layers", one.alike,
            fmt::format("weights of this name are held alike by {} GPUs and by {}: one number is accepted", of->holders,
                        one.gpus)}});
    }
    of->count += one.elements;
    of->tensors.push_back(std::move(one));
  }
  return all;
}

std::vector<Tensor> end_weights(const StepQuestion& question, const LayerTemplates& templates) {
  return question.layers ? std::vector<Tensor>{} : templates.tensors(question, "ends.weights");
}

}  // namespace c3sim::study
