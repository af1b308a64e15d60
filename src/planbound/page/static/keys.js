// The keys of the page: what they do stands in the list that `?` shows; and the word that a page
// which followed the journal does not any more. Nothing else is done here.
(() => {
  "use strict";
  const PLACES = { p: "/", i: "/inbox", t: "/team", j: "/journal", c: "/costs" };
  let going = false;

  const inField = (element) =>
    element instanceof HTMLElement &&
    (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));

  const items = () =>
    [...document.querySelectorAll("main .item")].filter((each) => each.offsetParent !== null);

  const move = (by) => {
    const all = items();
    const at = all.findIndex((each) => each.contains(document.activeElement));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    const target = next && next.querySelector("summary, a[href], button, input:not([type=hidden])");
    if (target) {
      target.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  };

  const fold = () => {
    const item = document.activeElement && document.activeElement.closest(".item");
    const details = item && (item.matches("details") ? item : item.querySelector("details"));
    if (details) details.open = !details.open;
  };

  const keys = () => {
    const list = document.getElementById("keys");
    if (!list) return;
    const shown = list.classList.toggle("shown");
    if (shown) list.focus();
  };

  const search = () => {
    const field = document.querySelector('[data-key="/"]');
    if (!field) return false;
    field.focus();
    return true;
  };

  const press = (key) => {
    if (going) {
      going = false;
      if (PLACES[key]) location.assign(PLACES[key]);
      return Boolean(PLACES[key]);
    }
    switch (key) {
      case "j": move(1); return true;
      case "k": move(-1); return true;
      case "o": fold(); return true;
      case "g": going = true; return true;
      case "?": keys(); return true;
      case "/": return search();
      default: return false;
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      document.getElementById("keys")?.classList.remove("shown");
      if (inField(document.activeElement)) document.activeElement.blur();
      return;
    }
    if (inField(event.target)) return;
    if (press(event.key)) event.preventDefault();
  });

  const refused = new Set();
  let isCutOff = false;

  const sayOld = () => {
    const place = document.getElementById("cut-off");
    if (!place) return;
    const words = (isCutOff && place.dataset.says) || (refused.size && place.dataset.refused) || "";
    if (place.textContent !== words) place.textContent = words;
  };

  const cutOff = (is) => {
    isCutOff = is;
    sayOld();
  };

  document.addEventListener("htmx:sse:error", () => cutOff(true));
  document.addEventListener("htmx:sse:after:connection", () => cutOff(false));
  document.addEventListener("htmx:after:request", (event) => {
    const { sourceElement, target, response } = event.detail.ctx;
    const part = target?.id || sourceElement?.id;
    if (!part || !response) return;
    if (response.status < 400) refused.delete(part);
    else refused.add(part);
    sayOld();
  });
})();
