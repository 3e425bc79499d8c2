import { withoutV } from "../../api/component.ts";
import { listAt, recordAt } from "../../api/fields.ts";
import { noSuchConfigMap, unusedConfig } from "../../render/features/named-objects.ts";
import {
  below,
  type Check,
  entriesOf,
  type Entry,
  type Fields,
  type Problem,
  problemIf,
  type ReleaseNames,
  resourcesOf,
  quoteValue,
} from "./rule.ts";

// As many as the controller takes.
const maxPatches = 64;

/** The version can be installed, and is at most one minor away. */
export const version: Check = (_subject, { render }) => render?.version ?? [];

/** The release can be rendered with these settings. */
export const rendering: Check = (_subject, { render }) => render?.others ?? [];

/** Each patch can be applied to the object that it names, leaves alone what is knfleet's own, and deletes nothing that is protected. */
export const patches: Check = ({ spec }, { render }) => {
  if (listAt(spec, "patches").length <= maxPatches) return render?.patches ?? [];
  return [{ path: "spec.patches", message: `must not hold more than ${maxPatches} patches` }];
};

/** The version is exact. A component with another text follows the releases of knfleet; a set, whose warnings leave this one out, resolves the text itself. */
export const exactVersion: Check = ({ spec }, { render }) => {
  const { target = "" } = render ?? {};
  const { version: wanted = "" } = spec;
  if (target === "" || typeof wanted !== "string") return [];
  if (withoutV(wanted) === target) return [];
  const means = wanted === "" ? "absent, which means" : "means";
  const message = `${means} ${target} now, and an upgrade of knfleet with a newer release installs that at once; name ${target} to decide when`;
  return [{ path: "spec.version", message }];
};

/** What is installed has something of the name that an override has. */
export const unmatched: Check = ({ spec }, { render }) => {
  const names = render?.names;
  if (names === undefined) return [];
  return [
    ...["deployments", "workloads"].flatMap((field) =>
      entriesOf(spec, field).flatMap(([entry, path]) => workloadProblems(entry, path, names)),
    ),
    ...unknownNames(spec, "services", names.services),
    ...unknownNames(spec, "podDisruptionBudgets", names.podDisruptionBudgets),
    ...configProblems(spec, names.configMaps),
  ];
};

function configProblems(spec: Fields, configMaps: ReadonlySet<string>): readonly Problem[] {
  const message = `changes nothing: ${noSuchConfigMap}`;
  return unusedConfig(recordAt(spec, "config"), configMaps).map((name) => ({
    path: below("spec", "config", name),
    message,
  }));
}

function unknownNames(spec: Fields, field: string, names: ReadonlySet<string>): readonly Problem[] {
  return entriesOf(spec, field).flatMap(([{ name }, path]) =>
    problemIf(
      typeof name === "string" && !names.has(name),
      below(path, "name"),
      `names nothing in the release and changes nothing: ${quoteValue(name)}`,
    ),
  );
}

const perContainer = ["env", "resources", "readinessProbes", "livenessProbes"];

function workloadProblems(
  entry: Fields,
  path: string,
  { workloads }: ReleaseNames,
): readonly Problem[] {
  const { name } = entry;
  if (typeof name !== "string") return [];
  const containers = workloads.get(name);
  if (containers === undefined) {
    const message = `names no Deployment, StatefulSet or Job of the release and changes nothing: ${quoteValue(name)}`;
    return [{ path: below(path, "name"), message }];
  }
  return perContainer.flatMap((field) =>
    listAt(entry, field).flatMap((one, index) => {
      const { container } = recordAt(one);
      return problemIf(
        typeof container === "string" && !containers.includes(container),
        below(path, field, index, "container"),
        `${quoteValue(name)} has no container of this name: ${quoteValue(container)}`,
      );
    }),
  );
}

const renamedFields = {
  deployments: "deprecated: use spec.workloads, which takes the same entries",
  resources: "deprecated: use spec.workloads[].resources",
} as const;

/** Fields that work and have a better name. */
export const deprecated: Check = ({ spec }) =>
  Object.entries(renamedFields).flatMap(([field, message]) =>
    problemIf(listAt(spec, field).length > 0, below("spec", field), message),
  );

const ineffectiveFields = {
  workloads: ["version", "volumeMounts"],
  deployments: ["version", "volumeMounts"],
  podDisruptionBudgets: ["selector", "unhealthyPodEvictionPolicy"],
} as const;

/** Fields that are accepted and do nothing (knative-operator.md 1.1, 1.2). */
export const withoutEffect: Check = ({ spec }) => [
  ...Object.entries(ineffectiveFields).flatMap(([list, fields]) =>
    entriesOf(spec, list).flatMap((entry) =>
      fields.flatMap((field) => ignoredProblem(entry, field)),
    ),
  ),
  ...resourcesOf(spec).flatMap((entry) => ignoredProblem(entry, "claims")),
];

function ignoredProblem([entry, path]: Entry, field: string): readonly Problem[] {
  const isGiven = entry[field] !== undefined;
  return problemIf(isGiven, below(path, field), "has no effect; leave it out");
}
