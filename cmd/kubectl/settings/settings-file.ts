import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";

import { isRecord } from "../../../api/fields.ts";
import { UsageError } from "../errors.ts";
import type { RawFlags } from "../flags.ts";
import { words } from "../output/steps.ts";
import { type Setting, settings } from "./known-settings.ts";

const maxBytes = 64 * 1024;
const othersMayWrite = 0o002;

/**
 * Reads the flags that a settings file sets. A missing file sets none. Paths are relative to its folder. Throws UsageError for a file that everybody may
 * write, because it names programs to run, and for a file with other content than settings.
 */
export async function readSettingsFile(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RawFlags> {
  const text = await readText(path);
  if (text === undefined) return {};
  const document = await parseYaml(text, path);
  if (!isRecord(document)) throw refused(path, "holds no map of settings");
  const entries = Object.entries(document).map(([name, value]) => {
    const setting = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (setting === undefined) {
      throw refused(path, `knows no ${JSON.stringify(name)}`, [
        `Settings are ${Object.keys(settings).join(", ")}`,
      ]);
    }
    return [setting.flag, valueOf(value, { name, is: setting.is, path, env })];
  });
  return Object.fromEntries(entries);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const { mode, size } = await stat(path);
    if (size > maxBytes) throw refused(path, "is larger than 64 KiB");
    if (process.platform !== "win32" && (mode & othersMayWrite) !== 0) {
      throw refused(path, "can be written by everybody", [words("chmod", "o-w", path)]);
    }
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (isMissing(error)) return undefined;
    throw refused(path, `cannot be read: ${error instanceof Error ? error.message : ""}`);
  }
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR"].includes(String(error.code))
  );
}

async function parseYaml(text: string, path: string): Promise<unknown> {
  // Loaded on demand, because most users have no settings file.
  const { parse } = await import("yaml");
  try {
    // An empty file sets nothing.
    return parse(text, { maxAliasCount: 0 }) ?? {};
  } catch (error) {
    const [line = ""] = (error instanceof Error ? error.message : "").split("\n");
    throw refused(path, `is no YAML: ${line}`);
  }
}

interface SettingContext {
  readonly name: string;
  readonly is: Setting["is"];
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

function valueOf(value: unknown, context: SettingContext): unknown {
  const { name, is, path } = context;
  if (is === "switch" && typeof value === "boolean") return value || undefined;
  if (is === "paths" && Array.isArray(value)) {
    return value.map((entry: unknown) => pathOf(textIn(entry, context), context));
  }
  if (is === "path") return pathOf(textIn(value, context), context);
  if (is === "text") return textIn(value, context);
  throw refused(path, `${name} is not ${is === "switch" ? "true or false" : "a list"}`);
}

function textIn(value: unknown, { name, path }: SettingContext): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw refused(path, `${name} is no text`);
}

function pathOf(text: string, { path, env }: SettingContext): string {
  const home = env["HOME"] ?? "";
  if (text.startsWith("~/") && home !== "") return join(home, text.slice(2));
  return isAbsolute(text) ? text : join(dirname(path), text);
}

function refused(path: string, problem: string, next: readonly string[] = []): UsageError {
  return new UsageError(`The settings in ${path}: ${problem}`, next);
}
