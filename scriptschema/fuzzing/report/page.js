"use strict";
const finds = [...document.querySelectorAll(".find")];
const filter = document.getElementById("filter");
const matching = document.getElementById("matching");
if (filter) {
  const all = matching.textContent;
  const texts = finds.map((find) => find.textContent.toLowerCase());
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    finds.forEach((find, number) => {
      find.hidden = !words.every((word) => texts[number].includes(word));
      if (!find.hidden) count++;
    });
    matching.textContent = words.length ? `${count} of ${finds.length}` : all;
  };
  filter.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== filter) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === "Escape" && document.activeElement === filter) {
      filter.value = "";
      show();
    }
  });
  const openAll = (open) => finds.forEach((find) => { if (!find.hidden) find.open = open; });
  document.getElementById("unfold").addEventListener("click", () => openAll(true));
  document.getElementById("fold").addEventListener("click", () => openAll(false));
}
const showLinked = () => {
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (linked instanceof HTMLDetailsElement) linked.open = true;
};
window.addEventListener("hashchange", showLinked);
showLinked();
let unfolded = [];
window.addEventListener("beforeprint", () => {
  unfolded = finds.filter((find) => !find.open);
  unfolded.forEach((find) => { find.open = true; });
});
window.addEventListener("afterprint", () => unfolded.forEach((find) => { find.open = false; }));
