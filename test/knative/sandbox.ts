import { execFileSync, spawn } from "node:child_process";

import { startRelay } from "../fleet/relay.ts";

// Runs one program as a pod: in a network namespace of its own, which `unshare -n` made, with one address and nothing to reach but the API server.
const [program = "", address = "", apiPort = "", apiSocket = "", webhookSocket = ""] =
  process.argv.slice(2);
const webhookPort = 8_443;

execFileSync("ip", ["link", "set", "lo", "up"]);
execFileSync("ip", ["address", "add", `${address}/32`, "dev", "lo"]);
await startRelay(() => ({ path: apiSocket }), { host: "127.0.0.1", port: Number(apiPort) });
await startRelay(() => ({ host: address, port: webhookPort }), { path: webhookSocket });
spawn(program, [], { stdio: "inherit" }).once("exit", (code) => process.exit(code ?? 1));
