// Keeps the tasks up to date in place, and moves them by drag and drop. Without it, rows are links
// and changes are forms.
"use strict";

(() => {
  const plan = document.getElementById("plan");
  if (!plan) return;
  const rest = 5000; // ms without a key or a pointer in the list after which it may change
  const find = (selector, from = document) => from.querySelector(selector);
  const list = () => find("#tasks-live");
  const pane = () => find(".pane");
  let active = -Infinity; // when the person did something in the list last
  let dragged = null;
  let waiting = 0; // the timer of a change that waits for the person
  let asked = 0; // counts what was asked for, so that an older answer is dropped

  const say = (text) => { find("#announcement").textContent = text; };
  const isBusy = () => dragged || find(".move[open]") || Date.now() - active < rest && (list().matches(":hover") || list().contains(document.activeElement));
  const isChanged = (field) => field.type !== "hidden" && field.value !== (field.matches("select") ? [...field.options].find((one) => one.defaultSelected)?.value ?? field.options[0].value : field.defaultValue);
  const isDirty = () => [...pane().querySelectorAll(".editor :is(input, textarea, select)")].some(isChanged);

  const swap = (target, how, text) => htmx.swap({ sourceElement: document.body, target, swap: how, text, request: {} });
  const reveal = () => { for (const button of document.querySelectorAll("[data-take]")) button.hidden = false; };

  // show puts the list and the task of a page into this one.
  const show = async (page, withPane) => {
    await swap("#tasks-live", "outerMorph", find("#tasks-live", page).outerHTML);
    await swap("#plan-notice", "innerHTML", find("#plan-notice", page).innerHTML);
    if (withPane) {
      await swap(".pane", "outerHTML", find(".pane", page).outerHTML);
      plan.className = find("#plan", page).className;
      reveal();
    }
    clearTimeout(waiting);
    find("[data-show-new]").hidden = true;
  };

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  // load shows what the server answers because the person pressed something.
  const load = async (address, options, push) => {
    const mine = ++asked;
    let answer, text;
    try {
      answer = await fetch(address, { ...options, headers: { "Remit-Part": "plan", Accept: "text/html" } });
      text = await answer.text();
    } catch {
      say("The server does not answer. Try again.");
      return null;
    }
    if (mine !== asked) return answer;
    const page = parse(text);
    if (!find("#plan", page)) {
      if (answer.status === 401) find("#signed-out").hidden = false;
      else say(find("main", page)?.textContent.trim() || text);
      if (!options?.method) location.assign(address);
      else find("#plan-notice").innerHTML = `<p class="notice bad" role="alert"></p>`, find("#plan-notice p").textContent = find("main", page)?.innerText.trim() || text;
      return answer;
    }
    await show(page, true);
    document.title = page.title;
    const { pathname, search } = new URL(answer.url);
    if (push && answer.ok && pathname + search !== location.pathname + location.search) history.pushState({}, "", pathname + search);
    return answer;
  };

  // refresh takes in what others have changed.
  const refresh = async () => {
    clearTimeout(waiting);
    if (isBusy()) {
      find("[data-show-new]").hidden = false;
      waiting = setTimeout(refresh, rest);
      return;
    }
    const mine = ++asked;
    const answer = await fetch(location, { headers: { "HX-Request": "true", Accept: "text/html" } }).catch(() => null);
    const page = answer && parse(await answer.text());
    if (mine !== asked || !page) return;
    const stale = find("[data-stale]");
    if (!find("#plan", page)) {
      if (stale) stale.hidden = false;
      return;
    }
    if (isBusy()) return refresh();
    await show(page, false);
    const now = find(".pane", page);
    if (!now.dataset.task) return;
    if (isDirty() || pane().contains(document.activeElement)) {
      if (stale && now.dataset.state !== pane().dataset.state) stale.hidden = false;
      return;
    }
    find(".past", now).innerHTML = find(".past", pane())?.innerHTML ?? ""; // it is loaded again, and nothing moves meanwhile
    await swap(".pane", "outerHTML", now.outerHTML);
  };

  const open = async (link) => {
    const answer = await load(link.href, undefined, true);
    if (!answer?.ok) return;
    const to = find("#pane-title") ?? find(".task-title");
    to?.focus();
  };

  const send = async (form, body, done) => {
    const answer = await load(form, { method: "POST", body }, true);
    if (answer?.ok && answer.status !== 202) say(done);
    return answer;
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-open]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      open(link);
    }
    const take = event.target.closest("[data-take]");
    if (take) {
      const field = document.getElementById(take.dataset.take);
      field.value = take.dataset.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.focus();
    }
    if (event.target.closest("[data-show-new]")) showNew();
    for (const menu of document.querySelectorAll(".move[open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("[data-inplace]") || event.defaultPrevented) return;
    event.preventDefault();
    const row = form.closest(".task")?.id;
    const button = event.submitter;
    const words = button.textContent.trim().replace(/\s+/g, " ");
    const answer = await send(form.getAttribute("action"), new URLSearchParams(new FormData(form, button)), `Done: ${words}`);
    delete form.dataset.sent;
    if (!answer) return;
    if (answer.ok && answer.status !== 202) for (const field of form.elements) if (field.name) window.remitForget(field);
    if (document.activeElement === document.body || !document.activeElement.isConnected) {
      const to = (row && document.getElementById(row)?.querySelector(".task-title")) || find(".pane [role=alert]") || find("#pane-title") || list();
      if (to.matches("[role=alert]")) to.tabIndex = -1;
      to.focus({ preventScroll: Boolean(row) });
    }
  });

  // Drag and drop.
  const over = (event) => dragged && event.target.closest?.("[data-drop]");
  document.addEventListener("dragstart", (event) => {
    const row = event.target.closest?.(".task[draggable=true]");
    if (!row) return;
    dragged = { move: row.dataset.move, seen: row.dataset.seen, from: row.closest(".column") };
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", row.id);
    row.classList.add("dragged");
  });
  document.addEventListener("dragover", (event) => {
    const column = over(event);
    for (const one of document.querySelectorAll(".column.target")) one.classList.toggle("target", one === column);
    if (!column || column === dragged.from) return;
    event.preventDefault();
    column.classList.add("target");
  });
  document.addEventListener("drop", (event) => {
    const column = over(event);
    if (!column) return;
    event.preventDefault();
    const { move, seen } = dragged;
    dragged = null;
    send(move, new URLSearchParams({ at: "list", seen, to: column.dataset.drop }), `Moved to ${find("h2", column).firstChild.textContent.trim()}`);
  });
  document.addEventListener("dragend", () => {
    dragged = null;
    for (const one of document.querySelectorAll(".column.target, .task.dragged")) one.classList.remove("target", "dragged");
  });

  for (const kind of ["pointermove", "pointerdown", "keydown"]) {
    document.addEventListener(kind, (event) => { if (list().contains(event.target)) active = Date.now(); }, { passive: true });
  }
  const showNew = () => {
    active = -Infinity;
    for (const menu of document.querySelectorAll(".move[open]")) menu.open = false;
    refresh();
  };
  const step = (by) => {
    const rows = [...document.querySelectorAll(".task-title")];
    const at = rows.findIndex((row) => row.closest(".task").contains(document.activeElement));
    rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
  };
  window.remitKeys = {
    n: showNew,
    j: () => step(1),
    k: () => step(-1),
    m: () => { document.activeElement.closest(".task")?.querySelector(".move > summary").click(); },
    Escape: () => {
      const menu = find(".move[open]");
      if (!menu) return find("[data-close]")?.click();
      menu.open = false;
      find("summary", menu).focus();
    },
  };
  document.body.addEventListener("tasks", refresh);
  document.body.addEventListener("approvals", refresh);
  addEventListener("popstate", () => load(location.href));
  reveal();
})();
