#!/usr/bin/env python3
"""Looks at pages of `hugeclear report`, as text and as Chromium shows them.

usage: look_at_page.py text PAGE [RESULTS...]     valid, without scripts or anything from outside; the figures are
                                                 those of the results, worked out here
       look_at_page.py browser FOLDER PAGE...     at 400 and 1200 pixels nothing overlaps or is cut, nothing complains,
                                                 and the figures are those of the text. FOLDER takes what Chromium leaves
"""

import collections
import html.parser
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys

VOID = {"meta", "br", "link", "img", "input", "hr"}
TAGS = set("""html head meta title style body header main nav section h1 h2 h3 h4 p b br small span sup a ol ul li dl div dt dd
    figure figcaption svg g path circle rect text desc table thead tbody tr th td""".split())
ATTRIBUTES = set("""lang charset name content class id href scope role tabindex aria-label aria-hidden viewbox d cx cy r x y
    width height data-file data-bench data-metric data-unit data-case data-stat data-value""".split())
WIDTHS = (400, 1200)

# Run in a page of its own, which has the pages in frames: the report itself stays without scripts.
LOOK = r"""
const cut = 1, faults = [], figures = [];
function name(e) { return e.tagName + (e.className.baseVal ?? e.className ? "." + (e.className.baseVal ?? e.className) : "") +
	" '" + e.textContent.trim().slice(0, 40) + "'"; }
function meet(a, b) { return a.left < b.right - cut && b.left < a.right - cut && a.top < b.bottom - cut && b.top < a.bottom - cut; }
function look(page, width, doc) {
	const fault = (what) => faults.push(`page ${page} at ${width}: ${what}`);
	const root = doc.documentElement;
	if (root.clientWidth != width) fault(`is ${root.clientWidth} wide`);
	if (root.scrollWidth > root.clientWidth) fault(`scrolls sideways: ${root.scrollWidth} of ${root.clientWidth}`);
	for (const e of doc.body.querySelectorAll("*")) {
		if (e.namespaceURI.endsWith("svg")) continue;
		if (e.className != "box" && e.clientWidth && e.scrollWidth > e.clientWidth + cut) fault(`cut: ${name(e)}`);
		const box = e.getBoundingClientRect();
		if (!e.closest(".box") && (box.left < -cut || box.right > width + cut)) fault(`outside: ${name(e)}`);
	}
	const figures_seen = [...doc.querySelectorAll("figure, .box, h3, h4, p")].map((e) => [e, e.getBoundingClientRect()]);
	for (let i = 0; i < figures_seen.length; i++)
		for (let j = i + 1; j < figures_seen.length && j < i + 40; j++)
			if (!figures_seen[i][0].contains(figures_seen[j][0]) && meet(figures_seen[i][1], figures_seen[j][1]))
				fault(`overlap: ${name(figures_seen[i][0])} and ${name(figures_seen[j][0])}`);
	for (const svg of doc.querySelectorAll("figure > svg")) {
		const frame = svg.getBoundingClientRect();
		if (frame.width < 250 || frame.height < 50) fault(`a plot of ${frame.width} by ${frame.height}`);
		const texts = [...svg.querySelectorAll("text")].filter((e) => e.textContent).map((e) => [e, e.getBoundingClientRect()]);
		for (let i = 0; i < texts.length; i++) {
			const [e, box] = texts[i];
			if (box.height < 11) fault(`too small: ${name(e)}`);
			if (box.left < frame.left - cut || box.right > frame.right + cut || box.top < frame.top - cut || box.bottom > frame.bottom + cut)
				fault(`outside its plot: ${name(e)}`);
			for (let j = i + 1; j < texts.length; j++)
				if (meet(box, texts[j][1])) fault(`overlap: ${name(e)} and ${name(texts[j][0])}`);
		}
	}
	if (doc.scripts.length) fault("has scripts");
	if (width == 400)
		figures[page] = [...doc.querySelectorAll("[data-stat]")].map((e) => {
			const whose = e.closest("[data-bench]").dataset;
			return [whose.bench, whose.metric, whose.case, e.dataset.stat, e.dataset.value];
		});
}
async function look_at_all() {
	for (let page = 0; page < PAGES.length; page++)
		for (const width of WIDTHS) {
			const frame = document.createElement("iframe");
			frame.style.cssText = `border:0;width:${width}px;height:900px;display:block`;
			frame.srcdoc = PAGES[page];
			const loaded = new Promise((done) => { frame.onload = done; });
			document.body.append(frame);
			await loaded;
			/* A bar at the side would take of the width. */
			frame.style.height = frame.contentDocument.documentElement.scrollHeight + "px";
			look(page, width, frame.contentDocument);
			frame.remove();
		}
	const verdict = document.createElement("pre");
	verdict.id = "verdict";
	verdict.textContent = JSON.stringify({faults, figures});
	document.body.append(verdict);
}
look_at_all();
"""


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.faults, self.open, self.figures, self.ids, self.links, self.verdict = [], [], [], [], [], ""
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"not closed: {[tag for tag, _ in self.open]}")

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in TAGS:
            self.faults.append(f"element {tag}")
        for name, value in attributes:
            if name not in ATTRIBUTES or value is None:
                self.faults.append(f"attribute {name} of {tag}")
        if len(given) < len(attributes):
            self.faults.append(f"an attribute of {tag} twice")
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if "data-stat" in given:
            whose = next((a for a in [given] + [a for _, a in reversed(self.open)] if "data-bench" in a), {})
            self.figures.append([whose.get("data-bench"), whose.get("data-metric"), whose.get("data-case"),
                                 given["data-stat"], given.get("data-value")])
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.faults.append(f"</{tag}> where {[name for name, _ in self.open[-3:]]} is open")
        else:
            self.open.pop()

    def handle_data(self, text):
        if self.open and self.open[-1][1].get("id") == "verdict":
            self.verdict += text


def sample_figures(run):
    samples = run.get("samples")
    if not samples:
        n = {"n": run["n"]} if run.get("n") else {}
        return {"mean": run["mean"], **n, **({"stdev_pct": run["stdev_pct"]} if run.get("stdev_pct") is not None else {})}
    mean = statistics.fmean(samples)
    figures = {"mean": mean, "n": len(samples), "median": statistics.median(samples), "min": min(samples),
               "max": max(samples)}
    if len(samples) > 1 and mean != 0:
        figures["stdev_pct"] = 100 * statistics.stdev(samples) / abs(mean)
    return figures


def key(bench, metric, case):
    return bench, metric or "", json.dumps(case, sort_keys=True)


def wrong_figures(page, paths):
    """Those of the page against those of the files: each is there, and none is another."""
    want, faults = collections.defaultdict(list), []
    runs = [run for path in paths for run in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["runs"]]
    for run in runs:
        for stat, value in sample_figures(run).items():
            want[key(run["bench"], run.get("metric"), run["case"]) + (stat,)].append(value)
    seen = set()
    for bench, metric, case, stat, value in page.figures:
        if stat == "change_pct":
            continue
        place = key(bench, metric, json.loads(case)) + (stat,)
        seen.add(place)
        if not any(math.isclose(float(value), right, rel_tol=1e-11, abs_tol=1e-300) for right in want[place]):
            faults.append(f"{place}: {value} is none of {want[place]}")
    faults += [f"missing: {place}" for place in want if want[place] and place not in seen]
    changes = 0
    for bench, metric, case, stat, value in page.figures:
        case = json.loads(case)
        if stat != "change_pct" or not paths:
            continue
        base = {name: part for name, part in case.items() if name not in ("intent", "method")} | {"function": "base"}
        means = [want[key(bench, metric, which) + ("mean",)] for which in (base, case)]
        changes += 1
        if not any(math.isclose(float(value), 100 * (b - a) / a, rel_tol=1e-9, abs_tol=1e-9)
                   for a in means[0] for b in means[1]):
            faults.append(f"change of {case}: {value}, from {means}")
    return faults, changes


def look_at_text(path, results):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    page = Page(text)
    faults = page.faults
    if not text.startswith("<!DOCTYPE html>\n"):
        faults.append("no doctype")
    faults += [f"id {name} twice" for name, nr in collections.Counter(page.ids).items() if nr > 1]
    faults += [f"link to {link}" for link in page.links if not (link.startswith("#") and link[1:] in page.ids)]
    faults += [f"control character {ord(c):#x}" for c in sorted(set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)))]
    if re.search(r"url\(|@import", text[: text.index("</style>")]):
        faults.append("the style loads something")
    if not page.figures:
        faults.append("no figures")
    wrong, changes = wrong_figures(page, results) if results else ([], 0)
    print(f"{len(page.figures)} figures, {changes} changes")
    return faults + wrong


class Chromium:
    """Runs beside this program until it is asked what it wrote."""

    def __init__(self, folder, name, *arguments):
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--enable-logging=stderr",
             f"--user-data-dir={folder}/{name}", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self):
        """Standard output, and what pages complained of."""
        try:
            out, err = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
        return out, [line for line in err.splitlines() if "CONSOLE" in line]


def look_in_browser(folder, paths):
    folder = pathlib.Path(folder)
    texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in paths]
    # No text of a page ends the script that carries it.
    pages = json.dumps(texts).replace("<", "\\u003c")
    host = folder / "look.html"
    host.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>look</title><body style='margin:0'><script>const PAGES = {pages}, "
                    f"WIDTHS = {json.dumps(WIDTHS)};{LOOK}</script>", encoding="utf-8")
    looking = Chromium(folder, "looking", "--window-size=1300,900", "--virtual-time-budget=20000", "--dump-dom", host.as_uri())
    # As a user opens it, without the script of above.
    picture = folder / "page.png"
    showing = Chromium(folder, "showing", "--window-size=400,800", f"--screenshot={picture}",
                       pathlib.Path(paths[0]).resolve().as_uri())
    dom, faults = looking.result()
    faults += showing.result()[1]
    if not picture.is_file() or picture.read_bytes()[16:20] != (400).to_bytes(4, "big"):
        faults.append("no screenshot of 400 pixels")
    match = re.search(r'<pre id="verdict">(.*?)</pre>', dom, re.DOTALL)
    if not match:
        return faults + ["Chromium didn't get to the end:", dom[-500:]]
    verdict = json.loads(html.unescape(match.group(1)))
    faults += verdict["faults"]
    for path, text, figures in zip(paths, texts, verdict["figures"]):
        if figures != Page(text).figures:
            faults.append(f"{path}: Chromium sees other figures")
    return faults


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "text":
        faults = look_at_text(arguments[1], arguments[2:])
    elif len(arguments) >= 3 and arguments[0] == "browser":
        faults = look_in_browser(arguments[1], arguments[2:])
    else:
        sys.exit(__doc__)
    for fault in faults[:40]:
        print(fault[:300])
    return 1 if faults else 0


sys.exit(main(sys.argv[1:]))
