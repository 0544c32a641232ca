// The interpreter's lock, as the core sees it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dougong {

// Lets the core release and take the interpreter's lock round a plugin's work.
void install_interpreter_lock();

// For the end of the process, with the lock not held: from now on every other thread that comes back from a plugin
// stands still. The interpreter would end such a thread by unwinding it, which C++ destructors do not survive.
void close_interpreter_lock();

}  // namespace dougong
