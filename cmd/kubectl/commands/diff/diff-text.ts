import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { byText } from "../../../../api/fields.ts";
import { groupOf, type Manifest } from "../../../../api/kubernetes.ts";
import type { ObjectChange } from "../../compare/compare.ts";
import { yamlOfObject } from "../../compare/objects-text.ts";
import { objectDiff } from "../../compare/unified-diff.ts";
import { UsageError } from "../../errors.ts";
import { documentOutput, type Terminal } from "../../output/terminal.ts";
import { makePrivateFolder } from "../../spokes/private-folder.ts";

/** Changes of the objects of one cluster, with the labels of both sides. */
export interface NamedChanges {
  readonly labels: readonly [live: string, wanted: string];
  /** In front of file names. */
  readonly prefix: string;
  readonly changes: readonly ObjectChange[];
}

/** The changes as unified diffs, safe for a terminal. */
export function diffText(blocks: readonly NamedChanges[]): string {
  return blocks
    .map(({ labels: [left, right], changes }) =>
      objectDiff(
        { label: left, objects: changes.flatMap(({ live }) => live ?? []) },
        { label: right, objects: changes.flatMap(({ wanted }) => wanted ?? []) },
        textOf,
      ),
    )
    .join("");
}

/** One object as the text that is compared. */
function textOf(object: Manifest): string {
  return harmless(yamlOfObject(sorted(object)));
}

// Both sides get the same order of fields, because they come from different sources.
function sorted({ apiVersion, kind, metadata, ...rest }: Manifest): Manifest {
  return { apiVersion, kind, metadata: byName(metadata), ...byName(rest) };
}

function byName<Value>(value: Value): Value;
function byName(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => byName(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(byText(([key]) => key));
  return Object.fromEntries(entries.map(([name, one]) => [name, byName<unknown>(one)]));
}

/** A text in which every control character but line breaks and tabs is a space. */
function harmless(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ");
}

/** The program of `KUBECTL_EXTERNAL_DIFF` with those arguments that kubectl accepts: of letters, digits, `-` and `=`. Undefined without the variable. */
export function externalDiff(env: Terminal["env"]): readonly [string, ...string[]] | undefined {
  const [command, ...args] = (env["KUBECTL_EXTERNAL_DIFF"] ?? "").split(/\s+/).filter(Boolean);
  if (command === undefined) return undefined;
  return [command, ...args.filter((arg) => /^[a-zA-Z0-9=-]+$/.test(arg))];
}

/**
 * Writes both sides into two private folders, lets the program compare them, and removes them. Throws UsageError when the program cannot be started, or
 * ends with a code above 1, as kubectl does.
 */
export async function runExternalDiff(
  [command, ...args]: readonly [string, ...string[]],
  { blocks, terminal }: { readonly blocks: readonly NamedChanges[]; readonly terminal: Terminal },
  signal: AbortSignal,
): Promise<void> {
  await using folder = await makePrivateFolder();
  const [live, wanted] = [join(folder.path, "LIVE"), join(folder.path, "RENDERED")];
  await Promise.all([live, wanted].map((path) => mkdir(path, { mode: 0o700 })));
  for (const { prefix, changes } of blocks) {
    for (const change of changes) {
      await writeSide(live, prefix, change.live);
      await writeSide(wanted, prefix, change.wanted);
    }
  }
  await run([command, ...args, live, wanted], terminal, signal);
}

async function writeSide(
  folder: string,
  prefix: string,
  object: Manifest | undefined,
): Promise<void> {
  if (object === undefined) return;
  const { apiVersion, kind, metadata } = object;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  const parts = [prefix, groupOf(apiVersion), version, kind, metadata.namespace, metadata.name];
  const name = parts.filter((part) => part !== undefined && part !== "").join(".");
  const path = join(folder, name.replaceAll(/[/\\\0]/g, "."));
  await writeFile(path, textOf(object), { mode: 0o600 });
}

async function run(
  [command = "", ...args]: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { env, stdout, stderr } = terminal;
  const isTerminal = stdout.isTTY === true;
  // The program of the user may paint.
  const output = documentOutput(terminal);
  const child = spawn(command, args, {
    env,
    stdio: isTerminal ? "inherit" : ["ignore", "pipe", "pipe"],
    signal,
  });
  child.stdout?.setEncoding("utf8").on("data", (text: string) => output.write(text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr.write(text));
  const [code] = await ended(child, command, signal);
  if (code === 0 || code === 1) return;
  throw new UsageError(`KUBECTL_EXTERNAL_DIFF: ${command} failed with exit code ${String(code)}`);
}

async function ended(
  child: ReturnType<typeof spawn>,
  command: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  try {
    return await once(child, "close");
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(`KUBECTL_EXTERNAL_DIFF: ${command} cannot be started (${code})`);
  }
}
