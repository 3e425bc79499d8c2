import { UsageError } from "../../errors.ts";
import {
  filenameFlag,
  forTools,
  noLiveFlag,
  parsed,
  toggle,
  worded,
} from "../../main/command-flags.ts";
import { command, installationNames } from "../../main/command.ts";
import { selectionArguments } from "../../main/tool-arguments.ts";
import { parseDurationMs } from "../../output/duration.ts";

/** `logs`: what controllers and Deployments log about installations. */
export const logs = command({
  name: "logs",
  args: installationNames,
  summary: "Show what controllers and Deployments log about installations",
  text: "Lines of the controller on the hub, knfleet's or the upstream operator's, that are about the selected installations and no others, and of all containers of their\nDeployments on the clusters, on one time line with cluster, pod and container in front. A cluster or container that cannot be read is named below. Control characters\nare taken out, and what looks like a secret.",
  examples: [
    ["kubectl knfleet logs ks/knative-serving -n team-a", "the last lines of everything"],
    ["kubectl knfleet logs ks/knative-serving -f", "and what comes"],
    ["kubectl knfleet logs -A --no-live --since 1h", "what the controller did"],
    ["kubectl knfleet logs ke -A --container eventing-controller --tail 100", "one container"],
    ["kubectl knfleet logs ks -A -f -o json", "one object a line, for scripts"],
    ["kubectl knfleet logs ks/knative-serving --bundle fleet.tgz", "those that gather took along"],
  ],
  options: {
    filename: filenameFlag("--filename <file>"),
    follow: toggle("-f, --follow", "go on with what comes; --timeout ends it"),
    since: forTools(
      parsed("--since <duration>", "not older than this", parseDurationMs),
      "Not older than this duration, such as 30m or 2h",
      20,
    ),
    tail: forTools(
      parsed(
        "--tail <lines>",
        "the last lines of each container, -1 for all (default 20, with --since all)",
        numberOf,
      ),
      "Last lines of each container, such as 50; default 20",
      6,
    ),
    container: forTools(
      worded("--container <name>", "only containers of this name"),
      "Only containers of this name",
    ),
    timestamps: toggle("--timestamps", "with the time in front of each line"),
    maxStreams: parsed(
      "--max-streams <number>",
      "containers that are read (default 50)",
      (text, flag) => {
        const streams = numberOf(text, flag);
        if (streams < 1) throw new UsageError("--max-streams has to be 1 or more");
        return streams;
      },
    ),
    live: noLiveFlag("the controller's"),
  },
  document: "LogList",
  tool: selectionArguments,
  async run(fleet, options) {
    const { logReport, logStream } = await import("./logs.ts");
    return options.follow ? await logStream(fleet, options) : await logReport(fleet, options);
  },
});

function numberOf(text: string, flag: string): number {
  if (/^(?:-1|\d{1,7})$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for ${flag}: want a number`);
}
