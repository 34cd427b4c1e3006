"""Render: a tree to Luau source.

Every schema-valid tree renders, and the text means the tree: operands get the parentheses that the
tree's structure needs and no others, whether or not the tree has an ExprGroup there too. Nothing is
repaired on the way. What stands after a `return` is printed after the `return`, a list that is
empty is printed empty, and where an alternative is not set, the text says `--[[unset]]`. To get a
program, call `scope.repair` first.

A writer keeps what is still to be printed, strings and messages, on a stack of its own, last part
first: depth costs memory, never a RecursionError, and time and memory are linear in the tree.
Indentation stops growing after some levels, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from scriptschema.base import Message
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantBool,
    ExprConstantNil,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprGlobal,
    ExprGroup,
    ExprIfElse,
    ExprIndexExpr,
    ExprIndexName,
    ExprInterpString,
    ExprLocal,
    ExprPrefix,
    ExprTable,
    ExprUnary,
    ExprVarargs,
    Local,
    LValue,
    ModuleSet,
    Name,
    Stat,
    StatAssign,
    StatBlock,
    StatBreak,
    StatCall,
    StatCompoundAssign,
    StatContinue,
    StatFor,
    StatForIn,
    StatFunction,
    StatIf,
    StatLocal,
    StatLocalFunction,
    StatRepeat,
    StatRequireIntoLocalHelper,
    StatReturn,
    StatTypeAlias,
    StatWhile,
    TableItem,
    Type,
    TypeBoolean,
    TypeClass,
    TypeFunction,
    TypeIntersection,
    TypeLiteral,
    Typename,
    TypePrimitive,
    TypeRef,
    TypeString,
    TypeTable,
    TypeTableIndexer,
    TypeTableItem,
    TypeTypeof,
    TypeUnion,
)

_Task: TypeAlias = tuple[Message, int, int, int]
"""A message to print, its level of indentation, and its place: see `needs_parentheses`."""

_Part: TypeAlias = str | Message | _Task
"""What a message is printed as: texts and messages, with a `_Task` where the place matters."""

UNARY: Final = {ExprUnary.Op.Not: "not ", ExprUnary.Op.Minus: "-", ExprUnary.Op.Len: "#"}
"""The unary operators' texts."""

UNARY_PRIORITY: Final = 8

BINARY: Final = {
    ExprBinary.Op.Add: ("+", 6, 6),
    ExprBinary.Op.Sub: ("-", 6, 6),
    ExprBinary.Op.Mul: ("*", 7, 7),
    ExprBinary.Op.Div: ("/", 7, 7),
    ExprBinary.Op.FloorDiv: ("//", 7, 7),
    ExprBinary.Op.Mod: ("%", 7, 7),
    ExprBinary.Op.Pow: ("^", 10, 9),
    ExprBinary.Op.Concat: ("..", 5, 4),
    ExprBinary.Op.CompareNe: ("~=", 3, 3),
    ExprBinary.Op.CompareEq: ("==", 3, 3),
    ExprBinary.Op.CompareLt: ("<", 3, 3),
    ExprBinary.Op.CompareLe: ("<=", 3, 3),
    ExprBinary.Op.CompareGt: (">", 3, 3),
    ExprBinary.Op.CompareGe: (">=", 3, 3),
    ExprBinary.Op.And: ("and", 2, 2),
    ExprBinary.Op.Or: ("or", 1, 1),
}
"""The binary operators' texts and their priorities towards the left and towards the right.

Source: Luau's grammar, https://luau.org/grammar; the right priority is lower where the operator
associates to the right.
"""

COMPOUND: Final = {
    StatCompoundAssign.Op.Add: "+=",
    StatCompoundAssign.Op.Sub: "-=",
    StatCompoundAssign.Op.Mul: "*=",
    StatCompoundAssign.Op.Div: "/=",
    StatCompoundAssign.Op.Mod: "%=",
    StatCompoundAssign.Op.Pow: "^=",
    StatCompoundAssign.Op.Concat: "..=",
}
"""The texts of the compound assignments."""

_UNSET: Final = " --[[unset]]"
_DEEPEST_INDENT: Final = 40
_END_IN_EXPRESSION: Final = frozenset(
    ["repeat", "return_", "continue_", "call", "assign", "compound_assign", "require_into_local"]
)


@attrs.frozen
class Sources:
    """The sources of a ModuleSet: of the module, None if there is none, and of the program."""

    module: str | None
    program: str


def render(tree: Message, *, names: Names = DEFAULT, types: bool = True, indent: str = "  ") -> str:
    """Return the Luau source of a tree of any message.

    With `types` false, type annotations and type aliases are left out. A ModuleSet gives both
    sources in one text, for reading; `render_module_set` gives them apart.
    """
    return _Writer(names, types, indent).text(tree)


def render_module_set(
    tree: ModuleSet, *, names: Names = DEFAULT, types: bool = True, indent: str = "  "
) -> Sources:
    """Return the sources of the module and of the program; the arguments are as in `render`.

    The program refers to the module as `require("./module0")`.
    """
    module = tree.module
    return Sources(
        None if module is None else render(module, names=names, types=types, indent=indent),
        render(tree.program, names=names, types=types, indent=indent),
    )


def needs_parentheses(expression: Message, limit: int, after: int) -> bool:
    """Whether an expression needs parentheses in its place.

    `expression` is what an Expr holds. The place is told by the operators around: `limit` is the
    right priority of the one before it and `after` the left priority of the one behind it, 0 if
    there is none. Two operands meet an operator that takes the higher priority; an if-else
    expression takes everything behind it.
    """
    match expression:
        case ExprBinary():
            _, left, right = BINARY[expression.op]
            return left <= limit or after > right
        case ExprUnary():
            return after > UNARY_PRIORITY
        case ExprConstantNumber():
            return after > UNARY_PRIORITY and expression.val < 0
        case ExprIfElse():
            return after > 0
    return False


def _takes_parenthesis(statement: Stat) -> bool:
    """Whether a parenthesis on the next line would continue the statement."""
    if statement.which == "local":
        return bool(statement.alternative.values)
    return statement.which in _END_IN_EXPRESSION


def _starts_with_parenthesis(statement: Stat) -> bool:
    node: Any = statement.alternative
    if statement.which == "call":
        node = node.expr
    elif statement.which == "assign" and node.vars:
        node = node.vars[0].alternative
    elif statement.which == "compound_assign":
        node = node.var.alternative
    while True:
        match node:
            case ExprCall():
                node = node.func.alternative
            case ExprIndexName() | ExprIndexExpr():
                node = node.expr.alternative
            case _:
                return isinstance(node, ExprGroup)


_SPECIAL: Final = re.compile(r'["\\]|[^ -~]')
_SPECIAL_IN_INTERPOLATION: Final = re.compile(r"[`{\\]|[^ -~]")
_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if " " <= character <= "~":
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    if "\ud800" <= character <= "\udfff" or character < "\x80":
        return "".join(f"\\x{byte:02x}" for byte in string_bytes(character))
    return f"\\u{{{ord(character):x}}}"


def string_bytes(value: str) -> bytes:
    """Return the bytes that a string constant stands for: UTF-8, and lone bytes as they were."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte; nothing decodes to them
        return b"".join(
            c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass")
            for c in value
        )


def quote(value: str) -> str:
    """Return a string constant as Luau writes it, in double quotes."""
    return f'"{_SPECIAL.sub(_escape, value)}"'


def _starts_with_minus(inner: Message | None) -> bool:
    match inner:
        case ExprUnary():
            return inner.op == ExprUnary.Op.Minus
        case ExprConstantNumber():
            return inner.val < 0
    return False


def _starts_with_brace(expression: Expr) -> bool:
    node = expression.alternative
    while isinstance(node, ExprBinary):
        _, left, _ = BINARY[node.op]
        node = node.left.alternative
        if needs_parentheses(node, 0, left):
            return False
    return isinstance(node, ExprTable)


class _Writer:
    """Prints one tree. `level`, `limit` and `after` are those of the message being printed."""

    def __init__(self, names: Names, types: bool, indent: str) -> None:
        self.names = names
        self.types = types
        self.newlines = ["\n" + indent * level for level in range(_DEEPEST_INDENT + 1)]
        self.out: list[str] = []
        self.stack: list[str | _Task] = []
        self.level = self.limit = self.after = 0

    def text(self, tree: Message) -> str:
        out, stack, handlers = self.out, self.stack, _HANDLERS
        stack.append((tree, 0, 0, 0))
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                out.append(item)
            else:
                node, self.level, self.limit, self.after = item
                handlers[node.__class__](self, node)
        if isinstance(tree, StatBlock | ModuleSet) and out:
            out[0] = out[0].lstrip("\n")
            out.append("\n")
        return "".join(out)

    def push(self, *parts: _Part) -> None:
        level = self.level
        for part in reversed(parts):
            self.stack.append((part, level, 0, 0) if isinstance(part, Message) else part)

    def push_in_place(self, node: Message) -> None:
        """Print a message where the current one stands."""
        self.stack.append((node, self.level, self.limit, self.after))

    def separated(self, nodes: Iterable[Message], separator: str = ", ") -> list[_Part]:
        parts: list[_Part] = []
        for node in nodes:
            parts += (separator, node)
        return parts[1:]

    def newline(self, level: int) -> str:
        return self.newlines[min(level, _DEEPEST_INDENT)]

    def body(self, block: StatBlock) -> list[_Part]:
        """A block's statements one level further in, and then a new line for what closes it."""
        if not block.body:
            return [" "]
        return [(block, self.level + 1, 0, 0), self.newline(self.level)]

    def constant(self, node: Message) -> None:
        self.out.append(_CONSTANTS[node.__class__])

    def wrapper(self, node: Any) -> None:
        """A message that holds one of several."""
        if node.alternative is None:
            self.out.append(_UNSET)
        else:
            self.push_in_place(node.alternative)

    # Names

    def local(self, node: Local) -> None:
        self.out.append(self.names.local(node.name))

    def typename(self, node: Typename) -> None:
        self.out.append(self.names.type(node.index))

    def name(self, node: Name) -> None:
        self.out.append(self.names.field(node))

    def field(self, node: ExprIndexName, separator: str = ".") -> list[_Part]:
        return [node.expr, separator, self.names.field(node.index, self.names.owner(node.expr))]

    # Expressions

    def expr(self, node: Expr) -> None:
        inner = node.alternative
        if inner is None:
            self.out.append(_UNSET)
        elif (self.limit or self.after) and needs_parentheses(inner, self.limit, self.after):
            self.push("(", inner, ")")
        else:
            self.push_in_place(inner)

    def group(self, node: ExprGroup) -> None:
        self.push("(", node.expr, ")")

    def boolean(self, node: ExprConstantBool | TypeBoolean) -> None:
        self.out.append("true" if node.val else "false")

    def number(self, node: ExprConstantNumber) -> None:
        self.out.append(str(node.val))

    def string(self, node: ExprConstantString | TypeString) -> None:
        self.out.append(quote(node.val))

    def expr_local(self, node: ExprLocal) -> None:
        self.out.append(self.names.local(node.var.name))

    def global_(self, node: ExprGlobal) -> None:
        self.out.append(self.names.global_(node.name))

    def call(self, node: ExprCall) -> None:
        func = node.func
        is_method = node.self_ and func.which == "index_name"
        callee = self.field(func.alternative, ":") if is_method else [func]
        self.push(*callee, "(", *self.separated(node.args), ")")

    def index_name(self, node: ExprIndexName) -> None:
        self.push(*self.field(node))

    def index_expr(self, node: ExprIndexExpr) -> None:
        self.push(node.expr, "[", node.index, "]")

    def function(self, node: ExprFunction) -> None:
        self.push("function", *self.signature_and_body(node))

    def signature_and_body(self, node: ExprFunction) -> list[_Part]:
        types = node.types if self.types else []
        parts = [
            *self.generics(node.generics, node.genericpacks),
            "(",
            *self.bindings(node.args, types),
        ]
        if node.vararg:
            parts += (", ..." if node.args else "...", *self.annotation(types, len(node.args)))
        parts.append(")")
        if node.rettypes and self.types:
            parts += (": ", *self.pack(node.rettypes))
        return [*parts, *self.body(node.body), "end"]

    def bindings(self, variables: Sequence[Local], types: Sequence[Type]) -> list[_Part]:
        """Variables with their types, as far as there are types."""
        parts: list[_Part] = []
        for position, variable in enumerate(variables):
            parts += (", ", variable, *self.annotation(types, position))
        return parts[1:]

    def annotation(self, types: Sequence[Type], position: int) -> tuple[_Part, ...]:
        return (": ", types[position]) if position < len(types) else ()

    def generics(self, generics: Sequence[Message], packs: Sequence[Typename]) -> list[_Part]:
        if not (generics or packs) or not self.types:
            return []
        parts = self.separated(generics)
        for pack in packs:
            parts += (", ", pack, "...") if parts else (pack, "...")
        return ["<", *parts, ">"]

    def table_item(self, node: TableItem) -> None:
        if node.which == "key_name":
            self.push(self.names.field(node.alternative), " = ", node.value)
        elif node.which == "key_expr":
            self.push("[", node.alternative, "] = ", node.value)
        else:
            self.push(node.value)

    def table(self, node: ExprTable) -> None:
        self.push("{", *self.separated(node.items), "}")

    def unary(self, node: ExprUnary) -> None:
        self.out.append(UNARY[node.op])
        if node.op == ExprUnary.Op.Minus and _starts_with_minus(node.expr.alternative):
            self.out.append(" ")  # two of them would begin a comment
        self.push((node.expr, self.level, UNARY_PRIORITY, self.after))

    def binary(self, node: ExprBinary) -> None:
        text, left, right = BINARY[node.op]
        self.push(
            (node.left, self.level, 0, left),
            f" {text} ",
            (node.right, self.level, right, self.after),
        )

    def if_else(self, node: ExprIfElse) -> None:
        parts: list[_Part] = ["if ", node.cond, " then ", node.then]
        if node.which is not None:
            parts += (" else" if node.which == "elseif" else " else ", node.alternative)
        self.push(*parts)

    def interpolation(self, node: ExprInterpString) -> None:
        parts: list[_Part] = ["`"]
        for part in node.parts:
            if part.which == "string":
                parts.append(_SPECIAL_IN_INTERPOLATION.sub(_escape, part.alternative.val))
            else:
                brace = "{ " if _starts_with_brace(part) else "{"  # Luau refuses two in a row
                parts += (brace, part, "}")
        self.push(*parts, "`")

    # Statements

    def block(self, node: StatBlock) -> None:
        """The statements alone, each on a new line; what is around them is the parent's."""
        newline = self.newline(self.level)
        parts: list[_Part] = []
        previous = None
        for statement in node.body:
            if statement.which == "type_alias" and not self.types:
                continue
            parts.append(newline)
            if (
                previous is not None
                and _takes_parenthesis(previous)
                and _starts_with_parenthesis(statement)
            ):
                parts.append(";")
            parts.append(statement)
            previous = statement
        self.push(*parts)

    def stat(self, node: Stat) -> None:
        if node.which == "block":
            self.push("do", *self.body(node.alternative), "end")
        else:
            self.wrapper(node)

    def if_(self, node: StatIf) -> None:
        parts = ["if ", node.cond, " then", *self.body(node.then)]
        if node.which == "elseif":
            parts += ("else", node.alternative)
        elif node.which == "else_":
            parts += ("else", *self.body(node.alternative), "end")
        else:
            parts.append("end")
        self.push(*parts)

    def while_(self, node: StatWhile) -> None:
        self.push("while ", node.cond, " do", *self.body(node.body), "end")

    def repeat(self, node: StatRepeat) -> None:
        self.push("repeat", *self.body(node.body), "until ", node.cond)

    def return_(self, node: StatReturn) -> None:
        self.push("return ", *self.separated(node.list)) if node.list else self.push("return")

    def call_statement(self, node: StatCall) -> None:
        self.push(node.expr)

    def local_statement(self, node: StatLocal) -> None:
        parts = ["local ", *self.bindings(node.vars, node.types if self.types else [])]
        if node.values:
            parts += (" = ", *self.separated(node.values))
        self.push(*parts)

    def for_(self, node: StatFor) -> None:
        bounds = [node.from_, node.to] if node.step is None else [node.from_, node.to, node.step]
        self.push(
            "for ", node.var, " = ", *self.separated(bounds), " do", *self.body(node.body), "end"
        )

    def for_in(self, node: StatForIn) -> None:
        variables, values = self.separated(node.vars), self.separated(node.values)
        self.push("for ", *variables, " in ", *values, " do", *self.body(node.body), "end")

    def assign(self, node: StatAssign) -> None:
        self.push(*self.separated(node.vars), " = ", *self.separated(node.values))

    def compound_assign(self, node: StatCompoundAssign) -> None:
        self.push(node.var, f" {COMPOUND[node.op]} ", node.value)

    def function_statement(self, node: StatFunction) -> None:
        var = node.var
        is_method = node.self_ and var.which == "index_name"
        name = self.field(var.alternative, ":") if is_method else [var]
        self.push("function ", *name, *self.signature_and_body(node.func))

    def local_function(self, node: StatLocalFunction) -> None:
        self.push("local function ", node.var, *self.signature_and_body(node.func))

    def type_alias(self, node: StatTypeAlias) -> None:
        if self.types:
            keyword = "export type " if node.export else "type "
            generics = self.generics(node.generics, node.genericpacks)
            self.push(keyword, node.name, *generics, " = ", node.type)

    def require(self, node: StatRequireIntoLocalHelper) -> None:
        self.push("local ", node.var, f' = require("./module{node.modulenum}")')

    # Types: `after` says whether a `|` or a `&` follows

    def type_(self, node: Type) -> None:
        if node.which == "function" and self.after:  # it would take what follows as its result
            self.push("(", node.alternative, ")")
        else:
            self.wrapper(node)

    def primitive(self, node: TypePrimitive) -> None:
        self.out.append(self.names.primitive(node.kind))

    def class_(self, node: TypeClass) -> None:
        self.out.append(self.names.class_(node.kind))

    def type_literal(self, node: TypeLiteral) -> None:
        self.push(node.name, *self.generics(node.generics, node.genericpacks))

    def type_ref(self, node: TypeRef) -> None:
        self.push(node.prefix, ".", node.index)

    def type_item(self, node: TypeTableItem) -> None:
        self.push(node.key, ": ", node.type)

    def type_indexer(self, node: TypeTableIndexer) -> None:
        # A string alone between the brackets would make a property of it.
        opening, closing = ("[(", ")]: ") if node.key.which == "string" else ("[", "]: ")
        self.push(opening, node.key, closing, node.value)

    def type_table(self, node: TypeTable) -> None:
        indexer = node.indexer
        if indexer is None:
            self.push("{", *self.separated(node.items), "}")
        elif not node.items and self.is_primitive(indexer.key, "number"):
            self.push("{", indexer.value, "}")
        else:
            self.push("{", *self.separated([*node.items, indexer]), "}")

    def type_function(self, node: TypeFunction) -> None:
        generics = self.generics(node.generics, node.genericpacks)
        self.push(*generics, "(", *self.separated(node.args), ") -> ", *self.pack(node.rets))

    def pack(self, types: Sequence[Type]) -> list[_Part]:
        """The types of results: one stands alone, none or several in parentheses."""
        parts = self.separated(types)
        return parts if len(types) == 1 else ["(", *parts, ")"]

    def typeof(self, node: TypeTypeof) -> None:
        self.push("typeof(", node.expr, ")")

    def union(self, node: TypeUnion) -> None:
        left = self.operand(node.left, "union", 1)
        if self.is_primitive(node.right, "nil") and node.left.which != "union":
            self.push(*left, "?")
        else:
            self.push(*left, " | ", *self.operand(node.right, None, self.after))

    def intersection(self, node: TypeIntersection) -> None:
        left = self.operand(node.left, "intersection", 1)
        self.push(*left, " & ", *self.operand(node.right, None, self.after))

    def operand(self, node: Type, chained: str | None, after: int) -> list[_Part]:
        """An operand of a union or an intersection, which Luau mixes only with parentheses.

        `chained` is what needs none: the left operand of the same kind.
        """
        if node.which in ("union", "intersection") and node.which != chained:
            return ["(", node, ")"]
        return [(node, self.level, 0, after)]

    def is_primitive(self, node: Type, name: str) -> bool:
        return node.which == "primitive" and self.names.primitive(node.alternative.kind) == name

    def module_set(self, node: ModuleSet) -> None:
        if node.module is None:
            self.push(node.program)
        else:
            self.push("-- module0", node.module, "\n-- program", node.program)


_CONSTANTS: Final[Mapping[type, str]] = {
    ExprConstantNil: "nil",
    ExprVarargs: "...",
    StatBreak: "break",
    StatContinue: "continue",
}

_HANDLERS: Final[Mapping[type, Callable[[_Writer, Any], None]]] = {
    **dict.fromkeys(_CONSTANTS, _Writer.constant),
    **dict.fromkeys((ExprPrefix, LValue), _Writer.wrapper),
    Local: _Writer.local,
    Typename: _Writer.typename,
    Name: _Writer.name,
    Expr: _Writer.expr,
    ExprGroup: _Writer.group,
    ExprConstantBool: _Writer.boolean,
    ExprConstantNumber: _Writer.number,
    ExprConstantString: _Writer.string,
    ExprLocal: _Writer.expr_local,
    ExprGlobal: _Writer.global_,
    ExprCall: _Writer.call,
    ExprIndexName: _Writer.index_name,
    ExprIndexExpr: _Writer.index_expr,
    ExprFunction: _Writer.function,
    TableItem: _Writer.table_item,
    ExprTable: _Writer.table,
    ExprUnary: _Writer.unary,
    ExprBinary: _Writer.binary,
    ExprIfElse: _Writer.if_else,
    ExprInterpString: _Writer.interpolation,
    Stat: _Writer.stat,
    StatBlock: _Writer.block,
    StatIf: _Writer.if_,
    StatWhile: _Writer.while_,
    StatRepeat: _Writer.repeat,
    StatReturn: _Writer.return_,
    StatCall: _Writer.call_statement,
    StatLocal: _Writer.local_statement,
    StatFor: _Writer.for_,
    StatForIn: _Writer.for_in,
    StatAssign: _Writer.assign,
    StatCompoundAssign: _Writer.compound_assign,
    StatFunction: _Writer.function_statement,
    StatLocalFunction: _Writer.local_function,
    StatTypeAlias: _Writer.type_alias,
    StatRequireIntoLocalHelper: _Writer.require,
    Type: _Writer.type_,
    TypePrimitive: _Writer.primitive,
    TypeLiteral: _Writer.type_literal,
    TypeTableItem: _Writer.type_item,
    TypeTableIndexer: _Writer.type_indexer,
    TypeTable: _Writer.type_table,
    TypeFunction: _Writer.type_function,
    TypeTypeof: _Writer.typeof,
    TypeUnion: _Writer.union,
    TypeIntersection: _Writer.intersection,
    TypeClass: _Writer.class_,
    TypeRef: _Writer.type_ref,
    TypeBoolean: _Writer.boolean,
    TypeString: _Writer.string,
    ModuleSet: _Writer.module_set,
}
