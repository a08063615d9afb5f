// Takes new calls into the timeline of an agent. While somebody looks at the list nothing is
// inserted above what they look at: a button says how many calls are new.
"use strict";

(() => {
  const news = document.querySelector("[data-news]");
  if (!news) return;
  const rest = 5000; // ms without a key or a pointer after which new calls are inserted
  const list = document.querySelector("#timeline");
  const button = news.querySelector("[data-take]");
  const entries = (from) => new Set([...from.querySelectorAll(".moment")].map((entry) => entry.id));
  let active = 0; // when the person did something last
  let fresh = null;
  let timer = 0;

  const morph = (target, text) => htmx.swap({ sourceElement: document.body, target, swap: "innerMorph", text, request: {} });
  const insert = async () => {
    clearTimeout(timer);
    const text = fresh;
    fresh = null;
    button.hidden = true;
    const focused = document.activeElement === button;
    await morph("#timeline", text);
    if (focused) list.focus({ preventScroll: true });
  };
  const busy = () => list.matches(":hover") || list.contains(document.activeElement) || scrollY > list.offsetTop || Date.now() - active < rest;
  const settle = () => {
    clearTimeout(timer);
    if (fresh === null) return;
    if (!busy()) return insert();
    timer = setTimeout(settle, rest);
  };
  document.body.addEventListener("calls", async () => {
    const answer = await fetch(news.dataset.news, { headers: { "HX-Request": "true", Accept: "*/*" } }).catch(() => null);
    if (!answer?.ok) return;
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    await morph("#agent-facts", made.content.querySelector("#agent-facts").innerHTML);
    const next = made.content.querySelector("#timeline");
    const known = entries(list);
    const added = [...entries(next)].filter((id) => !known.has(id)).length;
    if (added === 0) return;
    fresh = next.innerHTML;
    button.textContent = added === 1 ? "Show 1 new entry" : `Show ${added} new entries`;
    button.hidden = false;
    settle();
  });
  button.addEventListener("click", () => fresh !== null && insert());
  for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) document.addEventListener(kind, () => (active = Date.now()), { passive: true });
})();
