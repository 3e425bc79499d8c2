import { delimiter } from "node:path";

import { UsageError } from "../errors.ts";
import type { RawFlags } from "../flags.ts";
import { type Setting, settings, variableOf } from "./known-settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Completes the flags of the command line: first from the environment, then from the settings file. Throws UsageError for a file that is not usable.
 */
export async function withSettings(raw: RawFlags, env: Environment): Promise<RawFlags> {
  const fromEnvironment = flagsOfEnvironment(env);
  const path = pathOf(env);
  const { readSettingsFile } = path === undefined ? none : await import("./settings-file.ts");
  const fromFile = path === undefined ? {} : await readSettingsFile(path, env);
  const merged = { ...fromFile, ...fromEnvironment, ...raw };
  // KUBECONFIG, the variable of kubectl, also wins over the file.
  const hasOwn = raw.kubeconfig ?? fromEnvironment.kubeconfig;
  const isByVariable = hasOwn === undefined && (env["KUBECONFIG"] ?? "") !== "";
  return isByVariable ? { ...merged, kubeconfig: undefined } : merged;
}

const none = { readSettingsFile: (): Promise<RawFlags> => Promise.resolve({}) };

/** Path of the settings file. Undefined without a home folder. */
function pathOf(env: Environment): string | undefined {
  const named = env["KNFLEET_CONFIG"] ?? "";
  if (named !== "") return named;
  const { XDG_CONFIG_HOME: config = "", HOME: home = "" } = env;
  const base = config === "" ? home && `${home}/.config` : config;
  return base === "" ? undefined : `${base}/knfleet/config.yaml`;
}

function flagsOfEnvironment(env: Environment): RawFlags {
  const entries = Object.entries(settings).flatMap(([name, { flag, is, alias }]) => {
    const variable = variableOf(name);
    const text = env[variable] ?? env[alias ?? ""] ?? "";
    return text === "" ? [] : [[flag, valueOf(text, is, variable)] as const];
  });
  return Object.fromEntries(entries);
}

function valueOf(text: string, is: Setting["is"], variable: string): unknown {
  if (is === "paths") return text.split(delimiter).filter((path) => path !== "");
  if (is !== "switch") return text;
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return undefined;
  throw new UsageError(`Invalid value "${text}" for ${variable}: want true or false`);
}
