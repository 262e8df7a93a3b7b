// The report on an audit: the overview at once, the drops when the page has come to its end.

const summary = read("summary");
let filter = () => {};
const main = make("main", {}, overview(summary, (kind, value) => filter(kind, value)));
document.body.append(main);

function explorer() {
  const drops = new Drops(read("drops"));
  const packed = document.getElementById("texts");
  let texts = null, shownEntry = null;
  const view = new View(drops, summary.findings);
  const pair = make("article", { class: "pair", tabindex: "-1", "aria-label": "The pair" });
  const list = new List(view, (entry) => rowOf(entry), opened);

  function rowOf(entry) {
    const { pages, rows } = drops;
    if (entry < 0) {
      const group = -1 - entry, found = view.matching[group], all = drops.groups.size[group];
      return [
        make("span", { class: "twist", "aria-hidden": "true" }, view.open.has(group) ? "▾" : "▸"),
        make("span", { class: "what" }, shown(drops.title(group) || pages.path[group] || drops.url(group), 140)),
        make("span", { class: "tally" }, found === all ? count(all) : `${count(found)} of ${count(all)}`),
        make("span", { class: "where" }, shown(drops.url(group), 160)),
      ];
    }
    const page = drops.page(entry);
    return [
      make("span", { class: "what" }, shown(pages.path[page] || drops.url(page), 160)),
      make("span", { class: "tally" }, rows.resemblance[entry] == null ? "" : resemblance(rows.resemblance[entry])),
      make("span", { class: "where" }, shown(drops.title(page), 140),
        " ", make("i", {}, shown(drops.rules[rows.rule[entry]], 60))),
    ];
  }

  // Show the first pair of what is listed, or that nothing is.
  function first() {
    if (view.entries.length) list.select(0);
    else pair.replaceChildren(make("p", { class: "soft" }, "No drop matches. ", button("quiet", () => choose(NOTHING), "Show all drops")));
    list.element.classList.toggle("empty", !view.entries.length);
  }

  function opened(entry, { asked }) {
    shownEntry = entry;
    const row = entry < 0 ? firstOf(-1 - entry) : entry;
    texts ??= JSON.parse(packed.textContent);
    pair.replaceChildren(
      make("button", { type: "button", class: "close", "aria-label": "Close the pair", click: close }, "×"),
      ...pairView(drops, row, texts, summary.words.rules),
    );
    pair.scrollTop = 0;
    if (asked) document.body.classList.add("reading");
    if (asked && NARROW.matches) pair.focus();
  }

  function firstOf(group) {
    const matches = view.test();
    for (let row = drops.first(group); row < drops.end(group); row++) if (matches(row)) return row;
    return drops.first(group);
  }

  function close() {
    document.body.classList.remove("reading");
    list.element.focus();
  }

  const tally = make("p", { class: "soft", "aria-live": "polite" });
  const search = make("input", {
    type: "search", id: "search", placeholder: "Address, title or heading", autocomplete: "off", spellcheck: "false",
    input: () => choose({ search: search.value }),
  });
  const chips = make("div", { class: "chips" });

  function choose(change) {
    view.choice = { ...view.choice, ...change };
    view.update();
    search.value = view.choice.search;
    const names = { finding: (name) => FINDINGS[name][0], group: (group) => shown(drops.url(group), 90) };
    const chosen = Object.entries(view.choice).filter(([kind, value]) => kind !== "search" && value != null);
    chips.replaceChildren(...chosen.map(([kind, value]) =>
      button("chip", () => choose({ [kind]: null }),
        names[kind]?.(value) ?? shown(value, 90), make("span", { "aria-label": "remove this filter" }, " ×"))));
    const hidden = summary.decisions.duplicate - drops.length;
    tally.textContent = (view.rowCount ? `${counted(view.rowCount, "drop")} in ${counted(view.groupCount, "group")}` : "No drop matches")
      + (hidden > 0 ? `. This page holds ${count(drops.length)} of ${count(summary.decisions.duplicate)} drops: those that deserve a look, and the first of each group.` : "");
    list.refresh();
    first();
  }

  filter = (kind, value) => {
    if (kind === "crowd") {
      const group = drops.groups.first.findIndex((_, at) => drops.url(at) === value[1]);
      choose({ ...NOTHING, pattern: value[0], group: group < 0 ? null : group });
      if (group >= 0) view.toggle(group, true);
      list.refresh();
    } else choose({ ...NOTHING, [kind]: value });
    section.scrollIntoView();
    list.element.focus({ preventScroll: true });
    first();
  };

  const section = make("section", { class: "explorer", id: "groups" },
    make("h2", {}, "Duplicates, and what they repeat"),
    make("form", { class: "tools", role: "search", submit: (event) => event.preventDefault() },
      make("label", { for: "search" }, "Search"), search, chips, tally),
    make("div", { class: "panes" }, list.element, pair),
    make("p", { class: "soft keys" }, "Keys: ", ["/ search", "↑ ↓ move", "→ ← open and close a group", "Esc back to the list"].join(" · ")));
  main.append(section);
  choose(NOTHING);
  NARROW.addEventListener("change", () => { if (shownEntry != null) opened(shownEntry, { asked: false }); });
  (window.requestIdleCallback ?? setTimeout)(() => drops.haystacks); // before somebody searches
  addEventListener("keydown", (event) => {
    const typing = event.target === search;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") {
      if (typing && search.value) choose({ search: "" });
      close();
    }
  });
}

if (summary.shown) addEventListener("DOMContentLoaded", explorer);
