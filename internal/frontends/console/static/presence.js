// Keeps open pages up to date and says when the server is away. Everything else works without it.
"use strict";

(() => {
  const body = document.body;
  const topics = ["approvals", "calls", "tasks", "books", "memory"];
  const seen = {}, newest = {}; // the marks that the page shows, and the last ones
  for (const topic of topics) seen[topic] = newest[topic] = body.dataset[topic];
  let lost = false;

  // refresh makes the parts of the page that depend on changed topics reload themselves. A hidden
  // page does so when it is shown.
  const refresh = () => {
    if (document.hidden || lost) return;
    for (const topic of topics) {
      if (seen[topic] === newest[topic]) continue;
      seen[topic] = newest[topic];
      body.dispatchEvent(new CustomEvent(topic));
    }
  };

  const icon = document.querySelector("link[rel=icon]");
  const showWaiting = (count) => {
    const none = count === "0";
    document.title = (none ? "" : `(${count}) `) + body.dataset.title;
    icon.href = none ? icon.dataset.iconIdle : icon.dataset.iconWaiting;
    for (const badge of document.querySelectorAll("[data-waiting]")) {
      badge.querySelector("[data-number]").textContent = count;
      badge.hidden = none;
    }
    document.getElementById("announcement").textContent = none ? "No requests waiting for approval" : `${count} waiting for approval`;
  };

  // The banner lies over the title of the page, so that nothing moves.
  const banner = document.createElement("div");
  banner.className = "notice bad offline";
  banner.setAttribute("role", "alert");
  banner.hidden = true;
  const since = document.createElement("strong");
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Try now";
  const words = document.createElement("p");
  words.append(since, " This page may be out of date. What you typed is kept.");
  body.append(banner);

  const place = () => { banner.style.left = `${Math.max(0, document.getElementById("main").getBoundingClientRect().left)}px`; };
  addEventListener("resize", () => banner.hidden || place());

  // setOffline marks the buttons that need the server.
  const setOffline = (off) => {
    for (const button of document.querySelectorAll(off ? "form[method=post] button:not([aria-disabled=true])" : "[data-offline]")) {
      button.toggleAttribute("data-offline", off);
      if (off) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  };
  const refuse = (event) => {
    if (!lost) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("submit", refuse, true);
  addEventListener("click", (event) => event.target.closest?.("[data-offline]") && refuse(event), true);

  const setLost = (at) => {
    lost = Boolean(at);
    for (const text of document.querySelectorAll("[data-connection]")) {
      text.textContent = lost ? "No connection" : "Connected";
      text.parentElement.classList.toggle("lost", lost);
    }
    if (lost) {
      since.textContent = `No connection to the server since ${new Date(at).toLocaleTimeString()}.`;
      place();
    }
    body.classList.toggle("lost", lost);
    banner.hidden = !lost;
    banner.replaceChildren(...(lost ? [words, again] : [])); // inserted text is announced
    setOffline(lost);
  };

  const receive = (message) => {
    if (message.topic) {
      const { topic, mark, count } = message;
      if (topic === "approvals" && newest.approvals !== mark) showWaiting(count);
      newest[topic] = mark;
      refresh();
    }
    if (message.lost) setLost(message.lost);
    if (message.found) {
      setLost(0);
      for (const topic of topics) seen[topic] = ""; // what was requested meanwhile has failed
      refresh();
    }
    if (message.end) document.getElementById("signed-out").hidden = false;
    if (message.sound) ring();
    if ("open" in message) {
      focus();
      location.assign(`/console/approvals${message.open && "/"}${message.open}`);
    }
  };

  // Two short tones, made here: a file would be one more thing to fetch.
  const ring = () => {
    const sound = new AudioContext();
    for (const [tone, from] of [[660, 0], [880, 0.15]]) {
      const voice = sound.createOscillator(), volume = sound.createGain();
      voice.frequency.value = tone;
      volume.gain.setValueAtTime(0.2, sound.currentTime + from);
      volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + from + 0.3);
      voice.connect(volume).connect(sound.destination);
      voice.start(sound.currentTime + from);
      voice.stop(sound.currentTime + from + 0.3);
      voice.onended = () => from && sound.close();
    }
  };

  // The connection: the shared one, or else one of this page while it is visible.
  let port = null, live = null, used = 0;
  const settings = () => ({ notify: localStorage.getItem("remit-notify") === "on", sound: localStorage.getItem("remit-sound") === "on" });
  const focused = () => !document.hidden && document.hasFocus();
  const report = () => port?.postMessage({ settings: settings(), page: { focused: focused(), used } });
  const connect = () => {
    if (window.SharedWorker) {
      port = new SharedWorker(body.dataset.worker).port;
      port.onmessage = ({ data }) => receive(data);
      report();
      return;
    }
    const { follow, notifier } = window.remitPresence;
    const notify = notifier((id) => receive({ open: id }));
    live = follow((message) => {
      receive(message);
      if (message.topic === "approvals" && notify(message, settings().notify && !focused()) && settings().sound) ring();
    });
    if (!document.hidden) live.start();
  };
  again.addEventListener("click", () => {
    port?.postMessage({ retry: true });
    live?.connect();
  });
  const visible = () => {
    if (document.hidden) live?.stop();
    else live?.start();
    report();
    refresh();
  };
  document.addEventListener("visibilitychange", visible);
  // Numbers of the last minutes change without an event.
  setInterval(() => document.hidden || lost || body.dispatchEvent(new CustomEvent("minute")), 30000);
  for (const kind of ["focus", "blur"]) addEventListener(kind, report);
  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, () => {
      const first = !used;
      used = Date.now();
      if (first) report();
    }, true);
  }
  addEventListener("pagehide", () => {
    port?.postMessage({ bye: true });
    live?.stop();
    port = live = null;
  });
  addEventListener("pageshow", (event) => event.persisted && connect());

  // The settings, which are kept in this browser. Leave to notify is asked for by a click only.
  const note = (text) => { for (const place of document.querySelectorAll("[data-presence-note]")) place.textContent = text; };
  const showSettings = () => {
    const now = settings();
    now.notify &&= window.Notification?.permission === "granted";
    for (const button of document.querySelectorAll("[data-setting]")) {
      const on = now[button.dataset.setting];
      button.setAttribute("aria-pressed", String(on));
      button.querySelector("[data-state]").textContent = on ? "on" : "off";
    }
    report();
  };
  const change = async (name, on) => {
    note("");
    if (name === "notify" && on) {
      if (!window.isSecureContext || !window.Notification) return note("This browser notifies only at an https address, or at localhost.");
      if (await Notification.requestPermission() !== "granted") return note("Notifications are blocked in this browser's settings for this site.");
    }
    if (name === "sound" && on) ring();
    localStorage.setItem(`remit-${name}`, on ? "on" : "off");
    showSettings();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-setting]");
    if (button) change(button.dataset.setting, button.getAttribute("aria-pressed") !== "true");
  });
  addEventListener("storage", showSettings); // another page has changed them
  for (const part of document.querySelectorAll("[data-presence]")) part.hidden = false;

  // The worker's file is loaded after this one.
  document.addEventListener("DOMContentLoaded", () => {
    connect();
    showSettings();
  });
})();

// Keeps what was typed into forms that change something until the server has accepted it.
(() => {
  const prefix = "remit-draft ";
  const address = (field) => prefix + [new URL(field.form.getAttribute("action") ?? "", location).pathname, field.name].join(" ");
  // The hidden fields of a form that say what a text was based on are kept with it.
  const isBase = (field) => field.type === "hidden" && "draft" in field.dataset;
  const isDraft = (field) => field?.form?.method === "post" && field.name &&
    (isBase(field) || /^(textarea|text|search|url|email|number|date|select-one)$/.test(field.type));
  const initial = (field) => (field.matches("select") ? [...field.options].find((one) => one.defaultSelected)?.value ?? field.options[0]?.value : field.defaultValue);
  const keep = (field, more) => sessionStorage.setItem(address(field), JSON.stringify({ text: field.value, ...more }));

  const drop = (fits) => {
    for (const key of Object.keys(sessionStorage)) {
      if (key.startsWith(prefix) && fits(JSON.parse(sessionStorage.getItem(key)))) sessionStorage.removeItem(key);
    }
  };
  const restore = () => {
    for (const field of document.querySelectorAll("form[method=post] :is(input, textarea, select)")) {
      const kept = isDraft(field) && field.value === initial(field) && JSON.parse(sessionStorage.getItem(address(field)));
      if (!kept) continue;
      // The server has refused what was sent, and returned it with what is stored now.
      if ("fresh" in field.form.dataset) {
        keep(field);
        continue;
      }
      field.value = kept.text;
      const fold = field.closest("details");
      if (fold) fold.open = true;
    }
  };
  // A script that sends a form itself says that the server has accepted it.
  window.remitForget = (field) => sessionStorage.removeItem(address(field));
  document.addEventListener("input", ({ target }) => {
    if (!isDraft(target)) return;
    keep(target);
    for (const field of target.form.elements) if (isBase(field)) keep(field);
  });
  addEventListener("submit", ({ target }) => {
    if (target.getAttribute("action") === "/console/logout") return drop(() => true);
    for (const field of target.elements) {
      if (isDraft(field) && sessionStorage.getItem(address(field))) keep(field, { sent: true });
    }
  });
  // The next page that the server sends without an error has accepted what was sent. A call that
  // waits for approval (202) has to be sent again.
  const [load] = performance.getEntriesByType("navigation");
  if (!(load?.responseStatus >= 400 || load?.responseStatus === 202)) drop((kept) => kept.sent);
  restore();
  document.addEventListener("htmx:after:swap", restore);
})();

// Rows of a list that is updated stay where they are, so that none moves from under the pointer. New
// ones come last; the next page has all in their order.
document.addEventListener("htmx:before:swap", ({ detail }) => {
  for (const { fragment } of detail.tasks) {
    for (const list of fragment?.querySelectorAll("[data-steady]") ?? []) {
      const shown = [...(document.getElementById(list.id)?.children ?? [])].map((row) => row.id);
      const place = (row) => shown.indexOf(row.id) + 1 || shown.length + 1;
      list.append(...[...list.children].sort((a, b) => place(a) - place(b)));
    }
  }
});

// Shows times in the time zone of the reader, and keeps distances up to date. The server writes UTC,
// which stays in the title.
(() => {
  const ahead = Number(document.body.dataset.clock) - Date.now(); // of the server's clock
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const hour = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

  const distance = (at) => {
    const past = Date.now() + ahead - at, seconds = Math.abs(past) / 1000;
    const count = (unit, size) => (past < 0 ? `in ${Math.floor(seconds / size)} ${unit}` : `${Math.floor(seconds / size)} ${unit} ago`);
    if (seconds < 1) return "now";
    if (seconds < 60) return count("s", 1);
    if (seconds < 3600) return count("min", 60);
    if (seconds < 48 * 3600) return count("h", 3600);
    if (seconds < 90 * 24 * 3600) return count("days", 24 * 3600);
    return day.format(at);
  };
  const tick = () => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-time]")) {
      const at = Date.parse(time.dateTime);
      const text = time.dataset.time === "ago" ? distance(at) : ({ clock, hour }[time.dataset.time] ?? exact).format(at);
      if (time.textContent !== text) time.textContent = text;
    }
  };
  tick();
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  document.addEventListener("htmx:after:swap", tick);
})();
