// Keeps open pages up to date. Everything else works without it.
"use strict";

(() => {
  const body = document.body;
  const seen = { approvals: body.dataset.approvals, calls: body.dataset.calls };
  let source = null;
  let retry = 0;

  // changed makes the parts of the page that depend on a topic reload themselves.
  const changed = (topic, mark) => {
    if (seen[topic] === mark) return;
    seen[topic] = mark;
    body.dispatchEvent(new CustomEvent(topic));
  };

  const showWaiting = (count) => {
    const none = count === "0";
    document.title = (none ? "" : `(${count}) `) + body.dataset.title;
    for (const badge of document.querySelectorAll("[data-waiting]")) {
      badge.querySelector("[data-number]").textContent = count;
      badge.hidden = none;
    }
    document.getElementById("announcement").textContent = none ? "No requests waiting for approval" : `${count} waiting for approval`;
  };

  const open = () => {
    clearTimeout(retry);
    if (source || document.hidden) return;
    source = new EventSource("/console/events");
    source.addEventListener("approvals", (event) => {
      const data = JSON.parse(event.data);
      if (seen.approvals !== data.mark) showWaiting(data.count);
      changed("approvals", data.mark);
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

  // A hidden page disconnects; it catches up when it is visible again.
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
