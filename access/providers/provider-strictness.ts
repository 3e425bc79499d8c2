import { isAlias, isMap, isNode, isScalar, isSeq } from "yaml";

import { isRecord } from "../../api/fields.ts";
import { ContentError, providerDocument, type ProviderDocument } from "./provider-document.ts";
import { canonicalKeys } from "./provider-keys.ts";
import { foldedKey, providerFileKeys } from "./provider-schema.ts";

const maxDepth = 32;
const maxFindings = 50;
const usualKeys = /^[\w.-]{1,64}$/;
// Every plain object of JavaScript has these properties.
const inheritedKeys = ["__proto__", "constructor", "prototype"];

/**
 * Problems of a provider file that the controller tolerates, because Go does: duplicate keys and names, no providers, an `interactiveMode` that
 * needs a person, commands that are not plugins. Each problem has a field, its position and a sentence, and does not quote the text. `roots` are the
 * folders of the plugins; empty: unknown. Returns none for a file that the controller cannot read at all. Spec: security.md T-25 to T-27.
 */
export function providerStrictness(
  content: string,
  { format, roots }: { readonly format: "json" | "yaml"; readonly roots: readonly string[] },
): readonly string[] {
  try {
    const read = providerDocument(content, format);
    const nodeProblems = oddNodes(read);
    if (nodeProblems.length > 0) return nodeProblems.slice(0, maxFindings);
    return wrongProviders(read, roots).slice(0, maxFindings);
  } catch (error) {
    if (error instanceof ContentError || error instanceof RangeError) return [];
    throw error;
  }
}

/** Finds aliases, duplicate and forbidden keys, and deep nesting. Not recursive, so that deep nesting cannot overflow the stack. */
function oddNodes({ document, positionOf }: ProviderDocument): readonly string[] {
  const found: string[] = [];
  const rest: (readonly [node: unknown, depth: number])[] = [[document.contents, 1]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [node, depth] = next;
    if (isAlias(node)) {
      found.push(`an alias (${positionOf(node)}): write out what it stands for`);
      continue;
    }
    if (!isMap(node) && !isSeq(node)) continue;
    if (depth > maxDepth) {
      found.push(`nested deeper than ${maxDepth} levels (${positionOf(node)})`);
      continue;
    }
    if (isSeq(node)) {
      for (const item of node.items) rest.push([item, depth + 1]);
      continue;
    }
    const seen = new Set<string>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const problem = keyProblem(name, seen);
      if (problem !== undefined) found.push(`${problem} (${positionOf(key)})`);
      seen.add(foldedKey(name));
      if (isNode(value)) rest.push([value, depth + 1]);
    }
  }
  return found;
}

function keyProblem(name: string, seen: ReadonlySet<string>): string | undefined {
  if (inheritedKeys.includes(name)) return `the key ${name} is not allowed`;
  if (!seen.has(foldedKey(name))) return undefined;
  return `the key ${usualKeys.test(name) ? name : "(a key)"} occurs more than once`;
}

type Problem = readonly [field: string, what: string];

function wrongProviders(source: ProviderDocument, roots: readonly string[]): readonly string[] {
  const { value, positionOf } = canonicalKeys(source, providerFileKeys);
  const at = (path: string, what: string): string => `${path} (${positionOf(path)}): ${what}`;
  const listed = isRecord(value) ? value["providers"] : undefined;
  const providers: readonly unknown[] = Array.isArray(listed) ? listed : [];
  if (providers.length === 0) return [at("providers", "must hold at least one provider")];
  const names = new Set<unknown>();
  return providers.flatMap((provider, index) => {
    if (!isRecord(provider)) return [];
    const { name } = provider;
    const isRepeated = names.has(name);
    names.add(name);
    const problems: readonly Problem[] = [
      ...(name === undefined || name === "" ? [["name", "is missing"] as const] : []),
      ...(isRepeated ? [["name", "is that of a provider before it"] as const] : []),
      ...execProblems(provider["execConfig"], roots),
    ];
    return problems.map(([field, what]) => at(`providers[${index}].${field}`, what));
  });
}

function execProblems(exec: unknown, roots: readonly string[]): readonly Problem[] {
  if (!isRecord(exec)) return [];
  const { interactiveMode = "", command } = exec;
  const problem =
    typeof command === "string" && command !== "" ? commandProblem(command, roots) : undefined;
  return [
    ...(["", "Never", "IfAvailable"].includes(String(interactiveMode))
      ? []
      : [
          [
            "execConfig.interactiveMode",
            "must be Never or IfAvailable, because nobody can answer",
          ] as const,
        ]),
    ...(problem === undefined ? [] : [["execConfig.command", problem] as const]),
  ];
}

const builtIn = ["builtin:secretreader", "builtin:kubeconfig-secretreader"];
const interpreters =
  /^(?:(?:ba|da|z|k|mk|c|tc|fi|a|pwsh|r|s)?sh|busybox|toybox|env|xargs|nohup|sudo|su|ssh|curl|wget|nc|awk|gawk|sed|perl|ruby|php|lua|node|nodejs|deno|bun|java|pwsh|tclsh|(?:python|pypy)[\d.]*)(?:\.exe)?[\d.]*$/;

function commandProblem(command: string, roots: readonly string[]): string | undefined {
  if (command.startsWith("builtin:")) {
    return builtIn.includes(command) ? undefined : `must be one of ${builtIn.join(", ")}`;
  }
  if (!command.startsWith("/")) return "must be an absolute path";
  const parts = command.split("/").slice(1);
  if (parts.includes("..") || parts.includes(".")) return "must not lead through '.' or '..'";
  const name = parts.at(-1) ?? "";
  if (name === "") return "must name a plugin, not a folder";
  if (interpreters.test(name)) return "must be a plugin, not a shell or an interpreter";
  if (roots.length === 0) return undefined;
  const plain = roots.map((root) => root.replace(/\/+$/, ""));
  if (plain.includes(command)) return "must name a plugin, not the folder of the plugins";
  return plain.some((root) => command.startsWith(`${root}/`))
    ? undefined
    : "must be below a folder of plugins";
}
