"""The runtime's op table in C++: definitions, rules, gradients, and one typed function an op."""

from __future__ import annotations

import ast

from definitions import Attribute, Input, Op, Output, TypeVariable
from expressions import LIST_TYPES, Translator

KINDS = {
    "int": "integer",
    "float": "real",
    "bool": "boolean",
    "scalar": "scalar",
    "dtype": "dtype",
    "axis": "axis",
    "axes": "axes",
    "ints": "ints",
    "uint64": "uint64",
    "enum": "enumeration",
}
PARAMETERS = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "scalar": "Scalar",
    "dtype": "dg_dtype_t",
    "axis": "int64_t",
    "axes": "IntList",
    "ints": "IntList",
    "uint64": "uint64_t",
    "enum": "int32_t",
}


def dtype_constant(name: str) -> str:
    return f"DG_DTYPE_{name.upper()}"


def table(ops: list[Op], generated: set[str]) -> str:
    """The definitions and the table, for op_table.cc. `generated` are the ops that the generator writes kernels for."""
    by_name = {op.name: op for op in ops}
    blocks = [definition(op, by_name) for op in ops]
    entries = ",\n".join("    " + entry(op, op.name in generated) for op in ops)
    return "\n".join(blocks) + f"\n}}  // namespace ops\n\nconst OpDef op_table[] = {{\n{entries},\n}};\n"


def functions(ops: list[Op]) -> str:
    """The typed functions' declarations, for ops.h."""
    return "\n".join(f"{result_type(op)} {op.name}({parameters(op, defaults=True)});" for op in ops)


def definition(op: Op, by_name: dict[str, Op]) -> str:
    parts = [f"// ---- {op.name}", *types(op), *inputs(op), *attributes(op), *outputs(op)]
    parts += [
        requirements(op, by_name),
        inference(op, by_name),
        gradient(op, by_name),
        decomposition(op, by_name),
        function(op),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def types(op: Op) -> list[str]:
    lists = [
        f"static const dg_dtype_t {op.name}_{t.name}[] = {{{', '.join(map(dtype_constant, t.dtypes))}, DG_DTYPE_NONE}};"
        for t in op.types
    ]
    items = [
        f'{{"{t.name}", {op.name}_{t.name}, {dtype_constant(t.integers or "none")}, {boolean(t.index)}}}'
        for t in op.types
    ]
    return [*lists, f"static const TypeDef {op.name}_types[] = {{{', '.join(items)}}};"]


def dtype_rule(op: Op, item: Input | Output) -> tuple[int, bool, str]:
    """(index of the type variable or -1, whether its accumulator, the dtype without a variable)."""
    text = item.type if isinstance(item, Input) else item.dtype
    accumulate = text.startswith("accumulator(")
    name = text[len("accumulator(") : -1] if accumulate else text
    names = [variable.name for variable in op.types]
    if name in names:
        return names.index(name), accumulate, "DG_DTYPE_NONE"
    return -1, False, dtype_constant(name)


def inputs(op: Op) -> list[str]:
    items = []
    for item in op.inputs:
        variable, accumulate, dtype = dtype_rule(op, item)
        flags = f"{boolean(item.optional)}, {boolean(item.variadic)}"
        items.append(f'{{"{item.name}", {variable}, {boolean(accumulate)}, {dtype}, {flags}}}')
    return [f"static const InputDef {op.name}_inputs[] = {{{', '.join(items)}}};"] if items else []


def outputs(op: Op) -> list[str]:
    items = []
    for item in op.outputs:
        variable, accumulate, dtype = dtype_rule(op, item)
        alias = [i.name for i in op.inputs].index(item.alias) if item.alias else -1
        items.append(f'{{"{item.name}", {variable}, {boolean(accumulate)}, {dtype}, {alias}}}')
    return [f"static const OutputDef {op.name}_outputs[] = {{{', '.join(items)}}};"]


def attributes(op: Op) -> list[str]:
    if not op.attributes:
        return []
    lines, items = [], []
    for a in op.attributes:
        values = "nullptr"
        if a.type == "enum":
            names = ", ".join(f'"{value}"' for value in a.values)
            lines.append(f"static const char *const {op.name}_{a.name}_values[] = {{{names}, nullptr}};")
            values = f"{op.name}_{a.name}_values"
        of = [i.name for i in op.inputs].index(a.of) if a.of else -1
        variable = [t.name for t in op.types].index(a.variable) if a.variable else -1
        text = "" if a.required else str(a.default)
        items.append(
            f'{{"{a.name}", AttributeKind::{KINDS[a.type]}, offsetof(dg_{op.name}_attributes_t, {a.name}), '
            f'{boolean(a.required)}, {of}, {a.length or 0}, {variable}, {values}, "{text}"}}'
        )
    lines.append(f"static const AttributeDef {op.name}_attributes[] = {{\n    " + ",\n    ".join(items) + "};")
    return lines + default_struct(op)


def default_struct(op: Op) -> list[str]:
    """A struct with every default: what is required stays zero, and the caller must set it."""
    lines, values = [], [f"sizeof(dg_{op.name}_attributes_t)"]
    for a in op.attributes:
        if a.type in LIST_TYPES and a.default is not None:
            numbers = a.default if isinstance(a.default, list) else [a.default] * (a.length or 1)
            lines.append(f"static const int64_t {op.name}_{a.name}_default[] = {{{', '.join(map(str, numbers))}}};")
            values += [f"{op.name}_{a.name}_default", str(len(numbers))]
        else:
            values += default_values(op, a)
    lines.append(f"static const dg_{op.name}_attributes_t {op.name}_defaults = {{{', '.join(values)}}};")
    return lines


def default_values(op: Op, a: Attribute) -> list[str]:
    if a.type in LIST_TYPES:
        return ["nullptr", "0"]
    if a.type == "scalar":
        value = a.default or 0
        kind, fields = ("INT", f"{value}, 0") if isinstance(value, int) else ("FLOAT", f"0, {value!r}")
        return [f"{{DG_SCALAR_{kind}, 0, {fields}, 0}}"]
    if a.type == "enum":
        return [f"DG_{op.name}_{a.name}_{a.default or a.values[0]}".upper()]
    if a.type == "axis" and a.default is None and not a.required:
        return ["no_axis"]
    return [str(int(a.default)) if isinstance(a.default, bool) else repr(a.default or 0)]


def uses_attributes(op: Op, text: str) -> str:
    return (
        f"  [[maybe_unused]] const auto &at = *static_cast<const dg_{op.name}_attributes_t *>(c.attributes);\n"
        if "at." in text
        else ""
    )


def requirements(op: Op, by_name: dict[str, Op]) -> str:
    if not op.require:
        return ""
    lines = []
    for condition, message in op.require:
        text = Translator(op, by_name).translate(condition)
        lines.append(f'  if (!{text}) reject(op_def(OpId::{op.name}), c, "{message}");')
    body = "\n".join(lines)
    return f"static void {op.name}_require(const OpCall &c) {{\n{uses_attributes(op, body)}{body}\n}}"


def inference(op: Op, by_name: dict[str, Op]) -> str:
    if op.elementwise or any(output.alias for output in op.outputs):
        return ""
    lines = []
    for i, output in enumerate(op.outputs):
        text = Translator(op, by_name).translate(output.shape or "")
        lines.append(f"  shapes[{i}] = {text};")
    body = "\n".join(lines)
    return (
        f"static void {op.name}_infer([[maybe_unused]] const OpCall &c, Shape *shapes) {{\n"
        f"{uses_attributes(op, body)}{body}\n}}"
    )


def gradient(op: Op, by_name: dict[str, Op]) -> str:
    masks = {item.name: (0, 0) for item in op.inputs}
    if op.grad == "custom":
        return masks_text(op, masks, custom=True) + f"\nvoid {op.name}_gradient(GradCall &g);"
    if not op.grad:
        return ""
    body = []
    for names, expression in op.grad.items():
        targets = [name.strip() for name in names.split(",")]
        translator = Translator(op, by_name, gradient=True)
        text = translator.translate(expression)
        mask = (sum(1 << i for i in translator.inputs_used), sum(1 << i for i in translator.outputs_used))
        masks.update(dict.fromkeys(targets, mask))
        body.append(gradient_lines(op, targets, text))
    text = "\n".join(body)
    at = f"  [[maybe_unused]] const auto &at = g.attributes<dg_{op.name}_attributes_t>();\n" if "at." in text else ""
    return masks_text(op, masks) + f"\nstatic void {op.name}_gradient(GradCall &g) {{\n{at}{text}\n}}"


def gradient_lines(op: Op, targets: list[str], text: str) -> str:
    indices = [[i.name for i in op.inputs].index(name) for name in targets]
    if len(indices) == 1:
        return f"  if (g.needs({indices[0]})) g.set({indices[0]}, {text});"
    needs = " || ".join(f"g.needs({i})" for i in indices)
    sets = "".join(f"\n    if (g.needs({i})) g.set({i}, result[{k}]);" for k, i in enumerate(indices))
    return f"  if ({needs}) {{\n    const auto result = {text};{sets}\n  }}"


def masks_text(op: Op, masks: dict[str, tuple[int, int]], custom: bool = False) -> str:
    targets = {n.strip() for names in (op.grad if isinstance(op.grad, dict) else {}) for n in names.split(",")}
    flags = ", ".join(boolean(custom or item.name in targets) for item in op.inputs)
    ins = ", ".join(str(masks[item.name][0]) for item in op.inputs)
    outs = ", ".join(str(masks[item.name][1]) for item in op.inputs)
    return (
        f"static const uint16_t {op.name}_saves_inputs[] = {{{ins}}};\n"
        f"static const uint16_t {op.name}_saves_outputs[] = {{{outs}}};\n"
        f"static const bool {op.name}_differentiable[] = {{{flags}}};"
    )


def decomposition(op: Op, by_name: dict[str, Op]) -> str:
    if not op.decompose:
        return ""
    signature = (
        f"void {op.name}_decompose([[maybe_unused]] const OpCall &c, [[maybe_unused]] Device &device, Outputs &y)"
    )
    if op.decompose == "custom":
        return f"{signature};\nstatic const OpId {op.name}_parts[] = {{OpId::{op.name}}};"
    translator, lines = Translator(op, by_name, values=set()), []
    for name, expression in op.decompose.items():
        lines.append(f"  const auto v_{name} = {translator.translate(expression)};")
        translator.values.add(name)
        if translator.is_tensor(ast.parse(expression, mode="eval").body):
            translator.tensors.add(name)
    lines += [f"  y[{i}] = v_{output.name};" for i, output in enumerate(op.outputs) if output.name in translator.values]
    body = "\n".join(lines)
    parts = ", ".join(f"OpId::{name}" for name in [*sorted(translator.ops_used), op.name])
    function = f"static {signature} {{\n{uses_attributes(op, body)}{body}\n}}"
    return f"{function}\nstatic const OpId {op.name}_parts[] = {{{parts}}};"


def result_type(op: Op) -> str:
    return "Tensor" if len(op.outputs) == 1 else "Outputs"


def parameters(op: Op, defaults: bool) -> str:
    texts = ["const std::vector<Tensor> &" + i.name if i.variadic else f"const Arg &{i.name}" for i in op.inputs]
    texts += [f"{PARAMETERS[a.type]} {a.name}" for a in op.attributes]
    if not op.inputs:
        texts.append("Device &device")
    return ", ".join(texts)


def function(op: Op) -> str:
    lines = [f"{result_type(op)} {op.name}({parameters(op, defaults=False)}) {{"]
    attributes_text = "nullptr"
    if op.attributes:
        attributes_text = "&at"
        lines.append(f"  dg_{op.name}_attributes_t at = {op.name}_defaults;")
        for a in op.attributes:
            if a.type in LIST_TYPES:
                lines.append(f"  at.{a.name} = {a.name}.data, at.{a.name}_count = {a.name}.count;")
            else:
                lines.append(f"  at.{a.name} = {a.name};")
    device = "" if op.inputs else ", &device"
    if any(i.variadic for i in op.inputs):
        name = op.inputs[0].name
        lines.append(f"  std::vector<Arg> arguments({name}.begin(), {name}.end());")
        call = f"call_op(op_def(OpId::{op.name}), arguments.data(), int(arguments.size()), {attributes_text})"
    elif op.inputs:
        lines.append(f"  Arg arguments[] = {{{', '.join(i.name for i in op.inputs)}}};")
        call = f"call_op(op_def(OpId::{op.name}), arguments, {len(op.inputs)}, {attributes_text})"
    else:
        call = f"call_op(op_def(OpId::{op.name}), nullptr, 0, {attributes_text}{device})"
    lines.append(f"  return {call}{'[0]' if len(op.outputs) == 1 else ''};")
    return "\n".join(lines) + "\n}"


def entry(op: Op, generated: bool) -> str:
    name, has = op.name, {"attributes": bool(op.attributes), "grad": bool(op.grad)}
    alias = any(output.alias for output in op.outputs)
    infer = "nullptr" if op.elementwise or alias else f"ops::{name}_infer"
    variadic = any(i.variadic for i in op.inputs)
    gradient_names = [
        f"ops::{name}_gradient",
        f"ops::{name}_saves_inputs",
        f"ops::{name}_saves_outputs",
        f"ops::{name}_differentiable",
    ]
    fields = [
        f'"{name}"',
        '"' + op.summary.replace('"', '\\"') + '"',
        f"ops::{name}_inputs" if op.inputs else "nullptr",
        f"ops::{name}_attributes" if has["attributes"] else "nullptr",
        f"ops::{name}_outputs",
        f"ops::{name}_types",
        f"{len(op.inputs)}, {len(op.attributes)}, {len(op.outputs)}, {len(op.types)}",
        ", ".join([str(len(op.returns)), *map(boolean, (op.elementwise, variadic, op.front, alias, generated))]),
        f"sizeof(dg_{name}_attributes_t)" if has["attributes"] else "0",
        f"&ops::{name}_defaults" if has["attributes"] else "nullptr",
        f"ops::{name}_require" if op.require else "nullptr",
        infer,
        *(gradient_names if has["grad"] else ["nullptr"] * 4),
        *([f"ops::{name}_decompose", f"ops::{name}_parts"] if op.decompose else ["nullptr"] * 2),
    ]
    return "{" + ", ".join(fields) + "}"


def boolean(value: bool) -> str:
    return "true" if value else "false"


def unused_type_variables(op: Op) -> list[TypeVariable]:
    """Type variables that no input and no attribute binds: an error in the op's file."""
    bound = {i.type.removeprefix("accumulator(").removesuffix(")") for i in op.inputs}
    bound |= {a.variable for a in op.attributes}
    return [variable for variable in op.types if variable.name not in bound]
