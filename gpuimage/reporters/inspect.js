// --- the answer, and the numbers behind it

const targets = new Intl.ListFormat("en").format(found.targets);
const code = sum(found.architectures, one => one.bytes);
const unneeded = sum(found.architectures.filter(one => one.needed === false), one => one.bytes);
const needs = new Map(found.architectures.map(one => [`${one.kind} ${one.arch}`, one.needed]));

// One entry for each verdict, and one for files that lack the same for the same targets.
function findings() {
  const failed = found.promised ? "error" : "warning", groups = new Map();
  const made = found.verdicts.map(one => verdict(one, failed));
  for (const library of found.libraries) {
    const alike = new Map();
    for (const {severity, target, because} of library.coverage) if (severity) {
      const key = JSON.stringify([severity, because.replace(` ${target}`, " {}")]);
      alike.set(key, [...alike.get(key) || [], target]);
    }
    for (const [key, lacking] of alike) {
      const [severity, words] = JSON.parse(key), text = words.replace(" {}", ` ${lacking.join(" ")}`);
      const group = groups.get(severity + text) || {severity, word: severity, text, lines: [], count: 0, summary: "their paths"};
      groups.set(severity + text, group);
      group.lines.push(library.path);
      group.count += lacking.length;
    }
  }
  for (const group of groups.values()) {
    const [path] = group.lines, alone = group.lines.length === 1;
    Object.assign(group, {title: alone ? base(path) : count(group.lines.length, "file"), folder: alone ? folder(path) : ""});
    made.push(alone ? {...group, lines: []} : group);
  }
  return made;
}
const told = worstFirst(findings());

function head() {
  const rest = [["warning", "warning"], ["note", "note"]].filter(([kind]) => many(told, kind)).map(([kind, word]) => count(many(told, kind), word)).join(", ");
  const errors = many(told, "error");
  const [tone, text] = !found.passed
    ? ["error", `Failed: ${errors ? count(errors, "error") : "there is no GPU code at all"}${rest ? `, ${rest}` : ""}`]
    : !targets && !found.promised ? ["note", "Nothing was asked of it: no GPUs to serve were named, and no spec"]
    : ["passed", `Passed${targets ? ` for ${targets}` : ""}: no errors${rest ? `, ${rest}` : ""}`];
  header(found.target, [found.kind, targets ? `held against ${targets}` : "", found.driver ? `driver ${found.driver}` : ""], tone, text, [
    ["Total", size(found.bytes), count(found.files, "file")],
    found.layers.length ? ["Hidden", size(found.hidden_bytes), "overwritten or deleted later, shipped all the same"] : null,
    ["Duplicates", size(found.duplicate_bytes), "in copies of other files"],
    ["GPU code", size(code), `${share(code, found.bytes)} of the total`],
    targets ? ["GPU code not needed", size(unneeded), `${share(unneeded, code)} of the GPU code`] : null,
  ]);
}

function partial() {
  if (!found.problems.length) return;
  const list = el("ul"), some = capped(list, line => el("li", {class: "name"}, line), "problems");
  section("problems", "Partial answer", `${count(found.problems.length, "thing")} could not be read: what is missing here is not counted below.`, null, list, some.more);
  byId("problems").classList.add("error");
  some.draw(found.problems);
}

// --- the map: every node is as large as its bytes, its parts drawn inside

const MOST_CELLS = 1000;
const RAMP = ["#3b1f5b", "#3f4a89", "#2f7090", "#2b938c", "#55b776", "#b9d34f", "#f4e36b"];

// Kinds of colouring: which class of bytes a leaf is of. A class has a title, a colour and maybe a hatching.
const PLAIN = {host: ["host code and data beside it"], plain: ["files without GPU code"], files: ["smaller files, together", "-"], hidden: ["hidden by later layers", "\\"]};
const rest = node => node.kind in PLAIN ? node.kind : "plain";
const MODES = {
  need: {title: "Targets", classes: {needed: ["GPU code a target may load"], unneeded: ["GPU code no target needs", "/"], ...PLAIN},
    of: node => node.kind !== "code" ? rest(node) : needs.get(node.name) === false ? "unneeded" : "needed"},
  arch: {title: "Architecture", classes: {},
    of: node => node.kind === "code" ? `a${node.name.replace(/^\S+ (\d*|\?).*$/, "$1")}` : rest(node)},
  kind: {title: "Kind", classes: {cubin: ["machine code"], ptx: ["PTX", "/"], "lto-ir": ["LTO-IR", "-"], other: ["other GPU code"], ...PLAIN},
    of: node => node.kind === "code" ? node.name.split(" ")[0] : rest(node)},
};
const majors = [...new Set(found.architectures.map(one => one.arch.split(".")[0]))].sort((a, b) => a - b);
for (const [index, major] of majors.entries())
  MODES.arch.classes[`a${major}`] = [major === "?" ? "unknown" : `${major}.x`, undefined, ramp(majors.length > 1 ? index / (majors.length - 1) : 0.3)];
Object.assign(MODES.arch.classes, PLAIN);

function ramp(at) {  // from dark to light, so that the order is seen without hues
  const place = at * (RAMP.length - 1), low = Math.min(Math.floor(place), RAMP.length - 2);
  return `color-mix(in srgb, ${RAMP[low + 1]} ${Math.round(100 * (place - low))}%, ${RAMP[low]})`;
}

// Squarified (Bruls, Huizing, van Wijk): rows along the shorter side, as long as their cells get squarer.
function squarify(nodes, [x, y, w, h]) {
  const made = [], scale = w * h / sum(nodes, node => node.bytes);
  for (let first = 0; first < nodes.length;) {
    const side = Math.min(w, h), most = nodes[first].bytes * scale;
    let last = first, area = 0, worst = Infinity;
    for (; last < nodes.length; last++) {
      const least = nodes[last].bytes * scale, next = area + least;
      const ratio = Math.max(side * side * most / (next * next), next * next / (side * side * least));
      if (ratio > worst) break;
      [worst, area] = [ratio, next];
    }
    const thick = side > 0 ? area / side : 0;
    let at = 0;
    for (const node of nodes.slice(first, last)) {
      const long = thick > 0 ? node.bytes * scale / thick : 0;
      made.push([node, w >= h ? [x, y + at, thick, long] : [x + at, y, long, thick]]);
      at += long;
    }
    if (w >= h) [x, w] = [x + thick, Math.max(0, w - thick)];
    else [y, h] = [y + thick, Math.max(0, h - thick)];
    first = last;
  }
  return made;
}

// Parents, names to show, and never more parts than a page can hold: the smallest become one part with parts of its own.
function prepare(node, parent = null) {
  let parts = (node.children || []).filter(part => part.bytes > 0);
  if (parts.length > MOST_CELLS) {
    const small = parts.slice(MOST_CELLS - 1);
    parts = [...parts.slice(0, MOST_CELLS - 1), {name: `${number(small.length)} smaller`, kind: "group", bytes: sum(small, part => part.bytes), children: small}];
  }
  const made = {...node, parent, parts: [], label: node.kind === "file" || node.kind === "image" ? base(node.name) : node.name};
  made.parts = parts.map(part => prepare(part, made)).sort((a, b) => b.bytes - a.bytes);
  return made;
}

function treemap() {
  const root = prepare(found.tree);
  if (!root.parts.length) return;
  document.body.append(el("div", {class: "tip", id: "tip", "aria-hidden": "true", hidden: true}));
  let now = root, mode = targets && code ? "need" : code ? "arch" : "kind", picked = null;
  while (now.parts.length === 1 && now.parts[0].parts.length) now = now.parts[0];
  let cells = [], boxes = new Map(), weights = new Map(), colours = {};

  const canvas = el("canvas"), ink = canvas.getContext("2d");
  const map = el("div", {class: "map", role: "group", "aria-labelledby": "map-title", "aria-describedby": "map-keys"}, canvas);
  const crumbs = el("ol", {class: "crumbs"}), legend = el("div", {class: "legend", role: "group", "aria-label": "Legend: shows one kind alone"});
  const status = el("p", {class: "quiet", role: "status"});
  const modes = el("fieldset", {class: "modes"}, el("legend", {}, "Colour"), Object.entries(MODES)
    .filter(([key]) => key === "kind" || code && (key === "arch" || targets)).map(([key, {title}]) =>
      el("label", {}, el("input", {type: "radio", name: "mode", value: key, checked: key === mode, onchange: () => {
        [mode, picked, weights] = [key, null, new Map()];
        paint();
      }}), title)));

  function weigh(node) {  // bytes by class
    if (!weights.has(node)) {
      const total = {};
      if (!node.parts.length) total[MODES[mode].of(node)] = node.bytes;
      for (const part of node.parts) for (const [kind, bytes] of Object.entries(weigh(part))) total[kind] = (total[kind] || 0) + bytes;
      weights.set(node, total);
    }
    return weights.get(node);
  }

  function title(node) {
    const need = node.kind === "code" && needs.get(node.name) != null ? (needs.get(node.name) ? ", a target may load it" : ", no target needs it") : "";
    return `${node.name}${need}`;
  }
  const amount = node => size(node.bytes) + (node.bytes < root.bytes ? `, ${share(node.bytes, root.bytes)} of the whole` : "")
    + (node.parent && node.bytes < node.parent.bytes && node.parent.bytes < root.bytes ? `, ${share(node.bytes, node.parent.bytes)} of ${node.parent.label}` : "");

  function draw() {
    const {width, height} = map.getBoundingClientRect();
    boxes = new Map();
    cells = squarify(now.parts, [0, 0, width, height]).map(([node, box]) => cell(node, box));
    map.replaceChildren(canvas, ...cells);
    if (cells.length) cells[0].tabIndex = 0;
    const trail = [];
    for (let node = now; node; node = node.parent) trail.unshift(node);
    crumbs.replaceChildren(...trail.map(node => el("li", {}, el("button", {type: "button", title: node.name,
      "aria-current": node === now ? "true" : null, onclick: () => zoom(node)}, node.label))));
    status.textContent = visible(`${now.label}: ${count(now.parts.length, "part")}, ${amount(now)}`);
    paint();
  }

  function cell(node, box) {
    const [x, y, w, h] = box, leaf = !node.parts.length;
    boxes.set(node, box);
    const made = el("button", {type: "button", class: w < 12 || h < 12 ? "cell tiny" : "cell", tabindex: "-1", "data-bytes": node.bytes, "data-leaf": leaf,
      "aria-label": `${title(node)}: ${amount(node)}${leaf ? "" : `, ${count(node.parts.length, "part")}`}`,
      onclick: () => leaf || zoom(node),
      onfocus: () => { rove(made); if (made.matches(":focus-visible")) tip(node, made.getBoundingClientRect()); }, onblur: () => tip(null)});
    made.node = node;
    Object.assign(made.style, {left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px`});
    const strip = w > 64 && h > 44;
    if (strip) made.append(el("span", {class: "strip"}, el("b", {}, node.label), w > 150 ? el("i", {}, size(node.bytes)) : null));
    else if (w > 38 && h > 19) made.append(chip(node, 2, 2, w - 4));
    if (leaf) return made;
    const inner = strip ? [x + 1, y + 23, w - 2, h - 24] : [x + 1, y + 1, w - 2, h - 2];
    if (inner[2] <= 0 || inner[3] <= 0) return made;
    for (const [part, spot] of squarify(node.parts, inner)) {
      boxes.set(part, spot);
      if (strip && spot[2] > 46 && spot[3] > 24) made.append(chip(part, spot[0] - x + 3, spot[1] - y + 3, spot[2] - 6));
    }
    return made;
  }

  function chip(node, left, top, most) {
    const made = el("span", {class: "chip"}, node.label);
    Object.assign(made.style, {left: `${left}px`, top: `${top}px`, maxWidth: `${most}px`});
    return made;
  }

  function paint() {
    const classes = MODES[mode].classes, scale = devicePixelRatio || 1;
    legend.replaceChildren(...Object.entries(classes).filter(([kind]) => weigh(now)[kind]).map(([kind, [words, hatch, colour]]) => {
      const swatch = el("span", {class: "swatch", "data-hatch": hatch});
      swatch.style.backgroundColor = colour || `var(--c-${kind})`;
      return el("button", {type: "button", "data-class": kind, "data-bytes": weigh(now)[kind], "aria-pressed": String(picked === kind), onclick: () => {
        picked = picked === kind ? null : kind;
        paint();
        legend.querySelector(`[data-class="${kind}"]`).focus();
      }}, swatch, words, el("span", {class: "quiet"}, size(weigh(now)[kind])));
    }));
    colours = Object.fromEntries([...legend.children].map(one => [one.dataset.class, getComputedStyle(one.firstChild).backgroundColor]));
    const {width, height} = map.getBoundingClientRect(), page = getComputedStyle(document.documentElement).backgroundColor;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    ink.setTransform(scale, 0, 0, scale, 0, 0);
    ink.strokeStyle = page;
    const hatches = {"/": hatching("/", page, scale), "\\": hatching("\\", page, scale), "-": hatching("-", page, scale)};
    for (const part of now.parts) shade(part, boxes.get(part), 0, hatches);
    ink.globalAlpha = 1;
    ink.lineWidth = 3;
    for (const one of cells) {
      const [x, y, w, h] = boxes.get(one.node);
      ink.strokeRect(x, y, w, h);
    }
  }

  function shade(node, box, depth, hatches) {
    const [x, y, w, h] = box;
    if (!node.parts.length || w < 2 || h < 2) {
      const of = weigh(node), kind = Object.keys(of).reduce((a, b) => of[b] > of[a] ? b : a);
      ink.globalAlpha = picked && picked !== kind ? 0.13 : 1;
      ink.fillStyle = colours[kind];
      ink.fillRect(x, y, w, h);
      const hatch = MODES[mode].classes[kind][1];
      if (hatch && w > 3 && h > 3) {
        ink.fillStyle = hatches[hatch];
        ink.fillRect(x, y, w, h);
      }
    } else {
      const inside = depth ? squarify(node.parts, box) : node.parts.map(part => [part, boxes.get(part)]);
      for (const [part, spot] of inside) {
        if (!spot) continue;
        boxes.set(part, spot);
        shade(part, spot, depth + 1, hatches);
      }
    }
    if (w > 6 && h > 6 && depth) {
      ink.globalAlpha = depth === 1 ? 1 : 0.45;
      ink.lineWidth = depth === 1 ? 1.5 : 0.7;
      ink.strokeRect(x, y, w, h);
    }
  }

  function hatching(way, colour, scale) {
    const tile = el("canvas", {width: 7, height: 7}), pen = tile.getContext("2d");
    [pen.strokeStyle, pen.lineWidth, pen.globalAlpha] = [colour, 1.6, 0.7];
    for (const shift of [-7, 0, 7]) {
      pen.moveTo(...(way === "-" ? [0, 3.5] : [shift, way === "/" ? 7 : 0]));
      pen.lineTo(...(way === "-" ? [7, 3.5] : [shift + 7, way === "/" ? 0 : 7]));
    }
    pen.stroke();
    return ink.createPattern(tile, "repeat");
  }

  function zoom(node) {
    const from = now;
    now = node.parts.length ? node : node.parent;
    tip(null);
    draw();
    let child = from;  // zoomed out: the focus stays on what one comes from
    while (child && child.parent !== now) child = child.parent;
    (cells.find(one => one.node === child) || cells[0])?.focus({preventScroll: true});
  }

  function rove(made) {
    for (const one of cells) one.tabIndex = one === made ? 0 : -1;
  }

  function tip(node, near) {
    const box = byId("tip");
    box.hidden = !node;
    if (!node) return;
    const over = [];
    for (let one = node.parent; one && one !== root; one = one.parent) over.unshift(one.label);
    box.replaceChildren(el("strong", {class: "name"}, title(node)), el("span", {}, amount(node), ` (${number(node.bytes)} bytes)`),
      over.length ? el("div", {class: "name quiet"}, `in ${over.join(" › ")}`) : "");
    const left = Math.min(near.left + 14, innerWidth - box.offsetWidth - 8), below = near.bottom + 14;
    const top = below + box.offsetHeight < innerHeight ? below : Math.max(8, near.top - box.offsetHeight - 14);
    Object.assign(box.style, {left: `${Math.max(8, left)}px`, top: `${top}px`});
  }

  function step(from, key) {  // the nearest cell that way
    const middle = one => { const [x, y, w, h] = boxes.get(one.node); return [x + w / 2, y + h / 2]; };
    const [x, y] = middle(from), across = key === "ArrowLeft" || key === "ArrowRight", ahead = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = null, least = Infinity;
    for (const one of cells) {
      const [a, b] = middle(one), along = ahead * (across ? a - x : b - y), aside = Math.abs(across ? b - y : a - x);
      if (one !== from && along > 0 && along + 2 * aside < least) [best, least] = [one, along + 2 * aside];
    }
    return best;
  }

  map.addEventListener("keydown", event => {
    const from = event.target.closest(".cell");
    const to = event.key === "Home" ? cells[0] : event.key === "End" ? cells.at(-1) : event.key.startsWith("Arrow") && from ? step(from, event.key) : null;
    if (to) to.focus();
    if (to || event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") event.preventDefault();
  });
  map.addEventListener("pointermove", event => {
    if (event.pointerType === "touch") return;
    const {left, top} = map.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    const inside = node => { const box = boxes.get(node); return box && x >= box[0] && y >= box[1] && x < box[0] + box[2] && y < box[1] + box[3]; };
    let node = event.target.closest(".cell")?.node, next = node;
    while (next) [node, next] = [next, next.parts.find(inside)];
    tip(node, {left: event.clientX, top: event.clientY, bottom: event.clientY + 4});
  });
  map.addEventListener("pointerleave", () => tip(null));

  section("map", "Where the bytes are", status, modes,
    el("nav", {"aria-label": "Path in the map"}, crumbs), map, legend,
    el("p", {class: "quiet", id: "map-keys"}, "Click or Enter zooms in, Escape or Backspace out; arrow keys move. An area is as large as its bytes."));
  byId("map").addEventListener("keydown", event => {
    if ((event.key !== "Escape" && event.key !== "Backspace") || !now.parent) return;
    event.preventDefault();
    zoom(now.parent);
  });
  let width;
  const fit = () => {
    if (map.clientWidth === width) return;
    width = map.clientWidth;
    draw();
  };
  new ResizeObserver(fit).observe(map);
  fit();
  repaint = paint;
}

// --- tables

const arch = row => { const [, major, minor, suffix] = /^(\d+)\.(\d+)(.?)/.exec(row.arch) || []; return major ? 100 * major + +minor + (suffix ? 0.5 : 0) : -1; };
const cut = (rows, value, total) => {
  const held = sum(rows, value);
  return held < total ? `The first ${number(rows.length)}, with ${size(held)} of ${size(total)}. ` : "";
};

function codes(library) {
  const lines = [["cubin", ""], ["ptx", "PTX "], ["lto-ir", "LTO-IR "], ["other", "other "]].map(([kind, word]) =>
    [word, library.code.filter(one => one.kind === kind)]).filter(([, list]) => list.length);
  return lines.map(([word, list], index) => el("div", {class: word ? "quiet" : null}, word, list.map((one, place) => [place ? " " : "",
    el(targets && needs.get(`${one.kind} ${one.arch}`) && !word ? "strong" : "span", {}, one.arch)])));
}
const STATES = {native: ["passed", "native"], jit: ["warning", "PTX only"], partial: ["warning", "in part"], none: ["error", "nothing"]};
function covered(library) {
  return library.coverage.map(({target, state, severity}) => {
    const [tone, word] = STATES[state], shown = severity || (state === "native" ? "passed" : tone);
    return el("div", {class: `state ${shown}`}, el("span", {"aria-hidden": "true"}, {passed: "✓", warning: "!", error: "✕", note: "i"}[shown]), `${target} ${word}`);
  });
}

function tables() {
  table("layers", "Layers", "From the base up; hidden bytes ship although a later layer deletes or overwrites them.", "layers", found.layers, [
    {title: "Layer", value: row => row.index + 1},
    {title: "Made by", value: row => row.created_by, show: row => el("span", {class: "name"}, row.created_by || "not recorded"), kind: "wide"},
    {title: "Files", value: row => row.files, show: row => number(row.files), kind: "number"},
    {...bytes("Hidden", row => row.hidden_bytes), show: row => row.hidden_bytes ? size(row.hidden_bytes) : "–"}, bytes("Bytes", row => row.bytes, largest(found.layers, row => row.bytes))]);
  table("wheels", "Wheels", "Installed distributions, by the files of their RECORD.", "wheels", found.wheels, [
    {title: "Name", value: row => row.name, show: row => el("span", {class: "name"}, row.name), kind: "middle"}, {title: "Version", value: row => row.version, show: row => el("span", {class: "name"}, row.version)},
    {title: "Location", value: row => row.location, show: row => el("span", {class: "name quiet"}, row.location), kind: "middle"},
    bytes("GPU code", row => row.gpu_bytes), bytes("Bytes", row => row.bytes, largest(found.wheels, row => row.bytes))]);
  table("libraries", "Libraries", targets && code ? "Architectures that a target may load stand out." : null, "libraries", found.libraries, [
    {title: "Library", value: row => base(row.path), show: row => file(row.path), kind: "wide"},
    {title: "Wheel", value: row => row.wheel ?? "", show: row => el("span", {class: "name"}, row.wheel ?? "–"), kind: "middle"},
    bytes("Bytes", row => row.bytes), bytes("GPU code", row => row.gpu_bytes, largest(found.libraries, row => row.gpu_bytes)),
    {title: "Cubins", value: row => row.cubins, show: row => row.cubins ? number(row.cubins) : "–", kind: "number"},
    {title: "PTX", value: row => row.ptx, show: row => row.ptx ? number(row.ptx) : "–", kind: "number"},
    {title: "Architectures", value: row => row.code.length, show: codes, kind: "middle"},
    ...targets ? [{title: "Coverage", value: row => row.coverage.map(one => one.state).sort().join(), show: covered}] : [],
  ], "Name, wheel or architecture", row => `${row.path} ${row.wheel ?? ""} ${row.soname ?? ""} ${row.code.map(one => `${one.kind} ${one.arch}`).join(" ")}`.toLowerCase());
  table("architectures", "GPU architectures", targets ? `All GPU code by compute capability, and whether ${targets} may load it.` : "All GPU code by compute capability.", "architectures", found.architectures, [
    {title: "Kind", value: row => row.kind}, {title: "Capability", value: arch, show: row => row.arch},
    ...targets ? [{title: "Needed", value: row => row.needed ? "yes" : "no", show: row => row.needed ? el("strong", {}, "yes") : el("span", {class: "quiet"}, "no")}] : [],
    {title: "Entries", value: row => row.count, show: row => number(row.count), kind: "number"},
    {title: "Share", value: row => row.bytes, show: row => share(row.bytes, code), kind: "number"},
    bytes("Bytes", row => row.bytes, largest(found.architectures, row => row.bytes))]);
  table("categories", "Rarely needed at run time", "Whether an image can do without them is for its tests to say.", "kinds", found.categories, [
    {title: "What", value: row => row.name}, {title: "Examples", value: row => row.examples[0] ?? "", kind: "wide", show: row => folded("the largest", row.examples)},
    {title: "Files", value: row => row.files, show: row => number(row.files), kind: "number"},
    bytes("Bytes", row => row.bytes, largest(found.categories, row => row.bytes))]);
  table("duplicates", "Duplicates", `${cut(found.duplicates, row => row.wasted, found.duplicate_bytes)}Files of equal content; a link instead of each copy would save the waste.`, "duplicates", found.duplicates, [
    {title: "File", value: row => base(row.paths[0]), show: row => [file(row.paths[0]), folded(count(row.paths.length - 1, "copy", "copies"), row.paths.slice(1))], kind: "wide"},
    {title: "Copies", value: row => row.paths.length, show: row => number(row.paths.length), kind: "number"},
    bytes("Each", row => row.bytes), bytes("Wasted", row => row.wasted, largest(found.duplicates, row => row.wasted))]);
  table("hidden", "Hidden files", `${cut(found.hidden, row => row.bytes, found.hidden_bytes)}In a layer, but in no container: a later layer deletes or overwrites them.`, "hidden files", found.hidden, [
    {title: "File", value: row => base(row.path), show: row => file(row.path), kind: "wide"},
    {title: "In layer", value: row => row.layer + 1, kind: "number"},
    {title: "Hidden by", value: row => row.hidden_by + 1, show: row => `${row.deleted ? "deleted" : "overwritten"} in ${row.hidden_by + 1}`},
    bytes("Bytes", row => row.bytes, largest(found.hidden, row => row.bytes))]);
}

theme();
head();
partial();
verdictList("findings", "Verdicts and coverage", told);
treemap();
setTimeout(() => { tables(); document.documentElement.dataset.done = ""; });  // after the first picture
