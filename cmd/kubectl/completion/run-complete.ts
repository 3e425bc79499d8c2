import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { commandGroups, commandTable } from "../command-table.ts";
import { commonOptions, connectionOptions } from "../common-options.ts";
import { type Flags, type RawFlags, readFlags } from "../flags.ts";
import { MalformedObjects } from "../hub/malformed-objects.ts";
import { parseDurationMs } from "../output/duration.ts";
import type { Terminal } from "../output/terminal.ts";
import { createProgram, normalizedArgs, switchesOf } from "../program.ts";
import { namespaceOf } from "../selection/hub-namespace.ts";
import { withSettings } from "../settings/settings.ts";
import { completionText, directives, fixed, type Offer, offerAt, type Word } from "./complete.ts";

const defaultBudgetMs = 1_000;

/**
 * Prints the words that can stand in place of the last word. Never fails, and writes nothing to standard error. Names that are not found within a
 * second, or `KNFLEET_COMPLETION_TIMEOUT`, are not offered.
 */
export async function runComplete(
  given: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  // PowerShell cannot pass an empty word to every program.
  const words = given.map((word) => (word === '""' ? "" : word));
  const common = [...commonOptions(), ...connectionOptions()];
  const offer = offerAt(words, { entries: commandTable(), groups: commandGroups(), common });
  const deadline = withTimeout(systemClock, budgetMsOf(terminal), signal);
  const found = await withNames(offer, { words, terminal }, deadline).catch(() => nothing);
  // Cobra's scripts want the value of `--flag=` alone.
  const [flag = ""] = /^--[\w-]+=/.exec(words.at(-1) ?? "") ?? [];
  const offered = found.words.map(([word, text]): Word => [word.slice(flag.length), text]);
  terminal.stdout.write(completionText(offered, found.directive));
}

function budgetMsOf({ env }: Terminal): number {
  const text = env["KNFLEET_COMPLETION_TIMEOUT"] ?? "";
  try {
    return text === "" ? defaultBudgetMs : parseDurationMs(text, "KNFLEET_COMPLETION_TIMEOUT");
  } catch {
    // Completion reports no error, not even of a wrong setting.
    return defaultBudgetMs;
  }
}

type Fixed = Extract<Offer, { readonly kind: "words" }>;

const nothing: Fixed = { kind: "words", words: [], directive: directives.noFiles };

async function withNames(
  offer: Offer,
  { words, terminal }: { readonly words: readonly string[]; readonly terminal: Terminal },
  signal: AbortSignal,
): Promise<Fixed> {
  if (offer.kind === "words") return offer;
  const { of, prefix } = offer;
  const flags = await readTypedFlags(words, terminal);
  const names = await findNames(of, { flags, terminal }, signal);
  return fixed(
    names.map(([name, text]): Word => [`${prefix}${name}`, text]),
    words.at(-1) ?? "",
  );
}

async function findNames(
  of: Extract<Offer, { readonly kind: "names" }>["of"],
  { flags, terminal }: { readonly flags: Flags; readonly terminal: Terminal },
  signal: AbortSignal,
): Promise<readonly Word[]> {
  if (of === "reasons") {
    const { explain, explainable } = await import("../findings/words/explain.ts");
    return explainable().map((name) => [name, explain(name)[0]?.title ?? ""]);
  }
  const { env } = terminal;
  if (of === "contexts") {
    const { contextNames } = await import("../../../access/hub/kubeconfig.ts");
    const { kubeconfig } = flags.hub;
    const named = kubeconfig === undefined ? {} : { kubeconfig };
    return contextNames({ environment: env, ...named }).map((name) => [name, ""]);
  }
  // Not a Fleet: what reads clusters would be a fifth of the code that each press of the key loads.
  const { openClusterAccess } = await import("../spokes/open-cluster-access.ts");
  const { listHubNames } = await import("./names.ts");
  await using access = await openClusterAccess(flags, { env, spokes: false }, signal);
  // What has not the form of its kind hides no other name.
  const lenient = { ...access, malformed: new MalformedObjects() };
  return await listHubNames(of, { access: lenient, namespace: namespaceOf(flags, access) }, signal);
}

/** The flags in front of the last word, as far as they can be read. */
async function readTypedFlags(words: readonly string[], terminal: Terminal): Promise<Flags> {
  const program = createProgram({ ...terminal, stdout: silent, stderr: silent }, () =>
    Promise.resolve(0),
  );
  const switches = switchesOf(program.options);
  const before = words.slice(0, -1);
  // A flag whose value is being typed has no value yet; a flag with `=` has one.
  const waiting = before.at(-1) ?? "";
  const isWaiting = /^-[^=]*$/.test(waiting) && !switches.includes(waiting);
  const args = normalizedArgs(isWaiting ? before.slice(0, -1) : before, switches);
  program.parseOptions([...args]);
  const { env } = terminal;
  return readFlags(await withSettings(program.opts<RawFlags>(), env), env);
}

const silent = { write: () => true };
