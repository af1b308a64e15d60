"""The server of the page: every request goes through the guard before anything else sees it."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from planbound.errors import PlanboundError
from planbound.page import guard, layout
from planbound.page.board import Board
from planbound.page.connections import PageServer, connections_with, listen
from planbound.page.far_end import FarEnd, FarEnds
from planbound.page.forms import NONCE
from planbound.page.guard import Names, PageRequest, Refusal
from planbound.page.live import LiveStream
from planbound.page.nonce import read_nonce
from planbound.page.routes import BESIDE, ROUTES
from planbound.page.visit import (
    GoTo,
    NoSuchPage,
    PageAnswer,
    PageRights,
    PageRoute,
    PartOfPage,
    PlainFile,
    ShownPage,
    Visit,
)
from planbound.receipts.html import Html, element, join, served
from planbound.receipts.pieces import heading
from planbound.workspace.context import Context
from planbound.workspace.links import read_link
from planbound.workspace.page_home import PageFolder, RunningPage

_LARGEST_BODY = 8 * 1024 * 1024
_READ_OUT = 4 * _LARGEST_BODY
_MOST_FIELDS = 2_000
_MOST_CONNECTIONS = 600
_WHOLE_FORM = 60.0
"""In seconds: so long a form may take to arrive."""
_STATIC = {
    "icon.svg": "image/svg+xml",
    "style.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "hx-sse.min.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
}


class PageSettings(NamedTuple):
    """How a page is served."""

    host: str
    port: int | None
    """0: a free one; None: the usual one, or a free one where that is taken."""
    names: tuple[str, ...]
    """What browsers may call us, without the port."""
    rights: PageRights
    is_named: bool = False
    """Whether somebody said where to listen: a proxy of another user may stand before it."""


# -- the application -----------------------------------------------------------------------------


class PageApplication:
    """Answers requests; what it needs of the workspace is made for each of them."""

    def __init__(
        self, open_context: Callable[[], Context], running: RunningPage, settings: PageSettings
    ) -> None:
        self._open = open_context
        self._running = running
        self._rights = settings.rights
        self._names = Names(running.port, settings.names)
        self._context = open_context()
        self.board = Board(self._context.existing_journal)
        self.live = LiveStream(self._context.existing_journal)
        self._folder = PageFolder(self._context.state.folder)
        self._key = self._folder.key()
        self._used: dict[str, float] = {}
        self.far_ends = FarEnds(own_alone=not settings.is_named)
        routes = [Route("/static/{name}", self._static), Route("/enter", self._enter),
                  Route("/live", self._follow)]  # fmt: skip
        routes += [self._route(each) for each in ROUTES]
        handlers = {404: self._not_found, 405: self._not_done}
        self._inner: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
        self._free = tuple(each.pattern.partition("{")[0] for each in ROUTES if each.is_open)

    def read_all(self) -> None:
        """Fold everything that is in the journal."""
        with self.board.lock:
            self.board.refresh()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the guard see a request, then answer it."""
        if scope["type"] != "http":
            return
        headers = [(key.decode("latin-1"), value.decode("latin-1"))
                   for key, value in scope["headers"]]  # fmt: skip
        asking = PageRequest(scope["method"], scope["path"], headers)
        refusal = guard.refuse_name(asking, self._names) or guard.refuse_shape(asking)
        session = guard.session_of(asking, self._names, self._key, time.time())
        if refusal is None and session is None and not self._is_free(asking.path):
            refusal = Refusal(401, "this browser is not known here, or not any more")
        if refusal is None and not asking.path.startswith("/static/"):
            refusal = self._refuse_far_end(scope)
        if refusal is None and asking.method == "POST":
            refusal = guard.refuse_change(asking, self._names, why_not=self._rights.why_not)
        if refusal is not None:
            await self._refused(refusal, asking)(scope, receive, send)
            return
        scope["planbound.session"] = session or ""
        if self._is_made_up(asking.path):
            # Nothing is opened, and no form is read, for what nobody of ours wrote.
            answer = await self._not_found(Request(scope), None)
            await answer(scope, receive, send)
            return
        await self._inner(scope, receive, send)

    def _is_free(self, path: str) -> bool:
        """Say whether an address asks for no cookie."""
        return path == "/enter" or path.startswith(("/static/", *self._free))

    def _is_made_up(self, path: str) -> bool:
        """Say whether an address that is to be a secret by itself is none of ours."""
        prefix = next((each for each in self._free if path.startswith(each)), None)
        return prefix is not None and read_link(self._key, path.removeprefix(prefix)) is None

    def _refuse_far_end(self, scope: Scope) -> Refusal | None:
        """Refuse who may have come by what lets others in: agents, and other users."""
        if not scope.get("client") or not scope.get("server"):
            return None
        match self.far_ends.of(scope["client"], scope["server"]):
            case FarEnd.OWN:
                return None
            case FarEnd.IN_CELL:
                return Refusal(403, "this page is not for what runs in a cell")
            case FarEnd.OTHER_USER:
                return Refusal(
                    403,
                    "this page is for programs of the user who started it; where a"
                    " proxy of another user stands before it, say `--host 127.0.0.1`",
                )
            case FarEnd.GONE:
                return Refusal(403, "whoever asked this is gone")  # fmt: skip

    def _refused(self, refusal: Refusal, asking: PageRequest | None = None) -> Response:
        if refusal.status == 401 and asking is not None and guard.is_led_here(asking):
            here = served("a", "Open it from here", href=guard.written(asking.path))
            content = _refusal_page(
                "Another site led you here",
                join("What this browser is known by is not sent along then. ", here, "."),
            )
            return self._html(ShownPage("Enter", content, 401), known=False)
        if refusal.status == 401:
            content = _refusal_page(
                "Enter by a new link",
                join("This browser is not known here, or not any more. ",
                     element("code", "planbound page --url"), " prints a link for it."),
            )  # fmt: skip
            return self._html(ShownPage("Enter", content, 401), known=False)
        headers = {"connection": "close"} if refusal.status == 400 else {}
        if refusal.allowed:
            headers["allow"] = refusal.allowed
        return Response(f"{refusal.why}\n", refusal.status, headers, media_type="text/plain")

    # -- what is not a page ----------------------------------------------------------------------

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return await self._not_found(request, None)
        data = await anyio.to_thread.run_sync(_static_file, name)
        headers = {"content-type": _STATIC[name], "cache-control": "no-cache"}
        return Response(data, headers=headers)

    async def _enter(self, request: Request) -> Response:
        """Let a browser in that came with a token, once."""
        now = time.time()
        self._used = {name: until for name, until in self._used.items() if until > now}
        given = request.query_params.get("token", "")
        token = guard.read_entry(self._key, self._running.start, given, now, self._used)
        if request.method != "GET" or token is None:
            return self._refused(Refusal(401, "this link lets nobody in, or not any more"))
        self._used[token.name] = token.until
        content = _refusal_page("You are in", served("a", "Go on to the plans", href="/"))
        answer = self._html(ShownPage("Entered", content), known=False)
        # A redirection would still belong to whoever gave the link: its cookie would not be sent.
        answer.headers["refresh"] = "0; url=/"
        cookie = guard.new_session(self._names, self._key, secrets.token_urlsafe(18), now)
        answer.headers["set-cookie"] = cookie
        return answer

    async def _follow(self, request: Request) -> Response:
        """Send what happens, as it happens."""
        if request.method == "HEAD":  # what nobody is sent has no end that they wait for
            return Response(media_type="text/event-stream")
        after = guard.last_event(request.headers, request.query_params)
        events = self.live.follow(dict(request.query_params), after)
        return StreamingResponse(events, media_type="text/event-stream",
                                 headers={"x-accel-buffering": "no"})  # fmt: skip

    async def _not_found(self, request: Request, _error: Exception | None) -> Response:
        content = _refusal_page("There is nothing here", served("a", "All plans", href="/"))
        known = bool(request.scope["planbound.session"])
        return self._html(ShownPage("Not found", content, 404), known=known)

    async def _not_done(self, request: Request, error: Exception) -> Response:
        """Say how an address is asked that was asked in another way."""
        allowed = sorted((getattr(error, "headers", None) or {}).get("Allow", "").split(", "))
        title = "That is not how this address is asked"
        content = _refusal_page(title, served("a", "All plans", href="/"))
        known = bool(request.scope["planbound.session"])
        answer = self._html(ShownPage(title, content, 405), known=known)
        answer.headers["allow"] = ", ".join(allowed)
        return answer

    # -- pages -----------------------------------------------------------------------------------

    def _route(self, route: PageRoute) -> Route:
        async def answer(request: Request) -> Response:
            fields: dict[str, str] = {}
            if route.method == "POST":
                body = await _body(request)
                if body is None:
                    return self._refused(Refusal(413, "that is more than a form of ours"))
                try:
                    fields = dict(parse_qsl(body.decode("utf-8", "surrogateescape"),
                                            keep_blank_values=True, errors="surrogateescape",
                                            max_num_fields=_MOST_FIELDS))  # fmt: skip
                except ValueError:
                    return self._refused(Refusal(400, "that is no form of ours"))
            return await anyio.to_thread.run_sync(self._answer, route, request, fields)

        return Route(route.pattern, answer, methods=[route.method])

    def _answer(self, route: PageRoute, request: Request, fields: Mapping[str, str]) -> Response:
        """Answer in a thread of its own; a page is read while the fold stands still."""
        session = request.scope["planbound.session"]
        try:
            context = self._open()
        except PlanboundError as error:  # such as a folder that is gone
            title = "That cannot be done"
            page = ShownPage(title, _refusal_page(title, error.message), 500)
            return self._html(page, known=bool(session))
        visit = Visit(
            context=context, board=self.board, address=guard.written(request.scope["path"]),
            path={name: str(value) for name, value in request.path_params.items()},
            query=dict(request.query_params), form=fields, rights=self._rights,
            session=session, key=self._key,
            says_site="sec-fetch-site" in request.headers,
            accepts_part=request.headers.get("hx-request") == "true",
            beside=BESIDE,
        )  # fmt: skip
        try:
            return self._made(route, visit)
        except NoSuchPage as error:
            return self._told(visit, 404, "There is nothing here", error.why)
        except PlanboundError as error:
            hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
            return self._told(visit, 409 if route.method == "POST" else 500, "That cannot be done",
                              f"{error.message}.{hint}")  # fmt: skip
        except Exception:  # noqa: BLE001 - one request must not end the page of everybody
            traceback.print_exc(file=sys.stderr)
            return self._told(visit, 500, "Something went wrong here",
                              "The terminal in which the page was started says what.")  # fmt: skip
        finally:
            context.close()

    def _made(self, route: PageRoute, visit: Visit) -> Response:
        if route.method == "POST":
            given = visit.form.get(NONCE, "")
            shown = read_nonce(self._key, visit.session, visit.address, given)
            if shown is None:
                return self._told(
                    visit,
                    409,
                    "This form is not one of this page, or not any more",
                    "Nothing was done. Open the page again and decide there.",
                )
            return self._response(route.answer(visit._replace(shown=shown, is_change=True)), visit)
        if not route.reads_fold:
            return self._response(route.answer(visit), visit)
        with self.board.lock:
            self.board.refresh()
            return self._response(route.answer(visit), visit)

    def _told(self, visit: Visit, status: int, title: str, why: str) -> Response:
        page = ShownPage(title, _refusal_page(title, why), status)
        return self._html(page, known=bool(visit.session))

    def _response(self, answer: PageAnswer, visit: Visit) -> Response:
        match answer:
            case ShownPage():
                return self._html(answer, known=bool(visit.session),
                                  tells_origin=not visit.says_site)  # fmt: skip
            case PartOfPage():
                return _page_of(str(join(answer.content)), answer.status)
            case GoTo():
                return Response(status_code=303, headers={"location": answer.address})
            case PlainFile():
                return Response(answer.data, media_type="text/plain; charset=utf-8",
                                headers={"cache-control": "no-store"} | answer.named())  # fmt: skip

    def _html(self, page: ShownPage, *, known: bool, tells_origin: bool = False) -> Response:
        """Return a page in its frame; who is not known is not told even how much waits."""
        waiting = self.board.waits if known and not page.is_alone else None
        shown = layout.framed(
            page, self._rights, waiting=waiting, leads_on=known, tells_origin=tells_origin
        )
        return _page_of(str(shown), page.status)


def _page_of(text: str, status: int) -> Response:
    headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
    return Response(text.encode("utf-8", "surrogateescape"), status, headers=headers)


def _refusal_page(title: str, *content: Html | str) -> Html:
    return join(heading(1, title), element("p", *content))


def _static_file(name: str) -> bytes:
    with open(os.path.join(os.path.dirname(__file__), "static", name), "rb") as file:
        data = file.read()
    if name == "style.css":
        return layout.style_sheet(data.decode("utf-8")).encode("utf-8")
    return data


async def _body(request: Request) -> bytes | None:
    """Return what a form sent; None where it is too much."""
    found, size = bytearray(), 0
    with suppress(ClientDisconnect), anyio.move_on_after(_WHOLE_FORM):
        async for chunk in request.stream():
            size += len(chunk)
            if size <= _LARGEST_BODY:
                found += chunk
            elif size > _READ_OUT:  # to close on who still sends cuts off the answer
                return None
        return bytes(found) if size <= _LARGEST_BODY else None
    return None


# -- serving -------------------------------------------------------------------------------------


def serve(
    open_context: Callable[[], Context],
    settings: PageSettings,
    listening: Callable[[RunningPage, bytes], None],
) -> None:
    """Serve until the process is told to stop; `listening` is told where, and gets the key.

    A merge that goes on is brought to an end in peace.
    """
    door = listen(settings.host, settings.port)
    context = open_context()
    folder = PageFolder(context.state.folder)
    key = folder.key()
    port = door.getsockname()[1]
    running = RunningPage(
        port, settings.host, os.getpid(), secrets.token_urlsafe(9), settings.rights.decides
    )
    application = PageApplication(open_context, running, settings)
    config = uvicorn.Config(
        application, log_level="critical", lifespan="off", ws="none", access_log=False,
        server_header=False, date_header=False, proxy_headers=False, headers=list(guard.HEADERS),
        http=connections_with(application.far_ends),
        timeout_graceful_shutdown=1, limit_concurrency=_MOST_CONNECTIONS,
    )  # fmt: skip
    server = PageServer(config, application.live)
    try:
        with server.capture_signals():
            folder.note(running)
            listening(running, key)
            anyio.run(_run, server, application, door)
    finally:
        with suppress(OSError):
            folder.forget(running)
        door.close()
        context.close()
        for sentence in application.board.merges.end():
            with suppress(OSError):  # the terminal may be what is gone
                sys.stderr.write(f"{sentence}\n")


async def _run(server: PageServer, application: PageApplication, door: socket.socket) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(application.live.watch)
        # Whoever comes first finds a fold that is made, or under way.
        fold = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
        tasks.start_soon(fold, application.read_all)
        await server.serve(sockets=[door])
        tasks.cancel_scope.cancel()
