// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <map>
#include <mutex>
#include <tuple>

#include "device.h"
#include "op.h"
#include "status.h"

namespace dougong {

namespace {
using Key = std::tuple<const Device *, const OpDef *, LedgerStep>;
struct Ledger {
  std::mutex mutex;
  std::map<Key, uint64_t> counts;
};
Ledger &ledger() {
  static auto *instance = new Ledger;  // leaked: threads may count until the process is gone
  return *instance;
}
thread_local bool strict = false;
}  // namespace

const char *ledger_step_name(LedgerStep step) {
  static const char *const names[] = {"generated", "decomposed", "host", "contiguous", "cast", "aligned"};
  return names[int(step)];
}

void ledger_count(const Device &device, const OpDef &op, LedgerStep step, const OpDef *part) {
  if (strict && step == LedgerStep::host)
    fail(
        DG_STATUS_UNSUPPORTED,
        "%s has no kernel on %s that accepts this call%s%s, and strict mode forbids to compute it on the host; add the "
        "kernel, or leave strict mode",
        op.name, device.name().c_str(), part ? " and cannot be made of others without " : "", part ? part->name : "");
  std::lock_guard<std::mutex> guard(ledger().mutex);
  ++ledger().counts[{&device, &op, step}];
}

std::vector<LedgerRow> ledger_rows() {
  std::lock_guard<std::mutex> guard(ledger().mutex);
  std::vector<LedgerRow> rows;
  for (const auto &[key, count] : ledger().counts)
    rows.push_back({std::get<0>(key)->name(), std::get<1>(key)->name, std::get<2>(key), count});
  return rows;
}

void ledger_reset() {
  std::lock_guard<std::mutex> guard(ledger().mutex);
  ledger().counts.clear();
}

bool ledger_strict() { return strict; }
void set_ledger_strict(bool value) { strict = value; }

}  // namespace dougong
