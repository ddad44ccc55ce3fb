'use strict';
// Text, elements and colours.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const STATES = ['live', 'waiting', 'cached', 'free', 'unmapped', 'unreturned', 'mixed', 'pinned'];
const STATE_TEXT = ['live', 'waiting for a stream', 'cached', 'free', 'no memory', 'not taken back', 'several small chunks', 'pinned'];
const LIVE = 0, FREE = 3, UNMAPPED = 4, MIXED = 6;

// Numbers from 2^53 come as text, and are BigInts where each digit counts; others are numbers.
function bytes(value) {
  let n = Number(value);
  if (n < 0) return '–' + bytes(-n);
  let unit = 0;
  while (n >= 1023.5 && unit < UNITS.length - 1) { n /= 1024; unit++; }
  return unit === 0 ? Math.round(n) + ' B' : n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + ' ' + UNITS[unit];
}

function count(n) {
  if (typeof n === 'number' && Math.abs(n) > Number.MAX_SAFE_INTEGER) return 'about ' + n.toExponential(3);
  return String(typeof n === 'number' ? Math.round(n) : n).replace(/\B(?=(\d{3})+$)/g, ',');
}

function exact(n) { return bytes(n) + (n >= 1024 ? ' (' + count(n) + ' bytes)' : ''); }

// Makes an element. Text is always set as text, never parsed.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'class') made.className = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

let colours = null;
function colour(name) {
  if (!colours) colours = getComputedStyle(document.documentElement);
  return colours.getPropertyValue('--' + name).trim();
}

function legend(entries) {
  return el('ul', { class: 'legend' }, ...entries.map(([name, text, thin]) => {
    const key = el('span', { class: thin ? 'key thin' : 'key' });
    key.style.background = 'var(--' + name + ')';
    return el('li', {}, key, text);
  }));
}

// A box of text beside the mouse.
function makeTip() {
  const tip = el('div', { class: 'tip hidden', role: 'presentation' });
  document.body.append(tip);
  return tip;
}

function hideTip(tip) { tip.classList.add('hidden'); }

function showTip(tip, [title, ...lines], e) {
  tip.replaceChildren(el('b', {}, title), ...lines.map(line => el('div', {}, line)));
  tip.classList.remove('hidden');
  const box = tip.getBoundingClientRect();
  const x = Math.min(e.clientX + 14, innerWidth - box.width - 6);
  const y = e.clientY + 18 + box.height > innerHeight ? e.clientY - box.height - 12 : e.clientY + 18;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, y) + 'px';
}

// Sizes a canvas for the screen's pixels, and returns its context in CSS pixels.
function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, canvas.clientWidth);
  const wanted = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wanted[0]) canvas.width = wanted[0];
  if (canvas.height !== wanted[1]) canvas.height = wanted[1];
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  return { context, width, height };
}

function lowerBound(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}
