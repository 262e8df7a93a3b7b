// What is shown of texts from crawled pages. Rule: a text becomes a text node, never markup, and
// only http and https addresses become links.

// Controls, marks of direction and what has no width: shown by name, as they may deceive.
const SIGNS = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const SPACES = /[\t\n\f\r ]+/g;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

function button(kind, click, ...children) {
  return make("button", { type: "button", class: kind, click }, ...children);
}

function cut(text, length) {
  return text.length > length ? `${text.slice(0, length)}… (${count(text.length)} characters)` : text;
}

// The text as nodes, each control character a <span> with its number.
function signed(text) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(SIGNS)) {
    if (found.index > end) nodes.push(text.slice(end, found.index));
    const number = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(make("span", { class: "sign" }, `U+${number}`));
    end = found.index + found[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

// For where only characters can stand: attributes and the options of a list.
function plain(text) {
  return text.replace(SPACES, " ").replace(SIGNS, "\ufffd");
}

function shown(text, length = 400) {
  return make("bdi", {}, signed(cut(text.replace(SPACES, " "), length)));
}

function address(url, length = 400) {
  if (!/^https?:\/\/[^/]/i.test(url)) return make("span", { class: "address" }, shown(url, length));
  return make(
    "a",
    { class: "address", href: url, target: "_blank", rel: "noopener noreferrer nofollow" },
    shown(url, length),
  );
}

const NUMBERS = new Intl.NumberFormat("en");

function count(number) {
  return NUMBERS.format(number);
}

function counted(number, one) {
  return `${count(number)} ${number === 1 ? one : `${one}s`}`;
}

function percent(part, whole) {
  const share = (100 * part) / whole;
  return `${share >= 10 ? Math.round(share) : share.toFixed(1)} %`;
}

// The estimated share of a page of `ours` words that a page of `theirs` holds (Broder 1997); resemblances
// are in ten-thousandths.
function heldShare(resemblance, ours, theirs) {
  const shared = resemblance / (10000 + resemblance) * (ours + theirs);
  return `${Math.round(100 * Math.min(shared, ours, theirs) / ours)} %`;
}

function resemblance(number) {
  return (Math.floor(number / 10) / 1000).toFixed(3);
}

// The data that the page carries. Each element of data is read once and then given up.
function read(id) {
  const element = document.getElementById(id);
  const value = JSON.parse(element.textContent);
  element.remove();
  return value;
}

// A text as the audit packs it: zlib in base64. The end of an enormous one is left out.
const LONGEST = 4_000_000;

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > LONGEST) {
      await reader.cancel();
      return text.slice(0, LONGEST);
    }
  }
}
