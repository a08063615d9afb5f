// The menu, buttons that copy, and forms that are sent once.
"use strict";

(() => {
  const menu = document.querySelector(".menu");
  menu?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // The button itself reports the copy, to screen readers too (aria-live).
  const copy = async (button, label) => {
    const from = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(from.textContent);
      const text = button.firstChild;
      text.textContent = "Copied";
      setTimeout(() => { text.textContent = label; }, 1500);
    } catch {
      getSelection().selectAllChildren(from); // without clipboard access, select the text so that the user can copy it
    }
  };
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    const label = button.firstChild.textContent; // read it now: at a second click it may be "Copied"
    button.addEventListener("click", () => copy(button, label));
  }
  // Keys. A page adds its own as remitKeys. None acts in a field, with Ctrl, Alt or Meta, while it is
  // held down, or under a dialog; a person may switch all of them off.
  const help = document.getElementById("keys");
  const off = () => localStorage.getItem("keys") === "off";
  const places = { i: "/console/approvals", o: "/", t: "/console/tasks", b: "/console/books" };
  let going = 0; // when g was pressed
  // The box in the frame searches everything. It is hidden in narrow windows; then the page with the
  // same box opens.
  const seen = (box) => box?.checkVisibility() && box;
  const find = () => seen(document.querySelector("[data-everywhere]")) || location.pathname === "/console/search" && document.querySelector("main [data-find]");
  const keys = {
    "?": () => help?.showModal(),
    "/": () => (find() ? find().focus() : location.assign("/console/search")),
    g: () => { going = Date.now(); },
  };
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || off() || document.querySelector("dialog[open]")) return;
    const page = window.remitKeys ?? {};
    if (target.matches("input:not([type=checkbox]), select, textarea") && !(key === "Escape" && page.Escape)) return;
    const place = Date.now() - going < 2000 && places[key];
    going = 0;
    if (place) return location.assign(place);
    const act = page[key] ?? keys[key];
    if (!act) return;
    if (key !== "Escape") event.preventDefault();
    act();
  });
  document.addEventListener("click", (event) => event.target.closest("[data-help]") && help?.showModal());
  const use = document.querySelector("[data-keys]");
  if (use) {
    use.checked = !off();
    use.addEventListener("change", () => localStorage.setItem("keys", use.checked ? "on" : "off"));
  }

  // A form that changes something is sent only once, even if the button is pressed again.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
})();
