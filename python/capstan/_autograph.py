"""AutoGraph: statements on tensors in traced functions.

`function` converts the source of what it traces with the standard `ast` alone: `if`, `while`, `for`, conditional
expressions, `and`, `or` and `not` become calls of the functions in _autograph_calls.py. These look at the value: if it
is a plain one the statement runs as Python does, and if it is a symbolic tensor it becomes tf.cond or tf.while_loop.
So a function that has no statement on tensors does the same as before.

Names that a branch or a body assigns, and attributes and items such as `self.x` and `d["a"]`, are its state: they are
read before and written after it. A name that was not bound yet is `Undefined`, and an error names it where a tensor is
needed. `return`, `break` and `continue` are taken away first: what follows a statement that may leave goes into the
branches that do not (`_Exits`), and `break` becomes a condition of the loop. What has no source, generators, and functions of installed packages stay as they are, and so do
loops with a `return` inside.
"""
import ast
import functools
import inspect
import itertools
import os
import sysconfig
import textwrap
import types
import weakref

_HERE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep
                    for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {_HERE + os.sep})
_RETURN, _BREAK, _REST = "ag_result", "ag_leaves", "ag_rest"


# --- names ---

class _Assigned(ast.NodeVisitor):
    """The names that statements bind, but for those of functions and classes inside."""

    def __init__(self):
        self.names, self.foreign = [], set()

    def _add(self, name):
        if name not in self.names:
            self.names.append(name)

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self._add(node.id)

    def visit_FunctionDef(self, node):
        if not node.name.startswith(_REST):
            self._add(node.name)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Expr(self, node):
        for name in getattr(node, "ag_assigned", ()):  # of a call of what follows
            self._add(name)
        self.generic_visit(node)

    def visit_Lambda(self, node):
        pass

    def _comprehension(self, node):
        pass

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Global(self, node):
        self.foreign.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node):
        if node.name:
            self._add(node.name)
        self.generic_visit(node)

    def _import(self, node):
        for alias in node.names:
            self._add((alias.asname or alias.name).split(".")[0])

    visit_Import = visit_ImportFrom = _import


def _assigned(statements):
    visitor = _Assigned()
    for statement in statements:
        visitor.visit(statement)
    return [n for n in visitor.names if n not in visitor.foreign]


def _members(statements, assigned):
    """The attributes and items that statements bind, as text: `self.x`, `d["a"]`, `rows[0]` of objects that the statements
    do not bind themselves."""
    found = []

    def is_fixed(node):
        if isinstance(node, ast.Subscript):
            return is_fixed(node.value) and isinstance(node.slice, (ast.Constant, ast.Name, ast.Attribute)) and is_fixed(node.slice)
        if isinstance(node, ast.Attribute):
            return is_fixed(node.value)
        return isinstance(node, ast.Constant) or isinstance(node, ast.Name) and node.id not in assigned

    def visit(node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store) and is_fixed(node):
            found.append(ast.unparse(node))
        for text in getattr(node, "ag_members", ()):
            if is_fixed(ast.parse(text, mode="eval").body):
                found.append(text)
        for child in ast.iter_child_nodes(node):
            visit(child)
    for statement in statements:
        visit(statement)
    return list(dict.fromkeys(found))


def _contains(statements, kinds, into_loops=True):
    """Whether a statement of these kinds is among them, outside of functions inside."""
    for statement in statements:
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if not into_loops and isinstance(statement, (ast.While, ast.For)):
            continue
        if any(_contains([child], kinds, into_loops) for child in ast.iter_child_nodes(statement)):
            return True
    return False


def _written_by_parts(statements):
    """The names that functions made of branches and bodies write."""
    names = set()
    for statement in statements:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("ag_"):
            names.update(n for s in statement.body if isinstance(s, ast.Nonlocal) for n in s.names)
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)) or (
                isinstance(statement, ast.FunctionDef) and statement.name.startswith("ag_")):
            names |= _written_by_parts(ast.iter_child_nodes(statement))
    return names


# --- return, break and continue ---

def _statements(text, like):
    made = ast.parse(text).body
    for statement in made:
        for node in ast.walk(statement):
            ast.copy_location(node, like)
    return made


def _leaves(statements, kinds):
    """Whether these statements always end in one of the kinds."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, kinds + (ast.Raise,)):
        return True
    return isinstance(last, ast.If) and _leaves(last.body, kinds) and _leaves(last.orelse, kinds)


class _Exits:
    """Takes statements that leave out of a list: what follows an `if` that may leave goes into its branches, as a call of
    a function if it is more than a statement and both go on to it."""

    def __init__(self, kinds, replace):
        self.kinds, self.replace = kinds, replace

    def lower(self, statements):
        made = []
        for i, statement in enumerate(statements):
            rest = statements[i + 1:]
            if isinstance(statement, self.kinds):
                return made + self.replace(statement)  # nothing behind it runs
            if isinstance(statement, ast.If) and _contains([statement], self.kinds, into_loops=False):
                leave = [_leaves(branch, self.kinds) for branch in (statement.body, statement.orelse)]
                if not any(leave) and (len(rest) > 1 or _contains(rest, (ast.If, ast.While, ast.For, ast.With, ast.Try))):
                    following, rest = self.following(rest, statement)
                    made.append(following)
                body = statement.body if leave[0] else statement.body + rest
                orelse = statement.orelse if leave[1] else statement.orelse + rest
                lowered = ast.If(statement.test, self.lower(body) or [ast.Pass()], self.lower(orelse))
                return made + [ast.copy_location(lowered, statement)]
            made.append(statement)
        return made

    def following(self, rest, like):
        """A function of what follows, and its call."""
        name = f"{_REST}_{next(_rests)}"
        following, call = _statements(f"def {name}():\n    pass\n{name}()", like)
        following.body = self.lower(rest)
        call.ag_assigned = _assigned(following.body)
        call.ag_members = _members(following.body, call.ag_assigned)
        return following, [call]


_rests = itertools.count()


def _result_of(statement):
    value = statement.value or ast.Constant(None)
    assign = ast.Assign([ast.Name(_RETURN, ast.Store())], value)
    return [ast.copy_location(assign, statement)]


def _loop_body(body, name):
    """A loop's body without `continue` and `break`, and whether there was a break."""
    breaks = _contains(body, (ast.Break,), into_loops=False)
    if _contains(body, (ast.Continue, ast.Break), into_loops=False):
        def replace(statement):
            return _statements(f"{name} = True", statement) if isinstance(statement, ast.Break) else [ast.Pass()]
        body = _Exits((ast.Continue, ast.Break), replace).lower(body)
    return body, breaks


# --- the conversion ---

class _Converter(ast.NodeTransformer):
    """Converts the statements of one function; functions inside are converted by themselves."""

    def __init__(self):
        self.count = 0

    def _number(self):
        self.count += 1
        return self.count

    def function(self, node):
        """The node of a function, converted in place."""
        if _contains(node.body, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)):
            return node
        body = node.body
        if any(isinstance(s, ast.If) and _contains([s], (ast.Return,), into_loops=False) for s in body) and not (
                _contains([s for s in body if not isinstance(s, ast.If)], (ast.With, ast.Try)) and
                _contains([s for s in body if isinstance(s, (ast.With, ast.Try))], (ast.Return,))):
            body = _Exits((ast.Return,), _result_of).lower(body)
            body = _statements(f"{_RETURN} = None", node) + body
            body += _statements(f"return {_RETURN}", node)
        converted = [self.visit(statement) for statement in body]
        flat = [s for item in converted for s in (item if isinstance(item, list) else [item])]
        arguments = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        # Names have to be bound for the functions that parts have become to write them.
        start = [f"{n} = ag__.Undefined({n!r})" for n in sorted(_written_by_parts(flat) - arguments)]
        head = []
        if flat and isinstance(flat[0], ast.Expr) and isinstance(flat[0].value, ast.Constant):
            head, flat = flat[:1], flat[1:]
        node.body = head + (_statements("\n".join(start), node) if start else []) + (flat or [ast.Pass()])
        return node

    def visit_FunctionDef(self, node):
        if node.name.startswith(_REST):
            return self._part(node.name, "", self._visited(node.body), _assigned(node.body), node)
        return _Converter().function(node)

    def visit_Lambda(self, node):
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node):
        return node

    visit_ClassDef = visit_AsyncFunctionDef

    def _part(self, name, arguments, body, state, like, result=None):
        """A function of a branch or a body, which writes the state where the statement stands."""
        text = f"def {name}({arguments}):\n" + (f"    nonlocal {', '.join(state)}\n" if state else "") + "    pass"
        (made,) = _statements(text, like)
        made.body = made.body[:-1] + (body or [ast.copy_location(ast.Pass(), like)]) + (result or [])
        return made

    def _state(self, number, state, members, like):
        """The functions that give and set the values of names and members."""
        parts = [*state, *(f"ag__.member(lambda: {text}, {text!r})" for text in members)]
        values = [f"ag_member_{i}" for i in range(len(members))]
        lines = [f"def ag_get_{number}():", f"    return ({', '.join(parts)}{',' * bool(parts)})",
                 f"def ag_set_{number}(ag_values):"]
        lines += [f"    nonlocal {', '.join(state)}"] if state else []
        lines += [f"    ({', '.join([*state, *values])},) = ag_values"] if parts else ["    pass"]
        for text, value in zip(members, values):
            lines += [f"    if isinstance({value}, ag__.Undefined):", f"        if not isinstance(ag__.member(lambda: {text}, ''), "
                      f"ag__.Undefined): del {text}", f"    else: {text} = {value}"]
        return _statements("\n".join(lines), like)

    def _visited(self, statements):
        made = []
        for statement in statements:
            visited = self.visit(statement)
            made += visited if isinstance(visited, list) else [visited]
        return made

    def visit_If(self, node):
        if _contains(node.body + node.orelse, (ast.Return,)) or _contains(
                node.body + node.orelse, (ast.Break, ast.Continue), into_loops=False):
            return self.generic_visit(node)
        number = self._number()
        state = _assigned(node.body + node.orelse)
        members = _members(node.body + node.orelse, state)
        test = self.visit(node.test)
        parts = self._state(number, state, members, node)
        parts.append(self._part(f"ag_body_{number}", "", self._visited(node.body), state, node))
        parts.append(self._part(f"ag_else_{number}", "", self._visited(node.orelse), state, node))
        (call,) = _statements(f"ag__.if_stmt(0, ag_body_{number}, ag_else_{number}, ag_get_{number}, "
                              f"ag_set_{number}, {(*state, *members)!r})", node)
        call.value.args[0] = test
        return parts + [call]

    def visit_While(self, node):
        if node.orelse or _contains(node.body, (ast.Return,)):
            return self.generic_visit(node)
        number = self._number()
        leaves = f"{_BREAK}_{number}"
        body, breaks = _loop_body(node.body, leaves)
        state = _assigned(body)
        members = _members(body, state)
        parts = _statements(f"{leaves} = False", node) if breaks else []
        parts += self._state(number, state, members, node)
        (test,) = _statements(f"def ag_test_{number}():\n    return 0", node)
        test.body[0].value = self.visit(node.test)
        parts.append(test)
        parts.append(self._part(f"ag_body_{number}", "", self._visited(body), state, node))
        stop = f"lambda: {leaves}" if breaks else "None"
        parts += _statements(f"ag__.while_stmt(ag_test_{number}, ag_body_{number}, ag_get_{number}, ag_set_{number}, "
                             f"{(*state, *members)!r}, {stop})", node)
        return parts

    def visit_For(self, node):
        if node.orelse or _contains(node.body, (ast.Return,)):
            return self.generic_visit(node)
        number = self._number()
        leaves = f"{_BREAK}_{number}"
        body, breaks = _loop_body(node.body, leaves)
        targets = _assigned([ast.Assign([node.target], ast.Constant(None))])
        state = [n for n in _assigned(body) if n not in targets]
        members = _members(body, state + targets)
        parts = _statements(f"{leaves} = False", node) if breaks else []
        parts += self._state(number, state, members, node)
        assign = ast.copy_location(ast.Assign([node.target], ast.copy_location(ast.Name("ag_item", ast.Load()), node)),
                                   node)
        parts.append(self._part(f"ag_body_{number}", "ag_item", [assign] + self._visited(body), state + targets, node))
        forgotten = "; ".join(f"{n} = ag__.Undefined({n!r})" for n in targets) or "pass"
        parts.append(self._part(f"ag_forget_{number}", "", _statements(forgotten, node), targets, node))
        stop = f"lambda: {leaves}" if breaks else "None"
        (call,) = _statements(f"ag__.for_stmt(0, ag_body_{number}, ag_get_{number}, ag_set_{number}, "
                              f"{(*state, *members)!r}, {stop}, ag_forget_{number})", node)
        call.value.args[0] = self.visit(node.iter)
        if isinstance(node.iter, ast.Call) and isinstance(call.value.args[0], ast.Call):
            inner = call.value.args[0].func
            if isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") == "converted":
                inner.func.attr = "converted_iterable"
        return parts + [call]

    def visit_Delete(self, node):
        """A name that is deleted has no value; the functions that parts have become go on reading it."""
        self.generic_visit(node)
        names = [t for t in node.targets if isinstance(t, ast.Name)]
        if len(names) != len(node.targets):
            return node
        return _statements("\n".join(f"{t.id} = ag__.Undefined({t.id!r})" for t in names), node)

    # --- expressions ---

    def _call(self, name, arguments, like):
        function = ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())
        made = ast.Call(function, arguments, [])
        for part in (function, function.value, made):
            ast.copy_location(part, like)
        return made

    def _later(self, node):
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(empty, node), node)

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return self._call("if_expression", [node.test, self._later(node.body), self._later(node.orelse)], node)

    def visit_BoolOp(self, node):
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._call(name, [self._later(value) for value in node.values], node)

    def visit_Compare(self, node):
        """a < b < c, which Python takes for `a < b and b < c`."""
        self.generic_visit(node)
        if len(node.ops) == 1 or any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
            return node
        steps = []
        for operator, right in zip(node.ops, node.comparators):
            (holds,) = _statements("lambda ag_left, ag_right: ag_left < ag_right", node)
            holds.value.body.ops = [operator]
            steps += [holds.value, self._later(right)]
        return self._call("chained", [node.left, *steps], node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self._call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "vars", "eval", "exec"):
            return node
        node.func = self._call("converted", [node.func], node.func)
        return node


_cache = weakref.WeakKeyDictionary()


def convert(function):
    """The function with its statements converted; itself if it cannot or need not be."""
    if isinstance(function, types.MethodType):
        return types.MethodType(convert(function.__func__), function.__self__)
    if not isinstance(function, types.FunctionType) or getattr(function, "_ag_done", False):
        return function
    if os.path.realpath(function.__code__.co_filename).startswith(_INSTALLED):
        return function
    code = function.__code__
    known = _cache.get(code)
    if known is None:
        known = _cache[code] = _converted_code(function) or False
    if known is False:
        return function
    inner, names = known
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    from . import _autograph_calls
    cells["ag__"] = types.CellType(_autograph_calls)
    if any(name not in cells for name in names):
        return function
    made = types.FunctionType(inner, function.__globals__, function.__name__, function.__defaults__,
                              tuple(cells[name] for name in names))
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    made._ag_done = True
    return made


def _source_of(function):
    """The node of a function, and the line that its source begins at; a lambda as a function of one statement."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None, 0
    if function.__name__ != "<lambda>":
        node = tree.body[0] if tree.body else None
        return (node if isinstance(node, ast.FunctionDef) and node.name == function.__name__ else None), first
    code = function.__code__
    names = list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and [
        a.arg for a in n.args.posonlyargs + n.args.args + n.args.kwonlyargs] == names]
    if len(found) != 1:  # which one it is cannot be told
        return None, 0
    result = ast.copy_location(ast.Return(found[0].body), found[0])
    made = ast.FunctionDef("ag_lambda", found[0].args, [result], [])
    return ast.copy_location(made, found[0]), first


def _converted_node(function):
    """The converted node of a function, and the line that its source begins at; None if there is no source or need."""
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None, 0
    node, first = _source_of(function)
    if node is not None:
        node.decorator_list = []
        _Converter().function(node)
    return node, first


def to_code(entity, recursive=True, experimental_optional_features=None):
    """The source of a function as it is traced, with its statements as calls. Errors: ValueError if there is no source."""
    del recursive, experimental_optional_features
    entity = getattr(entity, "__wrapped__", entity)
    entity = getattr(entity, "__func__", entity)
    node = _converted_node(entity)[0] if isinstance(entity, types.FunctionType) else None
    if node is None:
        raise ValueError(f"to_code: {entity!r} has no source that can be converted")
    return ast.unparse(ast.fix_missing_locations(node)) + "\n"


def to_graph(entity, recursive=True, experimental_optional_features=None):
    """The function with its statements as calls, as it is traced."""
    del recursive, experimental_optional_features
    return convert(getattr(entity, "__wrapped__", entity))


def _converted_code(function):
    """The code of a function, converted, and its free variables; None if there is no source or nothing to do."""
    code = function.__code__
    node, first = _converted_node(function)
    if node is None:
        return None
    outer = ast.parse("def ag_factory():\n    pass").body[0]
    outer.args.args = [ast.arg(name) for name in sorted({*code.co_freevars, "ag__"})]
    outer.body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    ast.increment_lineno(module, first - 1)
    try:
        compiled = compile(module, code.co_filename, "exec", dont_inherit=True,
                           flags=code.co_flags & __import__("__future__").annotations.compiler_flag)
    except SyntaxError:
        return None
    factory = next(c for c in compiled.co_consts if isinstance(c, types.CodeType) and c.co_name == "ag_factory")
    inner = next(c for c in factory.co_consts if isinstance(c, types.CodeType) and c.co_name == node.name)
    return inner, inner.co_freevars


class Converted:
    """A function that is converted when it is traced first, rather than where it stands."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args, **kwargs):
        from . import _core
        if not _core.inside_function():
            return self.function(*args, **kwargs)
        result = convert(self.function)(*args, **kwargs)
        from ._autograph_calls import check_defined
        check_defined(result)
        return result
