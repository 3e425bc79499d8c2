import { delimiter } from "node:path";

import { UsageError } from "../errors.ts";
import type { RawFlags } from "../flags.ts";
import { type Setting, settings, variableOf } from "./known-settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags with what the environment and then the file say of those that the command line leaves out. Throws UsageError for a file that cannot
 * be used.
 */
export async function withSettings(raw: RawFlags, env: Environment): Promise<RawFlags> {
  const fromEnvironment = flagsOfEnvironment(env);
  const path = pathOf(env);
  const { settingsFile } = path === undefined ? none : await import("./settings-file.ts");
  const fromFile = path === undefined ? {} : await settingsFile(path, env);
  const merged = { ...fromFile, ...fromEnvironment, ...raw };
  // What the environment says in kubectl's own way wins over a file, too.
  const hasOwn = raw.kubeconfig ?? fromEnvironment.kubeconfig;
  const isSaid = hasOwn === undefined && (env["KUBECONFIG"] ?? "") !== "";
  return isSaid ? { ...merged, kubeconfig: undefined } : merged;
}

const none = { settingsFile: (): Promise<RawFlags> => Promise.resolve({}) };

/** Undefined where nothing says where a home is. */
function pathOf(env: Environment): string | undefined {
  const named = env["KNFLEET_CONFIG"] ?? "";
  if (named !== "") return named;
  const { XDG_CONFIG_HOME: config = "", HOME: home = "" } = env;
  const base = config === "" ? home && `${home}/.config` : config;
  return base === "" ? undefined : `${base}/knfleet/config.yaml`;
}

function flagsOfEnvironment(env: Environment): RawFlags {
  const found = Object.entries(settings).flatMap(([name, { flag, is, alias }]) => {
    const variable = variableOf(name);
    const text = env[variable] ?? env[alias ?? ""] ?? "";
    return text === "" ? [] : [[flag, valueOf(text, is, variable)] as const];
  });
  return Object.fromEntries(found);
}

function valueOf(text: string, is: Setting["is"], variable: string): unknown {
  if (is === "paths") return text.split(delimiter).filter((path) => path !== "");
  if (is !== "switch") return text;
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return undefined;
  throw new UsageError(`Invalid value "${text}" for ${variable}: want true or false`);
}
