/** One condition of a selector. */
type Requirement = (labels: Readonly<Record<string, string>>) => boolean;

/** A part of a label selector is none. */
export class LabelSelectorError extends Error {
  override readonly name = "LabelSelectorError";
  readonly part: string;

  constructor(part: string) {
    super(`"${part}" is no label selector`);
    this.part = part;
  }
}

/** Parses a selector as kubectl does: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, separated by commas. All conditions have to hold. Throws LabelSelectorError. */
export function parseLabelSelector(selector: string): Requirement {
  const requirements = partsOf(selector).map(requirementOf);
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

function requirementOf(part: string): Requirement {
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
  if (name === undefined) throw new LabelSelectorError(part);
  return (labels) => Object.hasOwn(labels, name) === (not === "");
}
