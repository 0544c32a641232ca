// The extension module dougong._core.
// SPDX-License-Identifier: Apache-2.0
#include "interpreter.h"
#include "py_common.h"

namespace dougong {

void bind_dtypes(pybind11::module_ &module);
void bind_pinned(pybind11::module_ &module);
void bind_profiler(pybind11::module_ &module);

}  // namespace dougong

PYBIND11_MODULE(_core, module) {
  using namespace dougong;
  install_interpreter_lock();
  bind_errors(module);
  bind_dtypes(module);
  bind_device(module);
  init_tensor_type(module.ptr());
  init_op_functions(module.ptr());
  init_host_view(module.ptr());
  bind_tensor(module);
  bind_pinned(module);
  bind_profiler(module);
  bind_autograd(module);
  bind_dlpack(module);
  bind_jit(module);
}
