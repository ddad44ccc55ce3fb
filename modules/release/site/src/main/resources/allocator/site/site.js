"use strict";
// Colours of code, the list of pages at the current one, and the search. Pages can be read without it.

const root = document.currentScript.dataset.root;

for (const code of document.querySelectorAll("pre > code[class^=language-]")) {
  if (window.hljs && hljs.getLanguage(code.className.slice("language-".length))) {
    hljs.highlightElement(code);
  }
}

const list = document.querySelector(".pages");

function showCurrent() {
  const current = list.querySelector("[aria-current]");
  if (current) {
    list.scrollTop = current.offsetTop - list.clientHeight / 2;
  }
}

showCurrent();
list.addEventListener("toggle", showCurrent);

const input = document.getElementById("search");
const found = document.getElementById("found");
const most = 12;

function escaped(text) {
  return text.replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";");
}

/** The text around the first word that was found, with all words marked. */
function excerpt(text, words) {
  const at = Math.max(0, Math.min(...words.map(word => text.toLowerCase().indexOf(word)).filter(i => i >= 0), text.length));
  const begin = at < 50 ? 0 : text.lastIndexOf(" ", at - 40) + 1;
  const part = (begin ? "… " : "") + text.slice(begin, begin + 150);
  const pattern = new RegExp("(" + words.map(word => word.replace(/[^\w]/g, "\\$&")).join("|") + ")", "gi");
  return part.split(pattern).map((piece, i) => i % 2 ? "<mark>" + escaped(piece) + "</mark>" : escaped(piece)).join("");
}

/** Pages for users before decisions and results; headings before texts. */
function rank([address, title, heading, text], words) {
  let sum = /^(index|docs\/[^/]+)\.html/.test(address) ? .5 : 0;
  for (const word of words) {
    const points = title.toLowerCase().includes(word) * (heading ? 3 : 8) + heading.toLowerCase().includes(word) * 5
        + text.toLowerCase().includes(word);
    if (!points) {
      return 0;
    }
    sum += points;
  }
  return sum;
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
  found.hidden = words.length === 0 || !window.sections;
  if (found.hidden) {
    found.textContent = "";
    return;
  }
  const hits = sections.map(section => [rank(section, words), section]).filter(([points]) => points)
      .sort((a, b) => b[0] - a[0]).slice(0, most);
  found.innerHTML = hits.map(([, [address, title, heading, text]]) =>
      `<a href="${root}${address}">${escaped(title)}${heading ? " › " + escaped(heading) : ""}`
          + `<small>${excerpt(text, words)}</small></a>`).join("")
      + `<a href="${root}api/search.html?q=${encodeURIComponent(input.value.trim())}">Search the API`
      + `<small>${hits.length ? "" : "No page has these words. "}Classes, methods and fields</small></a>`;
}

function move(step) {
  const links = [...found.querySelectorAll("a")];
  const last = links.findIndex(link => link.getAttribute("aria-selected"));
  links[last]?.removeAttribute("aria-selected");
  const next = links[last < 0 && step < 0 ? links.length - 1 : (last + step + links.length) % links.length];
  next?.setAttribute("aria-selected", "true");
  next?.scrollIntoView({block: "nearest"});
}

/** Loads the texts of all pages at the first use, and searches. */
function loadAndSearch() {
  if (!document.getElementById("search-index")) {
    const script = document.createElement("script");
    script.id = "search-index";
    script.src = root + "search-index.js";
    script.onload = search;
    document.head.append(script);
  }
  search();
}

input.addEventListener("focus", loadAndSearch);
input.addEventListener("input", loadAndSearch);
input.addEventListener("keydown", event => {
  if (event.key === "Escape") {
    found.hidden = true;
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    (found.querySelector("[aria-selected]") || found.querySelector("a"))?.click();
  }
});
document.addEventListener("keydown", event => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});
document.addEventListener("click", event => {
  if (!event.target.closest(".search")) {
    found.hidden = true;
  }
});
