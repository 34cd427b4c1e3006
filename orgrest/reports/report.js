"use strict";
(() => {
  const SIZE = 50; // the number of requests in a part, which is made and removed as a whole
  const INSIDE = '<div class="inside">';
  const list = document.getElementById("requests");
  const search = document.getElementById("search");
  const failures = document.getElementById("failures");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const comments = Array.from(list.childNodes).filter((node) => node.nodeType === Node.COMMENT_NODE);
  const requests = comments.map((node) => {
    const html = node.data.trim();
    const failed = /^<details class="request (failed|error)"/.test(html);
    return { html, failed, open: false, text: null, element: null };
  });
  const textOf = (one) => {
    one.text ??= one.html.replace(/<[^>]*>/g, " ").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
      .replaceAll("&#34;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&").toLowerCase();
    return one.text;
  };
  const prepare = (from) => { // so that the first search does not wait for it
    requests.slice(from, from + 2 * SIZE).forEach(textOf);
    if (from + 2 * SIZE < requests.length) setTimeout(prepare, 0, from + 2 * SIZE);
  };

  let fitting = requests;
  let parts = [];
  const rowOf = new WeakMap();
  const focused = () => rowOf.get(document.activeElement.closest("details.request"));
  const openRow = (one) => {
    one.element.open = one.open;
    if (one.open && !one.element.querySelector(".inside")) {
      const end = one.html.length - "</details>".length;
      one.element.insertAdjacentHTML("beforeend", one.html.slice(one.html.indexOf(INSIDE), end));
    }
  };
  const fill = (part) => {
    if (part.box.hasChildNodes()) return;
    const rows = part.requests;
    const start = (one) => one.html.slice(0, one.html.indexOf(INSIDE)) + "</details>";
    part.box.innerHTML = rows.map(start).join("");
    rows.forEach((one, number) => {
      one.element = part.box.children[number];
      rowOf.set(one.element, one);
      if (one.open) openRow(one);
    });
    part.box.style.height = "";
  };
  const empty = (part) => {
    if (part.box.contains(document.activeElement)) return;
    part.box.style.height = `${part.box.offsetHeight}px`;
    part.box.replaceChildren();
    for (const one of part.requests) one.element = null;
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const part = parts.find((one) => one.box === entry.target);
      if (part) (entry.isIntersecting ? fill : empty)(part);
    }
  }, { rootMargin: "1000px" });
  const watch = () => {
    observer.disconnect();
    for (const part of parts) observer.observe(part.box);
  };
  const focus = (number) => {
    fill(parts[Math.floor(number / SIZE)]);
    const found = fitting[number].element;
    found.querySelector("summary").focus({ preventScroll: true });
    found.scrollIntoView({ block: "center" });
  };
  const arrange = () => {
    const row = focused();
    for (const one of requests) one.element = null;
    parts = [];
    for (let at = 0; at < fitting.length; at += SIZE) {
      parts.push({ box: document.createElement("div"), requests: fitting.slice(at, at + SIZE) });
    }
    list.replaceChildren(...parts.map((part) => part.box));
    if (parts.length === 0) return;
    fill(parts[0]);
    const height = list.querySelector("summary").offsetHeight + 7; // with the borders and margin
    for (const part of parts.slice(1)) part.box.style.height = `${height * part.requests.length}px`;
    if (fitting.includes(row)) focus(fitting.indexOf(row));
    watch();
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    fitting = requests.filter((one) => (one.failed || !failures.checked)
      && words.every((word) => textOf(one).includes(word)));
    const count = fitting.length;
    shown.textContent = count === requests.length ? "" : `${count} of ${requests.length}`;
    nothing.hidden = count > 0;
    arrange();
  };
  const setOpen = (open) => {
    for (const one of open ? fitting : requests) {
      one.open = open;
      if (one.element) openRow(one);
    }
  };
  const move = (step) => {
    if (fitting.length === 0) return;
    const at = fitting.indexOf(focused());
    const next = at < 0 ? (step > 0 ? 0 : fitting.length - 1) : at + step;
    focus(Math.max(0, Math.min(fitting.length - 1, next)));
  };
  list.addEventListener("toggle", (event) => {
    const one = rowOf.get(event.target);
    if (!one || one.element !== event.target) return; // its part was emptied since
    one.open = event.target.open;
    openRow(one);
  }, true);
  addEventListener("beforeprint", () => parts.forEach(fill));
  addEventListener("afterprint", watch);
  const keys = {
    "/": () => search.focus(),
    j: () => move(1),
    k: () => move(-1),
    f: () => { failures.checked = !failures.checked; filter(); },
    o: () => setOpen(true),
    c: () => setOpen(false),
  };
  search.addEventListener("input", filter);
  failures.addEventListener("change", filter);
  document.getElementById("open").addEventListener("click", () => setOpen(true));
  document.getElementById("close").addEventListener("click", () => setOpen(false));
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (search.value) { search.value = ""; filter(); }
      document.activeElement.blur();
      return;
    }
    if (event.target.matches("input[type=search]")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const failed = requests.find((one) => one.failed);
  if (failed) failed.open = true;
  document.getElementById("partly").hidden = requests.length <= SIZE;
  arrange();
  setTimeout(prepare, 0, 0);
})();
