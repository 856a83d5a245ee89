"use strict";
// The drawing and the tables of an exported page. Everything it shows is in the two JSON elements of the page; it
// loads nothing. Times are nanoseconds from the start of the exported part.

const HEADER = 250, AXIS = 26, LANE = 16, GROUP = 20;

/** The view after a zoom by `factor` about a moment, kept within [0, whole] and no shorter than 20 ns. */
function zoomed(view, whole, factor, at) {
  const length = Math.min(whole, Math.max(20, (view[1] - view[0]) * factor));
  const start = at - (at - view[0]) * (length / (view[1] - view[0]));
  return placed(start, length, whole);
}

function placed(start, length, whole) {
  const first = Math.min(Math.max(0, start), whole - length);
  return [first, first + length];
}

/** Steps of the axis: 1, 2 or 5 times a power of ten, at least `least` apart. */
function stepFor(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least);
}

function unitFor(ns) {
  return ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["µs", 1e3] : ["ns", 1];
}

/** A duration with four digits. */
function durationText(ns) {
  const [unit, size] = unitFor(ns);
  const value = ns / size;
  return `${value.toFixed(unit === "ns" ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3)} ${unit}`;
}

/** A moment as the axis writes it, with as many decimals as steps of this length need. */
function momentText(ns, step) {
  const [unit, size] = unitFor(step);
  return `${(ns / size).toLocaleString("en", { maximumFractionDigits: 3 })} ${unit}`;
}

/** The index of the first box of a lane that ends after a moment; boxes follow each other. */
function firstAfter(lane, moment) {
  let low = 0, high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle][0] + lane[middle][1] < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The ink of a palette that can be read on a colour `#rrggbb`: that of more contrast (WCAG 2.2). */
function inkOn(color, palette) {
  const light = luminance(palette.ink_light), dark = luminance(palette.ink_dark), ground = luminance(color);
  return (light + 0.05) / (ground + 0.05) > (ground + 0.05) / (dark + 0.05) ? palette.ink_light : palette.ink_dark;
}

function luminance(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

class Timeline {
  constructor(box, tip, data, colors) {
    this.box = box; this.tip = tip; this.data = data; this.colors = colors;
    this.canvas = box.querySelector("canvas");
    this.view = [...data.first_view]; this.scroll = 0; this.pointer = null; this.held = new Set();
    this.lines = [];
    let top = 0;
    for (const row of data.rows) {
      const count = Math.max(1, row.lanes.length);
      const high = row.height || (row.lanes.length ? LANE : GROUP);
      for (let lane = 0; lane < count; lane++) {
        this.lines.push({ top, high, title: lane ? "" : row.title, depth: row.depth, boxes: row.lanes[lane] || [],
          isGroup: !row.lanes.length });
        top += high;
      }
    }
    this.height = top;
    box.style.maxHeight = `${top + AXIS + 2}px`;
    this.listen();
  }

  get palette() {
    return this.colors[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
  }

  color(token) {
    if (token.startsWith("#")) return token;
    return token.startsWith("hue ") ? this.palette.hues[+token.slice(4)] : this.palette[token] || this.palette.neutral;
  }

  toX(ns) { return HEADER + ((ns - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - HEADER); }
  toNs(x) { return this.view[0] + ((x - HEADER) / (this.width - HEADER)) * (this.view[1] - this.view[0]); }

  show(view) { this.view = view; this.paintSoon(); }

  paintSoon() {
    if (!this.due) this.due = requestAnimationFrame(() => { this.due = 0; this.paint(); });
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    this.width = this.box.clientWidth;
    const high = this.box.clientHeight;
    this.canvas.width = this.width * ratio; this.canvas.height = high * ratio;
    const pen = this.canvas.getContext("2d"), palette = this.palette;
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle";
    this.scroll = Math.min(Math.max(0, this.scroll), Math.max(0, this.height - (high - AXIS)));
    pen.fillStyle = palette.canvas; pen.fillRect(0, 0, this.width, high);
    this.grid(pen, palette, high);
    for (const line of this.lines) {
      const y = AXIS + line.top - this.scroll;
      if (y + line.high < AXIS || y > high) continue;
      if (line.isGroup) { pen.fillStyle = palette.group; pen.fillRect(0, y, this.width, line.high); }
      else this.boxes(pen, palette, line, y);
      this.title(pen, palette, line, y);
    }
    this.axis(pen, palette);
  }

  grid(pen, palette, high) {
    const step = stepFor(((this.view[1] - this.view[0]) * 90) / (this.width - HEADER));
    pen.fillStyle = palette.grid;
    for (let at = Math.ceil(this.view[0] / step) * step; at <= this.view[1]; at += step)
      pen.fillRect(Math.round(this.toX(at)), AXIS, 1, high);
  }

  boxes(pen, palette, line, y) {
    let taken = -1;
    for (let at = firstAfter(line.boxes, this.view[0]); at < line.boxes.length; at++) {
      const [start, length, name, token, , share = 1] = line.boxes[at];
      if (start > this.view[1]) break;
      const left = Math.max(HEADER, this.toX(start)), right = Math.min(this.width, this.toX(start + length));
      if (right <= taken) continue; // what ends within a pixel that is painted already
      const wide = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
      const color = this.color(this.data.colors[token]);
      pen.fillStyle = color;
      const filled = Math.max(1, Math.round(share * (line.high - 2)));
      pen.fillRect(left, y + line.high - 1 - filled, wide, filled);
      taken = Math.max(left + 1, right);
      if (wide > 34 && name >= 0 && filled >= 14)
        this.label(pen, inkOn(color, palette), this.data.names[name], left, y + line.high - 1 - filled, wide, filled);
    }
  }

  label(pen, ink, text, left, y, wide, high) {
    pen.save();
    pen.beginPath(); pen.rect(left, y, wide - 3, high); pen.clip();
    pen.fillStyle = ink; pen.fillText(text, left + 4, y + high / 2);
    pen.restore();
  }

  title(pen, palette, line, y) {
    pen.fillStyle = line.isGroup ? palette.group : palette.header;
    pen.fillRect(0, y, HEADER - 1, line.high);
    if (line.title) {
      pen.save();
      pen.beginPath(); pen.rect(0, y, HEADER - 6, line.high); pen.clip();
      pen.fillStyle = palette.text; pen.fillText(line.title, 10 + 12 * line.depth, y + line.high / 2);
      pen.restore();
    }
    pen.fillStyle = palette.hairline; pen.fillRect(HEADER - 1, y, 1, line.high);
  }

  axis(pen, palette) {
    pen.fillStyle = palette.header; pen.fillRect(0, 0, this.width, AXIS);
    pen.fillStyle = palette.hairline; pen.fillRect(0, AXIS - 1, this.width, 1);
    pen.fillStyle = palette.muted;
    pen.fillText(this.data.words.shown.replace("{time}", durationText(this.view[1] - this.view[0])), 10, AXIS / 2);
    const step = stepFor(((this.view[1] - this.view[0]) * 90) / (this.width - HEADER));
    for (let at = Math.ceil(this.view[0] / step) * step; at <= this.view[1]; at += step) {
      const x = Math.round(this.toX(at));
      pen.fillRect(x, AXIS - 6, 1, 5);
      if (x < this.width - 40) pen.fillText(momentText(at + this.data.start_ns, step), x + 4, AXIS / 2);
    }
  }

  boxAt(x, y) {
    if (x < HEADER || y < AXIS) return null;
    const line = this.lines.find((one) => y >= AXIS + one.top - this.scroll && y < AXIS + one.top - this.scroll + one.high);
    if (!line) return null;
    const slack = ((this.view[1] - this.view[0]) * 2) / (this.width - HEADER), moment = this.toNs(x);
    const found = line.boxes[firstAfter(line.boxes, moment - slack)];
    return found && found[0] <= moment + slack ? found : null;
  }

  hover(x, y) {
    const found = this.boxAt(x, y), tip = this.tip;
    tip.style.display = found ? "block" : "none";
    if (!found) return;
    const [start, length, name, , count] = found, words = this.data.words;
    tip.textContent = "";
    const head = document.createElement("b"), text = document.createElement("div");
    head.textContent = name >= 0 ? this.data.names[name] : words.many.replace("{count}", count.toLocaleString("en"));
    text.textContent = `${durationText(length)} · ${words.from.replace("{time}", momentText(start + this.data.start_ns, 1e6))}`;
    tip.append(head, text);
    tip.style.left = `${Math.min(x + 14, this.width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 16, this.box.clientHeight - tip.offsetHeight - 4)}px`;
  }

  pan(share) {
    const length = this.view[1] - this.view[0];
    this.show(placed(this.view[0] + share * length, length, this.data.duration_ns));
  }

  zoom(factor, x) {
    const at = x === undefined || x < HEADER ? (this.view[0] + this.view[1]) / 2 : this.toNs(x);
    this.show(zoomed(this.view, this.data.duration_ns, factor, at));
  }

  /** Moves on for as long as a key is down. */
  step() {
    const x = this.pointer ? this.pointer[0] : undefined;
    for (const key of this.held) {
      if (key === "KeyW" || key === "ArrowUp") this.zoom(0.94, x);
      else if (key === "KeyS" || key === "ArrowDown") this.zoom(1 / 0.94, x);
      else if (key === "KeyA" || key === "ArrowLeft") this.pan(-0.025);
      else this.pan(0.025);
    }
    this.moving = this.held.size ? requestAnimationFrame(() => this.step()) : 0;
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = document.activeElement === this.canvas && event.code.startsWith("Arrow");
    if (["KeyW", "KeyA", "KeyS", "KeyD"].includes(event.code) || arrows) {
      this.held.add(event.code);
      if (!this.moving) this.step();
      event.preventDefault();
    } else if (event.code === "KeyF") this.show([0, this.data.duration_ns]);
  }

  listen() {
    const canvas = this.canvas;
    addEventListener("keydown", (event) => this.press(event));
    addEventListener("keyup", (event) => this.held.delete(event.code));
    addEventListener("blur", () => this.held.clear());
    addEventListener("resize", () => this.paintSoon());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.paintSoon(); paintPage(this); });
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey) this.zoom(Math.exp(event.deltaY / 300), event.offsetX);
      else if (event.shiftKey) this.pan((event.deltaY || event.deltaX) / 1000);
      else {
        const before = this.scroll;
        this.scroll += event.deltaY;
        this.paint();
        if (this.scroll === before) return; // at the end: the page goes on
      }
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { this.grip = event.offsetX; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { this.grip = null; });
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = [event.offsetX, event.offsetY];
      if (this.grip != null) {
        this.pan((this.grip - event.offsetX) / (this.width - HEADER));
        this.grip = event.offsetX;
      }
      this.hover(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointerleave", () => { this.pointer = null; this.tip.style.display = "none"; });
    canvas.addEventListener("dblclick", (event) => {
      const found = this.boxAt(event.offsetX, event.offsetY), room = found ? found[1] * 0.1 : 0;
      if (found) this.show(placed(Math.max(0, found[0] - room), Math.min(this.data.duration_ns, Math.max(20, found[1] + 2 * room)), this.data.duration_ns));
    });
  }
}

/** A click on a head sorts its table: numbers from the largest on, then the other way. */
function sortable(table) {
  const heads = [...table.querySelectorAll("th")], body = table.tBodies[0];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const isDown = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const sign = isDown ? -1 : 1;
    const rows = [...body.rows].sort((a, b) => column
      ? sign * (value(a) - value(b)) : sign * value(a).localeCompare(value(b)));
    body.append(...rows);
  }));
}

function paintPage(timeline) {
  for (const [token, color] of Object.entries(timeline.palette))
    if (typeof color === "string") document.documentElement.style.setProperty(`--${token}`, color);
  for (const sign of document.querySelectorAll("#legend i")) sign.style.background = timeline.color(sign.dataset.color);
}

if (typeof document !== "undefined") {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const timeline = new Timeline(document.getElementById("timeline"), document.getElementById("tip"), read("capture"), read("colors"));
  paintPage(timeline);
  document.body.style.visibility = "visible"; // a notebook hides it until scripts run
  timeline.paint();
  document.querySelectorAll("table").forEach(sortable);
}
