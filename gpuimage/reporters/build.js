const built = found.bytes.total != null, smoke = found.smoke, plan = found.plan, growth = found.growth;
const nothing = "–";
const orNothing = value => value == null ? nothing : size(value);
const span = ({low, high}) => low === high ? size(low) : `${size(low)} to ${size(high)}`;
const signed = value => `${value >= 0 ? "+" : "-"}${size(Math.abs(value))}`;
const name = text => el("span", {class: "name"}, text);
const measure = part => found.budgets.find(one => one.part === part);

function head() {
  const image = measure("image"), predicted = found.bytes.predicted;
  const beside = [predicted ? `predicted ${span(predicted)}` : "", image?.limit ? `budget ${size(image.limit)}` : ""].filter(Boolean).join(", ");
  const spent = sum(Object.values(found.seconds), seconds => seconds);
  const [layer, wheel] = [measure("layer"), measure("wheel")];
  const count = smoke?.counts;
  header(found.tags[0] ?? found.image, [found.flavor, found.variant, found.platform, found.engine, `started ${found.started}`, `${spent.toFixed(1)} s`],
    found.passed ? "passed" : "error", found.says[0].toUpperCase() + found.says.slice(1), [
      built ? ["Image", size(found.bytes.total), beside || "no budget was set"] : predicted ? ["Image, predicted", span(predicted), "not built"] : null,
      growth ? ["Growth", signed(growth.grown), `since ${growth.baseline.image}, at most ${growth.limit.says}`] : null,
      layer?.actual ? ["Largest layer", size(layer.actual), layer.limit ? `budget ${size(layer.limit)}` : `of ${number(found.bytes.layers.length)}`] : null,
      wheel?.actual ? ["Largest wheel", size(wheel.actual), wheel.limit ? `budget ${size(wheel.limit)}` : wheel.name] : null,
      count ? ["Probes", number(count.passed), `passed, ${number(count.failed)} failed, ${number(count.skipped)} skipped`] : null,
    ]);
}

// Text of many lines, which scrolls by itself.
function block(label, text) {
  return el("div", {class: "scroll", role: "group", tabindex: "0", "aria-label": label},
    el("pre", {}, text.replaceAll("\t", "    ").split("\n").map((line, at) => [at ? el("br") : null, line])));
}

function failure() {
  const error = found.failure;
  if (!error) return;
  const rows = [["Where", error.where], ["Why", error.why], ["Try", error.hint]].filter(([, text]) => text);
  section("error", "What ended the build", null, null, el("p", {class: "name"}, el("strong", {}, error.what)),
    el("dl", {}, rows.map(([term, text]) => [el("dt", {}, term), el("dd", {class: "name"}, text)])),
    error.log.length ? block("The last lines of its output", error.log.join("\n")) : null);
  byId("error").classList.add("error");
}

function budgets() {
  const limited = found.budgets.filter(one => one.limit != null);
  table("budgets", "Budgets", "Of the spec, in bytes on disk.", "budgets", limited, [
    {title: "Part", value: row => row.part}, {title: "Largest", value: row => row.name, show: row => name(row.name || nothing), kind: "wide"},
    {title: "Verdict", value: row => row.status, show: row => el("span", {class: row.over.length ? "over" : null}, row.over.length ? `failed, ${row.over.length} over it` : row.actual == null ? "not measured" : "passed")},
    {title: "Budget", value: row => row.limit, show: row => size(row.limit), kind: "number"},
    {title: "Bytes", value: row => row.actual ?? 0, show: row => orNothing(row.actual), kind: "number"}]);
}

function changes() {
  if (!growth) return;
  const rows = [...growth.layers, ...growth.wheels ?? []];
  const about = `${size(growth.before)} before, ${size(growth.after)} now: ${signed(growth.grown)}, and at most ${size(growth.limit.bytes)} (${growth.limit.says}) may come on top.`
    + (growth.wheels ? "" : " Wheels were not measured on both sides.");
  if (!rows.length) return section("growth", "Since the baseline", about, null, el("p", {}, "No layer and no wheel differs."));
  table("growth", "Since the baseline", about, "changes", rows, [
    {title: "What", value: row => row.name, show: row => name(row.name), kind: "wide"}, {title: "Kind", value: row => row.kind},
    {title: "Why", value: row => row.because, show: row => name(row.because), kind: "middle"},
    {title: "Before", value: row => row.before ?? -1, show: row => orNothing(row.before), kind: "number"},
    {title: "After", value: row => row.after ?? -1, show: row => orNothing(row.after), kind: "number"},
    {title: "Growth", value: row => row.grown, show: row => signed(row.grown), kind: "number"}]);
}

function sizes() {
  const layers = found.bytes.layers.map((layer, index) => ({...layer, index})), wheels = found.wheels ?? [];
  table("layers", "Layers", "From the base up.", "layers", layers, [
    {title: "Layer", value: row => row.index + 1}, {title: "Made by", value: row => row.created_by, show: row => name(row.created_by), kind: "wide"},
    {title: "Share", value: row => row.bytes, show: row => share(row.bytes, found.bytes.total), kind: "number"},
    bytes("Bytes", row => row.bytes, largest(layers, row => row.bytes))]);
  table("wheels", "Wheels", "Installed distributions, by the files of their RECORD, beside what the lock predicted.", "wheels", wheels, [
    {title: "Name", value: row => row.name, show: row => name(row.name), kind: "middle"}, {title: "Version", value: row => row.version, show: row => name(row.version)},
    {title: "Predicted", value: row => row.predicted ?? -1, show: row => orNothing(row.predicted), kind: "number"},
    bytes("Bytes", row => row.bytes, largest(wheels, row => row.bytes))], "Name or version", row => `${row.name} ${row.version}`.toLowerCase());
}

function verdicts() {
  if (smoke) verdictList("verdicts", "Verdicts", worstFirst(smoke.verdicts.map(one => ({...verdict(one, "error"), folder: one.tier}))));
  else if (built) section("verdicts", "Verdicts", "The image was not smoke-tested.", null);
  if (smoke?.line) byId("verdicts").append(el("p", {class: "name"}, smoke.line));
  verdictList("lint", "Lint of the Dockerfile", worstFirst((found.findings ?? []).map(one => ({severity: one.severity, word: one.severity,
    title: `${one.rule} ${one.name}`, text: `line ${one.line}: ${one.message}${one.help ? `; help: ${one.help}` : ""}`, lines: [], count: 1, folder: "", summary: ""}))));
}

function decisions() {
  if (!plan) return;
  const doubt = one => one.verified ? "" : " (not verified)";
  const rows = [...plan.decisions.map(one => ({...one, kind: "decided"})), ...plan.warnings.map(one => ({...one, kind: "look at"})),
    ...plan.refusals.map(one => ({topic: one.what, choice: "refused", because: one.because, kind: "refused", verified: true}))];
  table("decisions", "Decisions", "What was chosen and why, what to look at, and what was refused.", "decisions", rows, [
    {title: "What", value: row => row.topic, show: row => name(row.topic), kind: "middle"},
    {title: "Choice", value: row => row.choice, show: row => name(row.choice + doubt(row)), kind: "middle"},
    {title: "Because", value: row => row.because, show: row => [name(row.because), row.source ? el("div", {class: "name quiet"}, row.source) : null], kind: "wide"},
    {title: "Kind", value: row => row.kind}, {title: "Spec key", value: row => row.key ?? "", show: row => row.key ?? nothing}]);
  table("parts", "Prediction", "Bytes on disk of each part, before anything was built.", "parts", plan.bytes.parts, [
    {title: "Part", value: row => row.name, show: row => name(row.name), kind: "middle"},
    {title: "Basis", value: row => row.basis, show: row => el("span", {class: "name quiet"}, row.basis), kind: "wide"},
    {title: "Bytes", value: row => row.high ?? -1, show: row => row.low == null ? "not known" : span(row), kind: "number"}]);
}

function dockerfile() {
  if (found.dockerfile) section("dockerfile", "Dockerfile", "As it was built.", null, block("Dockerfile", found.dockerfile.trimEnd()));
}

theme();
head();
failure();
budgets();
changes();
verdicts();
sizes();
decisions();
dockerfile();
document.documentElement.dataset.done = "";
