// The picture on screen: the newest drawing of the server, moved and stretched while the next one is under way.
// Times are nanoseconds since the start of the capture, sizes are CSS pixels.

const KEPT = 4;

/** A view of that length about a moment, within [0, span]; whole nanoseconds. */
export function placed(start, length, span) {
  const whole = Math.min(Math.max(1, Math.round(length)), Math.max(1, span));
  const first = Math.min(Math.max(0, Math.round(start)), Math.max(0, span - whole));
  return [first, first + whole];
}

/** The view scaled by `factor`, with the moment at `share` of its width kept in place. */
export function zoomed(view, factor, share, span) {
  const length = view[1] - view[0];
  const next = Math.min(Math.max(1, length * factor), span);
  return placed(view[0] + (length - next) * share, next, span);
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

export function durationText(ns) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
  const value = ns / size;
  const digits = unit === "ns" ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A moment, as exact as a view of that length needs. */
export function momentText(ns, length) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns || length) >= size) ?? UNITS[3];
  if (!ns) return `0 ${unit}`;
  const digits = Math.min(9, Math.max(0, Math.ceil(Math.log10(size / Math.max(1, length / 1000)))));
  return `${(ns / size).toFixed(unit === "ns" ? 0 : digits)} ${unit}`;
}

/** The parts of an answer to `frame`: its measures and its picture. */
export async function parsed(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const measures = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const image = await createImageBitmap(new Blob([new Uint8Array(buffer, 4 + size)], { type: "image/png" }));
  return { measures, image, ratio: image.width / measures.size[0] };
}

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.frames = [];
    this.colors = {};
    this.isDirty = false;
  }

  get newest() {
    return this.frames[this.frames.length - 1];
  }

  /** Take a frame; older ones of another look would show something else where it does not reach. */
  add(frame) {
    const keep = this.frames.filter((one) => one.look === frame.look).slice(1 - KEPT);
    for (const one of this.frames) if (!keep.includes(one)) one.image.close();
    this.frames = [...keep, frame];
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["canvas", "header", "selection", "text", "muted", "hairline"])
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
  }

  /** Draw what is known of a view. `range` is a selected range that no frame has yet, `pointer` the pointer's x. */
  draw(view, top, range, pointer) {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height)
      Object.assign(this.canvas, { width, height });
    const pen = this.canvas.getContext("2d", { alpha: false });
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = this.colors.header;
    pen.fillRect(0, 0, box.width, box.height);
    const frame = this.newest;
    if (!frame) return;
    const [x, y, w, h] = frame.measures.canvas;
    const right = box.width, bottom = y + Math.max(h, box.height - (frame.measures.size[1] - h));
    pen.imageSmoothingQuality = "high";
    this._part(pen, frame, [0, 0, frame.measures.size[0], frame.measures.size[1]], 0, 0);
    pen.fillStyle = this.colors.canvas;
    pen.fillRect(x, y, right - x, bottom - y);
    for (const one of this.frames) {
      this._moved(pen, one, one.measures.ruler, view, 0, right);
      this._moved(pen, one, one.measures.canvas, view, one.measures.top - top, right);
    }
    const dy = frame.measures.top - top;
    if (dy) {
      pen.fillStyle = this.colors.header;
      pen.fillRect(0, y, x, bottom - y);
      pen.save();
      pen.beginPath();
      pen.rect(0, y, x, bottom - y);
      pen.clip();
      this._part(pen, frame, frame.measures.header, 0, dy);
      pen.restore();
    }
    const scale = (right - x) / (view[1] - view[0]);
    if (range) {
      const left = Math.max(x, x + (range[0] - view[0]) * scale);
      const end = Math.min(right, x + (range[1] - view[0]) * scale);
      pen.globalAlpha = 0.22;
      pen.fillStyle = this.colors.selection;
      if (end > left) pen.fillRect(left, y, end - left, bottom - y);
      pen.globalAlpha = 1;
    }
    if (pointer !== null && pointer >= x) {
      pen.globalAlpha = 0.5;
      pen.fillStyle = this.colors.muted;
      pen.fillRect(Math.round(pointer * ratio) / ratio, y, 1 / ratio, bottom - y);
      pen.globalAlpha = 1;
    }
  }

  _part(pen, frame, [x, y, w, h], dx, dy) {
    if (w <= 0 || h <= 0) return;
    const r = frame.ratio;
    pen.drawImage(frame.image, x * r, y * r, w * r, h * r, x + dx, y + dy, w, h);
  }

  /** A part whose x is time, where the view has it now. */
  _moved(pen, frame, [x, y, w, h], view, dy, right) {
    const [start, stop] = frame.measures.view;
    const first = Math.max(start, view[0]), last = Math.min(stop, view[1]);
    if (last <= first || w <= 0 || h <= 0) return;
    const r = frame.ratio, from = w / (stop - start), to = (right - x) / (view[1] - view[0]);
    pen.save();
    pen.beginPath();
    pen.rect(x, y, right - x, h);
    pen.clip();
    pen.drawImage(
      frame.image, (x + (first - start) * from) * r, y * r, Math.max(1e-3, (last - first) * from * r), h * r,
      x + (first - view[0]) * to, y + dy, (last - first) * to, h,
    );
    pen.restore();
  }
}
