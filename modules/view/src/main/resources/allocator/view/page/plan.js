// The picture of a plan: blocks as rectangles, time across and offset up. Pixels are set one by one: blocks do not
// overlap, so that costs the area of the picture, however many there are. Each pixel knows its block.

const PLAN_COLOURS = 8, NO_BLOCK = -1, FIRST_CELL = -2; // below NO_BLOCK: cells of small blocks

class PlanChart {
  constructor(canvas, plan, describe) {
    this.canvas = canvas;
    this.plan = plan;
    this.describe = describe;
    this.n = plan.size.length;
    this.lower = new Float64Array(this.n);
    this.upper = new Float64Array(this.n);
    this.begins = isLong(plan.span) ? new BigUint64Array(this.n) : this.lower;
    let time = isLong(plan.span) ? 0n : 0, id = 0;
    for (let i = 0; i < this.n; i++) {
      time += isLong(plan.span) ? BigInt(plan.since[i]) : plan.since[i];
      this.begins[i] = time;
      this.lower[i] = Number(time);
      this.upper[i] = this.lower[i] + Number(plan.life[i]);
      if (typeof plan.ids[i] === 'number') plan.ids[i] = id += plan.ids[i];
    }
    this.size = Float64Array.from(plan.size, v => Number(v) * Number(plan.unit));
    this.offset = Float64Array.from(plan.offset, v => Number(v) * Number(plan.unit));
    this.height = Number(plan.height);
    const capacity = Number(plan.capacity), bound = Number(plan.bound);
    this.rank();
    const shown = capacity > 0 && capacity <= 2 * this.height ? capacity : 0;
    this.time = new View(Number(plan.span), 1e6);
    this.space = new View(Math.max(this.height, shown) * 1.05, 1e6);
    this.lines = [[this.height, 'held', [], plan.height === plan.bound ? 'needs ' + bytes(plan.height) + ', the least' : 'needs ' + bytes(plan.height), 'left']];
    if (bound < this.height) this.lines.push([bound, 'largest', [6, 4], 'lower bound ' + bytes(plan.bound), 'right']);
    if (shown > 0) this.lines.push([shown, 'alarm', [2, 3], 'capacity ' + bytes(shown), 'center']);
    this.selected = NO_BLOCK;
    this.hovered = NO_BLOCK;
    this.drag = null;
    this.image = null;
    this.tip = makeTip();
    for (const view of [this.time, this.space]) view.listeners.push(() => this.changed());
    canvas.addEventListener('pointermove', e => this.moved(e));
    canvas.addEventListener('pointerleave', () => { this.hovered = NO_BLOCK; hideTip(this.tip); this.paint(); });
    canvas.addEventListener('pointerdown', e => {
      if (e.button !== 0) return;
      canvas.setPointerCapture(e.pointerId);
      this.drag = { from: [e.offsetX, e.offsetY], to: [e.offsetX, e.offsetY] };
    });
    canvas.addEventListener('pointerup', e => this.released(e));
    canvas.addEventListener('pointercancel', () => { this.drag = null; this.paint(); });
    canvas.addEventListener('dblclick', () => this.all());
    canvas.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.timeAt(e.offsetX), this.offsetAt(e.offsetY));
    }, { passive: false });
    canvas.addEventListener('keydown', e => this.key(e));
    new ResizeObserver(() => this.changed()).observe(canvas);
  }
  // What a block's text says, to the last digit.
  exactOf(i) {
    const begin = BigInt(this.begins[i]), offset = BigInt(this.plan.offset[i]) * BigInt(this.plan.unit);
    const size = BigInt(this.plan.size[i]) * BigInt(this.plan.unit), life = BigInt(this.plan.life[i]);
    return { begin, end: begin + life, life, offset, size, top: offset + size };
  }
  // Blocks of the seven sizes with the most bytes have colours of their own.
  rank() {
    const sums = new Map();
    for (let i = 0; i < this.n; i++) {
      const sum = sums.get(this.size[i]) || [0, 0];
      sum[0] += this.size[i];
      sum[1]++;
      sums.set(this.size[i], sum);
    }
    this.ranked = [...sums].sort((a, b) => b[1][0] - a[1][0]);
    const ranks = new Map(this.ranked.map(([size], rank) => [size, Math.min(rank, PLAN_COLOURS - 1)]));
    this.colours = Uint8Array.from(this.size, size => ranks.get(size));
  }
  keys() {
    const own = this.ranked.slice(0, PLAN_COLOURS - 1).map(([size, [, blocks]], rank) => ['s' + rank, count(blocks) + ' × ' + bytes(size)]);
    const rest = this.ranked.slice(PLAN_COLOURS - 1).reduce((sum, [, [, blocks]]) => sum + blocks, 0);
    const small = this.plan.small ? [['mixed', count(this.plan.smallBlocks) + ' of at most ' + bytes(this.plan.smallBytes) + ', together']] : [];
    return [...own, ...small, ...(rest > 0 ? [['s7', count(rest) + ' of other sizes']] : []), ['grid', 'unused'],
      ...this.lines.map(([, name, , text]) => [name, text, true])];
  }
  get left() { return 72; }
  get plotWidth() { return Math.max(1, this.canvas.clientWidth - this.left - 8); }
  get plotHeight() { return Math.max(1, this.canvas.clientHeight - 30); }
  x(time) { return this.left + (time - this.time.from) / (this.time.to - this.time.from) * this.plotWidth; }
  y(offset) { return 8 + (this.space.to - offset) / (this.space.to - this.space.from) * this.plotHeight; }
  timeAt(x) { return this.time.from + Math.max(0, Math.min(1, (x - this.left) / this.plotWidth)) * (this.time.to - this.time.from); }
  offsetAt(y) { return this.space.to - Math.max(0, Math.min(1, (y - 8) / this.plotHeight)) * (this.space.to - this.space.from); }
  changed() {
    this.image = null;
    this.paint();
  }
  draw() { this.changed(); }
  all() {
    this.time.set(0, this.time.events);
    this.space.set(0, this.space.events);
  }
  zoom(factor, time, offset) {
    const chosen = this.selected;
    this.time.zoom(factor, time !== undefined ? time : chosen < 0 ? undefined : (this.lower[chosen] + this.upper[chosen]) / 2);
    this.space.zoom(factor, offset !== undefined ? offset : chosen < 0 ? undefined : this.offset[chosen] + this.size[chosen] / 2);
  }
  blockAt(e) {
    if (!this.image) return NO_BLOCK;
    const x = Math.floor((e.offsetX - this.left) * this.ratio), y = Math.floor((e.offsetY - 8) * this.ratio);
    return x < 0 || y < 0 || x >= this.columns || y >= this.rows ? NO_BLOCK : this.blocks[y * this.columns + x];
  }
  moved(e) {
    if (this.drag) this.drag.to = [e.offsetX, e.offsetY];
    this.hovered = this.blockAt(e);
    if (this.hovered === NO_BLOCK || this.drag) hideTip(this.tip);
    else showTip(this.tip, this.textOf(this.hovered), e);
    this.paint();
  }
  released(e) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const [x, y] = drag.from;
    const isWide = Math.abs(e.offsetX - x) > 6, isHigh = Math.abs(e.offsetY - y) > 6;
    const times = [this.timeAt(x), this.timeAt(e.offsetX)].sort((a, b) => a - b);
    const offsets = [this.offsetAt(y), this.offsetAt(e.offsetY)].sort((a, b) => a - b);
    if (isWide) this.time.set(...times);
    if (isHigh) this.space.set(...offsets);
    if (!isWide && !isHigh) this.select(this.blockAt(e));
    this.paint();
  }
  textOf(i) {
    if (i < 0) return [count(this.plan.small[FIRST_CELL - i]) + ' small blocks here', 'of at most ' + exact(BigInt(this.plan.smallBytes)) + ' each'];
    const block = this.exactOf(i);
    return ['Block ' + this.plan.ids[i], exact(block.size), 'at offset ' + count(block.offset) + ', up to ' + count(block.top),
      'lives from ' + timeText(this.plan, block.begin) + ' to before ' + timeText(this.plan, block.end) + ' (' + count(block.life) + ')'];
  }
  select(i) {
    this.selected = i;
    this.describe(i === NO_BLOCK ? 'No block is there.' : this.textOf(i).join('; '));
    if (i >= 0) {
      center(this.time, this.lower[i], this.upper[i]);
      center(this.space, this.offset[i], this.offset[i] + this.size[i]);
    }
    this.paint();
  }
  // Returns the nearest block above or below a block among those that live at the same time.
  neighbour(i, isAbove) {
    let best = NO_BLOCK;
    for (let k = 0; k < this.n; k++) {
      if (this.lower[k] >= this.upper[i] || this.lower[i] >= this.upper[k]) continue;
      if (isAbove ? this.offset[k] < this.offset[i] + this.size[i] : this.offset[k] + this.size[k] > this.offset[i]) continue;
      if (best < 0 || (isAbove ? this.offset[k] < this.offset[best] : this.offset[k] + this.size[k] > this.offset[best] + this.size[best])) best = k;
    }
    return best < 0 ? i : best;
  }
  key(e) {
    if (this.n === 0) return;
    const at = Math.max(NO_BLOCK, this.selected), step = e.shiftKey ? 20 : 1;
    const clamp = i => Math.max(0, Math.min(this.n - 1, i));
    if (e.key === 'ArrowRight') this.select(clamp(at + step));
    else if (e.key === 'ArrowLeft') this.select(clamp(at < 0 ? 0 : at - step));
    else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') this.select(at < 0 ? 0 : this.neighbour(at, e.key === 'ArrowUp'));
    else if (e.key === 'Home') this.select(0);
    else if (e.key === 'End') this.select(this.n - 1);
    else if (e.key === '+' || e.key === '=') this.zoom(0.5);
    else if (e.key === '-') this.zoom(2);
    else if (e.key === '0' || e.key === 'Escape') this.all();
    else if (e.key === 'PageUp') this.time.pan(-0.8);
    else if (e.key === 'PageDown') this.time.pan(0.8);
    else if (e.key === 'Enter' && at >= 0) {
      const life = this.upper[at] - this.lower[at];
      this.time.set(this.lower[at] - life, this.upper[at] + life);
      this.space.set(this.offset[at] - this.size[at], this.offset[at] + 2 * this.size[at]);
    } else return;
    e.preventDefault();
  }
  // Sets the pixels of the blocks in view. What is less than a pixel has a pixel, so as to be seen.
  rasterize() {
    this.ratio = window.devicePixelRatio || 1;
    const w = this.columns = Math.max(1, Math.round(this.plotWidth * this.ratio));
    const h = this.rows = Math.max(1, Math.round(this.plotHeight * this.ratio));
    this.image = new ImageData(w, h);
    this.blocks = new Int32Array(w * h).fill(NO_BLOCK);
    const pixels = new Uint32Array(this.image.data.buffer);
    const edge = pixelOf(colour('card'));
    const palette = Array.from({ length: PLAN_COLOURS }, (_, i) => pixelOf(colour('s' + i)));
    const perTime = w / (this.time.to - this.time.from), perByte = h / (this.space.to - this.space.from);
    const ground = Math.max(0, Math.min(h, Math.round((this.space.to - this.height) * perByte)));
    pixels.fill(edge, 0, ground * w);
    pixels.fill(pixelOf(colour('grid')), ground * w);
    this.placeCells(pixels, w, h, perTime, perByte);
    const gap = 4 * this.ratio;
    const paintedTo = new Int32Array(h);
    const place = isSmall => {
      for (let i = 0; i < this.n; i++) {
        if (this.lower[i] >= this.time.to || this.upper[i] <= this.time.from || this.offset[i] >= this.space.to || this.offset[i] + this.size[i] <= this.space.from) continue;
        let x0 = Math.max(0, Math.round((this.lower[i] - this.time.from) * perTime));
        let x1 = Math.min(w, Math.round((this.upper[i] - this.time.from) * perTime));
        let y0 = Math.max(0, Math.round((this.space.to - this.offset[i] - this.size[i]) * perByte));
        let y1 = Math.min(h, Math.round((this.space.to - this.offset[i]) * perByte));
        const isThin = y1 <= y0;
        if ((x1 <= x0 || isThin) !== isSmall) continue;
        if (x1 <= x0) { x0 = Math.min(x0, w - 1); x1 = x0 + 1; }
        if (isThin) {
          // Blocks come by their beginning, so a row of thin ones is painted once, from left to right.
          y0 = Math.min(y0, h - 1);
          y1 = y0 + 1;
          x0 = Math.max(x0, paintedTo[y0]);
          paintedTo[y0] = Math.max(paintedTo[y0], x1);
        }
        const ink = palette[this.colours[i]];
        const hasEdge = x1 - x0 >= gap && y1 - y0 >= gap;
        for (let y = y0; y < y1; y++) {
          const row = y * w;
          if (x1 <= x0) break;
          this.blocks.fill(i, row + x0, row + x1);
          if (hasEdge && y === y0) pixels.fill(edge, row + x0, row + x1);
          else {
            pixels.fill(ink, row + x0, row + x1);
            if (hasEdge) pixels[row + x1 - 1] = edge;
          }
        }
      }
    };
    place(false);
    place(true);
  }
  // Sets the pixels of the cells of small blocks; blocks that are shown one by one are set over them.
  placeCells(pixels, w, h, perTime, perByte) {
    const { small, columns, rows } = this.plan;
    if (!small) return;
    const ink = pixelOf(colour('mixed')), time = Number(this.plan.span) / columns, bytesOfRow = this.height / rows;
    for (let y = 0; y < h; y++) {
      const row = Math.floor((this.space.to - (y + 0.5) / perByte) / bytesOfRow);
      if (row < 0 || row >= rows) continue;
      for (let x = 0; x < w; x++) {
        const cell = row * columns + Math.min(columns - 1, Math.floor((this.time.from + (x + 0.5) / perTime) / time));
        if (small[cell] === 0) continue;
        pixels[y * w + x] = ink;
        this.blocks[y * w + x] = FIRST_CELL - cell;
      }
    }
  }
  paint() {
    if (this.canvas.clientWidth === 0) return;
    const { context: c, width, height } = prepare(this.canvas, this.canvas.clientHeight);
    if (!this.image) this.rasterize();
    const right = width - 8, bottom = height - 22;
    c.putImageData(this.image, Math.round(this.left * this.ratio), Math.round(8 * this.ratio));
    c.fillStyle = colour('soft');
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    const range = this.space.to - this.space.from;
    const step = niceStep(Math.max(1, range / 5));
    for (let v = Math.ceil(this.space.from / step) * step; v <= this.space.to; v += step) c.fillText(bytes(v), this.left - 8, this.y(v));
    c.textBaseline = 'top';
    const widest = Math.max(...[this.time.from, this.time.to].map(time => c.measureText(timeText(this.plan, time)).width));
    const ticks = Math.max(1, Math.min(5, Math.floor(this.plotWidth / (widest + 24)) - 1));
    for (let i = 0; i <= ticks; i++) {
      const time = this.time.from + (this.time.to - this.time.from) * i / ticks;
      c.textAlign = i === 0 ? 'left' : i === ticks ? 'right' : 'center';
      c.fillText(timeText(this.plan, time), this.x(time), bottom + 7);
    }
    c.save();
    c.beginPath(); c.rect(this.left, 0, right - this.left, bottom + 1); c.clip();
    c.textBaseline = 'bottom';
    for (const [value, name, dash, text, align] of this.lines) {
      const at = Math.round(this.y(value)) + 0.5;
      c.strokeStyle = c.fillStyle = colour(name);
      c.lineWidth = 1.5; c.setLineDash(dash);
      c.beginPath(); c.moveTo(this.left, at); c.lineTo(right, at); c.stroke(); c.setLineDash([]);
      c.textAlign = align;
      if (width >= 500) {
        const x = align === 'left' ? this.left + 6 : align === 'right' ? right - 6 : (this.left + right) / 2;
        const length = c.measureText(text).width;
        c.fillStyle = colour('card'); // a plate, as blocks may be behind
        c.fillRect(x - 3 - (align === 'left' ? 0 : align === 'right' ? length : length / 2), at - 17, length + 6, 16);
        c.fillStyle = colour(name);
        c.fillText(text, x, at - 2);
      }
    }
    for (const [i, name] of [[this.selected, 'ink'], [this.hovered, 'accent']]) {
      if (i < 0) continue;
      c.strokeStyle = colour(name); c.lineWidth = 2;
      const x = this.x(this.lower[i]), y = this.y(this.offset[i] + this.size[i]);
      c.strokeRect(x, y, Math.max(2, this.x(this.upper[i]) - x), Math.max(2, this.y(this.offset[i]) - y));
    }
    if (this.drag) {
      const [[x, y], [toX, toY]] = [this.drag.from, this.drag.to];
      const isWide = Math.abs(toX - x) > 6, isHigh = Math.abs(toY - y) > 6;
      c.globalAlpha = 0.25; c.fillStyle = colour('accent');
      if (isWide || isHigh) {
        c.fillRect(isWide ? Math.min(x, toX) : this.left, isHigh ? Math.min(y, toY) : 8, isWide ? Math.abs(toX - x) : right - this.left, isHigh ? Math.abs(toY - y) : bottom - 8);
      }
      c.globalAlpha = 1;
    }
    c.restore();
  }
}

// Moves a view so that a range is in it.
function center(view, from, to) {
  if (to > view.from && from < view.to) return;
  const half = (view.to - view.from) / 2, middle = (from + to) / 2;
  view.set(middle - half, middle + half);
}

// Returns a time, of a block or of the axis, given as what has passed since the first one.
function timeText(plan, time) {
  return count(BigInt(plan.start) + (typeof time === 'bigint' ? time : BigInt(Math.round(time))));
}

// Returns whether times are farther apart than numbers can tell.
function isLong(span) { return typeof span === 'string'; }

// Returns a colour of the form #rrggbb as a pixel of an image.
function pixelOf(text) {
  const [r, g, b] = [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
  return new Uint32Array(new Uint8ClampedArray([r, g, b, 255]).buffer)[0];
}

function planSections(plan) {
  const out = el('output', { id: 'planOut', 'aria-live': 'polite' }, 'Point at a block, or use the arrow keys.');
  const canvas = el('canvas', { class: 'chart plan', id: 'plan', tabindex: '0', role: 'img', 'aria-describedby': 'planHelp planOut' });
  const chart = new PlanChart(canvas, plan, text => { out.textContent = text; });
  canvas.setAttribute('aria-label', 'Plan of ' + count(chart.n + (plan.smallBlocks || 0)) + ' blocks, time across and offset up: needs ' + exact(BigInt(plan.height))
    + ', at least ' + exact(BigInt(plan.bound)) + (plan.capacity > 0 ? ', capacity ' + exact(BigInt(plan.capacity)) : '') + '.');
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, onclick: act }, text);
  const picture = el('section', { 'aria-labelledby': 'planTitle' },
    el('div', { class: 'head' }, el('h2', { id: 'planTitle' }, 'Memory over time'),
      el('div', { class: 'tools' },
        button('+', 'zoom in', () => chart.zoom(0.5)), button('−', 'zoom out', () => chart.zoom(2)),
        button('‹', 'earlier', () => chart.time.pan(-0.5)), button('›', 'later', () => chart.time.pan(0.5)),
        button('▴', 'higher', () => chart.space.pan(0.5)), button('▾', 'lower', () => chart.space.pan(-0.5)),
        button('All', 'show all blocks', () => chart.all()))),
    canvas, legend(chart.keys()), out,
    el('p', { class: 'soft', id: 'planHelp' }, 'A block is as wide as its life and as high as its size. Drag to zoom, double-click for all, click to select.'
      + ' Keys: arrows go to the next and the one before, above and below; Enter, +, −, 0.'));
  const largest = Array.from({ length: chart.n }, (_, i) => i).sort((a, b) => chart.size[b] - chart.size[a] || a - b).slice(0, 40);
  const row = i => {
    const block = chart.exactOf(i);
    return el('tr', {}, el('td', { class: 'name' }, String(plan.ids[i])), ...[bytes(block.size), count(block.offset), timeText(plan, block.begin), timeText(plan, block.end)]
      .map(text => el('td', { class: 'number' }, text)));
  };
  const head = [['block'], ['size', 'number'], ['offset', 'number'], ['lives from', 'number'], ['to before', 'number']];
  const list = el('section', { 'aria-labelledby': 'largestTitle' }, el('div', { class: 'head' }, el('h2', { id: 'largestTitle' }, 'Largest blocks')),
    table(head, largest.slice(0, 10).map(row), 'Largest blocks'));
  if (largest.length > 10) {
    list.append(el('details', {}, el('summary', {}, 'More of ' + count(chart.n + (plan.smallBlocks || 0))), table(head, largest.slice(10).map(row), 'Further large blocks')));
  }
  window.allocatorPlan = chart;
  return { sections: [el('section', { 'aria-label': 'Result' }, factBoxes(plan.facts)), picture, list], draw: () => chart.draw() };
}
