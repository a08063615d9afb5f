// Keeps open pages up to date. Everything else works without it.
"use strict";

(() => {
  const body = document.body;
  const seen = { approvals: body.dataset.approvals, calls: body.dataset.calls };
  let source = null;
  let retry = 0;

  // changed lets the parts of a page that follow something fetch themselves anew.
  const changed = (what, mark) => {
    if (seen[what] === mark) return;
    seen[what] = mark;
    body.dispatchEvent(new CustomEvent(what));
  };

  const showWaiting = (count) => {
    const none = count === "0";
    document.title = (none ? "" : `(${count}) `) + body.dataset.title;
    for (const badge of document.querySelectorAll("[data-waiting]")) {
      badge.querySelector("[data-number]").textContent = count;
      badge.hidden = none;
    }
    document.getElementById("told").textContent = none ? "No request waits for approval" : `${count} waiting for approval`;
  };

  const open = () => {
    clearTimeout(retry);
    if (source || document.hidden) return;
    source = new EventSource("/console/events");
    source.addEventListener("approvals", (event) => {
      const told = JSON.parse(event.data);
      if (seen.approvals !== told.mark) showWaiting(told.count);
      changed("approvals", told.mark);
    });
    source.addEventListener("calls", (event) => changed("calls", JSON.parse(event.data).mark));
    source.addEventListener("end", () => {
      close();
      document.getElementById("signed-out").hidden = false;
      document.removeEventListener("visibilitychange", follow);
    });
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        retry = setTimeout(open, 10000);
      }
    });
  };

  const close = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };

  // A page that nobody sees need not be up to date; it catches up when it is seen.
  const follow = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", close);
  addEventListener("pageshow", follow);

  const menu = document.querySelector(".menu");
  menu?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // What was copied is told by the button itself, also to those who only hear the page.
  const copy = async (button, words) => {
    const from = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(from.textContent);
      const shown = button.firstChild;
      shown.textContent = "Copied";
      setTimeout(() => { shown.textContent = words; }, 1500);
    } catch {
      getSelection().selectAllChildren(from); // where pages may not copy, people can
    }
  };
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    const words = button.firstChild.textContent; // now: later they may be those of a click before
    button.addEventListener("click", () => copy(button, words));
  }
  // Forms that change something are sent once, however often the button is pressed.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
})();
