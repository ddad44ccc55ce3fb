// Builds the page of its data.

const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const isRecording = data.kind === 'recording'; // which knows nothing of padding and of what is free
page.replaceChildren();

function table(head, rows, caption) {
  return el('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': caption || 'table' }, el('table', {},
    el('thead', {}, el('tr', {}, ...head.map(([text, kind]) => el('th', { class: kind || '', scope: 'col' }, text)))),
    el('tbody', {}, ...rows)));
}

function factBoxes(facts) {
  return el('div', { class: 'facts' }, ...facts.map(([name, value, note]) =>
    el('div', { class: 'fact' }, el('span', {}, name), el('b', {}, value < 0 ? '–' : bytes(value)), note ? el('span', {}, note) : null)));
}

function why(found) {
  const section = el('section', { class: 'alarm', 'aria-labelledby': 'why' },
    el('div', { class: 'head' }, el('h2', { id: 'why' }, 'Why it failed')),
    el('p', { class: 'headline' }, found.headline), factBoxes(found.facts),
    el('h3', {}, 'What may help'), el('ul', { class: 'plain' }, ...found.advice.map(line => el('li', {}, line))));
  if (found.stack.length > 0) {
    section.append(el('h3', {}, 'Requested by' + (found.thread ? ' thread ' + found.thread : '')), el('pre', {}, found.stack.join('\n')));
  }
  if (found.reason && found.reason.length > 0) section.append(el('details', {}, el('summary', {}, 'Message'), el('pre', {}, found.reason.join('\n'))));
  return section;
}

function leaks(found) {
  const section = el('section', { class: 'alarm', 'aria-labelledby': 'leaks' },
    el('div', { class: 'head' }, el('h2', { id: 'leaks' }, 'Live at the close')),
    el('p', { class: 'headline' }, found.closed + ': ' + count(found.blocks) + (found.blocks === 1 ? ' block is live' : ' blocks are live')),
    el('p', {}, found.recorded > 0 ? count(found.recorded) + ' of them have a recorded call site.'
      : 'None has a recorded call site: memory.leaks=full records each block.'));
  if (found.sites.length === 0) return section;
  const most = Math.max(1, ...found.sites.map(site => site[5]));
  const row = ([frame, owner, memory, oldest, blocks, size]) => {
    const bar = el('div', { class: 'bar' });
    bar.style.width = (100 * size / most) + '%';
    return el('tr', {}, el('td', { class: 'site' }, frame), el('td', { class: 'name' }, owner), el('td', { class: 'line' }, memory),
      el('td', { class: 'number' }, age(oldest)), el('td', { class: 'number' }, count(blocks)), el('td', { class: 'number' }, bytes(size)), el('td', { class: 'barcell' }, bar));
  };
  const head = [['call site'], ['session'], ['memory'], ['oldest', 'number'], ['blocks', 'number'], ['requested', 'number'], ['']];
  section.append(table(head, found.sites.slice(0, 20).map(row), 'Live blocks by call site'));
  if (found.sites.length > 20) {
    section.append(el('details', {}, el('summary', {}, 'More call sites'), table(head, found.sites.slice(20).map(row), 'Further live blocks by call site')));
  }
  if (found.omitted > 0) section.append(el('p', { class: 'soft' }, count(found.omitted) + ' call sites with fewer bytes are left out.'));
  return section;
}

// The recent events, the latest first: a page of them at a time, of all kinds or of one.
function recent(found) {
  const PAGE = 25;
  let from = 0;
  const total = Object.values(found.counts).reduce((sum, n) => sum + n, 0);
  const kind = el('select', { id: 'kind' }, el('option', { value: '' }, 'all'),
    ...Object.entries(found.counts).map(([name, n]) => el('option', { value: name }, name + ' (' + count(n) + ')')));
  const rows = el('div', {}), out = el('output', { id: 'historyOut', 'aria-live': 'polite' });
  const shown = () => found.events.filter(event => kind.value === '' || event[1] === kind.value);
  const show = first => {
    const events = shown();
    from = Math.max(0, Math.min(first, Math.floor((events.length - 1) / PAGE) * PAGE));
    const part = events.slice(from, from + PAGE);
    out.textContent = events.length === 0 ? 'None of the latest ' + count(found.events.length) + ' events is of this kind.'
      : 'Events ' + count(from + 1) + ' to ' + count(from + part.length) + ' of the latest ' + count(events.length) + ', the latest first.';
    rows.replaceChildren(table([['before', 'number'], ['event'], ['bytes', 'number'], ['address'], ['stream', 'number'], ['memory'], ['session']],
      part.map(([micros, name, size, address, stream, memory, owner]) => el('tr', {}, el('td', { class: 'number' }, (name === 'allocation' || name === 'free' ? 'about ' : '') + age(micros / 1000)),
        el('td', {}, name), el('td', { class: 'number' }, size > 0 ? bytes(size) : '–'), el('td', {}, address || '–'),
        el('td', { class: 'number' }, stream > 0 ? String(stream) : '–'), el('td', { class: 'line' }, memory), el('td', { class: 'name' }, owner || '–'))), 'Recent events'));
  };
  kind.addEventListener('change', () => show(0));
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, onclick: act }, text);
  const section = el('section', { 'aria-labelledby': 'historyTitle' },
    el('div', { class: 'head' }, el('h2', { id: 'historyTitle' }, 'Recent events'),
      el('div', { class: 'tools' }, el('label', {}, 'kind', kind),
        button('‹', 'later events', () => show(from - PAGE)), button('›', 'earlier events', () => show(from + PAGE)))),
    el('p', { class: 'soft' }, count(total) + ' events of all environments of the process, over ' + age(found.micros / 1000) + '.'), out, rows);
  show(0);
  return section;
}

function policies() {
  const most = Math.max(1, ...data.series.map(s => s.peakHeld));
  const rows = data.series.map((s, i) => {
    const bar = el('div', { class: 'bar' });
    bar.style.width = (100 * s.peakHeld / most) + '%';
    bar.style.background = 'var(--s' + i % 8 + ')';
    return el('tr', {},
      el('td', { class: 'name' }, s.name), el('td', { class: 'number' }, bytes(s.peakHeld)),
      el('td', { class: 'number' }, s.peakRequested > 0 ? (s.peakHeld / s.peakRequested).toFixed(2) + ' ×' : '–'), el('td', { class: 'barcell' }, bar),
      isRecording ? null : el('td', { class: 'number' }, bytes(s.peakInUse)), el('td', { class: 'number' }, bytes(s.peakRequested)), el('td', { class: 'number' }, count(s.failures)));
  });
  return el('section', { 'aria-labelledby': 'policies' }, el('div', { class: 'head' }, el('h2', { id: 'policies' }, isRecording ? 'Peaks' : 'Policies')),
    table([[isRecording ? '' : 'policy'], ['held, peak', 'number'], ['held / requested', 'number'], [''], ...(isRecording ? [] : [['in use, peak', 'number']]), ['requested, peak', 'number'], ['failed', 'number']], rows, 'Peaks of each policy'));
}

function timelines(pickMoment) {
  const view = new View(data.events);
  view.mark = -1;
  const chosen = el('select', { id: 'policy' }, ...data.series.map((s, i) => el('option', { value: String(i) }, s.name)));
  const canvas = el('canvas', { class: 'chart', id: 'timeline', tabindex: '0', role: 'img', 'aria-describedby': 'timelineHelp timelineOut' });
  const pieces = el('canvas', { class: 'chart low', id: 'fragmentation', tabindex: '0', role: 'img', 'aria-describedby': 'piecesOut' });
  const out = el('output', { id: 'timelineOut', 'aria-live': 'polite' }, 'Point at the chart, or use the arrow keys.');
  const piecesOut = el('output', { id: 'piecesOut', 'aria-live': 'polite' }, ' ');
  const series = () => data.series[Number(chosen.value)];
  const describe = i => {
    const s = series();
    out.textContent = 'Event ' + count(s.event[i]) + ': requested ' + exact(s.requested[i]) + (isRecording ? '' : ', in use ' + bytes(s.inUse[i])) + ', held ' + bytes(s.held[i])
      + (s.requested[i] > 0 ? ', ' + (s.held[i] / s.requested[i]).toFixed(2) + ' × requested' : '');
    piecesOut.textContent = s.listed ? 'Free ' + bytes(s.free[i]) + ', largest free chunk ' + bytes(s.largest[i])
      + (s.free[i] > 0 ? ', ' + Math.round(100 - 100 * s.largest[i] / s.free[i]) + ' % of it in smaller pieces' : '') : '';
  };
  const pick = event => pickMoment(Number(chosen.value), event);
  const chart = new Chart(canvas, view, describe, pick);
  const low = new Chart(pieces, view, describe, pick);
  const keys = el('div', {});
  const update = () => {
    const s = series(), mine = Number(chosen.value);
    const others = data.series.map((o, i) => ({ o, i })).filter(({ i }) => i !== mine).map(({ o, i }) => ({
      colour: () => colour('s' + i % 8), values: aligned(o, s.event), width: 1.25, dash: [5, 3], step: true }));
    chart.show(s.event, [
      { colour: () => colour('requested'), values: s.requested, fill: true },
      ...others,
      ...(isRecording ? [] : [{ colour: () => colour('inuse'), values: s.inUse, width: 1.5 }]),
      { colour: () => colour('held'), values: s.held, width: 2, step: true }]);
    low.show(s.event, [
      { colour: () => colour('free'), values: s.free, fill: true },
      { colour: () => colour('largest'), values: s.largest, width: 1.5 }]);
    const peak = s.requested.indexOf(Math.max(...s.requested));
    canvas.setAttribute('aria-label', 'Bytes requested, ' + (isRecording ? '' : 'in use ') + 'and held over ' + count(data.events) + ' events with ' + s.name + '. Peak at event ' + count(s.event[peak] || 0)
      + ': requested ' + bytes(s.peakRequested) + ', held ' + bytes(s.peakHeld) + '.');
    pieces.setAttribute('aria-label', 'Free bytes and the largest free chunk over the events with ' + s.name + '.');
    keys.replaceChildren(legend([['held', 'held, ' + s.name, true], ...(isRecording ? [] : [['inuse', 'in use, padding included', true]]), ['requested', 'requested'],
      ...data.series.map((o, i) => ['s' + i % 8, 'held, ' + o.name, true]).filter((_, i) => i !== mine)]));
  };
  chosen.addEventListener('change', () => { update(); if (view.cursor >= 0) describe(chart.nearest(view.cursor)); });
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, onclick: act }, text);
  const section = el('section', { 'aria-labelledby': 'time' },
    el('div', { class: 'head' }, el('h2', { id: 'time' }, 'Memory over the ' + data.kind),
      el('div', { class: 'tools' }, isRecording ? null : el('label', {}, 'policy', chosen),
        button('+', 'zoom in', () => view.zoom(0.5)), button('−', 'zoom out', () => view.zoom(2)),
        button('‹', 'earlier', () => view.pan(-0.5)), button('›', 'later', () => view.pan(0.5)), button('All', 'show all events', () => view.set(0, view.events)))),
    canvas, keys, out,
    el('p', { class: 'soft', id: 'timelineHelp' }, 'Drag to zoom, double-click for all, click for the map of the nearest moment. Keys: arrows, +, −, 0, Enter.'),
    ...(isRecording ? [] : [el('h3', {}, 'Fragmentation'), pieces, legend([['free', 'free, waiting and cached'], ['largest', 'largest free chunk', true]]), piecesOut]));
  update();
  window.allocatorView = view;
  return { section, setMark: (mine, event) => { chosen.value = String(mine); view.mark = event; update(); }, draw: () => view.changed() };
}

function aligned(other, events) {
  return events.map(event => { const i = Math.min(other.event.length - 1, lowerBound(other.event, event)); return other.held[i]; });
}

function maps() {
  const choose = el('select', { id: 'map' }, ...data.maps.map((m, i) => el('option', { value: String(i) }, m.event < 0 ? m.name : m.name + ', event ' + count(m.event))));
  const by = el('select', { id: 'by' });
  const canvas = el('canvas', { id: 'regions', tabindex: '0', role: 'img', 'aria-describedby': 'mapHelp mapOut' });
  const spacer = el('div', {});
  const scroll = el('div', { class: 'scroll', id: 'scroll' }, canvas, spacer);
  const out = el('output', { id: 'mapOut', 'aria-live': 'polite' }, ' ');
  const scale = el('span', { class: 'soft', id: 'scale' });
  const help = el('p', { class: 'soft', id: 'mapHelp' }, 'Addresses run from left to right, row by row; a short mark begins a region. Keys: arrows, +, −. ', scale);
  const keys = el('div', {}), sizes = el('div', {}), groups = el('div', { class: 'columns' }), note = el('p', { class: 'soft', id: 'mapNote' });
  const map = new RegionMap(canvas, scroll, spacer, text => { out.textContent = text; });
  let onShow = () => {}, showKeys = () => {};
  const show = i => {
    const m = data.maps[i];
    choose.value = String(i);
    map.show(m);
    out.textContent = 'Point at a block, or use the arrow keys.';
    const sums = new Array(STATES.length).fill(0), counts = new Array(STATES.length).fill(0);
    let streams = false;
    for (const region of m.regions) {
      for (let k = 0; k < region.chunks.length; k += PER_CHUNK) {
        sums[region.chunks[k + 2]] += region.chunks[k];
        counts[region.chunks[k + 2]] += 1;
        streams = streams || region.chunks[k + 2] === LIVE && region.chunks[k + 3] !== 0;
      }
    }
    const isEmpty = counts.every((n, s) => n === 0 || s === UNMAPPED);
    note.textContent = m.missing ? 'No map: ' + m.missing + '. In use ' + bytes(m.inUse) + ', held ' + bytes(m.held) + '.'
      : isEmpty ? (isRecording ? 'No block is live.' : 'This allocator holds no memory.')
      : m.small > 0 ? 'Neighbours below ' + bytes(m.small) + ' are drawn as one, as there are very many chunks.' : '';
    for (const part of [scroll, help]) part.classList.toggle('hidden', isEmpty);
    if (isEmpty) out.textContent = ' ';
    canvas.setAttribute('aria-label', 'Map of ' + m.regions.length + ' regions: ' + STATES.map((_, s) => s).filter(s => counts[s] > 0)
      .map(s => STATE_TEXT[s] + ' ' + bytes(sums[s]) + ' in ' + count(counts[s])).join(', ') + '.');
    const old = by.value;
    const known = Object.keys(SITE_FIELDS).filter(field => m.sites.some(site => site[SITE_FIELDS[field]]));
    const ways = ['state', ...(streams ? ['stream'] : []), ...known];
    by.replaceChildren(...ways.map(v => el('option', { value: v }, v)));
    by.value = ways.includes(old) ? old : known[0] || 'state';
    showKeys = () => {
      map.colourBy(by.value);
      const states = STATES.map((name, s) => [name, STATE_TEXT[s] + ' ' + bytes(sums[s]), false, s])
        .filter(entry => counts[entry[3]] > 0 && entry[3] !== UNMAPPED && (by.value === 'state' || entry[3] !== LIVE));
      const live = by.value === 'state' ? [] : map.ranked.slice(0, 7).map(([key, size], rank) => ['s' + rank, key + ' ' + bytes(size)]);
      const rest = by.value === 'state' ? 0 : map.ranked.slice(7).reduce((sum, entry) => sum + entry[1], 0);
      keys.replaceChildren(legend([...live, ...(rest > 0 ? [['s7', 'others ' + bytes(rest)]] : []), ...states]));
    };
    showKeys();
    freeSizes(sizes, m);
    groups.replaceChildren(...(m.groups.length > 0 ? m.groups.map(group) : [el('p', { class: 'soft' }, 'No block is live.')]));
    scaleText();
    onShow(m);
  };
  const scaleText = () => { scale.textContent = 'A row is ' + bytes(map.capacity || 0) + '.'; };
  choose.addEventListener('change', () => show(Number(choose.value)));
  by.addEventListener('change', () => showKeys());
  const button = (text, label, step) => el('button', { type: 'button', 'aria-label': label, onclick: () => { map.zoom(step); scaleText(); } }, text);
  const section = el('section', { 'aria-labelledby': 'mapTitle' },
    el('div', { class: 'head' }, el('h2', { id: 'mapTitle' }, isRecording ? 'Map of live blocks' : 'Map of regions'),
      el('div', { class: 'tools' }, el('label', {}, data.kind === 'snapshot' ? 'allocator' : 'moment', choose), el('label', {}, 'colour', by),
        button('+', 'zoom in the map', 1), button('−', 'zoom out of the map', -1))),
    note, scroll, keys, out, help);
  const more = [isRecording ? '' : el('section', { 'aria-labelledby': 'freeTitle' }, el('div', { class: 'head' }, el('h2', { id: 'freeTitle' }, 'Free memory by size of chunk')), sizes),
    el('section', { 'aria-labelledby': 'most' }, el('div', { class: 'head' }, el('h2', { id: 'most' }, 'Who has most')), groups)];
  window.allocatorMap = map;
  return { section, more, show, draw: () => map.draw(), onShow: f => { onShow = f; } };
}

function freeSizes(target, m) {
  if (m.freeBySize.length === 0) {
    target.replaceChildren(el('p', { class: 'soft' }, 'Nothing is free.'));
    return;
  }
  const most = Math.max(...m.freeBySize.map(([, a, b, c]) => a + b + c));
  const rows = m.freeBySize.map(([power, free, waiting, cached]) => {
    const bar = el('div', {});
    bar.style.display = 'flex';
    for (const [name, value] of [['free', free], ['waiting', waiting], ['cached', cached]]) {
      if (value <= 0) continue;
      const part = el('div', { class: 'bar' });
      part.style.background = 'var(--' + name + ')';
      part.style.width = (100 * value / most) + '%';
      bar.append(part);
    }
    return el('tr', {}, el('td', { class: 'line' }, bytes(2 ** power) + ' –'), el('td', { class: 'number' }, bytes(free)),
      el('td', { class: 'number' }, bytes(waiting)), el('td', { class: 'number' }, bytes(cached)), el('td', { class: 'barcell' }, bar));
  });
  target.replaceChildren(table([['size from'], ['free', 'number'], ['waiting', 'number'], ['cached', 'number'], ['']], rows, 'Free memory by size'));
}

function group(g) {
  const shown = g.rows.slice(0, 10), most = Math.max(1, ...g.rows.map(row => row[3]));
  const row = ([name, blocks, requested, size]) => {
    const bar = el('div', { class: 'bar' });
    bar.style.width = (100 * size / most) + '%';
    return el('tr', {}, el('td', { class: 'name' }, g.by === 'size' ? bytes(Number(name)) : name), el('td', { class: 'number' }, count(blocks)), el('td', { class: 'number' }, bytes(requested)),
      isRecording ? null : el('td', { class: 'number' }, bytes(size)), el('td', { class: 'barcell' }, bar));
  };
  const head = [['by ' + g.by], ['blocks', 'number'], ['requested', 'number'], ...(isRecording ? [] : [['with padding', 'number']]), ['']];
  const box = el('div', {}, table(head, shown.map(row), 'Live blocks by ' + g.by));
  if (g.count > shown.length) {
    box.append(el('details', {}, el('summary', {}, 'More of ' + count(g.count)), table(head, g.rows.slice(10).map(row), 'Further live blocks by ' + g.by)));
  }
  return box;
}

function report(t, at) {
  const most = Math.max(0, ...t.rows.map(row => row.bar)), id = 'table' + at;
  const rows = t.rows.map(row => {
    const bar = el('div', { class: row.bar > 0 ? 'bar' : 'hidden' });
    bar.style.width = (100 * row.bar / most) + '%';
    return el('tr', {}, ...row.cells.map((cell, i) => el('td', { class: i === 0 ? 'name' : 'number' }, cell)),
      most > 0 ? el('td', { class: 'barcell' }, bar) : null);
  });
  const head = [...t.head.map((text, i) => [text, i === 0 ? '' : 'number']), ...(most > 0 ? [['']] : [])];
  return el('section', { 'aria-labelledby': id }, el('div', { class: 'head' }, el('h2', { id }, t.title)),
    rows.length > 0 ? table(head, rows, t.title) : null, ...t.notes.map(note => el('p', { class: 'soft' }, note)));
}

page.append(el('h1', {}, data.title), el('p', { class: 'subtitle' }, data.subtitle));
if (data.why) page.append(why(data.why));
if (data.leaks) page.append(leaks(data.leaks));
if (data.tables) page.append(...data.tables.map(report));
if (data.series.length > 0) page.append(policies());
const redraw = [];
if (data.plan) {
  const plan = planSections(data.plan);
  page.append(...plan.sections);
  redraw.push(plan.draw);
}
let mapPart = data.maps.length > 0 ? maps() : null;
if (data.series.length > 0) {
  const time = timelines((mine, event) => {
    let best = -1;
    data.maps.forEach((m, i) => { if (m.series === mine && (best < 0 || Math.abs(m.event - event) < Math.abs(data.maps[best].event - event))) best = i; });
    if (best >= 0) mapPart.show(best);
  });
  page.append(time.section);
  redraw.push(time.draw);
  if (mapPart) mapPart.onShow(m => time.setMark(m.series, m.event));
}
if (mapPart) {
  page.append(mapPart.section, ...mapPart.more);
  mapPart.show(Math.max(0, Math.min(data.maps.length - 1, data.first)));
  redraw.push(mapPart.draw);
}
if (data.history) page.append(recent(data.history));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { colours = null; redraw.forEach(f => f()); });
document.documentElement.dataset.ready = 'true';
