#include "study/program/layer_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>

#include "sim/config/config.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"

namespace c3sim::study {

namespace {

constexpr std::string_view common_file = "common";
constexpr sim::Powers powers_of_bytes{1, 0, 0, 0};

// Experts counts copies of tokens, one per expert that a token uses: `sent` by a GPU; `copies` received by the most
// loaded GPU, for its `busy` experts with `tokens` each.
struct Experts {
  double over_even = 1.0;  // copies that the most loaded GPU receives, relative to an even distribution
  std::int64_t sent = 0;
  std::int64_t copies = 0;
  std::int64_t busy = 0;
  std::int64_t tokens = 0;
  double of_model = 1.0;     // copies of the mean GPU over those that its products have
  std::int64_t ffn = 0;      // features of an expert between its products, on a GPU
  double copies_sent = 1.0;  // copies that a GPU sends per copy that an expert receives
};

Experts experts_of(const StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const StepQuestion& question = writer.question();
  const std::int64_t sent = question.tokens_to_route(question.new_tokens()) * model.experts_used;
  // GPUs that share out an expert each process the tokens sent to any of them.
  const std::int64_t even = question.ep == 1 ? sent : question.expert_tp() * sent;
  const RoutedLoad load = load_of(question.routing, model.experts, model.experts_used, question.ep,
                                  even * question.ep / model.experts_used);
  const auto copies = static_cast<std::int64_t>(std::ceil(load.over_even * static_cast<double>(even)));
  const std::int64_t busy =
      std::clamp<std::int64_t>(std::llround(load.busy), 1, std::min(model.experts / question.ep, copies));
  const std::int64_t tokens = std::min((copies + busy - 1) / busy, even * question.ep / model.experts_used);
  // High throughput sends a token once per rank.
  const double ranks = question.dispatch == Dispatch::high_throughput
                           ? ranks_of_token(question.routing, model.experts, model.experts_used, question.ep)
                           : static_cast<double>(model.experts_used);
  return {load.over_even,
          sent,
          copies,
          busy,
          tokens,
          static_cast<double>(even) / static_cast<double>(busy * tokens),
          model.ffn / question.expert_tp(),
          ranks / static_cast<double>(model.experts_used)};
}

// Returns the rows of the head's product: in prefill the last token of each sequence, in decode all tokens, which
// verify a draft where there are several, and in training all or a share of them.
std::int64_t scored_tokens(const StepQuestion& question) {
  if (question.phase == Phase::decode) return question.new_tokens();
  if (question.phase == Phase::prefill) return question.batch + question.decoding;
  const double share = question.model.scored * static_cast<double>(question.new_tokens()) / question.cp;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(share)));
}

// Features that products take in a smaller format are sent in it, with a scale of four bytes per 128 features.
sim::Bytes dispatched_element(const StepWriter& writer) {
  constexpr sim::Bytes of_scale{4.0 / 128.0};
  const StepQuestion& question = writer.question();
  const bool is_small = question.dispatch != Dispatch::all_to_all && question.quantises();
  return is_small ? size_of(question.dtype) + of_scale : writer.element();
}

// A Scope is what names of templates stand for in one step.
struct Scope {
  const StepWriter& writer;
  const StepQuestion& question;
  const ModelSpec& model;
  mutable std::optional<Experts> routed{};

  const Experts& experts() const {
    if (!routed) routed = experts_of(writer);
    return *routed;
  }
};

sim::Amount plain(auto value) { return {static_cast<double>(value), {}}; }
sim::Amount in_bytes(sim::Bytes value) { return {value.value(), powers_of_bytes}; }

using Getter = sim::Amount (*)(const Scope&);
// These names have the extents of a model as its file has them, and those of a step as its options have them.
const std::map<std::string_view, Getter>& known_names() {
  static const std::map<std::string_view, Getter> names{
      // The model.
      {"hidden", [](const Scope& of) { return plain(of.model.hidden); }},
      {"heads", [](const Scope& of) { return plain(of.model.heads); }},
      {"kv_heads", [](const Scope& of) { return plain(of.model.kv_heads); }},
      {"head_dim", [](const Scope& of) { return plain(of.model.head_dim); }},
      {"value_dim", [](const Scope& of) { return plain(of.model.values()); }},
      {"query_rank", [](const Scope& of) { return plain(of.model.query_rank); }},
      {"kv_rank", [](const Scope& of) { return plain(of.model.kv_rank); }},
      {"rotary_dim", [](const Scope& of) { return plain(of.model.rotary_dim); }},
      {"window", [](const Scope& of) { return plain(of.model.window); }},
      {"ffn", [](const Scope& of) { return plain(of.model.ffn); }},
      {"shared_ffn", [](const Scope& of) { return plain(of.model.shared_ffn); }},
      {"experts", [](const Scope& of) { return plain(of.model.experts); }},
      {"experts_used", [](const Scope& of) { return plain(of.model.experts_used); }},
      {"vocabulary", [](const Scope& of) { return plain(of.model.vocabulary); }},
      {"rms", [](const Scope& of) { return plain(of.model.norm == Norm::rms); }},
      {"gates", [](const Scope& of) { return plain(of.model.gates()); }},
      {"gelu", [](const Scope& of) { return plain(of.model.feed == Feed::gelu); }},
      {"rotary", [](const Scope& of) { return plain(of.model.position == Positions::rotary); }},
      {"learned", [](const Scope& of) { return plain(of.model.position == Positions::learned); }},
      {"query_norm", [](const Scope& of) { return plain(of.model.query_norm != QueryNorm::none); }},
      {"norms_heads", [](const Scope& of) { return plain(of.model.query_norm == QueryNorm::heads); }},
      {"biases", [](const Scope& of) { return plain(of.model.biases); }},
      {"qkv_biases", [](const Scope& of) { return plain(of.model.qkv_biases); }},
      {"after_norms", [](const Scope& of) { return plain(of.model.after_norms); }},
      {"dropout", [](const Scope& of) { return plain(of.model.dropout > 0.0); }},
      {"head_soft_cap", [](const Scope& of) { return plain(of.model.head_soft_cap); }},
      {"experts_alone", [](const Scope& of) { return plain(of.model.experts_alone); }},
      // The step.
      {"decode", [](const Scope& of) { return plain(of.question.phase == Phase::decode); }},
      {"prefill", [](const Scope& of) { return plain(of.question.phase == Phase::prefill); }},
      {"train", [](const Scope& of) { return plain(of.question.phase == Phase::train); }},
      {"recompute", [](const Scope& of) { return plain(of.question.recompute); }},
      {"compiled", [](const Scope& of) { return plain(of.question.kernels == Kernels::compiled); }},
      {"mixes", [](const Scope& of) { return plain(of.question.mixes()); }},
      {"wide", [](const Scope& of) { return plain(of.question.wide_stream()); }},
      {"quantises", [](const Scope& of) { return plain(of.question.quantises()); }},
      {"tp", [](const Scope& of) { return plain(of.question.tp); }},
      {"ep", [](const Scope& of) { return plain(of.question.ep); }},
      {"cp", [](const Scope& of) { return plain(of.question.cp); }},
      {"expert_tp", [](const Scope& of) { return plain(of.question.expert_tp()); }},
      {"fuses", [](const Scope& of) { return plain(of.question.fuses()); }},
      {"pieces", [](const Scope& of) { return plain(of.question.pieces.value_or(0)); }},
      {"ffn_pieces",
       [](const Scope& of) {
         return plain(of.question.pieces ? of.question.ffn_pieces.value_or(*of.question.pieces) : 0);
       }},
      {"tokens", [](const Scope& of) { return plain(of.writer.tokens()); }},
      {"between",
       [](const Scope& of) {
         return plain(static_cast<double>(of.writer.tokens()) / (of.question.pieces ? of.question.tp : 1));
       }},
      {"decoding", [](const Scope& of) { return plain(of.question.decoding); }},
      {"keyed", [](const Scope& of) { return plain(of.question.tokens_with_keys()); }},
      {"scored", [](const Scope& of) { return plain(scored_tokens(of.question)); }},
      {"own_kv_heads", [](const Scope& of) { return plain(of.question.kv_heads()); }},
      {"cached", [](const Scope& of) { return plain(of.question.cached_features()); }},
      {"activations", [](const Scope& of) { return in_bytes(of.writer.element()); }},
      {"stream_format", [](const Scope& of) { return in_bytes(of.writer.stream_element()); }},
      // Experts.
      {"routed", [](const Scope& of) { return plain(of.question.tokens_to_route(of.question.new_tokens())); }},
      {"routes_shares", [](const Scope& of) { return plain(of.question.routes_shares()); }},
      {"overlaps", [](const Scope& of) { return plain(of.question.overlap != Overlap::none); }},
      {"by_peers",
       [](const Scope& of) { return plain(of.question.ep > 1 && of.question.dispatch != Dispatch::all_to_all); }},
      {"dispatches_once", [](const Scope& of) { return plain(of.question.dispatch == Dispatch::high_throughput); }},
      {"dispatched_format", [](const Scope& of) { return in_bytes(dispatched_element(of.writer)); }},
      {"over_even", [](const Scope& of) { return plain(of.experts().over_even); }},
      {"sent", [](const Scope& of) { return plain(of.experts().sent); }},
      {"copies", [](const Scope& of) { return plain(of.experts().copies); }},
      {"busy", [](const Scope& of) { return plain(of.experts().busy); }},
      {"expert_tokens", [](const Scope& of) { return plain(of.experts().tokens); }},
      {"of_model", [](const Scope& of) { return plain(of.experts().of_model); }},
      {"expert_ffn", [](const Scope& of) { return plain(of.experts().ffn); }},
      {"copies_sent", [](const Scope& of) { return plain(of.experts().copies_sent); }}};
  return names;
}

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

  std::vector<LayerRow> rows(sim::Section& section, std::string_view key) const {
    std::vector<LayerRow> read;
    for (sim::Section& row : section.list(key)) read.push_back(row_of(row));
    return read;
  }

 private:
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

  LayerRow row_of(sim::Section& row) const {
    using What = LayerRow::What;
    constexpr std::array<std::pair<const char*, What>, 6> kinds{{{"rows", What::rows},
                                                                 {"part", What::part},
                                                                 {"operate", What::operate},
                                                                 {"gemm", What::gemm},
                                                                 {"collective", What::collective},
                                                                 {"attention", What::attention}}};
    LayerRow read;
    const auto said = std::ranges::count_if(kinds, [&row](const auto& kind) { return row.has(kind.first); });
    if (said != 1) {
      row.fault("name", "a row is one of these: rows, part, operate, gemm, collective or attention");
      return read;
    }
    read.what = std::ranges::find_if(kinds, [&row](const auto& kind) { return row.has(kind.first); })->second;
    read.when = formula(row, "when");
    if (read.what != What::rows) read.name = row.text("name");
    switch (read.what) {
      case What::rows:
        read.rows = rows(row, "rows");
        read.with_attention = row.flag("with_attention", false);
        read.of_model = formula(row, "of_model");
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
        read_collective(row, read);
        break;
      case What::attention:
        read.attention = row.choice<LayerRow::Attention>("attention", attentions);
        read.absorbed = row.flag("absorbed", false);
        break;
    }
    return read;
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
      if (std::optional<sim::Expression> value = formula(row, argument)) {
        read.arguments.emplace_back(argument, std::move(*value));
      } else if (!fallback && !row.has(argument)) {
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
    read.elements = required(row, "elements");
    read.element = formula(row, "element");
    read.row = formula(row, "row");
    read.awaits_pieces = row.flag("awaits_pieces", false);
    read_gives(row, read);
  }

  void read_gemm(sim::Section& row, LayerRow& read) const {
    for (const std::string& extent : row.texts("gemm")) {
      if (std::optional<sim::Expression> value = formula_of(row, "gemm", extent))
        read.gemm.push_back(std::move(*value));
    }
    if (row.is_sound("gemm") && read.gemm.size() != 3) row.fault("gemm", "three extents are accepted: [m, n, k]");
    read.products = formula(row, "products");
    read.layout = row.choice<models::Layout>("layout", sim::choices_of<models::Layout>(), read.layout);
    read.plain = formula(row, "plain");
    read.of_experts = formula(row, "of_experts");
    read.fused = formula(row, "fused");
    read.gathered = formula(row, "gathered");
    read.scattered = formula(row, "scattered");
    read_gives(row, read);
  }

  void read_collective(sim::Section& row, LayerRow& read) const {
    read.kind = kind_of(row.choice<models::CollectiveKind>("collective", sim::choices_of<models::CollectiveKind>()));
    read.elements = required(row, "elements");
    read.element = formula(row, "element");
    read.gpus = required(row, "gpus");
    if (row.has("beside")) read.beside = rows(row, "beside");
  }

  std::optional<sim::Expression> required(sim::Section& row, std::string_view key) const {
    if (!row.has(key)) row.fault(key, "is missing: an expression is accepted");
    return formula(row, key);
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

}  // namespace

// A LayerPlay writes parts for one question.
class LayerPlay {
 public:
  LayerPlay(const LayerTemplates& templates, StepWriter& writer)
      : templates_(templates), writer_(writer), scope_{writer, writer.question(), writer.model()} {}

  using Arguments = std::vector<std::pair<std::string_view, sim::Amount>>;
  void write(std::string_view part, const std::string& name, Arguments arguments) {
    constexpr int most_levels = 32;
    if (level_ == most_levels) throw fault(part, "is a part that uses itself, perhaps by way of others");
    ++level_;
    const auto found = templates_.parts_.find(part);
    if (found == templates_.parts_.end()) throw fault(part, "is in no file, and this step needs it");
    Call call{found->second.file, name, std::move(arguments)};
    for (const auto& [taken, fallback] : found->second.takes) {
      if (fallback && !call.has(taken)) call.arguments.emplace_back(taken, value(*fallback, call));
    }
    write(found->second.rows, call);
    --level_;
  }

  std::vector<ProductGradients> take_gradients() { return std::move(gradients_); }

 private:
  // A Call is a part that is being written.
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
  sim::Amount value(std::string_view name, const Call& call) const {
    const auto argument = std::ranges::find(call.arguments, name, &Arguments::value_type::first);
    if (argument != call.arguments.end()) return argument->second;
    for (const std::size_t file : {call.file, std::size_t{0}}) {
      const LayerTemplates::Names& names = templates_.names_[file];
      if (const auto declared = names.find(name); declared != names.end()) {
        const auto known = values_.find(&declared->second);
        if (known != values_.end()) return known->second;
        return values_[&declared->second] = value(declared->second, {file, call.name});
      }
    }
    return known_names().at(name)(scope_);
  }
  double number(const sim::Expression& formula, const Call& call) const {
    const sim::Amount amount = value(formula, call);
    if (amount.powers != sim::Powers{} || !std::isfinite(amount.value))
      throw sim::ExpressionError(0, "a number without a unit is due");
    return amount.value;
  }
  double number(const LayerRow::Formula& formula, const Call& call, double otherwise) const {
    return formula ? number(*formula, call) : otherwise;
  }
  std::int64_t integer(const LayerRow::Formula& formula, const Call& call, std::int64_t otherwise) const {
    return formula ? std::llround(number(*formula, call)) : otherwise;
  }
  bool holds(const LayerRow::Formula& formula, const Call& call, bool otherwise) const {
    return number(formula, call, otherwise ? 1.0 : 0.0) != 0.0;
  }
  sim::Bytes element(const LayerRow& row, const Call& call) const {
    if (!row.element) return writer_.element();
    const sim::Amount bytes = value(*row.element, call);
    if (bytes.powers != powers_of_bytes) throw sim::ExpressionError(0, "an element has bytes: 4B is accepted");
    return sim::Bytes(bytes.value);
  }
  static std::string full(const std::string& name, const Call& call) {
    return name.starts_with('$') ? call.name + name.substr(1) : name;
  }

  void write(std::span<const LayerRow> rows, const Call& call) {
    for (const LayerRow& row : rows) {
      try {
        if (holds(row.when, call, true)) write(row, call);
      } catch (const sim::ExpressionError& error) {
        throw fault(row.what == LayerRow::What::part ? row.part : full(row.name, call), error.what());
      }
    }
  }

  void write(const LayerRow& row, const Call& call) {
    using What = LayerRow::What;
    const std::string name = full(row.name, call);
    switch (row.what) {
      case What::rows:
        if (row.with_attention) writer_.go_with_attention(true);
        if (row.of_model) writer_.count_products(number(row.of_model, call, 1.0));
        write(row.rows, call);
        if (row.of_model) writer_.count_products(1.0);
        if (row.with_attention) writer_.go_with_attention(false);
        return;
      case What::part: {
        Arguments arguments;
        for (const auto& [argument, expression] : row.arguments)
          arguments.emplace_back(argument, value(expression, call));
        return write(row.part, name, std::move(arguments));
      }
      case What::operate:
        writer_.operate(name, row.kind, row.operation, number(row.elements, call, 0.0), element(row, call),
                        integer(row.row, call, usual_row));
        if (row.awaits_pieces) {
          for (const Written& piece : std::exchange(scattered_, {})) writer_.wait(piece);
        }
        break;
      case What::gemm:
        multiply(name, row, call);
        break;
      case What::collective:
        return move(name, row, call);
      case What::attention:
        if (row.attention == LayerRow::Attention::decoding) return writer_.decoding_attention(name, row.absorbed);
        return writer_.attention(name, row.attention == LayerRow::Attention::backward, row.absorbed);
    }
    if (row.gives != LayerRow::Gives::nothing) give(row.gives, call.name);
  }

  void give(LayerRow::Gives what, const std::string& of) {
    if (gradients_.empty() || gradients_.back().of != of) gradients_.push_back({of, {}, {}});
    (what == LayerRow::Gives::input ? gradients_.back().input : gradients_.back().weights) = writer_.last();
  }

  void multiply(const std::string& name, const LayerRow& row, const Call& call) {
    const auto extent = [&](std::size_t at) {
      const double size = number(row.gemm[at], call);
      if (size >= 1.0 && size <= models::GemmShape::largest_extent) return std::llround(size);
      throw sim::ExpressionError(0, fmt::format("{:g} is no extent of a product: 1 to {} is accepted", size,
                                                models::GemmShape::largest_extent));
    };
    models::GemmShape shape{.m = extent(0), .n = extent(1), .k = extent(2)};
    shape.products = integer(row.products, call, 1);
    shape.layout = row.layout;
    shape.of_experts = holds(row.of_experts, call, false);
    if (const std::int64_t pieces = integer(row.gathered, call, 0); pieces > 0)
      return multiply_gathered(name, shape, pieces);
    if (const std::int64_t pieces = integer(row.scattered, call, 0); pieces > 0)
      return multiply_scattered(name, shape, pieces);
    writer_.product(name, shape, holds(row.plain, call, false));
    if (holds(row.fused, call, false)) writer_.reduce_last();
  }

  // GPUs of tensor parallelism share out the tokens between products (FiCCO, arXiv 2512.10236; for a lone GEMM
  // study/program/dependent.h): tokens of all GPUs are gathered piece by piece during the products of earlier pieces,
  // and results are reduce-scattered piece by piece during the next products. Gathers and reductions take turns on
  // their own stream. The operation before the first product makes the GPU's shard of the stream.
  void multiply_gathered(const std::string& name, models::GemmShape shape, std::int64_t pieces) {
    const Written shard = writer_.last();
    const std::int64_t tokens = shape.n;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      shape.n = piece_of(tokens, pieces, piece);
      const Written gather =
          move_piece(fmt::format("{}_gather_{}", name, piece), models::CollectiveKind::all_gather, shape.n, shape.k);
      if (piece == 0) writer_.wait(shard);  // later gathers follow on the same stream
      writer_.product(fmt::format("{}_{}", name, piece), shape);
      writer_.wait(gather);
    }
  }
  void multiply_scattered(const std::string& name, models::GemmShape shape, std::int64_t pieces) {
    const std::int64_t tokens = shape.n;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      shape.n = piece_of(tokens, pieces, piece);
      const Written product = writer_.product(fmt::format("{}_{}", name, piece), shape);
      scattered_.push_back(move_piece(fmt::format("{}_scatter_{}", name, piece), models::CollectiveKind::reduce_scatter,
                                      shape.n, shape.m));
      writer_.wait(product);
    }
  }
  Written move_piece(const std::string& name, models::CollectiveKind kind, std::int64_t tokens, std::int64_t features) {
    return writer_.collective(name, kind, elements_of(tokens, features) * writer_.element(), writer_.question().tp,
                              piece_stream);
  }

  void move(const std::string& name, const LayerRow& row, const Call& call) {
    const Written before = row.beside.empty() ? Written{} : writer_.last();
    const Written exchange =
        writer_.collective(name, *collective_of(row.kind), number(row.elements, call, 0.0) * element(row, call),
                           static_cast<int>(integer(row.gpus, call, 1)));
    if (row.beside.empty()) return;
    if (!exchange) return write(row.beside, call);  // one GPU exchanges nothing
    writer_.queue_on(exchange_stream);
    writer_.wait(before);
    write(row.beside, call);
    writer_.next_waits_for(exchange);
  }

  const LayerTemplates& templates_;
  StepWriter& writer_;
  Scope scope_;
  int level_ = 0;                                                 // parts within each other
  mutable std::map<const sim::Expression*, sim::Amount> values_;  // of declared names
  std::vector<Written> scattered_;                                // pieces that a later operation waits for
  std::vector<ProductGradients> gradients_;
};

namespace {

// Returns the files of layers, common.yaml first.
std::vector<std::filesystem::path> layer_files(std::span<const std::filesystem::path> config_folders) {
  std::vector<std::string> names = sim::yaml_names(config_folders, "layers");
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == common_file; });
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
  std::vector<File> files;
  for (const std::filesystem::path& file : layer_files(config_folders)) {
    files.push_back({file.stem().string(), sim::Config::from_file(file), {}});
  }
  for (File& file : files) declare(file);
  for (std::size_t index = 0; index < files.size(); ++index) read_rows(files[index], index);
}

void LayerTemplates::declare(File& file) {
  sim::Section root = file.config.root();
  Names& names = names_.emplace_back();
  for (const auto& [one, getter] : known_names()) file.known.emplace(one);
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
  file.config.finish();
}

std::vector<ProductGradients> LayerTemplates::write(StepWriter& writer, const std::string& part,
                                                    std::vector<std::pair<std::string_view, double>> arguments) const {
  LayerPlay play(*this, writer);
  LayerPlay::Arguments values;
  for (const auto& [name, value] : arguments) values.emplace_back(name, plain(value));
  play.write(part, "", std::move(values));
  return play.take_gradients();
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

Written operate(StepWriter& writer, const std::string& name, Kind kind, std::string_view operation, double elements,
                std::optional<sim::Bytes> element) {
  return writer.operate(name, kind, required_operator(writer.templates().operators(), operation), elements,
                        element.value_or(writer.element()));
}

Written write_forward(StepWriter& writer, bool again) {
  const Half half = writer.question().half;
  const LayerTemplates& templates = writer.templates();
  writer.do_again(again);
  if (half == Half::both || half == Half::attention) templates.write(writer, attention_of(writer.model()) + ".forward");
  if (half == Half::experts) templates.write(writer, "experts_call");
  if (half == Half::both || half == Half::feed_forward)
    templates.write(writer, feed_forward_of(writer.model()) + ".forward");
  writer.do_again(false);
  const Written last = writer.last();
  if (!last) throw sim::ConfigError({{"configs/layers", "", "the layer writes no operation for this step"}});
  return last;
}

std::vector<ProductGradients> write_backward(StepWriter& writer) {
  std::vector<ProductGradients> gradients =
      writer.templates().write(writer, feed_forward_of(writer.model()) + ".backward");
  std::ranges::move(writer.templates().write(writer, attention_of(writer.model()) + ".backward"),
                    std::back_inserter(gradients));
  return gradients;
}

}  // namespace c3sim::study
