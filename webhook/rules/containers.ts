import { keyProblem } from "./names.ts";
import { quantityOf } from "./quantity.ts";
import {
  below,
  type Check,
  elementsOf,
  entriesOf,
  type Fields,
  type Problem,
  recordFields,
  shown,
  workloadsOf,
} from "./rule.ts";

/** Requests and limits that no cluster would take. Whether a request fits its limit depends on the release, too: see `rendering`. */
export const resources: Check = ({ spec }) =>
  [
    ...entriesOf(spec, "resources"),
    ...workloadsOf(spec).flatMap(([entry, path]) =>
      elementsOf(entry["resources"], below(path, "resources")),
    ),
  ].flatMap(([entry, path]) =>
    ["requests", "limits"].flatMap((field) =>
      Object.entries(recordFields(entry[field])).flatMap(([name, amount]) =>
        amountProblems(name, amount).map((message) => ({
          path: below(path, field, name),
          message,
        })),
      ),
    ),
  );

const plain = ["cpu", "memory", "ephemeral-storage"];
const hugePages = "hugepages-";

function amountProblems(name: string, amount: unknown): readonly string[] {
  const isKnown = plain.includes(name) || name.startsWith(hugePages);
  if (!isKnown && !name.includes("/")) {
    return [
      `the resource must be cpu, memory, ephemeral-storage, hugepages-SIZE or one with a domain such as example.com/gpu (is ${shown(name)})`,
    ];
  }
  const problem = isKnown ? undefined : keyProblem(name);
  if (problem !== undefined) return [problem];
  const value = quantityOf(amount);
  if (value === undefined) return [];
  if (value < 0) return [`must not be negative (is ${shown(amount)})`];
  const isWhole = plain.includes(name) || Number.isInteger(value);
  return isWhole ? [] : [`must be a whole number (is ${shown(amount)})`];
}

const counts = [
  "failureThreshold",
  "initialDelaySeconds",
  "periodSeconds",
  "successThreshold",
  "timeoutSeconds",
];

/** Settings of probes that no cluster would take. */
export const probes: Check = ({ spec }) =>
  workloadsOf(spec).flatMap(([entry, path]) =>
    ["readinessProbes", "livenessProbes"].flatMap((field) =>
      elementsOf(entry[field], below(path, field)).flatMap(([probe, where]) => [
        ...counts.flatMap((count) => negative(probe[count], below(where, count))),
        ...(field === "readinessProbes" ? readiness(probe, where) : liveness(probe, where)),
      ]),
    ),
  );

const grace = "terminationGracePeriodSeconds";

function readiness(probe: Fields, path: string): readonly Problem[] {
  if (typeof probe[grace] !== "number") return [];
  return [{ path: below(path, grace), message: "is for liveness probes only" }];
}

function liveness(probe: Fields, path: string): readonly Problem[] {
  const { successThreshold } = probe;
  const seconds = probe[grace];
  return [
    ...(typeof successThreshold === "number" && successThreshold > 1
      ? [{ path: below(path, "successThreshold"), message: "must be 1 for a liveness probe" }]
      : []),
    ...(typeof seconds === "number" && seconds < 1
      ? [{ path: below(path, grace), message: `must be at least 1 (is ${seconds})` }]
      : []),
  ];
}

function negative(value: unknown, path: string): readonly Problem[] {
  if (typeof value !== "number" || value >= 0) return [];
  return [{ path, message: `must not be negative (is ${value})` }];
}
