import { createHash } from "node:crypto";

const longestValue = 63;
const keptLength = 52;
const digestLength = 10;

/** The name of a component as the value of a label: itself up to 63 characters, else its first 52 and a hash of all of it. Security: T-60. */
export function nameLabelOf(name: string): string {
  if (name.length <= longestValue) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, digestLength);
  return `${name.slice(0, keptLength)}-${digest}`;
}
