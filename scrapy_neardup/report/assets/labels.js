// Pairs of pages, one at a time, which a person labels; the labels are a file that they save.

const study = read("study");
const labels = new Array(study.pairs.length).fill(null);
const NAMES = { true: "Near-duplicates", false: "Different", unknown: "Can’t say" };
let place = 0, saved = true;
LEFT = "the first page";
RIGHT = "the second page";

const choices = Object.entries(NAMES).map(([label, name]) => [label, button("chip", () => say(label), `${name} (${label[0]})`)]);
const status = make("p", { role: "status" });
const sides = make("div", { class: "sides" });
const texts = make("div", { class: "texts" });
const file = make("input", { type: "file", accept: ".jsonl", "aria-label": "Go on with saved labels", change: load });

document.body.append(make("main", {},
  header("Near-duplicate labelling", "Are these two near-duplicates?",
    make("p", { class: "soft" }, "Say of each pair whether one of its pages would be enough for you. The pairs are in random order,"
      + " and their distances aren’t shown. Then save the labels, and read them with ",
    make("code", {}, "scrapy-neardup tune --labels labels.jsonl"), ".")),
  part(null,
    make("div", { class: "tools" },
      choices.map(([, choice]) => choice),
      button("chip", () => show(place - 1), "← Previous"),
      button("chip", () => show(place + 1), "Next →"),
      button("chip", save, "Save the labels"),
      make("label", {}, "Go on with saved labels: ", file),
      status),
    sides, texts)));
show(0);

document.addEventListener("keydown", (event) => {
  if (event.target === file || event.ctrlKey || event.metaKey || event.altKey) return;
  const label = Object.keys(NAMES).find((name) => name[0] === event.key.toLowerCase());
  if (label) say(label);
  else if (event.key === "ArrowLeft") show(place - 1);
  else if (event.key === "ArrowRight") show(place + 1);
});
addEventListener("beforeunload", (event) => saved || event.preventDefault());

function say(label) {
  labels[place] = label;
  saved = false;
  const open = labels.findIndex((each, at) => each == null && at > place);
  show(open < 0 ? place : open);
}

async function show(next) {
  place = Math.max(0, Math.min(next, labels.length - 1));
  const shownPlace = place;
  const [a, b] = study.pairs[place].slice(0, 2).map((at) => study.texts[at]);
  const done = labels.filter(Boolean).length;
  status.replaceChildren(`Pair ${count(place + 1)} of ${count(labels.length)}; ${count(done)} labelled.`);
  choices.forEach(([label, choice]) => choice.setAttribute("aria-pressed", labels[place] === label));
  sides.replaceChildren(...[["First page", a], ["Second page", b]].map(([name, page]) =>
    make("section", { class: "page" }, make("h2", {}, name), make("p", {}, address(page.name, 2000)))));
  const [first, second] = await Promise.all([unpacked(a.packed), unpacked(b.packed)]);
  if (place === shownPlace) texts.replaceChildren(...difference(first, [], second, []));
}

function lineOf(at) {
  const [a, b, distance, pairs] = study.pairs[at];
  return { a: study.texts[a].name, b: study.texts[b].name, distance, pairs };
}

function save() {
  const lines = labels.map((label, at) => label && `${JSON.stringify({ ...lineOf(at), label })}\n`);
  download("labels.jsonl", "application/jsonl", lines.filter(Boolean).join(""));
  saved = true;
}

async function load() {
  const key = ({ a, b }) => JSON.stringify([a, b]);
  const places = new Map(labels.map((_, at) => [key(lineOf(at)), at]));
  try {
    for (const line of (await file.files[0].text()).split("\n").filter((each) => each.trim())) {
      const found = JSON.parse(line);
      if (places.has(key(found)) && found.label in NAMES) labels[places.get(key(found))] = found.label;
    }
    show(Math.max(labels.indexOf(null), 0));
  } catch (error) {
    status.replaceChildren(`The file can’t be read (${error.name}).`);
  }
}
