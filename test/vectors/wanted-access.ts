import type { ProviderFile } from "../../access/providers/provider-config.ts";
import { fileOf, rawProvider } from "../access/builders.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";
import { isProfile, resolveCase, type ResolveOutcome } from "./access-resolution.ts";
import { clusterOf, ownAdditionsProblem } from "./own-additions.ts";

/** What is wanted of a case in place of its recording, or beside it. */
export interface Wanted {
  /** The file loads, although Go refuses it. */
  readonly loads: boolean;
  /** What is wrong with an outcome, the empty text when it is right; undefined: the recording says what is right. */
  readonly judge: (outcome: ResolveOutcome, index: number) => string | undefined;
  /** What is missing of what is wanted beside the recording. */
  readonly additions: (
    file: ProviderFile,
    outcomes: readonly ResolveOutcome[],
  ) => readonly string[];
}

/** Reads the text of `wanted`. */
export function wantedOf(one: AccessCase): Wanted {
  const { text = "", kind = "" } = one.wanted ?? {};
  return {
    loads: /YAML accepted|only this provider becomes unusable|at load/.test(text),
    judge: (outcome, index) => (kind === "in addition" ? undefined : judge(one, outcome, index)),
    additions: (file, outcomes) => (kind === "in addition" ? additions(one, file, outcomes) : []),
  };
}

type Judge = (facts: {
  readonly one: AccessCase;
  readonly outcome: ResolveOutcome;
  readonly index: number;
  readonly match: RegExpExecArray;
}) => boolean;

/** The first whose words are in the text decides. */
const judges: readonly (readonly [RegExp, Judge])[] = [
  [/ProfileNotReady/, ({ outcome }) => outcome.relaxed.includes("R54")],
  [/with the rule clusterName|names the rule/, ({ one }) => followsRule(one)],
  [
    /only this provider becomes unusable/,
    // A provider whose name cannot be read has none.
    ({ outcome }) => /^(?:ProviderInvalid|NoMatchingProvider)$/.test(outcome.error?.code ?? ""),
  ],
  [
    /\b(?:Extension|Endpoint|Provider)Invalid\b/,
    ({ outcome, match }) => outcome.error?.code === match[0],
  ],
  [
    /^provider (\S+) is used/,
    ({ outcome: { access }, match }) =>
      access?.provider === match[1] && access?.skipped.length === 1,
  ],
  [
    /server name is used/,
    ({ one, outcome, index }) =>
      outcome.access?.endpoint.tlsServerName === clusterOf(one, index)["tls-server-name"],
  ],
  [/^YAML accepted/, ({ outcome }) => outcome.access !== undefined],
  [/./, ({ one, outcome, index }) => ownAdditionsProblem(one, outcome, index) === ""],
];

function judge(one: AccessCase, outcome: ResolveOutcome, index: number): string | undefined {
  const { text = "", kind = "" } = one.wanted ?? {};
  if (text === "") return undefined;
  if (kind === "optional" && outcome.error?.code === "ExtensionInvalid") return "";
  for (const [words, holds] of judges) {
    const match = words.exec(text);
    if (match === null) continue;
    return holds({ one, outcome, index, match }) ? "" : `Wanted: ${text}. ${shown(outcome)}`;
  }
  return undefined;
}

/** The same profile against a provider with the rule that the case is about. */
function followsRule(one: AccessCase): boolean {
  const [profile] = listOf(one.input["profiles"]);
  const rule =
    one.row === "R55"
      ? { requiredConfig: { clusterName: "name" } }
      : { allowedNamespaces: ["fleet"] };
  if (!isProfile(profile)) return false;
  return resolveCase(profile, fileOf(rawProvider("sr", rule))).relaxed.includes("R56");
}

function additions(
  { wanted, input }: AccessCase,
  file: ProviderFile,
  outcomes: readonly ResolveOutcome[],
): readonly string[] {
  const { text = "" } = wanted ?? {};
  const messages = outcomes.map(({ error }) => error?.message ?? "");
  const env = outcomes.flatMap(({ access }) => access?.plan.env.map(({ name }) => name) ?? []);
  const checks: readonly (readonly [RegExp, () => boolean, string])[] = [
    [/load warning/, () => file.warnings.length > 0, "There is no warning"],
    [
      /message names namespace\/name/,
      () => messages.every((message) => namesOf(input).every((name) => message.includes(name))),
      "The message names too little",
    ],
    [
      /message without content/,
      () => messages.every((message) => !/\[\d+ \d+|clusterName|extension:/.test(message)),
      "The message has content",
    ],
    [
      /ExtensionInvalid/,
      () => outcomes.every(({ error }) => error?.code === "ExtensionInvalid"),
      "It has another code",
    ],
    [/order:|A, X, Y, Z/, () => isSorted(env.slice(1)), "The order is another one"],
    [
      /deprecation notice/,
      () => outcomes.every(({ access }) => access?.source === "credentialProviders"),
      "The deprecated list is not noticed",
    ],
    [
      /installHint is kept/,
      () => outcomes.every(({ access }) => access?.plan.installHint !== ""),
      "The hint is lost",
    ],
  ];
  return checks.flatMap(([says, holds, missing]) => (says.test(text) && !holds() ? [missing] : []));
}

function namesOf(input: AccessCase["input"]): readonly string[] {
  const metadata = listOf(input["profiles"]).map((profile) =>
    fieldsOf(fieldsOf(profile)["metadata"]),
  );
  return metadata.map(({ namespace, name }) => `${textOf(namespace)}/${textOf(name)}`);
}

function isSorted(names: readonly string[]): boolean {
  return String(names) === String(names.toSorted());
}

function shown({ access, error }: ResolveOutcome): string {
  return access === undefined ? `Is refused: ${error?.message ?? "no message"}` : "Is resolved";
}
