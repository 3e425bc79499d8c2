import { plainText } from "../../../api/foreign-text.ts";
import type { Report } from "../main/report.ts";
import { type Commands, numberedSteps, stepLine, words as shellWords } from "../output/steps.ts";
import type { Table, Tone } from "../output/table.ts";
import { padText, textWidth, wrappedStep, wrapText } from "../output/text-width.ts";
import { type Diagnosis, type DiagnosisReport, isSetTarget, type RootCause } from "./diagnosis.ts";
import type { Hop, HopState } from "./hops/hop.ts";

/** The report of walks: one walk as a list of its steps, several as a table. */
export function diagnosisView(document: DiagnosisReport, commands: Commands): Report<Diagnosis> {
  const { items, summary, errors, complete, cliVersion } = document;
  const [first, ...others] = items;
  // The walk to a set is told in full, and those to its clusters are a row each.
  const sets = items.filter(({ target }) => isSetTarget(target));
  const only = others.length === 0 || sets.length === 1 ? (sets[0] ?? first) : undefined;
  return {
    items,
    summary,
    errors,
    complete,
    cliVersion,
    heading: ({ paint, isWide, isTerminal, columns }) => {
      const layout = { wide: isWide, isFolded: isTerminal && !isWide, columns };
      return only === undefined ? "" : diagnosisText(only, paint, layout);
    },
    tables: (_, sorted) => [diagnosisTable(sorted.filter((item) => item !== only))],
    name: ({ target }) => nameOf(target),
    notes: () => diagnosisNotes(document, commands),
    tellsErrors: true,
  };
}

/** `TYPE.GROUP/NAME`, as `kubectl -o name` prints it and this command reads it. */
function nameOf({ kind, name }: DiagnosisReport["items"][number]["target"]): string {
  const group = groupOf[kind] ?? "operator.knative.dev";
  return `${kind.toLowerCase()}.${group}/${name}`;
}

const groupOf: Readonly<Partial<Record<Diagnosis["target"]["kind"], string>>> = {
  ClusterProfile: "multicluster.x-k8s.io",
  KnativeServingSet: "knfleet.dev",
  KnativeEventingSet: "knfleet.dev",
};

type Paint = (text: string, tone: Tone) => string;

const tones: Readonly<Record<HopState, Tone | undefined>> = {
  OK: "good",
  WARN: "warning",
  FAIL: "bad",
  SKIPPED: undefined,
};
const stateWidth = Math.max(...Object.keys(tones).map(({ length }) => length));

interface Layout {
  readonly wide: boolean;
  readonly isFolded: boolean;
  readonly columns?: number | undefined;
}

/** One walk as text: every step with its time, the root cause with evidence, and the next steps. Folded, the root cause comes first, and steps without news share a line. */
function diagnosisText(diagnosis: Diagnosis, paint: Paint, layout: Layout): string {
  const { target, vantage, hops } = diagnosis;
  const { columns, isFolded } = layout;
  const width = Math.max(...hops.map(({ title }) => textWidth(title)));
  const steps = isFolded ? foldedSteps(hops) : hops.map((hop) => [hop]);
  const path = steps.flatMap((some) => stepLines(some, { ...layout, paint, width }));
  const cause = [
    ...differenceLines(diagnosis).flatMap((line) => wrapText(line, columns, 4)),
    ...rootCauseLines(diagnosis, paint, columns),
  ];
  const [first, second] = isFolded ? [cause, [...path, ...foldedHint(steps)]] : [path, cause];
  return [
    `${target.kind} ${target.namespace}/${target.name}, walked ${vantageText[vantage]}`,
    "",
    ...first,
    "",
    ...second,
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** Steps that passed, or that were left out because of the same step, as one. */
function foldedSteps(hops: readonly Hop[]): readonly (readonly Hop[])[] {
  const groups: Hop[][] = [];
  for (const hop of hops) {
    const last = groups.at(-1);
    const before = last?.[0];
    const isSame = before?.state === hop.state && before.because === hop.because;
    const isQuiet = hop.state === "OK" || (hop.state === "SKIPPED" && hop.because !== null);
    if (isSame && isQuiet && last !== undefined) last.push(hop);
    else groups.push([hop]);
  }
  return groups;
}

function foldedHint(steps: readonly (readonly Hop[])[]): readonly string[] {
  return steps.some((some) => some.length > 1) ? ["", "-o wide shows every step."] : [];
}

const vantageText = {
  local: "from this machine",
  "controller-identity": "from this machine, on the hub as the controller",
  controller: "by a Job on the hub, where the controller runs",
} as const;

type StepLayout = Layout & { readonly paint: Paint; readonly width: number };

function stepLines(steps: readonly Hop[], layout: StepLayout): readonly string[] {
  const [first, ...others] = steps;
  if (first === undefined || others.length === 0) return first ? hopLines(first, layout) : [];
  const { state, message } = first;
  const { columns, paint } = layout;
  const indent = stateWidth + 3;
  const because = state === "OK" ? "" : ` ${message}`;
  const text = `${steps.length} steps${because}: ${steps.map(({ title }) => title).join(", ")}`;
  const room = columns === undefined ? undefined : Math.max(leastRoom, columns - indent);
  const [head = "", ...rest] = wrapText(text, room);
  const word = wordOf(state, paint);
  return [`${word}   ${head}`, ...rest.map((line) => " ".repeat(indent) + line)];
}

function wordOf(state: HopState, paint: Paint): string {
  const tone = tones[state];
  const word = state.padEnd(stateWidth);
  return tone === undefined ? word : paint(word, tone);
}

function hopLines(
  { title, state, code, message, durationMs, evidence, findings }: Hop,
  { paint, width, wide, columns }: StepLayout,
): readonly string[] {
  const time = (durationMs === null ? "" : `${durationMs} ms`).padStart(8);
  const what = [code ?? "", plainText(message)].filter((text) => text !== "").join(" ");
  const others = findings.filter((one) => one.code !== code || one.message !== message);
  const more = [...others.map((one) => `${one.code} ${one.message}`), ...(wide ? evidence : [])];
  const indent = stateWidth + 3 + width + 3 + 8 + 3;
  const room = columns === undefined ? undefined : Math.max(leastRoom, columns - indent);
  const head = `${wordOf(state, paint)}   ${padText(title, width)}   ${time}   `;
  const [first = "", ...rest] = [what, ...more].flatMap((text) => wrapText(plainText(text), room));
  return [`${head}${first}`.trimEnd(), ...rest.map((text) => " ".repeat(indent) + text)];
}

// With less room a column has one word a line.
const leastRoom = 24;

function differenceLines({ differences, vantage }: Diagnosis): readonly string[] {
  if (differences.length === 0) {
    return vantage === "local" ? [] : ["The walk from this machine went the same way.", ""];
  }
  const lines = differences.map(({ meaning }) => `  ${plainText(meaning)}`);
  return ["What differs from a walk as you, from this machine:", ...lines, ""];
}

function rootCauseLines(
  { rootCause, finished }: Diagnosis,
  paint: Paint,
  columns: number | undefined,
): readonly string[] {
  const endedEarly = finished ? [] : [paint("The walk ended early.", "warning")];
  if (rootCause === null) return finished ? [paint("All is well.", "good")] : endedEarly;
  const { code, name, message, evidence, next, because, severity } = rootCause;
  // A warning is no cause: everything works.
  const [label, tone] =
    severity === "error" ? (["root cause", "bad"] as const) : (["warning", "warning"] as const);
  const isWell = severity === "warning" && finished;
  return [
    ...endedEarly,
    ...(isWell ? [paint("Nothing failed.", "good")] : []),
    ...wrapText(`${label}: ${code} ${name}: ${plainText(message)}`, columns, 2).map((line) =>
      line.replace(label, (text) => paint(text, tone)),
    ),
    ...(because === null ? [] : [`  held by: ${because}`]),
    ...evidence.flatMap((line) => wrapText(`  evidence: ${plainText(line)}`, columns, 4)),
    ...numberedSteps(next).flatMap((line) => wrappedStep(line, columns)),
    `  more: kubectl knfleet explain ${code}`,
  ];
}

/** A row for each walk, worst first. */
function diagnosisTable(items: readonly Diagnosis[]): Table {
  return {
    headers: ["NAMESPACE", "NAME", "KIND", "RESULT", "CODE", "CAUSE", "MESSAGE"],
    wraps: true,
    rows: items.map(({ target, severity, rootCause }) => [
      target.namespace,
      target.name,
      target.kind,
      { text: words[severity].text, tone: words[severity].tone },
      rootCause?.code ?? "<none>",
      rootCause?.name ?? "<none>",
      rootCause?.message ?? "<none>",
    ]),
  };
}

const words = {
  ok: { text: "OK", tone: "good" },
  warning: { text: "WARN", tone: "warning" },
  error: { text: "FAIL", tone: "bad" },
} as const;

/** Lines below the table: counts, causes, and the command that shows the worst walk in full. */
function diagnosisNotes(report: DiagnosisReport, commands: Commands): readonly string[] {
  const { summary, items, errors } = report;
  const missing = errors.map(({ message }) => `error: ${plainText(message)}`);
  if (items.length === 0) {
    return missing.length > 0
      ? missing
      : ["Nothing to diagnose was found.", stepLine(`${commands.knfleet} diagnose -A`)];
  }
  if (items.length === 1) return missing;
  const [causes, warnings] = (["error", "warning"] as const).map((severity) =>
    countsOf(
      items.flatMap(({ rootCause }) => rootCause ?? []).filter((one) => one.severity === severity),
    ),
  );
  const worst = items.find(({ severity }) => severity !== "ok");
  return [
    ...missing,
    `${summary.total} walked: ${summary.healthy} well, ${summary.warnings} with warnings, ${summary.errors} failed.`,
    ...(causes === "" ? [] : [`causes: ${causes}`]),
    ...(warnings === "" ? [] : [`warnings: ${warnings}`]),
    ...(worst === undefined
      ? []
      : [stepLine(`${commands.knfleet} diagnose ${argumentsOf(worst)}`)]),
  ];
}

/** `2 × CODE NAME, 1 × CODE NAME`, most frequent first. */
function countsOf(found: readonly RootCause[]): string {
  return [...Map.groupBy(found, ({ code, name }) => `${code} ${name}`)]
    .map(([title, all]) => ({ title, count: all.length }))
    .toSorted((a, b) => b.count - a.count || (a.title < b.title ? -1 : 1))
    .map(({ title, count }) => `${count} × ${title}`)
    .join(", ");
}

function argumentsOf({ target: { kind, namespace, name }, vantage }: Diagnosis): string {
  const from = vantage === "local" ? [] : ["--from", vantage];
  return shellWords(`${kind.toLowerCase()}/${name}`, "-n", namespace, ...from);
}
