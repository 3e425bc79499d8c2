import { recordAt } from "../../api/fields.ts";
import { keyProblem } from "./names.ts";
import {
  below,
  type Check,
  elementsOf,
  type Fields,
  problemAt,
  type Problem,
  problemIf,
  resourcesOf,
  quoteValue,
  workloadsOf,
} from "./rule.ts";

/** Requests and limits that no cluster would take. Whether a request fits its limit depends on the release, too: see `rendering`. */
export const resources: Check = ({ spec }) =>
  resourcesOf(spec).flatMap(([entry, path]) =>
    ["requests", "limits"].flatMap((field) =>
      Object.entries(recordAt(entry, field)).flatMap(([name, amount]) =>
        problemAt(below(path, field, name), amountProblem(name, amount)),
      ),
    ),
  );

const plain = ["cpu", "memory", "ephemeral-storage"];
const hugePages = "hugepages-";

function amountProblem(name: string, amount: unknown): string | undefined {
  const isKnown = plain.includes(name) || name.startsWith(hugePages);
  if (!isKnown && !name.includes("/")) {
    return `the resource must be cpu, memory, ephemeral-storage, hugepages-SIZE or one with a domain such as example.com/gpu (is ${quoteValue(name)})`;
  }
  const problem = isKnown ? undefined : keyProblem(name);
  if (problem !== undefined) return problem;
  const value = quantityOf(amount);
  if (value === undefined) return undefined;
  if (value < 0) return `must not be negative (is ${quoteValue(amount)})`;
  const isWhole = plain.includes(name) || Number.isInteger(value);
  return isWhole ? undefined : `must be a whole number (is ${quoteValue(amount)})`;
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
  const isGiven = typeof probe[grace] === "number";
  return problemIf(isGiven, below(path, grace), "is for liveness probes only");
}

function liveness(probe: Fields, path: string): readonly Problem[] {
  const { successThreshold, [grace]: seconds } = probe;
  return [
    ...problemIf(
      typeof successThreshold === "number" && successThreshold > 1,
      below(path, "successThreshold"),
      "must be 1 for a liveness probe",
    ),
    ...problemIf(
      typeof seconds === "number" && seconds < 1,
      below(path, grace),
      `must be at least 1 (is ${String(seconds)})`,
    ),
  ];
}

function negative(value: unknown, path: string): readonly Problem[] {
  const isNegative = typeof value === "number" && value < 0;
  return problemIf(isNegative, path, `must not be negative (is ${String(value)})`);
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

/** The number that a Kubernetes quantity such as `250m` or `1Gi` stands for; undefined when the value is no quantity. */
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
