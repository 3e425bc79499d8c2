import {
  type ReleaseNames,
  below,
  type Check,
  entriesOf,
  type Problem,
  recordFields,
  shown,
  type Fields,
  elementsOf,
  workloadsOf,
} from "./rule.ts";

// As many as the controller takes.
const maxPatches = 64;

/** The version is one that can be installed, and one minor away at most. */
export const version: Check = (_subject, { render }) => render?.version ?? [];

/** The release can be rendered with these settings. */
export const rendering: Check = (_subject, { render }) => render?.others ?? [];

/** Each patch can be applied to the object that it names, leaves alone what is knfleet's own, and deletes nothing that is protected. */
export const patches: Check = ({ spec }, { render }) => {
  const list = spec["patches"];
  const isLong = Array.isArray(list) && list.length > maxPatches;
  const path = below("spec", "patches");
  if (isLong) return [{ path, message: `must not hold more than ${maxPatches} patches` }];
  return render?.patches ?? [];
};

/** A version that is not the newest patch of its minor. */
export const newestPatch: Check = ({ spec }, { render }) => {
  const { target, newestPatch: newest } = render ?? {};
  if (typeof spec["version"] !== "string" || spec["version"] === "") return [];
  if (target === undefined || newest === undefined || target === newest) return [];
  const message = `${target} is not the newest patch of its minor, ${newest} is`;
  return [{ path: "spec.version", message }];
};

/** Overrides that change nothing, because the release has nothing of that name. */
export const unmatched: Check = ({ spec }, { render }) => {
  const names = render?.names;
  if (names === undefined) return [];
  return [
    ...["deployments", "workloads"].flatMap((field) =>
      entriesOf(spec, field).flatMap(([entry, path]) => workloadProblems(entry, path, names)),
    ),
    ...named(spec, "services", names.services),
    ...named(spec, "podDisruptionBudgets", names.podDisruptionBudgets),
    ...configProblems(spec, names.configMaps),
  ];
};

/** The first seven characters of a name may be left out, whatever they are. Spec: knative-operator.md 3.6. */
function configProblems(spec: Fields, names: ReadonlySet<string>): readonly Problem[] {
  const short = new Set(Array.from(names, (name) => name.slice("config-".length)));
  return Object.keys(recordFields(spec["config"])).flatMap((name) =>
    names.has(name) || short.has(name)
      ? []
      : [
          {
            path: below("spec", "config", name),
            message: "names no ConfigMap of the release and changes nothing",
          },
        ],
  );
}

function named(spec: Fields, field: string, names: ReadonlySet<string>): readonly Problem[] {
  return entriesOf(spec, field).flatMap(([{ name }, path]) =>
    typeof name !== "string" || names.has(name)
      ? []
      : [
          {
            path: below(path, "name"),
            message: `names nothing in the release and changes nothing: ${shown(name)}`,
          },
        ],
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
    const message = `names no Deployment, StatefulSet or Job of the release and changes nothing: ${shown(name)}`;
    return [{ path: below(path, "name"), message }];
  }
  return perContainer.flatMap((field) => {
    const list = entry[field];
    const all: readonly unknown[] = Array.isArray(list) ? list : [];
    return all.flatMap((one, index) => {
      const { container } = recordFields(one);
      if (typeof container !== "string" || containers.includes(container)) return [];
      const message = `${shown(name)} has no container of this name: ${shown(container)}`;
      return [{ path: below(path, field, index, "container"), message }];
    });
  });
}

/** Fields that work and have a better name. */
export const deprecated: Check = ({ spec }) =>
  [
    ["deployments", "deprecated: use spec.workloads, which takes the same entries"],
    ["resources", "deprecated: use spec.workloads[].resources"],
  ].flatMap(([field = "", message = ""]) =>
    Array.isArray(spec[field]) && spec[field].length > 0
      ? [{ path: below("spec", field), message }]
      : [],
  );

const ineffective: Readonly<Record<string, readonly string[]>> = {
  workloads: ["version", "volumeMounts"],
  deployments: ["version", "volumeMounts"],
  podDisruptionBudgets: ["selector", "unhealthyPodEvictionPolicy"],
};

/** Fields that are accepted and do nothing (knative-operator.md 1.1, 1.2). */
export const withoutEffect: Check = ({ spec }) => [
  ...Object.entries(ineffective).flatMap(([list, fields]) =>
    entriesOf(spec, list).flatMap(([entry, path]): readonly Problem[] =>
      fields.flatMap((field) => (entry[field] === undefined ? [] : [ignored(below(path, field))])),
    ),
  ),
  ...entriesOf(spec, "resources").flatMap(claims),
  ...workloadsOf(spec).flatMap(([entry, path]) =>
    elementsOf(entry["resources"], below(path, "resources")).flatMap(claims),
  ),
];

function claims([entry, path]: readonly [Fields, string]): readonly Problem[] {
  return entry["claims"] === undefined ? [] : [ignored(below(path, "claims"))];
}

function ignored(path: string): Problem {
  return { path, message: "has no effect; leave it out" };
}
