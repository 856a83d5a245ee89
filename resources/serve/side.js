// What stands beside the picture: the event under the pointer, the selected one, findings, and the rows' buttons.
import { say } from "./texts.js";

const TIP_MS = 120, FINDINGS_MS = 5000;

const made = (tag, text = "", name = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name) element.className = name;
  return element;
};

export class Side {
  constructor(page, at) {
    Object.assign(this, { page, at, findings: [], instance: -1 });
    this._point = null;
    this._isAsking = false;
    this._asked = 0;
  }

  // the event under the pointer

  async eventAt([x, y]) {
    const { page } = this, [left, top] = page.measures.canvas;
    if (x < left || y < top) return null;
    const more = { x: x - left, y: y - top, follow: 0, top: page.measures.top, ratio: page.picture.newest.asked.toFixed(3) };
    try {
      const answer = await fetch(`event?${page.query(more)}`);
      return answer.ok ? (await answer.json()).event : null;
    } catch { return null; }
  }

  hover(point) {
    this._point = point;
    clearTimeout(this._late);
    if (!point) { this.hideTip(); return; }
    if (!this.at("tip").hidden) this._put(point);
    this._late = setTimeout(() => this._tell(), TIP_MS);
  }

  async _tell() {
    const point = this._point;
    if (!point || this._isAsking) return;
    this._isAsking = true;
    const found = await this.eventAt(point);
    this._isAsking = false;
    if (this._point !== point) { if (this._point) this.hover(this._point); return; }
    const tip = this.at("tip");
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(...this._texts(found));
    this._put(point);
  }

  _texts(event) {
    return [made("b", event.title), ...event.lines.map((line) => made("span", line))];
  }

  _put([x, y]) {
    const tip = this.at("tip"), room = this.at("stage");
    const fits = x + 16 + tip.offsetWidth < room.clientWidth - 4;
    const left = fits ? x + 16 : Math.max(4, x - tip.offsetWidth - 10);
    const isLow = y + 20 + tip.offsetHeight > room.clientHeight - 4;
    tip.style.left = `${left}px`;
    tip.style.top = `${isLow ? Math.max(4, y - tip.offsetHeight - 10) : y + 20}px`;
  }

  hideTip() {
    this._point = null;
    clearTimeout(this._late);
    this.at("tip").hidden = true;
  }

  async click(point) { this.page.select(await this.eventAt(point)); }

  showEvent(event) {
    const box = this.at("event");
    box.hidden = !event;
    if (!event) return;
    const close = made("button", "×");
    close.setAttribute("aria-label", say("close"));
    close.onclick = () => this.page.select(null);
    box.replaceChildren(close, ...this._texts(event));
  }

  // rows

  /** Buttons over the titles: they say the whole title, and expand or collapse the row. */
  showRows(measures) {
    const [left, top, width, height] = measures.header, room = this.at("rows");
    Object.assign(room.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    const known = new Map([...room.children].map((button) => [button.dataset.key, button]));
    for (const row of measures.rows) {
      const button = known.get(row.key) ?? room.appendChild(made("button"));
      known.delete(row.key);
      button.dataset.key = row.key;
      button.title = row.title;
      button.setAttribute("aria-label", row.title);
      if (row.is_open === null) button.removeAttribute("aria-expanded");
      else button.setAttribute("aria-expanded", String(row.is_open));
      button.onclick = row.is_open === null ? null : () => this.page.toggle(row);
      Object.assign(button.style, { top: `${row.top}px`, height: `${row.height}px` });
    }
    for (const button of known.values()) button.remove();
    const bar = this.at("bar"), thumb = this.at("thumb"), shown = measures.canvas[3];
    bar.hidden = measures.most_top <= 0;
    Object.assign(bar.style, { top: `${measures.canvas[1]}px`, height: `${shown}px` });
    const size = Math.max(24, (shown / measures.content_px) * shown);
    thumb.style.height = `${size}px`;
    thumb.style.top = `${(measures.top / Math.max(1, measures.most_top)) * (shown - size)}px`;
  }

  // findings

  askFindingsSoon() {
    if (performance.now() - this._asked > FINDINGS_MS) this.askFindings();
  }

  async askFindings() {
    this._asked = performance.now();
    if (!this.findings.length) this.at("headline").textContent = say("searching");
    try {
      let answer = await fetch("findings");
      while (answer.status === 504) answer = await fetch("findings");  // still looking
      if (answer.ok) this._show(await answer.json());
    } catch { /* the page says that the server is gone */ }
    this._asked = performance.now();
  }

  _show({ findings, headline, reason, is_live: isLive }) {
    const text = reason ? say("not_recorded", { reason }) : headline || (findings.length ? "" : say("no_findings"));
    this.at("headline").textContent = isLive && !reason ? say("so_far", { text }) : text;
    this.findings = findings;
    this.isLive = isLive;
    this.at("findings").replaceChildren(...findings.map((finding, number) => this._card(finding, number)));
    if (this.page.finding >= 0) this.choose(-1);
  }

  _card(finding, number) {
    const item = made("li", "", finding.severity), card = item.appendChild(made("button", "", "card"));
    const figures = card.appendChild(made("span", "", "figures"));
    if (finding.share) figures.append(made("b", finding.share));
    for (const gain of finding.gain) figures.append(made("span", gain), document.createElement("br"));
    card.append(made("span", finding.sentence));
    if (finding.where) card.append(made("p", finding.where, "muted"));
    if (finding.remedy) card.append(made("p", `→ ${finding.remedy}`));
    card.onclick = () => this.choose(this.chosen === number ? -1 : number);
    return item;
  }

  /** Highlight a finding and show its longest instance; −1 ends that. */
  choose(number) {
    this.chosen = number;
    for (const [at, item] of [...this.at("findings").children].entries()) {
      item.toggleAttribute("aria-current", at === number);
      if (at === number) item.setAttribute("aria-current", "true");
      item.querySelector(".steps")?.remove();
    }
    this.page.setFinding(this.isLive ? -1 : number);
    const finding = this.findings[number];
    if (!finding || !finding.instances.length) return;
    this._show_instance(finding.longest);
  }

  _show_instance(at) {
    const finding = this.findings[this.chosen], count = finding.instances.length;
    this.instance = (at + count) % count;
    const [start, stop] = finding.instances[this.instance];
    this.page.frame(start, stop, 0.5);
    const item = this.at("findings").children[this.chosen];
    item.querySelector(".steps")?.remove();
    if (count < 2) return;
    const steps = item.appendChild(made("div", "", "steps"));
    for (const [sign, name, way] of [["‹", "previous", -1], ["›", "next", 1]]) {
      const button = steps.appendChild(made("button", sign));
      button.title = say(name);
      button.setAttribute("aria-label", say(name));
      button.onclick = () => this._show_instance(this.instance + way);
    }
    steps.append(made("span", say("instance", { number: this.instance + 1, count })));
  }
}
