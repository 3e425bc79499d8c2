import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, openSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { startRelay } from "../relay.ts";
import type { PodPlan } from "./pod.ts";

// Plays the pod of a Deployment: all its containers, in namespaces of their own that `unshare` made, with nothing to reach but the given sockets.
const [planFile = ""] = process.argv.slice(2);
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- pod.ts wrote it
const plan = JSON.parse(readFileSync(planFile, "utf8")) as PodPlan;
const host = "127.0.0.1";

execFileSync("ip", ["link", "set", "lo", "up"]);
const run = realpathSync("/var/run");
execFileSync("mount", ["-t", "tmpfs", "tmpfs", run]);
// What is written to /etc from here on is the pod's own.
const [upper, work] = [join(run, "upper"), join(run, "work")];
for (const folder of [upper, work]) mkdirSync(folder);
const layers = `lowerdir=/etc,upperdir=${upper},workdir=${work}`;
execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, "/etc"]);
writeFileSync("/etc/hosts", `${host} localhost ${plan.hosts.join(" ")}\n`);
for (const [path, folder] of plan.mounts) cpSync(folder, path, { recursive: true });
const account = join(run, "secrets/kubernetes.io/serviceaccount");
mkdirSync(account, { recursive: true });
cpSync(plan.account, account, { recursive: true });

for (const [port, path] of plan.reaches) await startRelay(() => ({ path }), { host, port });
for (const [port, path] of plan.offers) await startRelay(() => ({ host, port }), { path });
for (const { name, path, args, environment } of plan.programs) {
  const log = openSync(join(plan.folder, `${name}.log`), "a", 0o600);
  const program = spawn(path, [...args], {
    env: { ...environment },
    cwd: plan.folder,
    stdio: ["ignore", log, log],
  });
  // As in a pod, one that ends is not left alone: here all begin again.
  program.once("exit", (code) => {
    console.error(`${name} ended (${code})`);
    process.exit(1);
  });
}
