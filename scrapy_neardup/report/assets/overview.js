// What a person asks first, and what deserves a look. `filter` is called with what was chosen.

const FINDINGS = {
  titles: [
    "Other titles or headings",
    "These pages have another title or heading than the page that they repeat. If titles are what tells your pages apart, this keeps both:",
    'NEARDUP_TITLES = "strict"',
  ],
  near: [
    "Near the threshold",
    "Had these pages been a little less alike, they would have been kept. If they should be, raise the threshold:",
    "NEARDUP_MIN_RESEMBLANCE = 0.95",
  ],
  learnt: [
    "Decided by something learnt",
    "Parts of these pages didn’t count, because of what the crawl had learnt about the site. If the pages should be kept, let it learn less, or nothing:",
    "NEARDUP_LEARN = []",
  ],
};

function overview(summary, filter) {
  const { duplicate = 0, unjudged = 0, seen = 0 } = summary.decisions;
  const kept = summary.decisions.new ?? 0;
  const done = Object.fromEntries(summary.actions);
  return [
    make("header", {},
      make("p", { class: "kicker" }, "Near-duplicate report"),
      make("h1", {}, headline(summary.pages, duplicate)),
      make("p", { class: "soft" }, summary.sources.map((name) => shown(name, 120)).flatMap((node) => [node, " "])),
      aboutCrawls(summary.crawls)),
    make(
      "dl",
      { class: "figures" },
      figure("pages", summary.pages),
      figure("kept", kept, "kept"),
      figure("repeat another", duplicate, "repeated", duplicate ? whatBecame(done, duplicate) : ""),
      figure("not judged", unjudged, "unjudged"),
      seen ? figure("fetched again", seen) : null,
      summary.links == null ? null : figure("links withheld", summary.links, "", "kept pages may link there, too"),
      summary.orphaned ? figure("orphaned", summary.orphaned, "alarm") : null,
    ),
    summary.time.bars.length > 1 ? timeline(summary.time) : null,
    make("section", {}, make("h2", {}, "Where, and why"), breakdowns(summary, filter)),
    worthALook(summary, filter),
  ];
}

function headline(pages, duplicate) {
  if (!duplicate) return `None of ${counted(pages, "page")} repeats another.`;
  return `${percent(duplicate, pages)} of ${counted(pages, "page")} ${duplicate === 1 ? "repeats" : "repeat"} another.`;
}

// What was done about the pages that repeat another.
function whatBecame({ drop = 0, flag = 0 }, duplicate) {
  if (flag) return flag === duplicate ? "none dropped, all flagged" : `${count(flag)} flagged`;
  return drop === duplicate ? "all dropped" : `${count(drop)} dropped`;
}

// With which settings, and by which versions, the pages were judged: of the last crawl, if several.
function aboutCrawls(crawls) {
  const last = crawls.at(-1);
  if (!last) return null;
  const facts = [
    ["spider", last.bot ? `${last.spider} of ${last.bot}` : last.spider],
    ["preset", last.preset], ["store", last.store],
    ["versions", `scrapy-neardup ${last.version}, Scrapy ${last.scrapy}`],
    ["begun", moment(last.time)],
  ];
  const several = crawls.length > 1 ? `The last of ${count(crawls.length)} crawls` : "The crawl";
  return make("details", { class: "about" },
    make("summary", {}, `${several}: spider ${plain(last.spider)}, preset ${plain(last.preset)}`),
    make("dl", { class: "facts" }, facts.map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, shown(value))))),
    last.settings.length ? settings(last.settings) : make("p", { class: "soft" }, "No NEARDUP_* setting was set."));
}

function settings(lines) {
  return make("pre", { tabindex: "0" }, make("code", {}, lines.flatMap((line) => [shown(line, 2000), "\n"]).slice(0, -1)));
}

// Lists of bars that have one scale: the longest bar of all of them is full.
function breakdowns(summary, filter) {
  const split = (choice) => ([name, kept, repeated, unjudged]) => ({
    name: name ?? "all others",
    note: repeated ? `${count(repeated)} of ${count(kept + repeated + unjudged)}` : count(kept + unjudged),
    parts: [["repeated", repeated], ["kept", kept], ["unjudged", unjudged]],
    choose: name != null && repeated ? () => filter(choice, name) : null,
  });
  const simple = (kind, choice, sentences = {}) => ([name, number]) => ({
    name: String(name),
    about: sentences[name],
    note: count(number),
    parts: [[kind, number]],
    choose: choice ? () => filter(choice, name) : null,
  });
  const { rules, unjudged } = summary.words;
  const lists = [
    ["By host", summary.hosts.length > 1 ? summary.hosts.map(split("host")) : []],
    ["By pattern of address", summary.patterns.map(split("pattern"))],
    ["Which rule decided", summary.rules.map(simple("repeated", "rule", rules))],
    ["Distance of the fingerprints, in bits", summary.distances.map(simple("repeated")), { folded: 6 }],
    ["Not judged, and so kept", summary.unjudged.map(simple("unjudged", null, unjudged))],
  ].filter(([, rows]) => rows.length);
  const lengths = lists.flatMap(([, rows]) => rows.map(({ parts }) => parts.reduce((total, [, number]) => total + number, 0)));
  const most = Math.max(...lengths, 1);
  return [
    make("p", { class: "legend soft" }, legend(), `; a full bar is ${counted(most, "page")}.`),
    make("div", { class: "breakdowns" }, lists.map(([title, rows, options]) => bars(title, rows, { most, ...options }))),
  ];
}

function worthALook(summary, filter) {
  const items = [];
  const add = (title, number, text, ...more) =>
    items.push(make("li", {}, make("h3", {}, title, make("span", { class: "tally" }, count(number))), make("p", {}, text), ...more.filter(Boolean)));
  const addresses = (urls) => make("ul", { class: "addresses" }, urls.slice(0, 200).map((url) => make("li", {}, address(url))));
  const folded = (urls) => make("details", {}, make("summary", {}, "Show them"), addresses(urls));
  if (summary.orphaned) {
    add("Orphans", summary.orphaned,
      "Pages that were dropped for a page whose own processing failed later. Nobody has seen them; crawl them again.",
      folded(summary.orphans));
  }
  if (summary.onlyFromDrops?.length) {
    add("Only found on dropped pages", summary.onlyFromDrops.length,
      "As far as this crawl went, only duplicates link to these addresses. A crawl that drops the duplicates doesn't find them.",
      folded(summary.onlyFromDrops));
  }
  const { claims } = summary;
  if (claims.rows.length) {
    add("Needless requests", claims.count,
      `${claims.said} NEARDUP_URLS = "skip" withholds them while a crawl runs, and checks some of them.`,
      make("ul", { class: "crowds" }, claims.rows.slice(0, 12).map(([host, claim, covered, tests, bound, pair]) =>
        make("li", {},
          shown(host, 60), ": ", make("code", {}, shown(claim, 120)), `, ${counted(covered, "request")}; ${count(tests)} tested it, so that at most ${(100 * bound).toFixed(1)} % of them show something new`,
          ...(pair ? [": ", address(pair[0], 90), " shows ", address(pair[1], 90)] : [])))));
  }
  if (summary.differences.length) {
    add("Pages that differ in numbers or a few words", summary.differences.length,
      "Near-duplicates by their text, and perhaps different pages to you: products, job ads, dates. If so, set NEARDUP_PRESET = \"exact\".",
      make("ul", { class: "crowds" }, summary.differences.slice(0, 12).map(([of, number, difference]) =>
        make("li", {}, counted(number, "page"), " that repeat ", address(of, 90), ": ", shown(difference, 200)))));
  }
  const { rows: changing, refetched } = summary.changing;
  if (changing.length) {
    add("Blocks that change by themselves", changing.length,
      `The crawl requested ${counted(refetched, "page")} twice, and these parts differed: adverts, clocks, lists that rotate. It learns them as it goes on; with this setting they are left out from the first page on. Then nothing in them counts, on any page, so leave out those that hold content.`,
      settings([`NEARDUP_IGNORE = ${JSON.stringify(changing.slice(0, 12).map(([selector]) => selector))}`]),
      make("ul", { class: "crowds" }, changing.slice(0, 12).map(([selector, pages]) =>
        make("li", {}, make("code", {}, shown(selector, 200)), ` on ${counted(pages, "page")}`))));
  }
  for (const { name, count: number, rows } of summary.findings) {
    if (name === "titles") add(...finding(name, number, rows, filter));
  }
  if (summary.crowds.length) {
    add("Many pages of one pattern that repeat one page", summary.crowds.length,
      "Typical of error pages and session ids, but also of products whose pages differ in nothing but a name.",
      make("ul", { class: "crowds" }, summary.crowds.slice(0, 12).map(([pattern, of, number]) =>
        make("li", {},
          button("quiet", () => filter("crowd", [pattern, of]), counted(number, "page")),
          " of ", make("code", {}, shown(pattern, 90)), " repeat ", address(of, 90)))));
  }
  for (const { name, count: number, rows } of summary.findings) {
    if (name !== "titles") add(...finding(name, number, rows, filter));
  }
  const { said, rows: experiments } = summary.experiments;
  if (experiments.length) {
    add("What the crawl asked", experiments.length, said,
      make("details", {}, make("summary", {}, "Show what it asked, what that showed, and what followed"),
        make("ul", { class: "addresses" }, experiments.map(([kind, page, of, showed, followed]) =>
          make("li", {}, `${plain(kind)}: `, address(page, 90), ...(of ? [" beside ", address(of, 90)] : []),
            ` showed ${plain(showed || "nothing new")}`, followed ? `; then ${plain(followed)}` : "")))));
  }
  if (!items.length) return null;
  return make("section", { class: "look" }, make("h2", {}, "Worth a look"), make("ol", {}, items));
}

function finding(name, number, rows, filter) {
  const [title, text, line] = FINDINGS[name] ?? [name, ""];
  return [title, number, text, line ? settings([line]) : null,
    rows.length ? button("quiet", () => filter("finding", name), "Show them, worst first") : null];
}
