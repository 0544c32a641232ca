// The extension module dougong._core.
// SPDX-License-Identifier: Apache-2.0
#include "py_common.h"

namespace dougong {

void bind_dtypes(pybind11::module_ &module);

static void *release_interpreter() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
static void acquire_interpreter(void *state) { PyEval_RestoreThread(static_cast<PyThreadState *>(state)); }

}  // namespace dougong

PYBIND11_MODULE(_core, module) {
  using namespace dougong;
  interpreter_lock = {release_interpreter, acquire_interpreter};
  bind_errors(module);
  bind_dtypes(module);
  bind_device(module);
  init_tensor_type(module.ptr());
  init_op_functions(module.ptr());
  init_host_view(module.ptr());
  bind_tensor(module);
  bind_autograd(module);
  bind_dlpack(module);
}
