"""Looks at a page as a browser's parser does: what it is made of, and whether it does anything."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

VOID = {"br", "hr", "meta"}
ACTIVE = set("script iframe object embed link base form input button img image audio video use"
             " foreignobject animate set".split())  # fmt: skip
LINKS = {"href", "src", "srcset", "action", "xlink:href", "data", "poster", "style"}


class Page(HTMLParser):
    """A page, taken apart; `wrong` is what must not be in one."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: Counter[str] = Counter()
        self.targets: list[str] = []
        self.levels: list[int] = []
        self.count: Counter[str] = Counter()
        self.parts: list[str] = []
        self.styles: list[str] = []
        self.policy = ""
        self.feed(text)
        self.close()
        self.wrong += [f"<{name}> is not closed" for name in self.open]
        self.wrong += [f"id {name} twice" for name, count in self.ids.items() if count > 1]
        self.wrong += [f"#{name} leads nowhere" for name in self.targets if name not in self.ids]

    @property
    def text(self) -> str:
        """Return all that can be read."""
        return "".join(self.parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        if tag in ACTIVE:
            self.wrong.append(f"<{tag}>")
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs).get("content") or ""

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name.startswith("on"):
            self.wrong.append(f"{tag} {name}")
        if name == "id":
            self.ids[value] += 1
        if name in {"aria-labelledby", "aria-describedby"}:
            self.targets.append(value)
        if name in LINKS:
            if name == "href" and value.startswith("#"):
                self.targets.append(value[1:])
            else:
                self.wrong.append(f"{tag} {name}={value}")
        if "url(" in value and not re.fullmatch(r"url\(#[\w.-]+\)", value):
            self.wrong.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> in {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        else:
            self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"a comment: {data[:40]}")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"an instruction: {data[:40]}")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"a declaration: {data[:40]}")


def look_at(text: str) -> Page:
    """Return a page that does nothing, and in which everything stands where it belongs."""
    page = Page(text)
    assert page.wrong == []
    assert page.levels[:1] == [1]
    assert page.levels.count(1) == 1
    steps = list(zip(page.levels, page.levels[1:], strict=False))
    assert all(after <= before + 1 for before, after in steps), page.levels
    assert page.count["main"] == 1
    assert "default-src 'none'" in page.policy
    assert "script-src 'none'" in page.policy
    assert not re.search(r"https?:|@import|expression", "".join(page.styles))
    hidden = re.findall(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text
    )
    assert hidden == []
    return page
