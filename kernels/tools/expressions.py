"""Turns the expressions of the op files into C++.

The language is a small part of Python's: names, numbers, true, false, none, arithmetic, comparisons, and / or / not,
`a if c else b`, lists, subscripts, calls, and the attributes .shape, .ndim and .dtype. Calls reach the ops themselves
and the helper functions of runtime/src/shape_rules.h, runtime/src/gradients.h and runtime/src/decompositions.h.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from definitions import DTYPE_GROUPS, Attribute, Op

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CONSTANTS = {"true": "true", "false": "false", "none": "Tensor()", "infinity": "infinity"}
CONSTANTS |= {name: f"DG_DTYPE_{name.upper()}" for name in DTYPE_GROUPS["all"]}
LIST_TYPES = ("axes", "ints")
# What arithmetic on tensors calls, and words that stand for an op.
OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
WORDS = {"wide": "cast", "zeros": "full", "zeros_like": "full", "sum_to": "sum"}
VIEWS = ("reshape", "expand", "permute", "transpose", "squeeze", "unsqueeze", "slice", "select", "restored")
META_ONLY = ("zeros_like",)  # helpers that look at a tensor's shape and dtype alone


@dataclass
class Translator:
    """One expression of `op`. `gradient` chooses between a gradient (of a GradCall g) and the others (of an OpCall c).
    `values` are the names that earlier lines of a decomposition gave; a rule has none.
    """

    op: Op
    ops: dict[str, Op]
    gradient: bool = False
    values: set[str] | None = None
    ops_used: set[str] = field(default_factory=set)
    tensors: set[str] = field(default_factory=set)  # those of `values` that are tensors
    inputs_used: set[int] = field(default_factory=set)
    outputs_used: set[int] = field(default_factory=set)

    def translate(self, text: str) -> str:
        try:
            return self.visit(ast.parse(text, mode="eval").body)
        except SyntaxError as error:
            raise ValueError(f"{self.op.name}: {text!r} is not an expression: {error}") from error

    def visit(self, node: ast.expr) -> str:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise ValueError(f"{self.op.name}: {ast.unparse(node)!r} is not part of the expression language")
        return method(node)

    def visit_Constant(self, node: ast.Constant) -> str:
        return repr(node.value)

    def visit_Name(self, node: ast.Name) -> str:
        return self.name(node.id)

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether the expression is a tensor rather than a number, a shape or a truth."""
        if isinstance(node, ast.Name):
            return node.id in self.tensors or self.input_index(node.id) is not None
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in (*self.ops, *WORDS, *VIEWS)
        if isinstance(node, ast.Subscript):
            return self.is_tensor(node.value)
        parts = {ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",), ast.IfExp: ("body", "orelse")}
        return any(self.is_tensor(getattr(node, part)) for part in parts.get(type(node), ()))

    def visit_BinOp(self, node: ast.BinOp) -> str:
        if self.is_tensor(node) and type(node.op) in OPERATORS:
            self.ops_used.add(OPERATORS[type(node.op)])
        return f"({self.visit(node.left)} {BINARY[type(node.op)]} {self.visit(node.right)})"

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        sign = "!" if isinstance(node.op, ast.Not) else "-"
        if sign == "-" and self.is_tensor(node.operand):
            self.ops_used.add("neg")
        return f"({sign}{self.visit(node.operand)})"

    def visit_BoolOp(self, node: ast.BoolOp) -> str:
        word = " && " if isinstance(node.op, ast.And) else " || "
        return "(" + word.join(self.visit(value) for value in node.values) + ")"

    def visit_Compare(self, node: ast.Compare) -> str:
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        enum = self.own_enum(left)
        text = self.enum_constant(self.op, enum, right) if enum else self.visit(right)
        return f"({self.visit(left)} {COMPARE[type(operator)]} {text})"

    def visit_IfExp(self, node: ast.IfExp) -> str:
        return f"({self.visit(node.test)} ? {self.visit(node.body)} : {self.visit(node.orelse)})"

    def visit_List(self, node: ast.List) -> str:
        return "Shape{" + ", ".join(f"int64_t({self.visit(item)})" for item in node.elts) + "}"

    def visit_Subscript(self, node: ast.Subscript) -> str:
        return f"{self.visit(node.value)}[{self.visit(node.slice)}]"

    def visit_Attribute(self, node: ast.Attribute) -> str:
        if not isinstance(node.value, ast.Name) or node.attr not in ("shape", "ndim", "dtype"):
            raise ValueError(f"{self.op.name}: {ast.unparse(node)!r}: only <input>.shape, .ndim and .dtype are known")
        index = self.input_index(node.value.id)
        if index is None:
            text = self.name(node.value.id)
            return f"{text}.{node.attr}()"
        if not self.gradient:
            return f"c.inputs[{index}].{node.attr}()"
        return f"int64_t(g.meta({index}).shape.size())" if node.attr == "ndim" else f"g.meta({index}).{node.attr}"

    def visit_Call(self, node: ast.Call) -> str:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function == "len":
            return f"int64_t({self.visit(node.args[0])}.size())"
        output = self.gradient_index(ast.unparse(node.args[0])) if function == "given" else None
        if output is not None:
            return f"g.came({output})"
        if function in META_ONLY and isinstance(node.args[0], ast.Name):
            index = self.input_index(node.args[0].id)
            return f"{function}(g.meta({index}))"
        if function in self.ops or function in WORDS:
            self.ops_used.add(WORDS.get(function, function))
        arguments = [self.argument(function, i, argument) for i, argument in enumerate(node.args)]
        return f"{function}({', '.join(arguments)})"

    def argument(self, function: str, position: int, node: ast.expr) -> str:
        """An argument of a call; a bare word for an enum parameter of an op is one of its values."""
        callee = self.ops.get(function)
        attributes = callee.attributes[position - len(callee.inputs) :] if callee else ()
        if callee and attributes and position >= len(callee.inputs):
            parameter = attributes[0]
            if parameter.type == "enum" and isinstance(node, ast.Name) and node.id in parameter.values:
                return self.enum_constant(callee, parameter, node)
        return self.visit(node)

    def name(self, name: str) -> str:
        if self.values is not None and name in self.values:
            return f"v_{name}"
        if self.values is not None and name == "device":
            return "device"
        index = self.input_index(name)
        if index is not None:
            return self.input(index)
        outputs = [output.name for output in self.op.outputs]
        if name in outputs and self.values is None:
            return self.output(outputs.index(name))
        if self.gradient and name.startswith("d") and name[1:] in outputs:
            word = "gradient" if name[1:] in self.op.returns else "hidden_gradient"
            return f"g.{word}({outputs.index(name[1:])})"
        for attribute in self.op.attributes:
            if attribute.name == name:
                return attribute_value(attribute)
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise ValueError(f"{self.op.name}: {name!r} is neither an input, an output, an attribute nor a constant")

    def input(self, index: int) -> str:
        self.inputs_used.add(index)
        if self.gradient:
            return f"g.input({index})"
        return "c" if self.op.inputs[index].variadic else f"c.inputs[{index}]"

    def output(self, index: int) -> str:
        self.outputs_used.add(index)
        return f"g.output({index})" if self.gradient else f"shapes[{index}]"

    def gradient_index(self, name: str) -> int | None:
        """The output whose gradient the name is."""
        names = [f"d{output.name}" for output in self.op.outputs]
        return names.index(name) if self.gradient and name in names else None

    def input_index(self, name: str) -> int | None:
        names = [item.name for item in self.op.inputs]
        return names.index(name) if name in names else None

    def own_enum(self, node: ast.expr) -> Attribute | None:
        if not isinstance(node, ast.Name):
            return None
        return next((a for a in self.op.attributes if a.name == node.id and a.type == "enum"), None)

    @staticmethod
    def enum_constant(op: Op, attribute: Attribute, node: ast.expr) -> str:
        assert isinstance(node, ast.Name) and node.id in attribute.values, ast.unparse(node)
        return f"DG_{op.name}_{attribute.name}_{node.id}".upper()


def attribute_value(attribute: Attribute) -> str:
    if attribute.type in LIST_TYPES:
        return f"IntList(at.{attribute.name}, at.{attribute.name}_count)"
    if attribute.type == "scalar":
        return f"Scalar(at.{attribute.name})"
    return f"bool(at.{attribute.name})" if attribute.type == "bool" else f"at.{attribute.name}"
