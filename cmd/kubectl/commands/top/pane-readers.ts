import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type CommandEntry, limitsOf, timesOf } from "../../action.ts";
import { failureOf } from "../../failure.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import { statusDetailText } from "../../fleet/status-text.ts";
import { status } from "../../fleet/status.ts";
import { nextStep } from "../../output/notes.ts";
import { isCommand, renderFailure, withHub } from "../../output/steps.ts";
import { orNone } from "../../output/table.ts";
import { argsOf } from "./top-frame.ts";
import type { ReadPane } from "./top-model.ts";
import type { PaneName } from "./top-view.ts";

/** Reads pages as the commands of the same names print them, each within `--timeout`. */
export function paneReader(commands: readonly CommandEntry[], fleet: Fleet): ReadPane {
  return async (page, item, signal) => {
    const deadline = withTimeout(systemClock, fleet.flags.timeoutMs, signal);
    try {
      return page === "detail"
        ? await readDetail(item, fleet, deadline)
        : await printToText(page, item, { commands, fleet }, deadline);
    } catch (error) {
      return renderFailure(failureOf(error));
    }
  };
}

async function readDetail(
  { kind, namespace, name }: StatusItem,
  fleet: Fleet,
  signal: AbortSignal,
): Promise<string> {
  const { commands, flags, now, reachesSpokes: live } = fleet;
  const selection = { namespace, kinds: [kind], names: [{ kind, name }] };
  const limits = limitsOf(flags, undefined);
  const deps = { access: await fleet.lastingAccess(), now };
  const report = await status({ selection, live, limits }, deps, signal);
  const [item] = report.items;
  if (item === undefined) return `${kind} ${namespace}/${name} is gone.`;
  const ages = timesOf(flags, fleet.asInput({}).terminal);
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
  { commands, fleet }: { readonly commands: readonly CommandEntry[]; readonly fleet: Fleet },
  signal: AbortSignal,
): Promise<string> {
  const { env, flags, now, reachesSpokes: live } = fleet;
  let text = "";
  const write = (part: string) => (text += part);
  // A walk is told as on a terminal: the root cause first.
  const stdout = { write, isTTY: page === "diagnose" };
  const [name = ""] = argsOf(item);
  const { namespace } = item;
  const input = {
    args: [name],
    flags: { ...unfiltered(flags), namespace },
    options: live ? {} : { live },
    terminal: { args: [], env, now, stdout, stderr: { write } },
  };
  const entry = commands.find((one) => one.name === page);
  if (entry === undefined) throw new Error(`There is no command ${page}`);
  const action = await entry.load();
  await action(input, signal);
  return text === "" ? "Nothing was found." : text;
}

/** The installation is named, so the other selecting flags must not hide it. */
function unfiltered(flags: Flags): Flags {
  return {
    ...flags,
    quiet: false,
    selector: undefined,
    cluster: undefined,
    on: undefined,
    failed: false,
    reason: undefined,
    color: "never",
    sortBy: undefined,
  };
}
