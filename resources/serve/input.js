// Keys, mouse and wheel, as in the window.
import { zoomed } from "./picture.js";

const CLICK_PX = 4, WHEEL_ZOOM = 1.25, WHEEL_PAN_SHARE = 0.12, PIXELS_PER_E_FOLD = 180;
const PAN_PER_S = 0.9, ZOOM_PER_S = 1.8, FIRST_STEP_S = 0.11, RAMP_S = 1.2, TOP_SPEED = 4;
const HELD = {
  KeyW: "in", KeyS: "out", KeyA: "left", KeyD: "right",
  ArrowUp: "in", ArrowDown: "out", ArrowLeft: "left", ArrowRight: "right",
};

export function listen(page, at) {
  const stage = at("stage"), canvas = at("picture");
  const held = new Map();
  let clock = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const share = (x) => {
    const left = page.measures.canvas[0];
    return Math.min(1, Math.max(0, (x - left) / (canvas.clientWidth - left)));
  };
  const zoom = (factor, x, how) => {
    const view = zoomed(page.view, factor, x === null ? 0.5 : share(x), page.span);
    page.show(view[0], view[1] - view[0], how);
  };
  const pan = (part, how) => page.show(page.view[0] + part * page.length, page.length, how);
  const anchor = () => (page.pointer !== null && page.pointer >= page.measures.canvas[0] ? page.pointer : null);

  // held keys

  const step = (verb, way) => {
    if (verb === "in" || verb === "out") zoom(Math.exp(way * ZOOM_PER_S * (verb === "in" ? -1 : 1)), anchor(), "keys");
    else pan(way * PAN_PER_S * (verb === "left" ? -1 : 1), "keys");
  };
  const tick = (now) => {
    const elapsed = Math.min(0.1, Math.max(0, (now - clock) / 1000));
    clock = now;
    for (const [code, motion] of held) {
      step(HELD[code], elapsed * (1 + (TOP_SPEED - 1) * Math.min(1, motion.held / RAMP_S)));
      motion.held += elapsed;
    }
    if (held.size) requestAnimationFrame(tick);
  };
  const release = () => held.clear();

  const neighbour = async (direction) => {
    if (!page.selected) return;
    const query = new URLSearchParams({ row: page.selected.row, generation: page.generation, direction });
    const answer = await fetch(`neighbour?${query}`);
    const found = answer.ok ? (await answer.json()).event : null;
    if (!found) return;
    page.select(found);
    const [start, stop] = found.times;
    if (start < page.view[0] || stop > page.view[1])
      page.show(start + Math.min(stop - start, page.length) / 2 - page.length / 2, page.length, "walk");
  };
  const frameSelection = () => {
    const chosen = page.range ?? page.selected?.times;
    const before = page.view;
    if (chosen) page.frame(chosen[0], chosen[1], page.range ? 0.92 : 0.6);
    if (!chosen || (before[0] === page.view[0] && before[1] === page.view[1])) page.fit();
  };
  const clear = () => {
    if (page.finding >= 0) page.side.choose(-1);
    else if (page.range) page.setRange(null);
    else if (page.selected || !at("event").hidden) page.select(null);
    else if (page.names) { at("filter").value = ""; page.setNames(""); }
  };
  const verbs = {
    KeyF: frameSelection,
    KeyZ: () => page.range && page.frame(...page.range, 1),
    KeyE: () => page.setFollows(!page.follows),
    Backspace: () => page.back(),
    Home: () => page.fit(),
    Escape: clear,
    Enter: () => page.selected && page.frame(...page.selected.times),
    PageUp: () => page.scroll(page.top - 0.8 * page.measures.canvas[3]),
    PageDown: () => page.scroll(page.top + 0.8 * page.measures.canvas[3]),
    Period: () => neighbour(1),
    Comma: () => neighbour(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || at("help").open || !page.view || !page.measures) return;
    const isField = event.target instanceof HTMLInputElement;
    if (isField) {
      if (event.code === "Escape") { event.target.value = ""; page.setNames(""); canvas.focus(); }
      return;
    }
    const isButton = event.target instanceof HTMLButtonElement;
    if (isButton && (event.code === "Enter" || event.code === "Space")) return;
    if (event.key === "?") at("help").showModal();
    else if (event.key === "/") at("filter").focus();
    else if (HELD[event.code]) {
      if (!held.has(event.code)) {
        held.set(event.code, { held: 0 });
        step(HELD[event.code], FIRST_STEP_S);
        if (held.size === 1) { clock = performance.now(); requestAnimationFrame(tick); }
      }
    } else if (verbs[event.code]) verbs[event.code]();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keyup", (event) => held.delete(event.code));
  window.addEventListener("blur", release);
  document.addEventListener("visibilitychange", release);

  // wheel

  stage.addEventListener("wheel", (event) => {
    if (!page.view || !page.measures) return;
    const lines = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 18 : 400;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    const isAway = dy > 0 ? page.top >= page.measures.most_top : page.top <= 0;
    // At the last row, the page around a frame scrolls on.
    if (event.ctrlKey || event.metaKey || event.shiftKey || dx || !isAway) event.preventDefault();
    const isNotch = event.deltaMode !== 0 || (Math.abs(dy) >= 100 && Number.isInteger(dy) && !dx);
    const width = canvas.clientWidth - page.measures.canvas[0];
    if (event.ctrlKey || event.metaKey)
      zoom(isNotch ? WHEEL_ZOOM ** Math.sign(dy) : Math.exp(dy / PIXELS_PER_E_FOLD), place(event)[0], "wheel");
    else if (event.shiftKey) pan(isNotch ? Math.sign(dy) * WHEEL_PAN_SHARE : (dy || dx) / width, "wheel");
    else {
      if (dx) pan(dx / width, "wheel");
      if (dy) page.scroll(page.top + (isNotch ? Math.sign(dy) * 54 : dy));
    }
    page.side.hideTip();
  }, { passive: false });

  // pointer

  let drag = null;
  const inside = (box, [x, y]) => x >= box[0] && y >= box[1] && y < box[1] + box[3];
  const overviewTime = (x) => {
    const left = page.measures.overview[0];
    return ((x - left) / (canvas.clientWidth - left)) * page.span;
  };
  const overviewPart = (x) => {
    const left = page.measures.overview[0], scale = (canvas.clientWidth - left) / page.span;
    const [first, last] = page.view.map((time) => left + time * scale);
    if (page.length >= page.span) return "new";
    if (last - first > 12 && Math.abs(x - first) <= 5) return "left";
    if (last - first > 12 && Math.abs(x - last) <= 5) return "right";
    return x >= first - 5 && x <= last + 5 ? "move" : "new";
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!page.view || !page.measures || event.button > 1) return;
    const from = place(event);
    page.side.hideTip();
    drag = { from, last: from, view: page.view, top: page.top, mode: "press", time: page.timeAt(from[0]) };
    if (inside(page.measures.overview, from)) {
      drag.mode = `overview ${overviewPart(from[0])}`;
      drag.time = overviewTime(from[0]);
    } else if (event.button === 1 || event.shiftKey || event.pointerType === "touch") drag.mode = "pan";
    else if (from[0] < page.measures.canvas[0]) drag = null;
    if (drag) { canvas.setPointerCapture(event.pointerId); event.preventDefault(); canvas.focus({ preventScroll: true }); }
  });
  const dragged = (point) => {
    const [x, y] = point, { view, from } = drag, length = view[1] - view[0];
    if (drag.mode === "press" && Math.abs(x - from[0]) > CLICK_PX) drag.mode = "range";
    if (drag.mode === "range") {
      const ends = [drag.time, page.timeAt(x)].map((time) => Math.round(Math.min(Math.max(0, time), page.span)));
      page.setRange([Math.min(...ends), Math.max(Math.min(...ends) + 1, ...ends)]);
    } else if (drag.mode === "pan") {
      const width = canvas.clientWidth - page.measures.canvas[0];
      page.show(view[0] - ((x - from[0]) / width) * length, length, "drag");
      page.scroll(drag.top - (y - from[1]));
    } else if (drag.mode.startsWith("overview")) {
      const time = overviewTime(x), moved = time - drag.time;
      if (drag.mode.endsWith("move")) page.show(view[0] + moved, length, "overview");
      else if (drag.mode.endsWith("left")) page.show(Math.min(time, view[1] - 1), view[1] - Math.min(time, view[1] - 1), "overview");
      else if (drag.mode.endsWith("right")) page.show(view[0], Math.max(1, time - view[0]), "overview");
      else if (Math.abs(x - from[0]) > 3) page.show(Math.min(time, drag.time), Math.abs(moved), "overview");
    }
  };
  canvas.addEventListener("pointermove", (event) => {
    const point = place(event);
    page.pointer = point[0];
    if (!page.view || !page.measures) return;
    if (drag) dragged(point);
    else {
      const isOverview = inside(page.measures.overview, point) && point[0] >= page.measures.overview[0];
      const shapes = { move: "grab", left: "ew-resize", right: "ew-resize", new: "crosshair" };
      canvas.style.cursor = isOverview ? shapes[overviewPart(point[0])] : "default";
      page.side.hover(inside(page.measures.canvas, point) ? point : null);
    }
    page.draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const done = drag, point = place(event);
    drag = null;
    if (!done) return;
    if (done.mode === "press") { page.setRange(null); page.side.click(point); }
    else if (done.mode === "overview new" && Math.abs(point[0] - done.from[0]) <= 3)
      page.show(overviewTime(point[0]) - page.length / 2, page.length);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { page.pointer = null; page.side.hideTip(); page.draw(); });
  canvas.addEventListener("dblclick", async (event) => {
    const found = await page.side.eventAt(place(event));
    if (found) page.frame(...found.times);
  });
  canvas.addEventListener("auxclick", (event) => event.preventDefault());

  // the rows' scroll bar

  const thumb = at("thumb"), bar = at("bar");
  thumb.addEventListener("pointerdown", (event) => {
    const from = event.clientY, top = page.top;
    thumb.setPointerCapture(event.pointerId);
    thumb.onpointermove = (moved) =>
      page.scroll(top + ((moved.clientY - from) * page.measures.content_px) / bar.clientHeight);
    event.preventDefault();
  });
  for (const name of ["pointerup", "pointercancel"])
    thumb.addEventListener(name, () => { thumb.onpointermove = null; });

  // buttons

  at("in").onclick = () => zoom(1 / WHEEL_ZOOM ** 2, null, "");
  at("out").onclick = () => zoom(WHEEL_ZOOM ** 2, null, "");
  at("fit").onclick = () => page.fit();
  at("follow").onclick = () => page.setFollows(!page.follows);
  at("theme").onclick = () => page.toggleTheme();
  at("help-toggle").onclick = () => at("help").showModal();
  at("filter").oninput = () => page.setNames(at("filter").value);
  const toggle = at("side-toggle");
  const showSide = (on) => { at("side").hidden = !on; toggle.setAttribute("aria-expanded", String(on)); };
  toggle.onclick = () => showSide(at("side").hidden);
  showSide(window.innerWidth > 900);
}
