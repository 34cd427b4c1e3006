"use strict";
(() => {
  const requests = Array.from(document.querySelectorAll("details.request"));
  const search = document.getElementById("search");
  const failures = document.getElementById("failures");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const texts = new Map();
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, one.textContent.toLowerCase());
    return texts.get(one);
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const one of requests) {
      const failed = one.classList.contains("failed") || one.classList.contains("error");
      const fits = (failed || !failures.checked) && words.every((word) => textOf(one).includes(word));
      one.hidden = !fits;
      count += fits;
    }
    shown.textContent = count === requests.length ? "" : `${count} of ${requests.length}`;
    nothing.hidden = count > 0;
  };
  const setOpen = (open) => {
    for (const one of requests) if (!one.hidden || !open) one.open = open;
  };
  const move = (step) => {
    const visible = requests.filter((one) => !one.hidden);
    const at = visible.findIndex((one) => one.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : visible.length - 1) : at + step;
    const found = visible[Math.max(0, Math.min(visible.length - 1, next))];
    if (!found) return;
    found.querySelector("summary").focus();
    found.scrollIntoView({ block: "center" });
  };
  const keys = {
    "/": () => search.focus(),
    j: () => move(1),
    k: () => move(-1),
    f: () => { failures.checked = !failures.checked; filter(); },
    o: () => setOpen(true),
    c: () => setOpen(false),
  };
  let waiting;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
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
  const failed = requests.find((one) => one.matches(".failed, .error"));
  if (failed) failed.open = true;
})();
