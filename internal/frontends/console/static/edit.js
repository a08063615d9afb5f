// Shows what a text will look like while somebody writes it. The server renders it, as it renders
// the page. Without this, Save shows it.
"use strict";

(() => {
  const form = document.querySelector(".lesson-editor");
  if (!form) return;
  const pause = 250; // ms without a key after which the text is rendered
  const text = form.elements.content;
  const note = form.querySelector("[data-draft-note]");
  let timer = 0, asked = 0;

  const render = async () => {
    const mine = ++asked;
    const answer = await fetch(form.dataset.preview, {
      method: "POST", headers: { "Remit-Part": "preview", Accept: "*/*" }, body: new URLSearchParams({ content: text.value }),
    }).catch(() => null);
    const shown = answer && await answer.text();
    if (mine !== asked) return;
    if (answer?.ok) await htmx.swap({ sourceElement: document.body, target: "#preview", swap: "innerHTML", text: shown, request: {} });
    else note.textContent = answer ? `The preview cannot be shown: ${shown.trim()}` : "The preview cannot be shown: the server does not answer.";
  };
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(render, pause);
    note.textContent = `Draft kept in this browser at ${new Date().toLocaleTimeString()}.`;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("button.primary"));
  });
  form.querySelector("[data-discard]").addEventListener("click", () => {
    for (const field of form.elements) if (field.name) window.remitForget(field);
  });
  document.addEventListener("DOMContentLoaded", () => { // a draft was put back by then
    if (text.value === text.defaultValue) return;
    note.textContent = "This is the draft that this browser has kept. Discard drops it.";
    render();
  });
})();
