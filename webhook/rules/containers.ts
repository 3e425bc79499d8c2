import { keyProblem } from "./names.ts";
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

const decimal: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};
const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The amount that a Kubernetes quantity such as `250m` or `1Gi` stands for, as exactly as a number can; undefined when it is none. */
export function quantityOf(quantity: unknown): number | undefined {
  if (typeof quantity === "number") return quantity;
  if (typeof quantity !== "string" || quantity.length > 64) return undefined;
  const [, digits = "", suffix = ""] = /^([+-]?[\d.]+)(.*)$/.exec(quantity) ?? [];
  const value = digits === "" ? Number.NaN : Number(digits);
  const factor = factorOf(suffix);
  return Number.isNaN(value) || factor === undefined ? undefined : value * factor;
}

function factorOf(suffix: string): number | undefined {
  if (suffix === "") return 1;
  const power = binary.indexOf(suffix);
  if (power >= 0) return 1024 ** (power + 1);
  if (/^[eE][+-]?\d{1,3}$/.test(suffix)) return 10 ** Number(suffix.slice(1));
  return Object.hasOwn(decimal, suffix) ? decimal[suffix] : undefined;
}
