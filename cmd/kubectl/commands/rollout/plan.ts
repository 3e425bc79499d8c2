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
import { controllerEnvironment, controllersOfHub } from "../../compare/controller-rules.ts";
import { namedReleases } from "../../compare/named-releases.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { NotServedError } from "../../hub/installations.ts";
import { readPlanFacts } from "../../hub/plan-facts.ts";
import {
  type PlanAction,
  planRollout,
  type RolloutPlanItem,
  type RolloutPlanSummary,
} from "../../hub/rollout-plan.ts";
import type { Answer, Report } from "../../main/report.ts";
import { type Columns, onCluster, shortened, toned, wide } from "../../output/columns.ts";
import type { Tone } from "../../output/table.ts";
import { fleetSetRefOf } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { type DryRun, dryRun } from "./dry-run.ts";
import { namedSet } from "./named-set.ts";
import { rightsToApply } from "./needed-rights.ts";
import { checkBeforehand, jobsOfRollout } from "./plan-checks.ts";
import { type FileSet, setOfFile } from "./set-file.ts";

/** What a rollout of a set of the hub, or of a file, would do with each cluster. `live`: the checks of the set are asked. Throws UsageError, and when the hub cannot be read. */
export async function planOfSet(
  fleet: Fleet,
  { filename, live }: { readonly filename: string | undefined; readonly live: boolean },
): Promise<Report<RolloutPlanItem> | Answer> {
  const { signal } = fleet;
  const access = await fleet.access();
  const planned = await (filename === undefined ? storedSet(fleet) : fileSet(filename, fleet));
  if (!("set" in planned)) return planned;
  const { set, stored, answer } = planned;
  const rights = await rightsToApply(set, stored, signal);
  const found = await contentFor(set, access, fleet);
  const { facts, unread: unreadFacts } = await readPlanFacts({ ...access, ...found }, set, signal);
  const anew = await componentsRenderedAnew(facts.children, found);
  const now = fleet.now().getTime();
  const { summary, items } = planRollout(facts, now, anew);
  const deps = { access, limits: fleet.limits(), revision: summary.revision, now };
  const checks = live ? await checkBeforehand(facts, deps, signal) : { bad: [], unasked: [] };
  const unread = [...unreadFacts, ...unasked(answer), ...found.unknown, ...checks.unasked];
  const warnings = [
    ...(answer?.kind === "refused" ? [`the hub refuses the set: ${answer.message}`] : []),
    ...summary.warnings,
    ...checks.bad,
    ...unread.map((what) => `could not be read: ${what}`),
  ];
  const { kind, metadata } = set;
  const isChange = summary.writes + summary.blocked + summary.unselected > 0;
  const isBad = isChange || warnings.length > unread.length;
  return {
    complete: unread.length === 0,
    summary: { ...summary, warnings },
    items,
    errors: [],
    heading: () =>
      `${plainText(`${kind} ${metadata.namespace}/${metadata.name}`)}, revision ${summary.revision}\n\n`,
    columns,
    footer: () => `\n${countsText(summary)}\n`,
    name: ({ component }) =>
      `${kind.replace(/Set$/, "").toLowerCase()}.operator.knative.dev/${component ?? ""}`,
    notes: () =>
      [
        ...warnings.map((warning) => `warning: ${warning}`),
        ...jobsOfRollout(set).map((line) => `note: ${line}`),
        ...rights.map((right) => `right: whoever applies it has to be allowed to ${right}`),
      ].map(plainText),
    ...(isBad ? { exitCode: exitCodes.unhealthy } : {}),
  };
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
  access: ClusterAccess,
  fleet: Fleet,
): Promise<FoundContent> {
  const { signal } = fleet;
  try {
    const releases = await namedReleases(fleet.asInput({}), signal)();
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

async function storedSet(fleet: Fleet): Promise<Planned | Answer> {
  const set = await namedSet(fleet);
  return "kind" in set ? { set, stored: set } : set;
}

/** The set of a file. When the hub has it already, its stored metadata and status with the spec of the file. */
async function fileSet(path: string, fleet: Fleet): Promise<Planned> {
  const { args, flags, signal } = fleet;
  const [text, ...more] = args;
  const ref = text === undefined ? undefined : fleetSetRefOf(text);
  if (more.length > 0 || (text !== undefined && ref === undefined)) {
    throw new UsageError("With -f at most one set may be named, as kss/NAME or kes/NAME");
  }
  const access = await fleet.access();
  const { stdin } = fleet.asInput({}).terminal;
  const context = { flags, defaultNamespace: access.namespace, stdin };
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

const tones: Readonly<Partial<Record<PlanAction, Tone>>> = {
  create: "good",
  update: "warning",
  adopt: "warning",
  wait: "warning",
  blocked: "bad",
  delete: "bad",
};

const columns: Columns<RolloutPlanItem> = {
  STAGE: ({ stage }) => stage,
  CLUSTER: onCluster(({ cluster }) => cluster),
  ACTION: ({ action }) => {
    const tone = tones[action];
    return tone === undefined ? action : toned(tone, action);
  },
  FROM: ({ from }) => from,
  TO: ({ to }) => to,
  COMPONENT: wide(({ component }) => component),
  REASON: ({ reason }) => reason,
  MESSAGE: shortened(({ message }) => message),
};

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
