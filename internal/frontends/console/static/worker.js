// Holds the one connection to the server for all open pages of the console, as a shared worker. It
// also runs while every page is hidden, so it makes the notifications. Pages load the same file for
// browsers without shared workers; then each visible page has a connection of its own.
"use strict";

(() => {
  const silence = 3000; // the server gives a sign of life every two seconds
  const topics = ["approvals", "calls", "tasks", "books", "memory"];

  // follow keeps an event stream open, and passes messages to tell: {topic, mark, ...}, {lost: time},
  // {found: true} and {end: true}.
  const follow = (tell) => {
    const last = {}; // the last message of each topic
    let source = null, lost = 0, tries = 0, retry = 0, alarm = 0;

    const stop = () => {
      clearTimeout(retry);
      clearTimeout(alarm);
      source?.close();
      source = null;
    };
    const connect = () => {
      stop();
      const stream = source = new EventSource("/console/events");
      const on = (name, act) => stream.addEventListener(name, (event) => {
        if (stream === source) act(event);
      });
      on("open", alive);
      on("beat", alive);
      on("error", failed);
      on("end", () => {
        stop();
        tell({ end: true });
      });
      for (const topic of topics) {
        on(topic, (event) => {
          alive();
          tell(last[topic] = { topic, ...JSON.parse(event.data) });
        });
      }
      listen();
    };
    // listen waits for the next sign of life.
    const listen = () => {
      const due = Date.now() + silence;
      clearTimeout(alarm);
      alarm = setTimeout(() => {
        // After a sleep of the computer the connection is old, which does not mean that it is lost.
        if (Date.now() - due < 1000) tries++;
        failed();
      }, silence);
    };
    const alive = () => {
      tries = 0;
      listen();
      if (!lost) return;
      lost = 0;
      tell({ found: true });
    };
    // failed connects again. A connection that a proxy has closed is back at once; only if that fails,
    // it is lost.
    const failed = () => {
      stop();
      if (++tries > 1 && !lost) tell({ lost: lost = Date.now() });
      retry = setTimeout(connect, tries > 1 ? 1000 : 100);
    };
    return {
      stop,
      connect,
      start: () => source || lost || connect(),
      // state returns the messages that a new page has missed.
      state: () => [...Object.values(last), ...(lost ? [{ lost }] : [])],
    };
  };

  // notifier shows what has come since the last list of the newest requests. open opens the page of
  // a request.
  const notifier = (open) => {
    const shown = new Map(); // the notifications by the id of their request
    let latest = -1;

    const show = (id, at, title, body) => {
      try {
        const box = new Notification(title, { body, tag: id || "remit" });
        box.onclick = () => {
          box.close();
          open(id);
        };
        if (id) shown.set(id, { box, at });
      } catch { /* this browser has notifications for service workers only */ }
    };
    // closeDecided closes the notifications of requests that no longer wait.
    const closeDecided = (newest) => {
      for (const [id, { box, at }] of shown) {
        if (newest.some((one) => one.id === id) || newest.length > 0 && newest.at(-1).at > at) continue;
        box.close();
        shown.delete(id);
      }
    };
    // The result says whether something new has come.
    return ({ count, newest }, enabled) => {
      const fresh = latest < 0 ? [] : newest.filter((one) => one.at > latest);
      latest = Math.max(latest, 0, ...newest.map((one) => one.at));
      closeDecided(newest);
      if (enabled && self.Notification?.permission === "granted") {
        if (fresh.length > 3) show("", 0, `${count} requests wait for approval`, "");
        else for (const { id, at, agent, title, file } of fresh) show(id, at, `Waiting for approval: ${title}`, [agent, file].filter(Boolean).join("\n"));
      }
      return fresh.length > 0;
    };
  };

  if (typeof SharedWorkerGlobalScope === "undefined" || !(self instanceof SharedWorkerGlobalScope)) {
    self.remitPresence = { follow, notifier };
    return;
  }

  const pages = new Map(); // what each page has said about itself, by its port
  let settings = {};
  // best returns the port of the page that fits, preferably one that a person has used.
  const best = (fits) => [...pages].filter(([, page]) => fits(page)).sort(([, a], [, b]) => (b.used || 0) - (a.used || 0))[0]?.[0];
  const notify = notifier((id) => best(() => true)?.postMessage({ open: id }));
  const live = follow((message) => {
    for (const port of pages.keys()) port.postMessage(message);
    if (message.topic !== "approvals") return;
    const looking = [...pages.values()].some((page) => page.focused);
    if (notify(message, settings.notify && !looking) && settings.sound) best((page) => page.used)?.postMessage({ sound: true });
  });
  self.onconnect = ({ ports: [port] }) => {
    pages.set(port, {});
    port.onmessage = ({ data }) => {
      if (data.bye) pages.delete(port);
      if (data.retry) live.connect();
      if (data.settings) settings = data.settings;
      if (data.page) pages.set(port, data.page);
    };
    for (const message of live.state()) port.postMessage(message);
    live.start();
  };
})();
