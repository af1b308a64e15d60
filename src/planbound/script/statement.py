"""Reads statements: chains, pipelines, conditions, loops, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planbound.script.call import MAXIMUM_DEPTH, MAXIMUM_LENGTH, Behind, CallReader, Inside
from planbound.script.tree import (
    Background,
    Branches,
    Chain,
    ChainLink,
    Function,
    Loop,
    LoopKind,
    Pipeline,
    Statement,
    StatementList,
    Subshell,
    Word,
    body_of,
    links_of,
    named,
    optional_links,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class StatementReader(CallReader):
    """Turns the syntax tree of one text into statements, and notes every call on the way."""

    def read(self, context: Inside) -> StatementList:
        """Read the whole text."""
        if len(self.text) > MAXIMUM_LENGTH or self.depth > MAXIMUM_DEPTH:
            self.notes.broken = True
            return StatementList(items=(), start=0, end=len(self.text))
        root = self.notes.parse(self.data)
        self.notes.broken |= root.has_error
        return self._block(root.children, context, root)

    def script(self, word: Word, context: Inside) -> StatementList:
        """Read the script in a word."""
        reader = StatementReader(word.value or "", self.notes, depth=self.depth + 1, within=word)
        reader.directory = self.directory
        return reader.read(context)

    def statement(self, node: Node, context: Inside, redirects: tuple[Node, ...] = ()) -> Statement:
        """Read any statement."""
        handler = _HANDLERS.get(node.type)
        if handler is None:
            self.substitutions(node, context)
            return self.unread(node)
        if self.depth >= MAXIMUM_DEPTH:
            self.notes.broken = True
            return self.unread(node)
        self.depth += 1
        try:
            return handler(self, node, context, redirects)
        finally:
            self.depth -= 1

    def _block(self, nodes: Sequence[Node], context: Inside, whole: Node) -> StatementList:
        items: list[Statement] = []
        for index, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                continue
            if index + 1 < len(nodes) and nodes[index + 1].type == "&":
                item = self.statement(node, context._replace(background=True))
                items.append(Background(item=item, start=item.start, end=item.end))
            else:
                items.append(self.statement(node, context))
        start, end = self.span(whole)
        return StatementList(items=tuple(items), start=start, end=end)

    def _aside(self, nodes: Sequence[Node], context: Inside, whole: Node) -> StatementList:
        """Read what may or may not run: where it changes the directory, that is not certain."""
        before = self.directory
        block = self._block(nodes, context, whole)
        if self.directory != before:
            self.directory = None
        return block

    # -- joined statements -------------------------------------------------------------------

    def redirected(self, node: Node, context: Inside, redirects: tuple[Node, ...]) -> Statement:
        """Read a statement with redirects behind it."""
        body, own = body_of(node)
        redirects = (*own, *redirects)
        if body is None:
            return self.simple(node, (), (), context, redirects)
        return self.statement(body, context, redirects)

    def chain(self, node: Node, context: Inside, redirects: tuple[Node, ...]) -> Statement:
        """Read `a && b || c`."""
        parts = links_of(node, redirects)
        if len(parts) == 1:
            return self.unknown(node, context)
        items: list[Statement] = []
        for part, optional in zip(parts, optional_links(parts, self.data), strict=True):
            inner = context._replace(optional=True) if optional else context
            before = self.directory
            items.append(self.statement(part.node, inner, part.redirects))
            if part.operator == "||" and self.directory != before:
                self.directory = None
        return _chain(items, parts[1:])

    def pipeline(self, node: Node, context: Inside, redirects: tuple[Node, ...]) -> Statement:
        """Read `a | b`; the grammar puts a `!` in front on the first command alone."""
        elements = named(node)
        if not elements:
            return self.unread(node)
        negated = elements[0].type == "negated_command"
        if negated:
            elements[:1] = named(elements[0])
            context = context._replace(negated=not context.negated)
        return self._pipe(elements, context, redirects, (), negated=negated)

    def _pipe(
        self,
        elements: Sequence[Node],
        context: Inside,
        redirects: tuple[Node, ...],
        before: tuple[Statement, ...],
        *,
        negated: bool = False,
    ) -> Pipeline:
        items = [*before]
        directory = self.directory
        piped = context._replace(fed=True)
        for element in elements:
            inner = piped if items else context
            own = redirects if element is elements[-1] else ()
            items.append(self.statement(element, inner, own))
            self.directory = directory
        return Pipeline(
            items=tuple(items), negated=negated, start=items[0].start, end=items[-1].end
        )

    def negated(self, node: Node, context: Inside, redirects: tuple[Node, ...]) -> Statement:
        """Read `! a`."""
        start, end = self.span(node)
        inner = context._replace(negated=not context.negated)
        items = [self.statement(child, inner, redirects) for child in named(node)]
        return Pipeline(items=tuple(items), negated=True, start=start, end=end)

    def continued(self, item: Statement, behind: Behind, context: Inside) -> Statement:
        """Join a statement with what stands behind its `<<EOF`."""
        rest: list[ChainLink] = []
        if behind.pipe is not None and (piped := named(behind.pipe)):
            first, *rest = links_of(piped[0], ())
            elements = named(first.node) if first.node.type == "pipeline" else [first.node]
            item = self._pipe(elements, context, first.redirects, (item,))
        elif behind.right is not None:
            first, *rest = links_of(behind.right, ())
            rest.insert(0, replace(first, operator=behind.operator))
        if not rest:
            return item
        items = [self.statement(part.node, context, part.redirects) for part in rest]
        return _chain([item, *items], rest)

    def unknown(self, node: Node, context: Inside, _redirects: tuple[Node, ...] = ()) -> Statement:
        """Read the statements in a node of any kind."""
        return self._block(node.children, context, node)

    # -- compound statements -----------------------------------------------------------------

    def compound(self, node: Node, context: Inside, redirects: tuple[Node, ...]) -> Statement:
        """Read a compound statement; its redirects hold for all of it."""
        read = _COMPOUNDS[node.type]
        if not redirects:
            return read(self, node, context)
        behind = Behind()
        taken = self.redirects(redirects, context, behind)
        self.notes.redirects += taken
        fed = context.fed or any(redirect.feeds for redirect in taken)
        return self.continued(read(self, node, context._replace(fed=fed)), behind, context)

    def group(self, node: Node, context: Inside) -> Statement:
        """Read `{ ... }` and `(( ... ))`."""
        if node.children and node.children[0].type == "((":
            return self.test(node, context)
        return self._block(node.children, context, node)

    def subshell(self, node: Node, context: Inside) -> Statement:
        """Read `( ... )`."""
        before = self.directory
        body = self._block(node.children, context, node)
        self.directory = before
        return Subshell(body=body, start=body.start, end=body.end)

    def condition(self, node: Node, context: Inside) -> Statement:
        """Read `if`."""
        inner = context._replace(optional=True)
        conditions: list[StatementList] = []
        bodies: list[StatementList] = []
        complete = False
        pending = [node]
        while pending:
            clause = pending.pop()
            children = clause.children
            clauses = [c for c in children if c.type in {"elif_clause", "else_clause"}]
            pending += reversed(clauses)
            complete = complete or clause.type == "else_clause"
            then = next((i for i, child in enumerate(children) if child.type == "then"), 0)
            if then:
                conditions.append(self._aside(children[:then], inner, clause))
            body = [child for child in children[then:] if child not in clauses]
            bodies.append(self._aside(body, inner, clause))
        start, end = self.span(node)
        return Branches(
            conditions=tuple(conditions),
            bodies=tuple(bodies),
            complete=complete,
            start=start,
            end=end,
        )

    def case(self, node: Node, context: Inside) -> Statement:
        """Read `case`."""
        inner = context._replace(optional=True)
        bodies: list[StatementList] = []
        complete = False
        for child in node.children:
            if child.type != "case_item":
                self.substitutions(child, context)
                continue
            children = child.children
            closed = next((i for i, token in enumerate(children) if token.type == ")"), 0)
            complete = complete or any(self.written(each) == "*" for each in children[:closed])
            bodies.append(self._aside(children[closed:], inner, child))
        start, end = self.span(node)
        return Branches(
            conditions=(), bodies=tuple(bodies), complete=complete, start=start, end=end
        )

    def loop(self, node: Node, context: Inside) -> Statement:
        """Read `for`, `while`, `until` and `select`."""
        start, end = self.span(node)
        *head, last = node.children
        kind = _LOOPS.get(node.children[0].type, LoopKind.EACH)
        condition: StatementList | None = None
        if kind is LoopKind.EACH:
            for child in head:
                self.substitutions(child, context)
        else:
            context = context._replace(optional=True)
            condition = self._aside(head, context, node)
        body = self._aside(last.children, context, last)
        return Loop(kind=kind, condition=condition, body=body, start=start, end=end)

    def function(self, node: Node, context: Inside) -> Statement:
        """Read a definition; who calls it may feed it."""
        before = self.directory
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return self.unread(node)
        self.notes.functions.add(self.written(name))
        inner = self.statement(body, context._replace(fed=True))
        self.directory = before
        start, end = self.span(node)
        return Function(name=self.written(name), body=inner, start=start, end=end)


def _chain(items: Sequence[Statement], rest: Sequence[ChainLink]) -> Chain:
    return Chain(
        items=tuple(items),
        operators=tuple(part.operator for part in rest),
        start=items[0].start,
        end=items[-1].end,
    )


_LOOPS = {"while": LoopKind.WHILE, "until": LoopKind.UNTIL}
_COMPOUNDS: dict[str, Callable[[StatementReader, Node, Inside], Statement]] = {
    "compound_statement": StatementReader.group,
    "subshell": StatementReader.subshell,
    "if_statement": StatementReader.condition,
    "case_statement": StatementReader.case,
    "for_statement": StatementReader.loop,
    "c_style_for_statement": StatementReader.loop,
    "while_statement": StatementReader.loop,
    "function_definition": StatementReader.function,
}
_HANDLERS: dict[str, Callable[[StatementReader, Node, Inside, tuple[Node, ...]], Statement]] = {
    "command": StatementReader.command,
    "redirected_statement": StatementReader.redirected,
    "list": StatementReader.chain,
    "pipeline": StatementReader.pipeline,
    "negated_command": StatementReader.negated,
    "test_command": StatementReader.test,
    "variable_assignment": StatementReader.assignments,
    "variable_assignments": StatementReader.assignments,
    "declaration_command": StatementReader.declaration,
    "unset_command": StatementReader.declaration,
    "command_substitution": StatementReader.unknown,
    "process_substitution": StatementReader.unknown,
    "ERROR": StatementReader.unknown,
    **dict.fromkeys(_COMPOUNDS, StatementReader.compound),
}
