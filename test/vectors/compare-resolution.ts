import { isDeepStrictEqual } from "node:util";

import { parseExactJson } from "../../access/json.ts";
import { parseProviderFile } from "../../access/providers/provider-config.ts";
import type { ProviderFile } from "../../access/providers/provider-config.ts";
import { FleetError } from "../../api/errors.ts";
import { type AccessCase, fieldsOf, listOf, textOf } from "./access-cases.ts";
import { refusalRule } from "./access-differences.ts";
import {
  isProfile,
  loadedFile,
  profileSequence,
  resolveCase,
  type ResolveOutcome,
  shownAccess,
  sortedKeys,
} from "./access-resolution.ts";
import type { Difference } from "./compare-render.ts";
import { ownAdditionsProblem } from "./own-additions.ts";
import { wantedOf, type Wanted } from "./wanted-access.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Everything in which loading and resolving differs from the recording, or from what is wanted in place of it. */
export async function resolutionDifferences(
  one: AccessCase,
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  const wanted = wantedOf(one);
  const file = await loadedFile(one, signal);
  const load = fieldsOf(one.recorded["load"]);
  if (file instanceof FleetError) {
    return "error" in load && !wanted.loads ? [] : [wrong(`The file is refused: ${file.message}`)];
  }
  const profiles = profileSequence(one);
  const outcomes = profiles.map((profile) => outcomeOf(profile, file));
  if ("error" in load && !wanted.loads) return refusedByParts(file, outcomes);
  const recorded = listOf(one.recorded["resolve"]);
  const found = outcomes.flatMap((outcome, index) => {
    const recordedOne = fieldsOf(recorded[index]);
    return resolveDifferences(outcome, { one, wanted, recorded: recordedOne, index });
  });
  return [...found, ...wanted.additions(file, outcomes).map(wrong)];
}

function outcomeOf(profile: unknown, file: ProviderFile): ResolveOutcome {
  return isProfile(profile) ? resolveCase(profile, file) : { relaxed: [] };
}

/** Where Go refuses the whole file, only the broken provider is refused here. */
function refusedByParts(
  file: ProviderFile,
  outcomes: readonly ResolveOutcome[],
): readonly Difference[] {
  const isRefused =
    file.providers.some(({ problem }) => problem !== undefined) &&
    outcomes.every(({ error }) => error !== undefined);
  if (isRefused) return [{ defect: "2.2", text: "only the provider is refused" }];
  return [wrong("The file is accepted")];
}

interface Expected {
  readonly one: AccessCase;
  readonly wanted: Wanted;
  readonly recorded: Fields;
  readonly index: number;
}

function resolveDifferences(
  outcome: ResolveOutcome,
  { one, wanted, recorded, index }: Expected,
): readonly Difference[] {
  const relaxed = outcome.relaxed.map((defect) => ({ defect, text: "a rule of ours" }));
  const own = wanted.judge(outcome, index);
  if (own !== undefined) return own === "" ? [] : [wrong(own)];
  const config = fieldsOf(recorded["config"]);
  const isRefused = !("config" in recorded) || "error" in fieldsOf(config["client"]);
  if (isRefused) {
    return outcome.error === undefined ? [wrong(`Number ${index} is resolved`)] : relaxed;
  }
  return [...relaxed, ...configDifferences(outcome, config, { one, index })];
}

function configDifferences(
  outcome: ResolveOutcome,
  config: Fields,
  { one, index }: Pick<Expected, "one" | "index">,
): readonly Difference[] {
  const { access, error } = outcome;
  if (access === undefined) {
    const text = `Number ${index} is refused: ${error?.message ?? "no message"}`;
    return [{ defect: refusalRule(error, config, one), text }];
  }
  const different = accessDifferences(shownAccess(access), shownConfig(config));
  // What the reference carried over from an earlier profile, or from an earlier time (D1, D2).
  const isCarried = index > 0 && different.every(({ key }) => ["args", "env"].includes(key));
  if (different.length > 0 && isCarried && ownAdditionsProblem(one, outcome, index) === "") {
    return [{ defect: "R23", text: "nothing is carried over" }];
  }
  // Of a variable that the file has twice Go takes the last value, or the first one when a profile adds any; here it is always the last.
  const isTwice = different.every(({ key }) => key === "env") && hasVariableTwice(one);
  if (different.length > 0 && isTwice) {
    return [{ defect: "env twice", text: "the last value counts" }];
  }
  return different.map(({ text }) => wrong(`Number ${index}: ${text}`));
}

function accessDifferences(
  actual: Fields,
  expected: Fields,
): readonly { readonly key: string; readonly text: string }[] {
  return Object.keys(expected)
    .filter((key) => !isDeepStrictEqual(expected[key], actual[key]))
    .map((key) => ({
      key,
      text: `${key} is ${JSON.stringify(actual[key])}, not ${JSON.stringify(expected[key])}`,
    }));
}

function hasVariableTwice({ input }: AccessCase): boolean {
  const source = { path: "case", format: "json" } as const;
  const { providers } = parseProviderFile(textOf(input["providerFile"]), source);
  return providers.some(({ exec }) => {
    const names = exec?.env.map(({ name }) => name) ?? [];
    return new Set(names).size < names.length;
  });
}

/** A recorded configuration in the form of `shownAccess`. */
function shownConfig(config: Fields): Fields {
  const exec = fieldsOf(config["exec"]);
  const client = fieldsOf(config["client"]);
  const proxy = fieldsOf(config["proxy"])["url"] ?? null;
  const provideClusterInfo = exec["provideClusterInfo"] === true;
  const env = listOf(exec["env"]).map(fieldsOf);
  return {
    podsURL: new URL(textOf(client["podsURL"])).href,
    caSha256: textOf(fieldsOf(config["tls"])["caDataSha256"]),
    // To Go and to us the two are the same.
    proxy: proxy === null ? null : proxyShown(textOf(proxy).replace(/^socks5h:/, "socks5:")),
    apiVersion: exec["apiVersion"],
    command: exec["command"],
    args: listOf(exec["args"]),
    // A variable without a name cannot be read by anybody; here it is left out.
    env: env
      .filter(({ name }) => name !== "")
      .map(({ name, value }) => `${textOf(name)}=${textOf(value)}`)
      .toSorted(),
    provideClusterInfo,
    config: provideClusterInfo ? configShown(exec["clusterConfigText"]) : "null",
  };
}

function configShown(text: unknown): string {
  if (typeof text !== "string" || text === "") return "null";
  return JSON.stringify(sortedKeys(parseExactJson(text)));
}

function proxyShown(text: string): string {
  const { protocol, hostname, port } = new URL(text);
  const usual = protocol === "https:" ? "443" : "80";
  return `${protocol}//${hostname.replace(/^\[|\]$/g, "")}:${port || usual}`;
}

function wrong(text: string): Difference {
  return { defect: undefined, text };
}
