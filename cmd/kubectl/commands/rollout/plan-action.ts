import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import {
  contentText,
  type FleetSet,
  fleetSetApiVersion,
  fleetSetKinds,
  setAnnotations,
} from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { SetDigests } from "../../../../controller/sets/set-digest.ts";
import { contentOf } from "../../../../render/content.ts";
import type { SetFacts } from "../../../../sets/facts.ts";
import { type ActionInput, openReading, print } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { controllerEnvironment, controllersOfHub } from "../../compare/controller-rules.ts";
import { namedReleases } from "../../compare/named-releases.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { NotServedError } from "../../hub/installations.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames } from "../../output/names.ts";
import { reportOf, stampAt } from "../../output/report.ts";
import { orNone, type Table, type Tone } from "../../output/table.ts";
import { fleetSetRefOf } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { type DryRun, dryRun } from "./dry-run.ts";
import { namedSet } from "./named-set.ts";
import { rightsToApply } from "./needed-rights.ts";
import { checkBeforehand, jobsOfRollout } from "./plan-checks.ts";
import { readPlanFacts } from "./plan-facts.ts";
import {
  type PlanAction,
  planRollout,
  type RolloutPlanItem,
  type RolloutPlanSummary,
} from "./rollout-plan.ts";
import { type FileSet, setOfFile } from "./set-file.ts";

/** Flags of `rollout plan` alone. */
interface PlanFlags {
  readonly filename?: string;
  /** False: no cluster is asked. */
  readonly checks?: boolean;
}

type Input = ActionInput<PlanFlags>;

/** `kubectl knfleet rollout plan`. */
export async function runRolloutPlan(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const spokes = options.checks ?? true;
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes }, signal);
  const planned =
    options.filename === undefined
      ? await storedSet(input, access, signal)
      : await fileSet(options.filename, { access, input }, signal);
  if (typeof planned === "number") return planned;
  const { set, stored, answer } = planned;
  const rights = await rightsToApply(set, stored, signal);
  const found = await contentFor(set, { access, input }, signal);
  const { facts, unread: unreadFacts } = await readPlanFacts({ ...access, ...found }, set, signal);
  const anew = await componentsRenderedAnew(facts.children, found);
  const { summary, items } = planRollout(facts, terminal.now().getTime(), anew);
  const checks = await checksOfPlan(facts, summary.revision, { access, input }, signal);
  const unread = [...unreadFacts, ...unasked(answer), ...found.unknown, ...checks.unasked];
  const warnings = [
    ...(answer?.kind === "refused" ? [`the hub refuses the set: ${answer.message}`] : []),
    ...summary.warnings,
    ...checks.bad,
    ...unread.map((what) => `could not be read: ${what}`),
  ];
  const document = sortedBy(
    reportOf("RolloutPlan", stampAt(terminal.now(), clientVersion), {
      complete: unread.length === 0,
      summary: { ...summary, warnings },
      items,
      errors: [],
    }),
    flags.sortBy,
  );
  await print(
    {
      document,
      heading: `${plainText(`${set.kind} ${set.metadata.namespace}/${set.metadata.name}`)}, revision ${summary.revision}\n\n`,
      table: (wide) => planTable(document.items, wide),
      footer: `\n${countsText(summary)}\n`,
      names: document.items.map(({ component }) => componentName(set, component ?? "")),
      notes: [
        ...warnings.map((warning) => plainText(`warning: ${warning}`)),
        ...jobsOfRollout(set).map((line) => plainText(`note: ${line}`)),
        ...rights.map((right) =>
          plainText(`right: whoever applies it has to be allowed to ${right}`),
        ),
      ],
    },
    flags,
    terminal,
  );
  if (summary.writes + summary.blocked + summary.unselected > 0) return exitCodes.unhealthy;
  if (warnings.length > unread.length) return exitCodes.unhealthy;
  return unread.length > 0 ? exitCodes.incomplete : exitCodes.fine;
}

/** What the clusters answer to the checks of the set now; nothing with `--no-checks`. */
async function checksOfPlan(
  facts: SetFacts,
  revision: string,
  { access, input }: { readonly access: ClusterAccess; readonly input: Input },
  signal: AbortSignal,
): ReturnType<typeof checkBeforehand> {
  const { flags, options, terminal } = input;
  if (options.checks === false) return { bad: [], unasked: [] };
  const { limits, end } = openReading(flags, terminal);
  const deps = { access, limits, revision, now: terminal.now().getTime() };
  return await checkBeforehand(facts, deps, signal).finally(end);
}

/** What a controller of this program's version would promise and render. */
interface FoundContent extends Pick<SetFacts, "available" | "digest"> {
  /** What a component renders, as its stamp says it; undefined: not known. */
  readonly contentOf?: (component: Component) => Promise<string>;
  readonly unknown: readonly string[];
}

/** Names of the components that would get other objects by the same spec. */
async function componentsRenderedAnew(
  children: readonly Component[],
  { contentOf: contentNow }: FoundContent,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const child of children) {
    const stamped = child.metadata.annotations?.[setAnnotations.content];
    // oxlint-disable-next-line no-await-in-loop -- equal specs are rendered once
    if (stamped === undefined || contentNow === undefined || stamped === (await contentNow(child)))
      continue;
    names.add(child.metadata.name);
  }
  return names;
}

/** Reads this program's release folder; without one, says why that is not known. */
async function contentFor(
  set: FleetSet,
  { access, input }: { readonly access: ClusterAccess; readonly input: Input },
  signal: AbortSignal,
): Promise<FoundContent> {
  try {
    const releases = await namedReleases(input, signal)();
    const available = releases.versionsOf(fleetSetKinds[set.kind].component);
    const { environment, several } = await controllerEnvironment(controllersOfHub(access, signal));
    const digest = await new SetDigests(releases, environment).of(set);
    return {
      available,
      ...(digest === undefined ? {} : { digest }),
      contentOf: async (component) =>
        contentText(await contentOf(component, releases, environment)),
      unknown: several === undefined ? [] : [`the environment of the controller: ${several}`],
    };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { unknown: [`the release files: ${error.message}`] };
  }
}

interface Planned {
  readonly set: FleetSet;
  /** Undefined: the hub does not have it yet. */
  readonly stored: FleetSet | undefined;
  /** What the hub says about the set of a file. */
  readonly answer?: DryRun;
}

function unasked(answer: DryRun | undefined): readonly string[] {
  return answer?.kind === "unasked" ? [`whether the hub takes the set: ${answer.why}`] : [];
}

async function storedSet(
  input: Input,
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<Planned | ExitCode> {
  const set = await namedSet(input, { access, kind: "RolloutPlan" }, signal);
  return typeof set === "number" ? set : { set, stored: set };
}

/** The set of a file. When the hub has it already, its stored metadata and status with the spec of the file. */
async function fileSet(
  path: string,
  { access, input }: { readonly access: ClusterAccess; readonly input: Input },
  signal: AbortSignal,
): Promise<Planned> {
  const { args, flags, terminal } = input;
  const [text, ...more] = args;
  const ref = text === undefined ? undefined : fleetSetRefOf(text);
  if (more.length > 0 || (text !== undefined && ref === undefined)) {
    throw new UsageError("With -f at most one set may be named, as kss/NAME or kes/NAME");
  }
  const context = { flags, defaultNamespace: access.namespace, stdin: terminal.stdin };
  const set = await setOfFile({ path, ref }, context, signal);
  return await asOnHub(set, access, signal);
}

async function asOnHub(set: FileSet, access: ClusterAccess, signal: AbortSignal): Promise<Planned> {
  const { kind, metadata } = set;
  try {
    const stored = await readSet(access, { kind, ...metadata }, signal);
    const answer = await dryRun({ file: set, stored }, access, signal);
    return { ...plannedOf(set, stored), answer };
  } catch (error) {
    // Nobody can check the set there.
    if (error instanceof NotServedError) return plannedOf(set, undefined);
    throw error;
  }
}

function plannedOf({ kind, spec, metadata }: FileSet, stored: FleetSet | undefined): Planned {
  if (stored !== undefined) return { set: { ...stored, spec }, stored };
  const made = { uid: "", resourceVersion: "", creationTimestamp: "9999-12-31T00:00:00Z" };
  const apiVersion = fleetSetApiVersion;
  return { set: { apiVersion, kind, metadata: { ...metadata, ...made }, spec }, stored: undefined };
}

function componentName({ kind }: FleetSet, component: string): string {
  const type = kind.replace(/Set$/, "").toLowerCase();
  return `${type}.operator.knative.dev/${component}`;
}

const tones: Readonly<Partial<Record<PlanAction, Tone>>> = {
  create: "good",
  update: "warning",
  adopt: "warning",
  wait: "warning",
  blocked: "bad",
  delete: "bad",
};

function planTable(items: readonly RolloutPlanItem[], wide: boolean): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  const more = wide ? ["COMPONENT"] : [];
  return {
    headers: ["STAGE", "CLUSTER", "ACTION", "FROM", "TO", ...more, "REASON", "MESSAGE"],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ stage, cluster, action, from, to, component, reason, message }) => {
      const tone = tones[action];
      return [
        orNone(stage),
        clusterOf(cluster),
        tone === undefined ? action : { text: action, tone },
        orNone(from),
        orNone(to),
        ...(wide ? [orNone(component)] : []),
        orNone(reason),
        orNone(message),
      ];
    }),
  };
}

function countsText({
  clusters,
  writes,
  changes,
  blocked,
  unselected,
}: RolloutPlanSummary): string {
  const parts = [
    `${writes} of ${clusters} components would be written, ${changes} with another spec`,
    ...(blocked > 0 ? [`${blocked} blocked`] : []),
    ...(unselected > 0 ? [`${unselected} not selected any more`] : []),
  ];
  return `${parts.join("; ")}.`;
}
