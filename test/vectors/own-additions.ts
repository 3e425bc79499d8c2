import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";
import type { ResolveOutcome } from "./access-resolution.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What is wrong when arguments and variables are not those of the file and this profile alone; else the empty text. */
export function ownAdditionsProblem(
  one: AccessCase,
  { access, error }: ResolveOutcome,
  index: number,
): string {
  if (access === undefined) return `Is refused: ${error?.message ?? "no message"}`;
  const provider = fieldsOf(
    listOf(fieldsOf(fieldsOf(one.recorded["load"])["loaded"])["providers"])
      .map(fieldsOf)
      .find(({ name }) => name === access.provider),
  );
  const expected = [argsOf(provider, one, index), envOf(provider, one, index)].map(String);
  const env = access.plan.env.map(({ name, value }) => `${name}=${value}`);
  const actual = [access.plan.args, env].map(String);
  const isRight = expected.join(" ") === actual.join(" ");
  return isRight ? "" : `Has ${actual.join(" and ")}, not ${expected.join(" and ")}`;
}

function argsOf(provider: Fields, one: AccessCase, index: number): readonly unknown[] {
  const configured = listOf(fieldsOf(provider["execConfig"])["args"]);
  if (provider["profileSourcedCLIArgsPolicy"] !== "Append") return configured;
  const given = extensionOf(one, index, "additional-args");
  const added = Array.isArray(given) ? given : fieldsOf(given)["args"];
  return [...configured, ...listOf(added).map(String)];
}

function envOf(provider: Fields, one: AccessCase, index: number): readonly string[] {
  const configured = listOf(fieldsOf(provider["execConfig"])["env"]).map(fieldsOf);
  const policy = textOf(provider["profileSourcedEnvVarsPolicy"]);
  const isUsed = policy !== "" && policy !== "Ignore";
  const added = isUsed ? fieldsOf(extensionOf(one, index, "additional-envs")) : {};
  const names = configured.map(({ name }) => textOf(name));
  const kept = configured.map(({ name, value }) => {
    const own = policy === "Replace" ? added[textOf(name)] : undefined;
    return `${textOf(name)}=${String(own ?? value)}`;
  });
  const fresh = Object.keys(added).filter((name) => !names.includes(name));
  return [...kept, ...fresh.toSorted().map((name) => `${name}=${String(added[name])}`)];
}

function extensionOf(one: AccessCase, index: number, suffix: string): unknown {
  const extensions = listOf(clusterOf(one, index)["extensions"]).map(fieldsOf);
  return extensions.find(({ name }) => textOf(name).endsWith(suffix))?.["extension"];
}

/** `cluster` of the first access entry of the profile that is resolved as number `index`. */
export function clusterOf({ input }: AccessCase, index: number): Fields {
  const sequence = listOf(input["sequence"]);
  const profile = listOf(input["profiles"])[sequence.length > 0 ? Number(sequence[index]) : index];
  const [entry] = listOf(fieldsOf(fieldsOf(profile)["status"])["accessProviders"]);
  return fieldsOf(fieldsOf(entry)["cluster"]);
}
