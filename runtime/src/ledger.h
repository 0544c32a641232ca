// What was not done by the plugin's own kernel as it was called: counted, visible, and an error in strict mode.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dougong {

class Device;
struct OpDef;

// How a call was helped. `host` is a step down the ladder; the others are repairs before the plugin's kernel.
enum class LedgerStep : uint8_t { generated, decomposed, host, contiguous, cast, aligned };
const char *ledger_step_name(LedgerStep step);

struct LedgerRow {
  std::string device, op;
  LedgerStep step;
  uint64_t count;
};

// Counts. In strict mode the step `host` throws UNSUPPORTED instead, before anything was written; `part` is the op that
// a decomposition would have needed, or null.
void ledger_count(const Device &device, const OpDef &op, LedgerStep step, const OpDef *part = nullptr);
std::vector<LedgerRow> ledger_rows();
void ledger_reset();

// Strict mode of this thread.
bool ledger_strict();
void set_ledger_strict(bool strict);

}  // namespace dougong
