// Draws the charts of the calls page and keeps them up to date.
"use strict";

(() => {
  const plots = document.querySelector("[data-series]");
  if (!plots || !window.uPlot) return;
  plots.hidden = false;
  const [counts, times] = ["calls", "times"].map((name) => plots.querySelector(`[data-plot=${name}]`));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let charts = [];
  let numbers = null;
  let waiting = false;

  // A token may be light-dark(), which only a property of an element resolves.
  const colour = (name) => {
    plots.style.color = `var(${name})`;
    const resolved = getComputedStyle(plots).color;
    plots.style.color = "";
    return resolved;
  };
  const span = (ms) => (ms === null || ms === undefined ? "–" : ms >= 1000 ? `${+(ms / 1000).toPrecision(3)} s` : ms >= 1 || ms === 0 ? `${+ms.toPrecision(3)} ms` : `${Math.round(ms * 1000)} µs`);

  // when formats the ticks of the time axis: the time, and the date where the day changes.
  const when = (_, ticks, __, ___, step) => ticks.map((seconds, i) => {
    const [day, time] = new Date(seconds * 1000).toISOString().split("T");
    if (step >= 86400) return day.slice(5);
    const fresh = i === 0 || new Date(ticks[i - 1] * 1000).getUTCDate() !== new Date(seconds * 1000).getUTCDate();
    return fresh ? `${time.slice(0, 5)}\n${day.slice(5)}` : time.slice(0, 5);
  });

  // The scale of counts begins at 0. The scale of latencies is logarithmic, because a tool may be
  // a thousand times faster than the target of its contract.
  const linear = { scale: { range: (_, __, max) => [0, (max || 1) * 1.1] }, axis: { values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? n : "")) } };
  const tens = (low, high) => Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, i) => low * 10 ** i);
  const logarithmic = {
    scale: { distr: 3, range: (_, min, max) => [10 ** Math.floor(Math.log10(min || 1)), 10 ** Math.ceil(Math.log10((max || 1) * 1.2))] },
    axis: { splits: (_, __, low, high) => tens(low, high), filter: (_, ticks) => ticks, values: (_, ticks) => ticks.map(span) },
  };

  const draw = (place, series, data, y) => {
    const starts = data[0];
    const pad = starts.length > 1 ? (starts[1] - starts[0]) * 0.6 : 60;
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    return new uPlot({
      width: place.clientWidth,
      height: 200,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      cursor: { drag: { x: false, y: false } },
      scales: { x: { range: (_, from, to) => [from - pad, to + pad] }, y: y.scale },
      axes: [{ ...axis, values: when, space: 60 }, { ...axis, size: 64, ...y.axis }],
      series: [{ label: "UTC", value: "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...series],
    }, data, place);
  };

  const line = (label, name, more) => ({ label, stroke: colour(name), width: 1.5, points: { show: true, size: 5, fill: colour(name) }, value: (_, ms) => span(ms), ...more });

  const omitZeros = (counts) => counts.map((n) => n || null); // a bar of height 0 would show as a line

  const show = () => {
    for (const chart of charts) chart.destroy();
    const bars = uPlot.paths.bars({ size: [0.8, 40] });
    const count = (label, stroke, fill) => ({ label, stroke: colour(stroke), fill: colour(fill), paths: bars, points: { show: false }, value: (_, n, __, at) => (at === null ? "–" : n ?? 0) });
    const flat = numbers.target ? [line("target", "--muted", { dash: [6, 4], points: { show: false } })] : [];
    charts = [
      draw(counts, [count("calls", "--accent", "--accent-soft"), count("failed", "--bad", "--bad")], [numbers.start, omitZeros(numbers.calls), omitZeros(numbers.failed)], linear),
      draw(times, [line("p50", "--good"), line("p95", "--wait"), line("p99", "--bad"), ...flat],
        [numbers.start, numbers.p50, numbers.p95, numbers.p99, ...flat.map(() => numbers.start.map(() => numbers.target))], logarithmic),
    ];
  };

  const load = async () => {
    waiting = false;
    const answer = await fetch(plots.dataset.series, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!answer || !answer.ok) return; // the session has ended or the server is down: keep the old charts
    numbers = await answer.json();
    if (!numbers.calls.some((n) => n > 0)) plots.hidden = true;
    else {
      plots.hidden = false;
      show();
    }
  };

  load();
  document.body.addEventListener("calls", () => {
    if (waiting || !document.querySelector("#calls-live[hx-get]")) return;
    waiting = true;
    setTimeout(load, 3000);
  });
  dark.addEventListener("change", () => charts.length && show());
  let width = counts.clientWidth;
  addEventListener("resize", () => {
    if (!charts.length || counts.clientWidth === width) return;
    width = counts.clientWidth;
    for (const [i, place] of [counts, times].entries()) charts[i].setSize({ width: place.clientWidth, height: charts[i].height });
  });
})();
