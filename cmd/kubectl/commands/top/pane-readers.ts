import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type ActionInput, timesOf } from "../../action.ts";
import { failureOf } from "../../failure.ts";
import type { Flags } from "../../flags.ts";
import { nextStep } from "../../output/notes.ts";
import { type Commands, isCommand, renderFailure, withHub } from "../../output/steps.ts";
import { orNone } from "../../output/table.ts";
import type { Terminal } from "../../output/terminal.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import { diagnose } from "../diagnose/command.ts";
import { events } from "../events/command.ts";
import { logs } from "../logs/command.ts";
import type { StatusItem } from "../status/status-item.ts";
import { statusDetailText } from "../status/status-text.ts";
import { status } from "../status/status.ts";
import { argsOf } from "./top-frame.ts";
import type { ReadPane } from "./top-model.ts";
import type { PaneName } from "./top-view.ts";

interface PaneOptions {
  readonly flags: Flags;
  readonly terminal: Terminal;
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly live: boolean;
  readonly commands: Commands;
}

/** Reads pages as the commands of the same names print them, each within `--timeout`. */
export function paneReader(options: PaneOptions): ReadPane {
  return async (page, item, signal) => {
    const deadline = withTimeout(systemClock, options.flags.timeoutMs, signal);
    try {
      return page === "detail"
        ? await readDetail(item, options, deadline)
        : await printToText(page, item, { ...options, signal: deadline });
    } catch (error) {
      return renderFailure(failureOf(error));
    }
  };
}

async function readDetail(
  { kind, namespace, name }: StatusItem,
  { flags, terminal, access, limits, live, commands }: PaneOptions,
  signal: AbortSignal,
): Promise<string> {
  const selection = { namespace, kinds: [kind], names: [{ kind, name }] };
  const deps = { access, now: terminal.now };
  const report = await status({ selection, live, limits }, deps, signal);
  const [item] = report.items;
  if (item === undefined) return `${kind} ${namespace}/${name} is gone.`;
  const ages = timesOf(flags, terminal);
  const { cluster, version, wantedVersion, createdAt, hub, live: said } = item;
  const facts: readonly (readonly [string, string])[] = [
    ["Cluster", cluster === null ? "<hub>" : `${cluster.namespace}/${cluster.name}`],
    ["Server", orNone(said.server)],
    ["Provider", orNone(said.provider)],
    ["Kubernetes", orNone(said.kubernetesVersion)],
    ["Version", `${orNone(version)}, wanted: ${orNone(wantedVersion)}`],
    ["Age", ages(createdAt)],
    ["Hub", sentence(hub)],
    ["Live", sentence(said)],
    ...(item.severity === "ok"
      ? []
      : [
          [isCommand(nextStep(item)) ? "Next" : "Hint", withHub(nextStep(item), commands)] as const,
        ]),
  ];
  const head = facts.map(([label, text]) => `${`${label}:`.padEnd(12)}${text}\n`).join("");
  return (
    head +
    (item.detail === null
      ? ""
      : statusDetailText(item, item.detail, {
          times: ages,
          paint: (text) => text,
          width: undefined,
        }))
  );
}

function sentence({
  state,
  reason,
  message,
}: {
  readonly state: string;
  readonly reason: string | null;
  readonly message: string | null;
}): string {
  return [state, reason, message].filter((part) => part !== null && part !== "").join(": ");
}

/** The output of another command about one installation: stdout and stderr in the order of writing. */
async function printToText(
  page: Exclude<PaneName, "detail">,
  item: StatusItem,
  { flags, terminal, live, signal }: PaneOptions & { readonly signal: AbortSignal },
): Promise<string> {
  let text = "";
  const write = (part: string) => (text += part);
  // A walk is told as on a terminal: the root cause first.
  const stdout = { write, isTTY: page === "diagnose" };
  const { env, now } = terminal;
  const [name = ""] = argsOf(item);
  const { namespace } = item;
  const input = {
    args: [name],
    flags: { ...unfiltered(flags), namespace },
    options: live ? {} : { live },
    terminal: { args: [], env, now, stdout, stderr: { write } },
  };
  await actions[page](input, signal);
  return text === "" ? "Nothing was found." : text;
}

/** The installation is named, so the other selecting flags must not hide it. */
function unfiltered(flags: Flags): Flags {
  return {
    ...flags,
    selector: undefined,
    cluster: undefined,
    on: undefined,
    failed: false,
    reason: undefined,
    color: "never",
    sortBy: undefined,
  };
}

const actions: Readonly<
  Record<
    Exclude<PaneName, "detail">,
    (input: ActionInput<object>, signal: AbortSignal) => Promise<unknown>
  >
> = {
  diagnose: async (input, signal) => (await diagnose.load())(input, signal),
  events: async (input, signal) => (await events.load())(input, signal),
  logs: async (input, signal) => (await logs.load())(input, signal),
};
