/* The page's own script: theme, live charts, choices, downloads, the gallery's filter. Everything it does is an addition:
   without it the page has the same figures, sentences and pictures. It fetches nothing. */
(() => {
  "use strict";

  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // ---- packed data

  async function unpacked(node) {
    if (!node.dataset.packed) return new TextEncoder().encode(node.textContent);
    const bytes = Uint8Array.from(atob(node.textContent.trim()), (letter) => letter.charCodeAt(0));
    if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack gzip");
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  const parsed = async (node) => JSON.parse(new TextDecoder().decode(await unpacked(node)));

  for (const button of all("[data-download]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const problem = document.querySelector("[data-download-problem]");
      try {
        const bytes = await unpacked(document.getElementById(button.dataset.download));
        const address = URL.createObjectURL(new Blob([bytes], { type: button.dataset.mime }));
        const link = make("a", { href: address, download: button.dataset.file });
        document.body.append(link);
        link.click();
        link.remove();
        setTimeout(() => URL.revokeObjectURL(address), 10000);
        if (problem) problem.textContent = "";
      } catch (error) {
        if (problem) problem.textContent = `${button.dataset.file} could not be unpacked: ${error.message}.`;
      }
    });
  }

  for (const button of all("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed here";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // ---- figures as text, for ticks (what is told of a point comes from the report itself)

  const round = (value, digits = 3) =>
    Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumSignificantDigits: digits });

  function scaled(value, steps) {
    const size = Math.abs(value);
    const [unit, factor] = steps.find(([, from]) => size >= from * 0.9999) ?? steps.at(-1);
    return `${round(value / factor)} ${unit}`;
  }

  function seconds(value) {
    if (value === 0) return "0 s";
    if (Math.abs(value) < 120) return scaled(value, [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]]);
    const whole = Math.round(value);
    const two = (number) => String(number).padStart(2, "0");
    return whole < 3600
      ? `${Math.floor(whole / 60)}m${two(whole % 60)}s`
      : `${Math.floor(whole / 3600)}h${two(Math.floor(whole / 60) % 60)}m`;
  }

  const texts = {
    seconds,
    per_second: (value) => (value === 0 ? "0" : round(value)),
    number: (value) => (value === 0 ? "0" : round(value)),
    ratio: (value) => `${round(value)}x`,
    share: (value) => `${round(100 * value, 7)} %`,
    bytes: (value) => (value === 0 ? "0 B" : scaled(value, [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]])),
  };

  // ---- scales: everything is placed on an even axis, so that zooming is the same on all of them

  const places = {
    linear: { to: (value) => value, from: (place) => place },
    log: { to: (value) => (value > 0 ? Math.log10(value) : null), from: (place) => 10 ** place },
    tail: { to: (share) => (share < 1 ? -Math.log10(1 - share) : null), from: (place) => 1 - 10 ** -place },
  };

  function evenTicks(low, high, most, unit) {
    const raw = (high - low) / Math.max(1, most);
    const clock = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
    let step;
    if (unit === "seconds" && high >= 120 && raw <= 86400) {
      step = clock.find((one) => one >= raw);
    } else {
      const power = 10 ** Math.floor(Math.log10(raw));
      step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw * 0.9999);
    }
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) ticks.push(at * step);
    return ticks;
  }

  function ticks(axis, low, high, most) {
    const { to, from } = places[axis.scale];
    if (axis.scale === "linear") return evenTicks(low, high, most, axis.unit);
    if (axis.scale === "tail") {
      const coarse = [0, 0.9, 0.99, 0.999, 0.9999, 0.99999];
      const fine = [0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999];
      const inside = (list) => list.map(to).filter((place) => place >= low - 1e-9 && place <= high + 1e-9);
      return inside(fine).length <= most ? inside(fine) : inside(coarse);
    }
    for (const factors of [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
      const found = [];
      for (let decade = Math.floor(low); decade <= Math.ceil(high); decade++) {
        for (const factor of factors) {
          const place = decade + Math.log10(factor);
          if (place >= low - 1e-9 && place <= high + 1e-9) found.push(place);
        }
      }
      if (found.length >= 3 && found.length <= most) return found;
      if (factors.length === 1 && found.length > most) {
        const every = Math.ceil(found.length / most);
        return found.filter((_, index) => index % every === 0);
      }
    }
    return evenTicks(from(low), from(high), most, axis.unit).filter((value) => value > 0).map(to);
  }

  // ---- markers

  const markers = [
    (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
    (pen, x, y, r) => pen.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8),
    (pen, x, y, r) => polygon(pen, [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], x, y, r),
    (pen, x, y, r) => polygon(pen, [[0, -1.3], [1.2, 0], [0, 1.3], [-1.2, 0]], x, y, r),
    (pen, x, y, r) => polygon(pen, [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], x, y, r),
    (pen, x, y, r) => polygon(pen, plus, x, y, r),
    (pen, x, y, r) => polygon(pen, plus.map(([a, b]) => [(a - b) * 0.72, (a + b) * 0.72]), x, y, r),
    (pen, x, y, r) => polygon(pen, star, x, y, r),
  ];
  const plus = [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]];
  const star = Array.from({ length: 10 }, (_, i) => {
    const [size, turn] = [i % 2 ? 0.6 : 1.4, (Math.PI * i) / 5];
    return [size * Math.sin(turn), -size * Math.cos(turn)];
  });
  function polygon(pen, corners, x, y, r) {
    corners.forEach(([a, b], index) => (index ? pen.lineTo(x + a * r, y + b * r) : pen.moveTo(x + a * r, y + b * r)));
    pen.closePath();
  }

  const palette = JSON.parse(document.getElementById("palette")?.textContent ?? "[]");
  function inkOf(series) {
    const ink = palette[series.ink];
    if (!ink) return { colour: colour("--muted"), marker: 0, dash: [4, 4] };
    return { colour: isDark() ? ink.dark : ink.light, marker: ink.marker, dash: ink.dash };
  }

  function mark(pen, ink, series, x, y, size) {
    pen.beginPath();
    markers[ink.marker](pen, x, y, size);
    // The hidden copy and what was set aside are hollow: fainter without relying on it.
    if (series.faint) { pen.lineWidth = size / 3; pen.stroke(); } else pen.fill();
  }

  // ---- one chart

  const charts = [];

  class LiveChart {
    constructor(figure, chart) {
      this.figure = figure;
      this.chart = chart;
      this.shown = chart.series.map(() => true);
      this.at = null;
      this.arrange();
      const title = figure.querySelector("figcaption > :first-child").textContent;
      this.legend = make("div", { className: "legend" });
      this.legend.setAttribute("role", "group");
      this.legend.setAttribute("aria-label", `Series of ${title}`);
      this.plot = make("div", { className: "plot", tabIndex: 0 });
      this.plot.setAttribute("role", "application");
      this.plot.setAttribute("aria-roledescription", "chart");
      this.plot.setAttribute("aria-label", `${title}. Left and right arrow keys move over the points, up and down to another series, Escape shows everything again.`);
      this.readout = make("p", { className: "readout" });
      this.readout.dataset.note = "";
      this.readout.setAttribute("role", "status");
      this.hint();
      this.live = make("div", { className: "live" }, this.legend, this.plot, this.readout);
      figure.querySelector(".still").after(this.live);
      figure.classList.add("drawn");
      figure.dataset.drawn = "live";
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.plot.addEventListener("blur", () => this.clear());
      this.draw();
      new ResizeObserver(() => this.fit()).observe(this.plot);
    }

    /* The points on one common x axis, as the library wants them; `index` leads from there back to a point. */
    arrange() {
      const { x, y, series } = this.chart;
      const [toX, toY] = [places[x.scale].to, places[y.scale].to];
      this.points = series.map((one) =>
        one.x
          .map((value, place) => ({ x: value === null ? null : toX(value), y: one.y[place] === null ? null : toY(one.y[place]), note: one.note[place] }))
          .filter((point) => point.x !== null && point.y !== null)
          .sort((a, b) => a.x - b.x),
      );
      const xs = [...new Set(this.points.flat().map((point) => point.x))].sort((a, b) => a - b);
      const index = new Map(xs.map((value, place) => [value, place]));
      this.data = [xs];
      for (const points of this.points) {
        const column = new Array(xs.length).fill(undefined);
        for (const point of points) column[index.get(point.x)] = point.y;
        this.data.push(column);
      }
    }

    /* Room around everything that is shown. */
    ranges() {
      const shown = this.points.filter((_, place) => this.shown[place]).flat();
      const points = shown.length ? shown : this.points.flat();
      const around = (values, share) => {
        let [low, high] = [Infinity, -Infinity];
        for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
        const room = (high - low) * share || Math.abs(high) * 0.05 || 1;
        return { min: low - room, max: high + room };
      };
      const ranges = { x: around(points.map((point) => point.x), 0.02), y: around(points.map((point) => point.y), 0.06) };
      // What is never below zero needs no room there.
      if (this.chart.y.scale !== "log" && ranges.y.min < 0 && !points.some((point) => point.y < 0)) ranges.y.min = 0;
      if (this.chart.y.unit === "share" && this.chart.y.scale === "linear") ranges.y = { min: 0, max: 1.02 };
      return ranges;
    }

    everything() {
      const ranges = this.ranges();
      this.plotter.batch(() => {
        this.plotter.setScale("x", ranges.x);
        this.plotter.setScale("y", ranges.y);
      });
    }

    size() {
      const width = Math.max(220, Math.floor(this.plot.clientWidth));
      return { width, height: width < 560 ? 270 : 360 };
    }

    fit() {
      const size = this.size();
      if (size.width !== this.plotter.width && this.plot.clientWidth > 0) this.plotter.setSize(size);
    }

    draw() {
      this.plotter?.destroy();
      this.inks = this.chart.series.map(inkOf);
      const ranges = this.ranges();
      this.plotter = new uPlot(this.options(ranges), this.data, this.plot);
      this.plotter.root.setAttribute("aria-hidden", "true");
      this.ring = make("div", { className: "ring", hidden: true });
      this.plotter.over.append(this.ring);
      this.shown.forEach((shown, place) => { if (!shown) this.plotter.setSeries(place + 1, { show: false }); });
      this.drawLegend();
    }

    options(ranges) {
      const chart = this.chart;
      const font = `12px ${getComputedStyle(document.body).fontFamily}`;
      const axis = (name, described) => ({
        scale: name, font, labelFont: font, label: described.label, labelSize: 22, stroke: colour("--muted"), gap: 6,
        grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), size: 5 },
        splits: (plotter, _, low, high) => {
          const pixels = (name === "x" ? plotter.bbox.width : plotter.bbox.height) / devicePixelRatio;
          const room = name === "x" ? (described.unit === "seconds" ? 64 : 58) : 34;
          return ticks(described, low, high, Math.max(2, Math.floor(pixels / room)));
        },
        values: (_, splits) => splits.map((place) => texts[described.unit](places[described.scale].from(place))),
        ...(name === "y" ? { size: (_, values) => 18 + 6.6 * Math.max(3, ...(values ?? []).map((text) => text.length)) } : { size: 34 }),
      });
      const series = chart.series.map((one, place) => ({
        label: one.name, scale: "y", spanGaps: true, stroke: this.inks[place].colour, width: one.shape === "points" ? 0 : one.faint ? 1.25 : 2.25,
        alpha: one.faint ? 0.7 : 1, dash: this.inks[place].dash, points: { show: false },
        paths: one.shape === "points" ? () => null : one.shape === "step" ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
      }));
      return {
        ...this.size(), pxAlign: false, legend: { show: false }, padding: [10, 14, 0, 0],
        scales: { x: { time: false, auto: false, range: (_, low, high) => [low ?? ranges.x.min, high ?? ranges.x.max], ...ranges.x }, y: { auto: false, range: (_, low, high) => [low ?? ranges.y.min, high ?? ranges.y.max], ...ranges.y } },
        axes: [axis("x", chart.x), axis("y", chart.y)], series: [{}, ...series],
        cursor: {
          points: { show: false }, drag: { x: true, y: true, uni: 40 },
          bind: { dblclick: () => () => this.everything() },
        },
        hooks: {
          drawClear: [(plotter) => this.behind(plotter)],
          drawSeries: [(plotter, place) => this.marks(plotter, place - 1)],
          setCursor: [(plotter) => this.hover(plotter)],
          setScale: [() => this.ringAt()],
        },
      };
    }

    /* Bands and reference lines. */
    behind(plotter) {
      const pen = plotter.ctx;
      const box = plotter.bbox;
      const to = places[this.chart.x.scale].to;
      const inside = (value) => Math.min(box.left + box.width, Math.max(box.left, plotter.valToPos(to(value), "x", true)));
      pen.save();
      pen.fillStyle = colour("--neutral-soft");
      for (const band of this.chart.bands) {
        const [left, right] = [inside(band.from), inside(band.to)];
        pen.fillRect(left, box.top, right - left, box.height);
      }
      pen.strokeStyle = colour("--strong-line");
      pen.fillStyle = colour("--muted");
      pen.font = `${11 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
      pen.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      for (const line of this.chart.lines) {
        const at = plotter.valToPos(to(line.at), "x", true);
        if (at < box.left || at > box.left + box.width) continue;
        pen.beginPath();
        pen.moveTo(at, box.top);
        pen.lineTo(at, box.top + box.height);
        pen.stroke();
        const wide = pen.measureText(line.label).width;
        const left = at + wide + 8 > box.left + box.width ? at - wide - 5 : at + 5;
        pen.fillText(line.label, left, box.top + 12 * devicePixelRatio);
      }
      pen.restore();
    }

    /* All of the points, or a few along a line so that it can be told apart without its colour. */
    marks(plotter, place) {
      const series = this.chart.series[place];
      if (!series || !this.shown[place]) return;
      const [pen, box, ink, points] = [plotter.ctx, plotter.bbox, this.inks[place], this.points[place]];
      const every = series.shape === "points" ? 1 : Math.max(1, Math.floor(points.length / 7));
      const from = series.shape === "points" ? 0 : Math.floor((every * (place % 4)) / 4);
      const size = (series.shape === "points" ? (points.length > 800 ? 2.3 : 3.4) : 4) * devicePixelRatio;
      pen.save();
      pen.beginPath();
      pen.rect(box.left, box.top, box.width, box.height);
      pen.clip();
      pen.setLineDash([]);
      pen.globalAlpha = series.shape === "points" && points.length > 800 ? 0.75 : 1;
      pen.fillStyle = pen.strokeStyle = ink.colour;
      for (let at = from; at < points.length; at += every) {
        mark(pen, ink, series, plotter.valToPos(points[at].x, "x", true), plotter.valToPos(points[at].y, "y", true), size);
      }
      pen.restore();
    }

    drawLegend() {
      this.legend.replaceChildren(
        ...this.chart.series.map((series, place) => {
          const swatch = make("canvas", { width: 68, height: 28 });
          swatch.setAttribute("aria-hidden", "true");
          const pen = swatch.getContext("2d");
          const ink = this.inks[place];
          pen.fillStyle = pen.strokeStyle = ink.colour;
          if (series.shape !== "points") {
            pen.lineWidth = series.faint ? 2.5 : 4.5;
            pen.setLineDash(ink.dash.map((length) => 2 * length));
            pen.beginPath();
            pen.moveTo(2, 14);
            pen.lineTo(66, 14);
            pen.stroke();
            pen.setLineDash([]);
          }
          mark(pen, ink, series, 34, 14, 8);
          const button = make("button", { type: "button", title: series.name }, swatch, make("span", { textContent: series.name }));
          button.setAttribute("aria-pressed", String(this.shown[place]));
          button.addEventListener("click", () => {
            this.shown[place] = !this.shown[place];
            button.setAttribute("aria-pressed", String(this.shown[place]));
            this.plotter.setSeries(place + 1, { show: this.shown[place] });
            if (this.at?.series === place) this.clear();
          });
          return button;
        }),
      );
    }

    hint() {
      this.readout.setAttribute("aria-live", "off");
      this.readout.textContent = "Point at the chart, or use the arrow keys, to read single points. Drag to zoom; double click or Escape shows everything.";
    }

    clear() {
      this.at = null;
      this.ring.hidden = true;
      this.hint();
    }

    hover(plotter) {
      const { left, top } = plotter.cursor;
      if (left === undefined || left < 0 || document.activeElement === this.plot && this.byKey) return;
      let best = null;
      let nearest = 40 * 40;
      this.points.forEach((points, series) => {
        if (!this.shown[series]) return;
        points.forEach((point, index) => {
          const across = plotter.valToPos(point.x, "x") - left;
          if (Math.abs(across) > 40) return;
          const distance = across ** 2 + (plotter.valToPos(point.y, "y") - top) ** 2;
          if (distance < nearest) { nearest = distance; best = { series, index }; }
        });
      });
      if (best) this.tell(best, false);
    }

    /* `aloud`: by keyboard, so that a screen reader says it; a mouse would never let it finish. */
    tell(at, aloud) {
      this.at = at;
      const point = this.points[at.series][at.index];
      this.readout.setAttribute("aria-live", aloud ? "polite" : "off");
      this.readout.replaceChildren(make("strong", { textContent: this.chart.series[at.series].name }), ` · ${point.note}`);
      this.ringAt();
    }

    ringAt() {
      if (!this.ring) return;
      if (!this.at) { this.ring.hidden = true; return; }
      const point = this.points[this.at.series][this.at.index];
      const [left, top] = [this.plotter.valToPos(point.x, "x"), this.plotter.valToPos(point.y, "y")];
      this.ring.hidden = !(left >= 0 && top >= 0 && left <= this.plotter.over.clientWidth && top <= this.plotter.over.clientHeight);
      this.ring.style.left = `${left}px`;
      this.ring.style.top = `${top}px`;
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity };
      if (event.key === "Escape") {
        this.clear();
        this.everything();
      } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        this.toSeries(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key in steps) {
        this.along(steps[event.key]);
      } else return;
      this.byKey = true;
      this.plot.addEventListener("mousemove", () => { this.byKey = false; }, { once: true });
      event.preventDefault();
    }

    usable() {
      return this.points.map((points, place) => (points.length && this.shown[place] ? place : -1)).filter((place) => place >= 0);
    }

    along(step) {
      const series = this.at?.series ?? this.usable()[0];
      if (series === undefined) return;
      const last = this.points[series].length - 1;
      const from = this.at ? this.at.index + step : step < 0 ? last : 0;
      this.tell({ series, index: Math.min(last, Math.max(0, from)) }, true);
    }

    toSeries(step) {
      const usable = this.usable();
      if (!usable.length) return;
      if (!this.at) { this.tell({ series: usable[0], index: 0 }, true); return; }
      const place = (usable.indexOf(this.at.series) + step + usable.length) % usable.length;
      const here = this.points[this.at.series][this.at.index].x;
      const points = this.points[usable[place]];
      let index = 0;
      points.forEach((point, other) => { if (Math.abs(point.x - here) < Math.abs(points[index].x - here)) index = other; });
      this.tell({ series: usable[place], index }, true);
    }
  }

  /* Draws what can be seen and is not drawn yet; what is behind a choice waits until it is chosen. */
  async function drawVisible() {
    for (const figure of all("figure.chart")) {
      const node = document.getElementById(`${figure.id}-data`);
      if (!node || figure.dataset.begun || figure.closest("[hidden]")) continue;
      figure.dataset.begun = "yes";
      try {
        const chart = await parsed(node);
        if (chart.series.some((series) => series.x.length)) charts.push(new LiveChart(figure, chart));
      } catch (error) {
        // The picture stays; that there is no live chart must not be silent.
        figure.append(make("p", { className: "note", textContent: `Not drawn live: ${error.message}.` }));
      }
    }
    root.dataset.drawn = "";
  }

  // ---- choices

  for (const group of all("[data-switch]")) {
    const choices = group.querySelector(".choices");
    choices.hidden = false;
    const show = () => {
      const chosen = choices.querySelector(":checked").value;
      for (const part of all("[data-choice]", group)) part.hidden = part.dataset.choice !== chosen;
      drawVisible();
    };
    choices.addEventListener("change", show);
    show();
  }

  // ---- theme: kept in memory only, a file on its own leaves nothing behind

  const toggle = document.querySelector("[data-theme-toggle]");
  const label = () => { toggle.textContent = isDark() ? "Light" : "Dark"; toggle.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`); };
  const redraw = () => { label(); charts.forEach((chart) => chart.draw()); };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; redraw(); });
  systemDark.addEventListener("change", redraw);
  label();

  // ---- print: everything open, except what is a chart in another form

  let opened = [];
  addEventListener("beforeprint", () => { opened = all("details:not([open]):not(.data)"); opened.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));

  // ---- gallery

  const filters = document.querySelector("[data-filters]");
  if (filters) {
    const asked = () => Object.fromEntries(new FormData(filters));
    const before = asked();
    const rows = all("tr[data-words]");
    let waiting;
    const refine = () => {
      const now = asked();
      // Only runs that passed the server's filter are here: anything wider is its business.
      const within = (name) => before[name] === "" || now[name] === before[name];
      if (!(now.search.startsWith(before.search) && within("system") && within("verdict"))) {
        clearTimeout(waiting);
        waiting = setTimeout(() => filters.requestSubmit(), 350);
        return;
      }
      const words = now.search.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of rows) {
        const fits = words.every((word) => row.dataset.words.includes(word))
          && (!now.system || row.dataset.system === now.system) && (!now.verdict || row.dataset.verdict === now.verdict);
        row.hidden = !fits;
        left += fits;
      }
      const count = document.querySelector("[data-count]");
      if (count) count.textContent = `${left} of ${count.dataset.total} ${count.dataset.total === "1" ? "run" : "runs"}`;
    };
    filters.addEventListener("input", refine);
  }
  const needing = all("[data-needs]");
  if (needing.length) {
    const count = () => {
      const chosen = all('input[name="run"]:checked').length;
      for (const button of needing) button.disabled = chosen < Number(button.dataset.needs);
    };
    addEventListener("change", count);
    addEventListener("pageshow", count);
    count();
  }

  drawVisible();
})();
