// Makes the list of requests beside their review a desk for the keyboard: opens the next request in
// place, and decides. Without it, rows are links and decisions are forms.
"use strict";

(() => {
  const desk = document.querySelector(".desk");
  if (!desk) return;
  const settle = 300; // ms after which a review that has just appeared can be approved
  const rest = 5000; // ms without a key or a pointer after which new requests are inserted
  const find = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const pane = () => find("#pane");
  const wide = matchMedia("(min-width: 52rem)");
  const rows = () => all(".request:not(.gone)", find("#queue"));
  const current = () => find(".request.current");
  const allowed = (button) => button && button.getAttribute("aria-disabled") !== "true" && !button.disabled;
  let loading = null;
  let active = 0; // when the person did something last

  const say = (text) => {
    const place = find("#announcement");
    if (place) place.textContent = text;
  };

  // mark shows which row is open, and starts the time after which the review can be approved.
  const mark = () => {
    const id = pane().dataset.request;
    for (const row of all(".request")) {
      const here = row.dataset.id === id;
      row.classList.toggle("current", here);
      if (here) row.classList.remove("unseen");
      const link = find(".what", row);
      if (here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    current()?.scrollIntoView({ block: "nearest" });
    desk.classList.toggle("reviewing", Boolean(id));
    count();
  };

  const ready = () => {
    const shown = pane();
    delete shown.dataset.ready;
    setTimeout(() => { if (shown.isConnected) shown.dataset.ready = "yes"; }, settle);
  };

  // show replaces parts of the page with the answer of the server.
  const show = async (text, push) => {
    const was = pane();
    const before = document.activeElement;
    await htmx.swap({ sourceElement: document.body, target: "#pane", swap: "outerHTML", text, request: {} });
    if (pane() !== was) {
      const { address, title } = pane().dataset;
      if (push && address && address !== location.pathname + location.search) history.pushState({}, "", address);
      document.body.dataset.title = `${title} · Remit`;
      document.title = document.title.replace(/^(\(\S+\) )?.*$/, (_, waiting) => (waiting ?? "") + document.body.dataset.title);
      ready();
      (find("#pane-title") ?? find("#queue")).focus({ preventScroll: true });
    } else if (!before?.isConnected || before === document.body) (find("#pane-title") ?? find("#queue")).focus({ preventScroll: true });
    mark();
    for (const button of all("[data-dismiss]")) button.hidden = false;
  };

  // ask sends a request because the person pressed something, and shows the answer.
  const ask = async (address, options, push) => {
    loading?.abort();
    const stop = loading = new AbortController();
    pane().setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { ...options, signal: stop.signal, headers: { "Remit-Part": "pane", Accept: "*/*" } });
      const text = await answer.text();
      if (stop.signal.aborted) return;
      if (answer.ok || answer.status === 409 && text.trimStart().startsWith("<")) return await show(text, push);
      if (answer.status === 401) find("#signed-out").hidden = false;
      fail(text);
    } catch (error) {
      if (error.name !== "AbortError") fail("The server does not answer; nothing was sent, or the answer was lost. Try again.");
    } finally {
      if (loading === stop) pane().removeAttribute("aria-busy");
    }
  };

  const fail = (text) => {
    const toast = Object.assign(document.createElement("div"), { className: "toast bad" });
    toast.append(Object.assign(document.createElement("p"), { className: "bare", textContent: text.slice(0, 500) }));
    find("#toasts").replaceChildren(toast);
  };

  const open = (address) => ask(address, {}, true);

  const step = (by) => {
    const list = rows();
    const at = list.indexOf(current());
    const next = list[at < 0 ? 0 : at + by];
    if (next) open(find(".what", next).href);
    else say(by > 0 ? "This is the last request" : "This is the first request");
  };

  // Several at once: the server knows what was shown to this person; the page only counts.
  const count = () => {
    const picked = all(".request:has(.pick :checked)");
    const unseen = picked.filter((row) => row.classList.contains("unseen")).length;
    const text = find("[data-picked]");
    if (!text) return;
    text.textContent = `${picked.length} selected` + (unseen ? `, ${unseen} not opened yet` : "");
    const approve = find("[data-approve-several]");
    if (approve) {
      find("[data-ready]", approve).textContent = `${picked.length - unseen} opened`;
      approve.setAttribute("aria-disabled", String(picked.length === unseen));
    }
    find("[data-deny-several] [data-count]").textContent = picked.length;
    find("[data-clear]").hidden = false;
  };

  const send = (form, submitter) => {
    const body = new URLSearchParams(new FormData(form, submitter));
    if (form.id === "several") body.set("open", pane().dataset.request ?? "");
    const typed = find("[name=reason]", form);
    return ask(form.action, { method: "POST", body }, true).finally(() => {
      delete form.dataset.sent;
      if (typed && !typed.isConnected) remitForget(typed); // the answer has replaced the form
    });
  };

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!desk.contains(form) || form.method !== "post") return;
    const approves = submitter?.value === "approve";
    const early = approves && form.id !== "several" && !pane().dataset.ready;
    if (early || !allowed(submitter) || pane().getAttribute("aria-busy") === "true") {
      event.preventDefault();
      event.stopImmediatePropagation();
      delete form.dataset.sent;
      if (!early && !allowed(submitter)) say("Approve is off");
      return;
    }
    if (form.dataset.passkey && submitter?.hasAttribute("data-signs")) return; // passkeys.js signs and sends
    event.preventDefault();
    event.stopImmediatePropagation();
    send(form, submitter);
  }, true);

  // Folded lines.
  const unfold = async (link, focus) => {
    const row = link.closest("tr");
    const answer = await fetch(link.href, { headers: { "Remit-Part": "lines", Accept: "*/*" } }).catch(() => null);
    if (!answer?.ok || !row.isConnected) return fail(answer ? await answer.text() : "The server does not answer. Try again.");
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    const first = find("tr", made.content);
    if (first && row.id) first.id = row.id;
    row.replaceWith(made.content);
    if (focus && first) {
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
    }
  };
  const unfoldAll = async () => {
    for (const details of all(".review-body details")) if (find("table.diff", details)) details.open = true;
    for (const link of all("[data-fold]", pane())) await unfold(link, false);
    say("All lines are open");
  };

  document.addEventListener("click", async (event) => {
    active = Date.now();
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest("a, button");
    if (!link || !desk.contains(link)) return;
    if (link.matches("[data-fold]")) {
      event.preventDefault();
      unfold(link, true);
    } else if (link.dataset.line) {
      event.preventDefault();
      const to = find(`#line-${link.dataset.line}`);
      const fold = to && find("[data-fold]", to);
      if (fold) await unfold(fold, true);
      find(`#line-${link.dataset.line}`)?.scrollIntoView({ block: "start" });
    } else if (link.matches("[data-view], [data-renew], [data-open], [data-step]") || wide.matches && link.matches(".what")) {
      event.preventDefault();
      open(link.href);
    } else if (link.matches("[data-dismiss]")) {
      link.closest(".toast").remove();
      find("#pane-title")?.focus({ preventScroll: true });
    } else if (link.matches("[data-clear]")) {
      for (const box of all(".pick :checked")) box.checked = false;
      count();
    } else if (link.closest("[data-new]")) refresh(true);
  });

  // New requests. While somebody works in the list nothing is inserted above what they look at.
  let fresh = null;
  let timer = 0;
  const insert = async () => {
    clearTimeout(timer);
    const text = fresh;
    fresh = null;
    find("[data-new]").hidden = true;
    const picked = new Set(all(".pick :checked").map((box) => box.value));
    await htmx.swap({ sourceElement: document.body, target: "#queue", swap: "innerMorph", text, request: {} });
    for (const box of all(".pick input")) box.checked = picked.has(box.value);
    mark();
    if (!document.activeElement || document.activeElement === document.body) find("#queue").focus({ preventScroll: true });
  };
  const refresh = async (now) => {
    const answer = await fetch(find("#queue").dataset.refresh, { headers: { "HX-Request": "true", Accept: "*/*" } }).catch(() => null);
    if (!answer?.ok) return;
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    const queue = find("#queue", made.content);
    const known = new Set(all(".request").map((row) => row.dataset.id));
    const there = new Set(all(".request", queue).map((row) => row.dataset.id));
    const added = [...there].filter((id) => !known.has(id)).length;
    fresh = queue.innerHTML;
    const list = find("#queue");
    const busy = list.matches(":hover") || list.contains(document.activeElement) || Date.now() - active < rest || find(".pick :checked");
    if (now || !busy || !rows().length) return insert();
    for (const row of all(".request")) row.classList.toggle("gone", !there.has(row.dataset.id));
    find("[data-new]").hidden = added === 0;
    find("[data-new-count]").textContent = added;
    clearTimeout(timer);
    timer = setTimeout(() => fresh && refresh(false), rest);
  };
  document.body.addEventListener("approvals", () => refresh(false));

  // Keys. console.js calls them, and knows when none may act.
  const press = (selector, from = desk) => {
    const button = find(selector, from);
    if (!allowed(button)) return button && say("Approve is off");
    button.form.requestSubmit(button);
  };
  window.remitKeys = {
    j: () => step(1),
    k: () => step(-1),
    a: () => press("#verdict button[value=approve]"),
    A: () => find(".pick :checked") && press("[data-approve-several]"),
    d: () => {
      const deny = find("#verdict .deny");
      if (!deny) return;
      deny.open = true;
      find("input[name=reason]", deny).focus();
    },
    s: () => find("#verdict [data-rule]")?.click(),
    u: () => press("#toasts [data-withdraw]") ?? press("#verdict [data-withdraw]"),
    x: () => find(".pick input", current() ?? desk)?.click(),
    o: unfoldAll,
    n: () => fresh && refresh(true),
    Escape: () => {
      const deny = find("#verdict .deny[open]");
      if (deny) {
        deny.open = false;
        return find("summary", deny).focus();
      }
      if (!wide.matches && pane().dataset.request) return find(".back").click();
      (find(".what", current() ?? desk) ?? find("#queue")).focus();
    },
  };
  // Enter never approves: whoever types it may mean the request before.
  const refuseEnter = (event) => {
    active = Date.now();
    if (event.key !== "Enter" || !event.target.matches?.("#verdict button[value=approve]")) return;
    event.preventDefault();
    say("Press a or the space bar to approve");
  };
  for (const kind of ["keydown", "keypress"]) document.addEventListener(kind, refuseEnter);
  document.addEventListener("pointermove", () => { active = Date.now(); }, { passive: true });
  document.addEventListener("change", (event) => {
    count();
    if (event.target.matches(".filter select")) event.target.form.requestSubmit();
  });
  addEventListener("popstate", () => (location.pathname.startsWith("/console/approvals/") ? ask(location.href, {}, false) : location.reload()));

  for (const button of all("[data-dismiss]")) button.hidden = false;
  mark();
  ready();
  if (wide.matches && !pane().dataset.request && rows().length && !document.hidden && !location.search.includes("show=decided")) {
    ask(find(".what", rows()[0]).href, {}, false);
  }
})();
