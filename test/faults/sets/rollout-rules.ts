import { setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { conditionOf, valueAt } from "../../fleet/json-record.ts";

/** What a rollout was to do. */
export interface WantedRollout {
  readonly revision: string;
  /** What the components say when they have it, `1.23.0`. */
  readonly version: string;
  /** In their order, with the number of clusters that may change at the same time. */
  readonly stages: readonly { readonly name: string; readonly maxConcurrency: number }[];
}

/** A component in a rollout. */
interface Course {
  readonly name: string;
  readonly stage: string;
  /** Times of the stamps with the revision. */
  readonly stampedAt: Set<string>;
  isDone: boolean;
}

/**
 * What a rollout did that it must not, at any time: more components in flight than a stage allows, one of a stage before all of the stages before it were
 * done, or one that was not stamped exactly once. `versions` are all that the hub had of the components, in their order, from those before the rollout on.
 */
export function brokenRules(
  versions: readonly KubeObject[],
  { revision, version, stages }: WantedRollout,
): readonly string[] {
  const courses = new Map(versions.map((one) => [one.metadata.name, courseOf(one)]));
  const broken = new Set<string>();
  for (const one of versions) {
    const course = courses.get(one.metadata.name);
    if (course === undefined || one.metadata.labels?.[setLabels.revision] !== revision) continue;
    course.stampedAt.add(one.metadata.annotations?.[setAnnotations.updatedAt] ?? "");
    if (isDone(one, version)) course.isDone = true;
    for (const text of brokenNow([...courses.values()], stages)) broken.add(text);
  }
  const times = [...courses.values()].filter(({ stampedAt }) => stampedAt.size !== 1);
  return [...broken, ...times.map(({ name, stampedAt }) => `${name}: ${stampedAt.size} stamps`)];
}

function courseOf({ metadata }: KubeObject): Course {
  const { name, labels } = metadata;
  return { name, stage: labels?.[setLabels.stage] ?? "", stampedAt: new Set(), isDone: false };
}

/** What is wrong at one moment. */
function brokenNow(courses: readonly Course[], stages: WantedRollout["stages"]): readonly string[] {
  return stages.flatMap(({ name, maxConcurrency }, at) => {
    const begun = courses.filter(({ stage, stampedAt }) => stage === name && stampedAt.size > 0);
    const inFlight = begun.filter((course) => !course.isDone);
    const before = new Set(stages.slice(0, at).map((stage) => stage.name));
    const unfinished = courses.filter((course) => before.has(course.stage) && !course.isDone);
    return [
      ...(inFlight.length > maxConcurrency ? [`In flight in ${name}: ${namesOf(inFlight)}`] : []),
      ...(begun.length > 0 && unfinished.length > 0
        ? [`${name} had begun before these were done: ${namesOf(unfinished)}`]
        : []),
    ];
  });
}

function namesOf(courses: readonly Course[]): string {
  return courses.map(({ name }) => name).join(", ");
}

function isDone(component: KubeObject, version: string): boolean {
  return (
    valueAt(component, "status", "observedGeneration") === component.metadata.generation &&
    valueAt(component, "status", "version") === version &&
    conditionOf(component, "Ready")?.status === "True"
  );
}
