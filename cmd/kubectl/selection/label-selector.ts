import { UsageError } from "../errors.ts";

/** One condition of a selector. */
type Requirement = (labels: Readonly<Record<string, string>>) => boolean;

/** Parses a selector as kubectl does: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, separated by commas. All conditions have to hold. Throws UsageError. */
export function labelMatcher(selector: string, flag: string): Requirement {
  const requirements = partsOf(selector).map((part) => requirementOf(part, flag));
  return (labels) => requirements.every((holds) => holds(labels));
}

/** The parts between commas, except commas in brackets. */
function partsOf(selector: string): readonly string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

const key = "[A-Za-z0-9](?:[\\w./-]*[A-Za-z0-9])?";
const setPattern = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equalPattern = new RegExp(`^(${key})\\s*(==|=|!=)\\s*([^=!,()\\s]*)$`);
const presencePattern = new RegExp(`^(!?)\\s*(${key})$`);

function requirementOf(part: string, flag: string): Requirement {
  const [, inKey, operator, list = ""] = setPattern.exec(part) ?? [];
  if (inKey !== undefined) {
    const values = list.split(",").map((value) => value.trim());
    const isIn: Requirement = (labels) => values.includes(labels[inKey] ?? "\u0000");
    return operator === "in" ? isIn : (labels) => !isIn(labels);
  }
  const [, equalKey, sign, value = ""] = equalPattern.exec(part) ?? [];
  if (equalKey !== undefined) {
    return (labels) => (labels[equalKey] === value) === (sign !== "!=");
  }
  const [, not, name] = presencePattern.exec(part) ?? [];
  if (name === undefined) {
    throw new UsageError(`Invalid value "${part}" for ${flag}: want KEY=VALUE`);
  }
  return (labels) => Object.hasOwn(labels, name) === (not === "");
}
