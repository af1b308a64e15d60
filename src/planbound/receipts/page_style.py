"""How pages look: one style sheet, which loads nothing and reads well without colour and on paper.

Every colour has a word beside it. The pairs of colours have a contrast of 4.5 to 1 or more, in
light and in dark.
"""

from planbound.receipts.html import StyleSheet

STYLE = StyleSheet(
    """
:root { color-scheme: light dark;
  --ink: #1b1f24; --dim: #57606a; --ground: #ffffff; --raised: #f6f8fa; --edge: #d0d7de;
  --link: #0550ae; --good: #116329; --good-ground: #dafbe1; --soft: #0a5566; --soft-ground: #d8f3f8;
  --warn: #7a4b00; --warn-ground: #fff3cf; --bad: #a40e26; --bad-ground: #ffebe9; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e6edf3; --dim: #9aa5b1; --ground: #0d1117; --raised: #161b22; --edge: #3d444d;
  --link: #79b8ff; --good: #7ee2a0; --good-ground: #0f2e1b; --soft: #86d9ec; --soft-ground: #0b2a33;
  --warn: #f2cc60; --warn-ground: #332701; --bad: #ffa198; --bad-ground: #3c1014; } }
* { box-sizing: border-box; }
html { background: var(--ground); color: var(--ink); }
body { margin: 0 auto; max-width: 60rem; padding: 1rem;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.5em 0 .5em; text-wrap: balance; }
h1 { font-size: 1.7rem; margin-top: .5em; } h2 { font-size: 1.35rem; }
h3 { font-size: 1.15rem; } h4 { font-size: 1rem; } h5, h6 { font-size: .95rem; }
a { color: var(--link); } a:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
p, ul, ol, dl, table, pre { margin: .5em 0; }
code, pre, .mono { font: .875rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--raised); border: 1px solid var(--edge); border-radius: 6px;
  padding: .6rem .75rem; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
pre, dd, td, li, .said { unicode-bidi: isolate; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dl.facts dt { color: var(--dim); } dl.facts dd { margin: 0; }
@media (max-width: 34rem) { dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin: 0 0 .4rem 1rem; } body { padding: .75rem; } }
.dim { color: var(--dim); }
.word { display: inline-block; border: 1px solid currentColor; border-radius: 1em;
  padding: 0 .6em; font-size: .85rem; font-weight: 600; white-space: nowrap; }
@media (max-width: 34rem) { .word { white-space: normal; border-radius: .8rem; } }
.good { color: var(--good); background: var(--good-ground); }
.soft { color: var(--soft); background: var(--soft-ground); }
.warn { color: var(--warn); background: var(--warn-ground); }
.bad { color: var(--bad); background: var(--bad-ground); }
.none { color: var(--dim); background: var(--raised); }
.unseen { border: 1px dashed currentColor; border-radius: 3px; padding: 0 .2em;
  color: var(--bad); font-size: .85em; }
article { border: 1px solid var(--edge); border-left-width: 6px; border-radius: 6px;
  padding: .25rem 1rem .5rem; margin: .75rem 0; }
article > :first-child { margin-top: .6rem; }
article.is-good { border-left-color: var(--good); }
article.is-soft { border-left-color: var(--soft); }
article.is-warn { border-left-color: var(--warn); border-left-style: double; }
article.is-bad { border-left-color: var(--bad); border-left-style: double; }
article.is-none { border-left-style: dotted; }
nav, .notice { margin: 1rem 0; }
.notice { border: 2px solid var(--warn); border-radius: 6px; padding: .25rem 1rem; }
.notice > :first-child { margin-top: .5rem; }
details { margin: .5em 0; } summary { cursor: pointer; font-weight: 600; padding: .15rem 0; }
details > :not(summary) { margin-left: .25rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: var(--dim); }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-bottom: 1px solid var(--edge); }
th, td { overflow-wrap: break-word; } td code { overflow-wrap: anywhere; }
th { font-weight: 600; } .number { white-space: nowrap; font-variant-numeric: tabular-nums; }
ol.plain, ul.plain { list-style: none; padding: 0; }
ol.timeline > li { border-left: 2px solid var(--edge); padding: .1rem 0 .1rem .75rem; }
time { white-space: nowrap; color: var(--dim); font-size: .875rem; }
ins, del { text-decoration: none; display: block; }
ins { background: var(--good-ground); color: var(--good); }
del { background: var(--bad-ground); color: var(--bad); }
.chart { display: block; width: 100%; max-width: 40rem; height: auto;
  border: 1px solid var(--edge); border-radius: 6px; }
.chart-ground { fill: var(--raised); }
.chart-line { stroke: var(--link); stroke-width: 3; }
.chart-limit { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 8 5; }
.chart-unknown { stroke: var(--dim); stroke-width: 1; }
.hatch-line { stroke: var(--dim); stroke-width: 2; }
footer { border-top: 1px solid var(--edge); margin-top: 2rem; color: var(--dim); }
@media print {
  :root { --ink: #000; --dim: #333; --ground: #fff; --raised: #fff; --edge: #888; --link: #000;
    --good: #000; --good-ground: #fff; --soft: #000; --soft-ground: #fff; --warn: #000;
    --warn-ground: #fff; --bad: #000; --bad-ground: #fff; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  details::details-content { content-visibility: visible; display: block; block-size: auto; }
  h1, h2, h3, h4, summary { break-after: avoid; } article { break-inside: auto; }
  pre, code { font-size: 8.5pt; } .scroll { overflow: visible; }
  @page { margin: 15mm; } }
@media (forced-colors: active) { .word, article { border-color: CanvasText; } }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
"""
)
