// The map: regions as rows of bytes from left to right, one after the other. Only rows in view are drawn.

const ROW = 24, BAR = 18, PER_CHUNK = 5;
// What a site has to colour by, and where.
const SITE_FIELDS = { kind: 6, layer: 5, operator: 3, 'call site': 2 };

class RegionMap {
  constructor(canvas, scroll, spacer, describe) {
    this.canvas = canvas;
    this.scroll = scroll;
    this.spacer = spacer;
    this.describe = describe;
    this.rows = [];
    this.selected = null;
    this.hovered = null;
    this.by = 'state';
    this.ranked = [];
    this.names = new Map();
    this.zoomed = 0;
    this.tip = makeTip();
    scroll.addEventListener('scroll', () => this.draw());
    canvas.addEventListener('pointermove', e => this.hover(e));
    canvas.addEventListener('pointerleave', () => { this.hovered = null; hideTip(this.tip); this.draw(); });
    canvas.addEventListener('click', e => { const at = this.at(e); if (at) this.select(at); });
    canvas.addEventListener('keydown', e => this.key(e));
    new ResizeObserver(() => this.layout()).observe(scroll);
  }
  show(map) {
    this.map = map;
    this.selected = null;
    this.hovered = null;
    this.zoomed = 0;
    for (const region of map.regions) {
      if (region.starts) continue;
      const n = region.chunks.length / PER_CHUNK;
      region.starts = new Float64Array(n + 1);
      for (let i = 0; i < n; i++) region.starts[i + 1] = region.starts[i] + region.chunks[i * PER_CHUNK];
    }
    this.layout();
  }
  // Colours live chunks by state, stream or a field of their site: the seven with the most bytes have colours of their own.
  colourBy(by) {
    this.by = by;
    const sums = new Map();
    for (const region of this.map.regions) {
      for (let i = 0; i < region.starts.length - 1; i++) {
        if (region.chunks[i * PER_CHUNK + 2] !== LIVE) continue;
        const key = this.keyOf(region, i);
        sums.set(key, (sums.get(key) || 0) + region.chunks[i * PER_CHUNK]);
      }
    }
    this.ranked = [...sums].sort((a, b) => b[1] - a[1]);
    this.names = new Map(this.ranked.map(([key], rank) => [key, 's' + Math.min(rank, 7)]));
    this.draw();
  }
  keyOf(region, i) {
    if (this.by === 'stream') {
      const stream = region.chunks[i * PER_CHUNK + 3];
      return stream === 0 ? 'no stream' : 'stream ' + stream;
    }
    const site = region.chunks[i * PER_CHUNK + 4];
    return site > 0 && this.map.sites[site - 1][SITE_FIELDS[this.by]] || 'not recorded';
  }
  zoom(by) { this.zoomed = Math.max(-3, Math.min(12, this.zoomed + by)); this.layout(); }
  // Cuts regions into rows. A long stretch without memory is left out: rows begin again behind it.
  layout() {
    if (!this.map || this.scroll.clientWidth === 0) return;
    this.width = this.scroll.clientWidth;
    const stretches = [];
    let total = 0;
    const held = this.map.regions.reduce((sum, r) => { for (let i = 0; i * PER_CHUNK < r.chunks.length; i++) if (r.chunks[i * PER_CHUNK + 2] !== UNMAPPED) sum += r.chunks[i * PER_CHUNK]; return sum; }, 0);
    const gap = Math.max(1, held / 64);
    for (const region of this.map.regions) {
      const n = region.starts.length - 1;
      let first = 0;
      const close = end => { if (end > first) { const bytes = region.starts[end] - region.starts[first]; stretches.push({ region, first, end, bytes }); total += bytes; } };
      for (let i = 0; i < n; i++) {
        if (region.chunks[i * PER_CHUNK + 2] === UNMAPPED && (region.chunks[i * PER_CHUNK] > gap || i === n - 1)) { close(i); first = i + 1; }
      }
      close(n);
    }
    const largest = stretches.reduce((most, s) => Math.max(most, s.bytes), 1);
    const wanted = this.width < 600 ? 22 : 14;
    let capacity = 256;
    while (capacity * wanted < total && capacity < largest) capacity *= 2;
    this.capacity = Math.max(256, Math.min(capacity, Math.pow(2, Math.ceil(Math.log2(largest)))) / Math.pow(2, this.zoomed));
    this.rows = [];
    for (const s of stretches) {
      const base = s.region.starts[s.first];
      for (let from = 0; from < s.bytes; from += this.capacity) {
        this.rows.push({ region: s.region, from: base + from, to: base + Math.min(s.bytes, from + this.capacity), head: from === 0 });
        if (this.rows.length > 200000) break;
      }
    }
    const height = Math.max(ROW, this.rows.length * ROW + 4);
    this.viewHeight = Math.min(440, height);
    this.spacer.style.height = (height - this.viewHeight) + 'px';
    this.canvas.style.height = this.viewHeight + 'px';
    this.draw();
  }
  colourOf(region, i) {
    const state = region.chunks[i * PER_CHUNK + 2];
    if (state === LIVE && this.by !== 'state') return this.names.get(this.keyOf(region, i));
    return STATES[state];
  }
  draw() {
    if (!this.map || this.scroll.clientWidth === 0) return;
    const { context: c, width, height } = prepare(this.canvas, this.viewHeight);
    const top = this.scroll.scrollTop;
    const firstRow = Math.max(0, Math.floor(top / ROW));
    const lastRow = Math.min(this.rows.length, Math.ceil((top + height) / ROW) + 1);
    const scale = width / this.capacity;
    const palette = {};
    for (let r = firstRow; r < lastRow; r++) {
      const row = this.rows[r], region = row.region;
      const y = r * ROW - top + 3;
      let i = Math.max(0, lowerBound(region.starts, row.from + 1) - 1);
      let edge = -1;
      for (; i < region.starts.length - 1 && region.starts[i] < row.to; i++) {
        const x0 = (Math.max(region.starts[i], row.from) - row.from) * scale;
        const x1 = (Math.min(region.starts[i + 1], row.to) - row.from) * scale;
        // Of chunks that share a pixel the first is drawn, unless a live one follows.
        if (x1 <= edge && region.chunks[i * PER_CHUNK + 2] !== LIVE) continue;
        const name = this.colourOf(region, i);
        c.fillStyle = palette[name] || (palette[name] = colour(name));
        const w = Math.max(x1 - x0, 0.6);
        c.fillRect(x0, y, w > 3 ? w - 1 : w, BAR);
        edge = Math.floor(x0) + 1;
      }
      if (row.head) {
        c.fillStyle = colour('soft');
        c.fillRect(0, y - 2, Math.min(28, width), 1);
      }
    }
    for (const [mark, name] of [[this.selected, 'ink'], [this.hovered, 'accent']]) {
      if (mark) this.outline(c, mark, colour(name), scale, top, firstRow, lastRow);
    }
  }
  outline(c, mark, ink, scale, top, firstRow, lastRow) {
    const { region, index } = mark;
    c.strokeStyle = ink;
    c.lineWidth = 2;
    for (let r = firstRow; r < lastRow; r++) {
      const row = this.rows[r];
      if (row.region !== region || row.to <= region.starts[index] || row.from >= region.starts[index + 1]) continue;
      const x0 = (Math.max(region.starts[index], row.from) - row.from) * scale;
      const x1 = (Math.min(region.starts[index + 1], row.to) - row.from) * scale;
      c.strokeRect(x0 + 1, r * ROW - top + 2, Math.max(2, x1 - x0 - 3), BAR + 2);
    }
  }
  at(e) {
    const r = Math.floor((e.offsetY + this.scroll.scrollTop) / ROW);
    const row = this.rows[r];
    if (!row) return null;
    const offset = row.from + e.offsetX / this.width * this.capacity;
    if (offset >= row.to) return null;
    const index = Math.max(0, lowerBound(row.region.starts, offset + 1e-6) - 1);
    return { region: row.region, index };
  }
  hover(e) {
    this.hovered = this.at(e);
    if (this.hovered) showTip(this.tip, this.textOf(this.hovered), e);
    else hideTip(this.tip);
    this.draw();
  }
  textOf({ region, index }) {
    const [size, requested, state, stream, site] = region.chunks.slice(index * PER_CHUNK, index * PER_CHUNK + PER_CHUNK);
    if (state === MIXED) return [count(requested) + ' small chunks', exact(size) + ', of them live ' + bytes(stream)];
    const lines = [exact(size)];
    if (state === LIVE && requested !== size) lines.push('requested ' + exact(requested));
    if (stream !== 0) lines.push((state === LIVE ? 'allocated on' : 'freed on') + ' stream ' + stream);
    const known = site > 0 ? this.map.sites[site - 1] : null;
    const owner = known ? known[0] : this.map.owner;
    if (state === LIVE && owner) lines.push('session ' + owner);
    if (known) {
      const [, millis, line, node, operator, layer, kind] = known;
      if (node) lines.push(node + ' (' + (operator ? operator + ', ' : '') + kind + ')');
      if (layer !== node) lines.push('layer ' + layer);
      if (line) lines.push('at ' + line);
      if (millis >= 0) lines.push('allocated ' + age(millis) + ' before');
    }
    lines.push(region.lane < 0 ? 'outside regions' : 'at offset ' + count(region.starts[index]) + ' of region 0x' + region.address + (region.lane > 0 ? ', lane ' + region.lane : ''));
    return [STATE_TEXT[state].replace(/^./, f => f.toUpperCase()), ...lines];
  }
  select(at) {
    this.selected = at;
    this.describe(this.textOf(at).join('; '));
    this.draw();
  }
  key(e) {
    const all = this.map.regions.filter(r => r.starts.length > 1);
    if (all.length === 0) return;
    let at = this.selected || { region: all[0], index: -1 };
    let { region, index } = at;
    const go = step => {
      let next = index + step, r = all.indexOf(region);
      if (next < 0) { if (r === 0) next = 0; else { region = all[r - 1]; next = region.starts.length - 2; } }
      else if (next > region.starts.length - 2) { if (r === all.length - 1) next = region.starts.length - 2; else { region = all[r + 1]; next = 0; } }
      index = next;
    };
    if (e.key === 'ArrowRight') go(1);
    else if (e.key === 'ArrowLeft') go(-1);
    else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      const here = region.starts[Math.max(0, index)] + (e.key === 'ArrowDown' ? this.capacity : -this.capacity);
      if (here < 0 || here >= region.starts[region.starts.length - 1]) {
        const r = all.indexOf(region) + (e.key === 'ArrowDown' ? 1 : -1);
        if (all[r]) { region = all[r]; index = e.key === 'ArrowDown' ? 0 : region.starts.length - 2; }
      } else index = Math.max(0, lowerBound(region.starts, here + 1e-6) - 1);
    } else if (e.key === '+' || e.key === '=') { this.zoom(1); e.preventDefault(); return; }
    else if (e.key === '-') { this.zoom(-1); e.preventDefault(); return; }
    else return;
    e.preventDefault();
    this.select({ region, index });
    const r = this.rows.findIndex(row => row.region === region && row.to > region.starts[index]);
    if (r >= 0) {
      const y = r * ROW;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
      else if (y + ROW > this.scroll.scrollTop + this.viewHeight) this.scroll.scrollTop = y + ROW - this.viewHeight;
    }
  }
}

function age(millis) {
  if (millis < 1000) return (millis < 10 ? Number(millis.toFixed(3)) : Math.round(millis)) + ' ms';
  if (millis < 120000) return (millis / 1000).toFixed(1) + ' s';
  if (millis < 7200000) return Math.round(millis / 60000) + ' min';
  return (millis / 3600000).toFixed(1) + ' h';
}
