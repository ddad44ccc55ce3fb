// Charts over the events of a trace. All charts share one view: the range of events, and the cursor.

class View {
  // finest: what part of the events a view has at least
  constructor(events, finest = 4000) {
    this.finest = finest;
    this.events = Math.max(1, events);
    this.from = 0;
    this.to = this.events;
    this.cursor = -1;
    this.listeners = [];
  }
  changed() { for (const listener of this.listeners) listener(); }
  set(from, to) {
    const least = Math.min(this.events, Math.max(8, this.events / this.finest));
    let width = Math.min(this.events, Math.max(least, to - from));
    let start = Math.max(0, Math.min(this.events - width, (from + to - width) / 2));
    this.from = start;
    this.to = start + width;
    this.changed();
  }
  zoom(factor, around) {
    const at = around === undefined ? (this.cursor >= this.from && this.cursor <= this.to ? this.cursor : (this.from + this.to) / 2) : around;
    const width = (this.to - this.from) * factor;
    const share = (at - this.from) / (this.to - this.from);
    const from = at - share * width;
    this.set(from, from + width);
  }
  pan(share) {
    const by = (this.to - this.from) * share;
    const from = Math.max(0, Math.min(this.events - (this.to - this.from), this.from + by));
    this.set(from, from + (this.to - this.from));
  }
}

class Chart {
  // lines: [{name, colour, fill, width, values, dash}], each over the events of series.event
  constructor(canvas, view, describe, onPick) {
    this.canvas = canvas;
    this.view = view;
    this.describe = describe;
    this.onPick = onPick;
    this.lines = [];
    this.events = [];
    this.drag = null;
    view.listeners.push(() => this.draw());
    canvas.addEventListener('pointermove', e => this.moved(e));
    canvas.addEventListener('pointerdown', e => {
      if (e.button !== 0) return;
      canvas.setPointerCapture(e.pointerId);
      this.drag = { from: this.eventAt(e), to: this.eventAt(e), x: e.offsetX };
    });
    canvas.addEventListener('pointerup', e => this.released(e));
    canvas.addEventListener('pointercancel', () => { this.drag = null; this.draw(); });
    canvas.addEventListener('dblclick', () => view.set(0, view.events));
    canvas.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      view.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.eventAt(e));
    }, { passive: false });
    canvas.addEventListener('keydown', e => this.key(e));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
  show(events, lines) {
    this.events = events;
    this.lines = lines;
    this.draw();
  }
  get left() { return 72; }
  x(event) { return this.left + (event - this.view.from) / (this.view.to - this.view.from) * (this.width - this.left - 8); }
  eventAt(e) {
    const share = (e.offsetX - this.left) / (this.width - this.left - 8);
    return this.view.from + Math.max(0, Math.min(1, share)) * (this.view.to - this.view.from);
  }
  nearest(event) {
    const i = lowerBound(this.events, event);
    if (i === 0) return 0;
    if (i === this.events.length) return i - 1;
    return event - this.events[i - 1] <= this.events[i] - event ? i - 1 : i;
  }
  moved(e) {
    if (this.drag) this.drag.to = this.eventAt(e);
    this.setCursor(this.nearest(this.eventAt(e)));
  }
  setCursor(index) {
    if (this.events.length === 0) return;
    this.view.cursor = this.events[index];
    this.describe(index);
    this.view.changed();
  }
  released(e) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    if (Math.abs(e.offsetX - drag.x) > 6) this.view.set(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
    else if (this.onPick) this.onPick(this.view.cursor);
    this.draw();
  }
  key(e) {
    const at = this.view.cursor < 0 ? 0 : this.nearest(this.view.cursor);
    const step = e.shiftKey ? 20 : 1;
    const last = this.events.length - 1;
    const moves = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: last };
    if (e.key in moves) {
      this.setCursor(Math.max(0, Math.min(last, moves[e.key])));
      const event = this.view.cursor, width = this.view.to - this.view.from;
      if (event < this.view.from || event > this.view.to) this.view.set(event - width / 2, event + width / 2);
    } else if (e.key === '+' || e.key === '=') this.view.zoom(0.5);
    else if (e.key === '-') this.view.zoom(2);
    else if (e.key === '0' || e.key === 'Escape') this.view.set(0, this.view.events);
    else if (e.key === 'PageUp') this.view.pan(-0.8);
    else if (e.key === 'PageDown') this.view.pan(0.8);
    else if (e.key === 'Enter' && this.onPick) this.onPick(this.view.cursor);
    else return;
    e.preventDefault();
  }
  draw() {
    if (this.canvas.clientWidth === 0) return;
    const { context: c, width, height } = prepare(this.canvas, this.canvas.clientHeight);
    this.width = width;
    const bottom = height - 22, top = 8;
    const first = Math.max(0, lowerBound(this.events, this.view.from) - 1);
    const end = Math.min(this.events.length, lowerBound(this.events, this.view.to) + 2);
    let most = 1;
    for (const line of this.lines) for (let i = first; i < end; i++) most = Math.max(most, line.values[i] || 0);
    const step = niceStep(most / (height > 200 ? 4 : 2));
    const peak = Math.ceil(most / step) * step;
    const y = v => bottom - (v / peak) * (bottom - top);
    c.strokeStyle = colour('grid');
    c.fillStyle = colour('soft');
    c.lineWidth = 1;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (let v = 0; v <= peak + step / 2; v += step) {
      const at = Math.round(y(v)) + 0.5;
      c.beginPath(); c.moveTo(this.left, at); c.lineTo(width - 8, at); c.stroke();
      c.fillText(bytes(v), this.left - 8, at);
    }
    c.textBaseline = 'top';
    const ticks = width < 500 ? 3 : 6;
    for (let i = 0; i <= ticks; i++) {
      const event = this.view.from + (this.view.to - this.view.from) * i / ticks;
      c.textAlign = i === 0 ? 'left' : i === ticks ? 'right' : 'center';
      c.fillText(count(event), this.x(event), bottom + 7);
    }
    c.save();
    c.beginPath(); c.rect(this.left, 0, width - this.left - 8, bottom + 1); c.clip();
    for (const line of this.lines) {
      c.beginPath();
      for (let i = first; i < end; i++) {
        const px = this.x(this.events[i]), py = y(line.values[i]);
        if (i === first) c.moveTo(px, py); else if (line.step) { c.lineTo(px, y(line.values[i - 1])); c.lineTo(px, py); } else c.lineTo(px, py);
      }
      if (line.fill) {
        c.lineTo(this.x(this.events[end - 1]), bottom); c.lineTo(this.x(this.events[first]), bottom); c.closePath();
        c.globalAlpha = 0.45; c.fillStyle = line.colour(); c.fill(); c.globalAlpha = 1;
      } else {
        c.strokeStyle = line.colour(); c.lineWidth = line.width || 1.5; c.setLineDash(line.dash || []); c.stroke(); c.setLineDash([]);
      }
    }
    if (this.drag) {
      c.globalAlpha = 0.2; c.fillStyle = colour('accent');
      const from = this.x(this.drag.from), to = this.x(this.drag.to);
      c.fillRect(Math.min(from, to), top, Math.abs(to - from), bottom - top); c.globalAlpha = 1;
    }
    if (this.view.mark >= 0) {
      c.strokeStyle = colour('accent'); c.lineWidth = 1; c.setLineDash([4, 3]);
      const at = Math.round(this.x(this.view.mark)) + 0.5;
      c.beginPath(); c.moveTo(at, top); c.lineTo(at, bottom); c.stroke(); c.setLineDash([]);
    }
    if (this.view.cursor >= 0) {
      c.strokeStyle = colour('soft'); c.lineWidth = 1;
      const at = Math.round(this.x(this.view.cursor)) + 0.5;
      c.beginPath(); c.moveTo(at, top); c.lineTo(at, bottom); c.stroke();
    }
    c.restore();
  }
}

function niceStep(rough) {
  let unit = 1;
  while (unit * 1024 <= rough) unit *= 1024;
  const share = rough / unit;
  for (const nice of [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 200, 256, 400, 500, 512, 1024]) {
    if (share <= nice) return nice * unit;
  }
  return 1024 * unit;
}
