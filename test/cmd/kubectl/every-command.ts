import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";

/** The name of every command. */
export const commandNames: readonly string[] = commandTable().map(({ name }) => name);

/** Commands that ask no server; mcp does when a client asks it. */
const offline = ["explain", "completion", "render", "mcp"];

/** The commands that ask the hub. */
export const askingCommands = commandNames.filter((name) => !offline.includes(name));

const serving = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: { name: knative-serving, namespace: team-a }
spec: {}
`;

/** Writes the files that `lineOf` names. */
export async function writeFilesOfLines(folder: string): Promise<void> {
  await writeFile(join(folder, "providers.json"), '{"providers": []}');
  await writeFile(join(folder, "serving.yaml"), serving);
}

/** What has to stand behind a command's name; nothing for the others. */
const argsOf: Readonly<Record<string, readonly string[]>> = {
  get: ["pods"],
  explain: ["ApplyFailed"],
  completion: ["kubectl"],
  connect: ["fleet/eu-1", "--", "true"],
  kubeconfig: ["fleet/eu-1"],
  credential: ["fleet/eu-1"],
  register: ["hub"],
  unregister: ["fleet/eu-1", "--keep-spoke"],
  wait: ["--timeout=1s"],
  top: ["--once"],
  "rollout status": ["kss/prod"],
  "rollout adopt": ["ks"],
  "rollout plan": ["kss/prod"],
  "rollout verify": ["kss/prod"],
  "rollout history": ["kss/prod"],
  "rollout undo": ["kss/prod"],
  "rollout approve": ["kss/prod"],
  "rollout pause": ["kss/prod"],
  "rollout resume": ["kss/prod"],
  "rollout retry": ["kss/prod"],
  "rollout skip": ["kss/prod", "--stage", "canary", "--reason", "test"],
  "rollout abort": ["kss/prod", "--reason", "test"],
  "rollout accept-selection": ["kss/prod"],
};

/** Commands that read release files. */
const rendering = ["render", "plan", "diff", "can-i", "rollout plan", "images"];

/** A command line of a command, with the files of a folder. */
export function lineOf(name: string, folder: string): readonly string[] {
  const files = ["--clusterprofile-provider-file", join(folder, "providers.json")];
  const input = ["-f", join(folder, "serving.yaml")];
  const file = ["render", "plan", "check"].includes(name) ? input : [];
  // Nothing of this depends on what is in a release; without the flag it would be downloaded.
  const releases = rendering.includes(name) ? ["--release-dir", sampleDirOf()] : [];
  return [...name.split(" "), ...files, ...file, ...releases, ...(argsOf[name] ?? [])];
}
