import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { commandNames, lineOf, writeFilesOfLines } from "../../cmd/kubectl/every-command.ts";
import { recordedObjects } from "../../cmd/kubectl/recorded-hub.ts";
import { runText } from "../../cmd/kubectl/run-text.ts";
import { startStubHub } from "../../cmd/kubectl/stub-hub.ts";
import { commandCases, notTried } from "./command-cases.ts";
import { commandOptionsOf } from "./command-faults.ts";

const page = join(import.meta.dirname, "../../../docs/security.md");

/** The commands of a table of docs/security.md: a cell may name several, with their common first word left out. */
async function documented(title: string): Promise<readonly string[]> {
  const [, section = ""] = (await readFile(page, "utf8")).split(`\n## ${title}\n`);
  const [rows = ""] = section.split("\n## ");
  return Array.from(rows.matchAll(/^\| (`.+?) +\|/gm), ([, cell = ""]) => cell).flatMap((cell) => {
    const names = Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
    const [verb = ""] = (names[0] ?? "").split(" ");
    return names.map((name) =>
      verb === "rollout" && !name.startsWith(verb) ? `${verb} ${name}` : name,
    );
  });
}

const written = "What the commands write";
const read = "What the commands only read";

test("docs/security.md has a row for each command, and for no other one", async () => {
  const all = [...(await documented(written)), ...(await documented(read))];
  const named = all.map((name) => name.replace(/ --.*/, ""));
  // `migrate --apply` is either direction.
  const other = ["kubectl knfleet", "migrate"];
  const names = named.filter((name) => !other.includes(name));
  expect([...new Set(names)].toSorted()).toEqual(commandNames.toSorted());
});

test("no command that docs/security.md says only reads is in the bench of those that write", async () => {
  const tried = new Set(commandCases.map(({ command }) => command));
  expect((await documented(read)).filter((name) => tried.has(name))).toEqual([]);
});

test("every command that writes is tried, or named with the reason why not", async () => {
  const tried = new Set(commandCases.map(({ command }) => command));
  const names = (await documented(written)).filter((name) => name !== "kubectl knfleet");
  expect(names.toSorted()).toEqual([...tried, ...Object.keys(notTried)].toSorted());
});

/** The commands that write nothing on a cluster. `migrate` does with --apply alone, and `diagnose` with --from controller. */
const reading =
  "status,top,deployments,workloads,images,get,diagnose,diff,plan,orphans,check,wait,rollout status,rollout history,rollout plan,rollout verify,rollout adopt,events,logs,tree,gather,explain,can-i,migrate from-upstream,migrate to-upstream,connect,kubeconfig,credential,render,completion,version".split(
    ",",
  );
/** The same of these is shown by their own tests: they stay until they are ended. */
const lasting = ["ui", "mcp"];

test("every command is tried, or reads", () => {
  const tried = new Set(commandCases.map(({ command }) => command.replace(/ --.*/, "")));
  // `diagnose` reads, and writes with --from controller.
  const known = new Set([...tried, ...reading, ...lasting]);
  known.delete("migrate");
  expect([...known].toSorted()).toEqual(commandNames.toSorted());
});

test("a command that reads writes nothing on a cluster", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-reading-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFilesOfLines(folder);
  let running = "";
  const writes: string[] = [];
  await using hub = await startStubHub(recordedObjects, ({ method, path, query }) => {
    const isQuestion =
      method === "GET" || query?.get("dryRun") === "All" || path.endsWith("reviews");
    if (!isQuestion) writes.push(`${running}: ${method} ${path}`);
    return undefined;
  });
  for (const name of reading) {
    running = name;
    const cwd = join(folder, "written");
    const output = ["gather", "kubeconfig"].includes(name) ? ["-o", `${cwd}-${name}`] : [];
    // oxlint-disable-next-line no-await-in-loop -- the writes of one command are told apart by this
    await runText([...lineOf(name, folder), ...output], { env: { ...hub.env, HOME: folder } });
  }
  expect(writes).toEqual([]);
}, 60_000);

test("the command line takes the names of commands, and no others", () => {
  expect(commandOptionsOf(["--only", "register,rollout pause", "--match", "killed"])).toEqual({
    only: ["register", "rollout pause"],
    match: "killed",
    list: false,
  });
  expect(() => commandOptionsOf(["--only", "diagnose"])).toThrow("--only takes some of register,");
  expect(commandOptionsOf(["--help"])).toBeUndefined();
});
