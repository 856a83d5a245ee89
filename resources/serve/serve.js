// The page of `warpline serve`: what is in view, and the requests for pictures of it.
import { Picture, durationText, momentText, parsed, placed } from "./picture.js";
import { listen } from "./input.js";
import { Side } from "./side.js";
import { say } from "./texts.js";

const REST_MS = 140, RETRY_MS = 250, AGAIN_MS = 10000, HISTORY = 100;
const at = (id) => document.getElementById(id);
const pageName = Math.random().toString(36).slice(2);

class Page {
  constructor() {
    this.picture = new Picture(at("picture"));
    this.view = null;
    this.top = 0;
    this.span = 1;
    this.folds = new Map();
    this.selected = null;
    this.range = null;
    this.names = "";
    this.finding = -1;
    this.generation = 0;
    this.follows = false;
    this.isLive = false;
    this.isUntouched = true;  // the server chooses what is in view
    this.pointer = null;
    this.history = [];
    this.theme = this._firstTheme();
    this._moved = 0;
    this._flight = null;
    this._isWanted = false;
    this._isExact = false;
    this._rest = 0;
    this.side = new Side(this, at);
  }

  // what is in view

  get length() { return this.view ? this.view[1] - this.view[0] : 1; }
  get measures() { return this.picture.newest?.measures; }

  /** Show [start, start + length); `how` names a gesture, whose steps count as one for Backspace. */
  show(start, length, how = "") {
    const view = placed(start, length, this.span);
    if (this.view && view[0] === this.view[0] && view[1] === this.view[1]) return;
    const now = performance.now();
    if (this.view && !(how && how === this._how && now - this._moved < 700)) this.history.push(this.view);
    this.history.splice(0, this.history.length - HISTORY);
    this._how = how;
    this._set(view);
  }

  back() {
    const view = this.history.pop();
    if (view) { this._how = ""; this._set(view); }
  }

  /** A view that the reader chose. While a recording is followed, zooming keeps its end in view. */
  _set(view) {
    const stays = this.follows && view[1] === this.view[1] && view[1] === this.span;
    this.isUntouched = false;
    this.view = view;
    if (!stays) this.setFollows(false);
    this.changed();
  }

  frame(start, stop, share = 0.6) {
    const length = Math.max(stop - start, 1) / share;
    this.show((start + stop) / 2 - length / 2, length);
  }

  fit() {
    const [start, stop] = this.measures?.activity ?? [0, this.span];
    this.show(start, stop - start);
  }

  scroll(top) {
    const next = Math.min(Math.max(0, Math.round(top)), this.measures?.most_top ?? 0);
    if (next !== this.top) { this.top = next; this.changed(); }
  }

  select(event) {
    this.selected = event && event.row >= 0 ? event : null;
    this.side.showEvent(event);
    this.changed();
  }

  setRange(range) { this.range = range; this.changed(); }
  setNames(names) { this.names = names; this.changed(); }
  setFinding(number) { this.finding = number; this.changed(); }
  toggle(row) { this.folds.set(row.key, !row.is_open); this.changed(); }

  setFollows(on) {
    if (on === this.follows) return;
    this.follows = on && this.isLive;
    this.showFollow();
    if (this.follows) this.changed();
  }

  showFollow() {
    const button = at("follow");
    button.hidden = !this.isLive;
    button.textContent = say(this.follows ? "following" : "follow");
    button.setAttribute("aria-pressed", String(this.follows));
  }

  // themes

  _firstTheme() {
    let kept = null;
    try { kept = localStorage.getItem("warpline-theme"); } catch { /* a frame of another site may have none */ }
    return kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  setTheme(name) {
    this.theme = name;
    document.documentElement.dataset.theme = name;
    this.picture.readColors();
    this.changed();
  }

  toggleTheme() {
    this.setTheme(this.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("warpline-theme", this.theme); } catch { /* as above */ }
  }

  // requests

  query(more = {}) {
    const box = at("picture").getBoundingClientRect();
    const query = new URLSearchParams({
      page: pageName, theme: this.theme, width: Math.max(200, Math.round(box.width)),
      height: Math.max(120, Math.round(box.height)), top: this.top, names: this.names, finding: this.finding,
      generation: this.generation, selected: this.selected?.row ?? -1, follow: this.follows ? 1 : 0, ...more,
    });
    if (this.view && !(this.isUntouched && query.get("follow") === "1")) { query.set("start", this.view[0]); query.set("stop", this.view[1]); }
    if (this.range) { query.set("from", this.range[0]); query.set("to", this.range[1]); }
    for (const [key, isOpen] of this.folds) query.append(isOpen ? "opened" : "closed", key);
    return query;
  }

  /** Something changed: show what is known at once, and ask for the rest. */
  changed() {
    this._moved = performance.now();
    this.draw();
    this._isWanted = true;
    if (this._isExact) this._flight?.abort();
    this._pump();
    clearTimeout(this._rest);
    this._rest = setTimeout(() => this._sharpen(), REST_MS);
  }

  draw() {
    if (this.picture.isDirty) return;
    this.picture.isDirty = true;
    requestAnimationFrame(() => {
      this.picture.isDirty = false;
      if (!this.view) return;
      const isKnown = JSON.stringify(this.range) === JSON.stringify(this.picture.newest?.range ?? null);
      this.picture.draw(this.view, this.top, isKnown ? null : this.range, this.pointer);
      this._showFoot();
    });
  }

  async _pump() {
    if (this._flight || !this._isWanted) return;
    this._isWanted = false;
    const isFirst = !this.picture.newest;
    const own = Math.min(4, window.devicePixelRatio || 1);
    await this._ask(isFirst ? own : Math.min(1, own), isFirst);
    this._pump();
  }

  /** The recording has grown: a sharp picture at once, since the view rests. */
  async _grow() {
    await this._ask(Math.min(4, window.devicePixelRatio || 1), false);
    this._pump();
  }

  async _sharpen() {
    if (this._flight) { this._rest = setTimeout(() => this._sharpen(), 30); return; }
    const isDone = await this._ask(Math.min(4, window.devicePixelRatio || 1), true);
    if (isDone === false && !this._isWanted) this._rest = setTimeout(() => this._sharpen(), RETRY_MS);
    this._pump();
  }

  /** Ask for a picture; false when the server drew for somebody else meanwhile. */
  async _ask(ratio, isExact) {
    const control = (this._flight = new AbortController());
    this._isExact = isExact;
    const range = this.range, look = this._look();
    const late = setTimeout(() => { at("work").hidden = false; }, 400);
    try {
      const answer = await fetch(`frame?${this.query({ ratio: ratio.toFixed(3), exact: isExact ? 1 : 0 })}`,
        { signal: control.signal, credentials: "same-origin" });
      if (answer.status === 409 || answer.status === 503) return false;
      if (!answer.ok) { this.fail(await answer.text()); return true; }
      this._take({ ...(await parsed(await answer.arrayBuffer())), range, look, asked: ratio });
      this.fail("");
    } catch (error) {
      if (error.name !== "AbortError") this.lose("gone");
    } finally {
      clearTimeout(late);
      at("work").hidden = true;
      this._flight = null;
      this._isExact = false;
    }
    return true;
  }

  _look() {
    const box = at("picture").getBoundingClientRect();
    return JSON.stringify([this.theme, box.width, box.height, [...this.folds]]);
  }

  _take(frame) {
    const { measures } = frame, isFirst = !this.view;
    this.span = measures.span_ns;
    if (measures.generation !== this.generation) this.generation = measures.generation;
    // One that was selected since is in the next picture.
    if (!this._isWanted) this.selected = measures.selection;
    this.isLive = measures.live !== null;
    if (!this.isLive) this.follows = false;
    if (isFirst || this.follows) this.view = measures.view;
    if (isFirst && this.isLive) this.follows = true;
    if (!this._isWanted) this.top = measures.top;
    this.picture.add(frame);
    this.showFollow();
    this.side.showRows(measures);
    this.draw();
    if (!this._isWanted) history.replaceState(null, "", `#${this.view[0]}-${this.view[1]}`);
  }

  /** A picture could not be drawn; an empty text: it could. Other messages stay. */
  fail(text) {
    if (text || this._hasFailed) this.tell(text ? say("failed", { reason: text.trim() }) : "");
    this._hasFailed = text !== "";
  }

  /** The server is out of reach ("gone") or has ended. */
  lose(how) {
    this._isLost = true;
    this.tell(say(how));
  }

  tell(text) {
    at("gone").hidden = !text;
    at("gone").textContent = text;
  }

  _showFoot() {
    const [start, stop] = this.view, origin = this.measures?.origin_ns ?? 0;
    at("shown").textContent = say("view", {
      start: momentText(start - origin, this.length), stop: momentText(stop - origin, this.length),
      length: durationText(this.length),
    });
    const canvas = this.measures?.canvas;
    const isOver = this.pointer !== null && canvas && this.pointer >= canvas[0];
    at("at").textContent = isOver ? momentText(this.timeAt(this.pointer) - origin, this.length) : "";
    at("chosen").textContent = this.range ? say("range", { length: durationText(this.range[1] - this.range[0]) }) : "";
  }

  /** The moment at an x of the stage. */
  timeAt(x) {
    const left = this.measures.canvas[0], width = at("picture").clientWidth - left;
    return this.view[0] + ((x - left) / width) * this.length;
  }

  // news

  listen() {
    this._news?.close();
    if (document.hidden) return;
    const news = (this._news = new EventSource("news"));
    news.addEventListener("grown", (event) => {
      const isLive = JSON.parse(event.data).is_live;
      if (!this._flight && performance.now() - this._moved > REST_MS) this._grow();
      if (isLive) this.side.askFindingsSoon();
      else { this.changed(); this.side.askFindings(); }
    });
    news.addEventListener("stopped", (event) => this.tell(JSON.parse(event.data).reason));
    news.addEventListener("open", () => { if (this._isLost) this.tell(""); this._isLost = false; });
    news.addEventListener("ended", () => { news.close(); this.lose("ended"); });
    news.addEventListener("error", () => this._ask_news_again(news));
  }

  /** The stream of news broke. The browser connects again by itself, unless it was refused. */
  async _ask_news_again(news) {
    const isRefused = news.readyState === EventSource.CLOSED;
    try {
      const answer = await fetch("icon.svg", { credentials: "same-origin", cache: "no-store" });
      if (answer.status === 403) { news.close(); this.lose("ended"); return; }
    } catch { this.lose("gone"); }
    clearTimeout(this._again);
    if (isRefused && news === this._news) this._again = setTimeout(() => this.listen(), AGAIN_MS);
  }
}

const page = new Page();
// The folder in the address is of this server alone, and so is the view behind it.
const kept = /^#(\d+)-(\d+)$/.exec(location.hash);
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
if (kept && Number(kept[2]) > Number(kept[1])) page.view = [Number(kept[1]), Number(kept[2])];
page.setTheme(page.theme);
listen(page, at);
page.side.askFindings();
page.listen();
document.addEventListener("visibilitychange", () => page.listen());
new ResizeObserver(() => page.changed()).observe(at("stage"));
matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", () => page.changed());
if (window.top === window) at("picture").focus({ preventScroll: true });  // a notebook keeps its focus
