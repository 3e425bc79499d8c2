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
