#!/usr/bin/env node
import { connectHub } from "../access/hub/hub.ts";
import { ApiError } from "../access/kube/api-error.ts";
import { withTimeout } from "../access/time/deadline.ts";
import { systemClock } from "../access/time/system-clock.ts";
import { componentKinds, operatorApiVersion } from "../api/component.ts";
import { FleetError } from "../api/errors.ts";
import { fleetSetApiVersion, fleetSetKinds } from "../api/fleet-set.ts";
import packageJson from "../package.json" with { type: "json" };
import { processProblem, runCommand } from "./service/run.ts";

// Helm runs this program before it uninstalls the chart. While the hub has components, it prints the next steps and ends with exit code 1.
const limitMs = 120_000;

const kinds = [
  ...Object.entries(componentKinds).map(([kind, { plural }]) => ({
    apiVersion: operatorApiVersion,
    kind,
    plural,
  })),
  // A set waits for the controller before it goes, and makes components as long as it is there.
  ...Object.entries(fleetSetKinds).map(([kind, { plural }]) => ({
    apiVersion: fleetSetApiVersion,
    kind,
    plural,
  })),
];

const { env: environment, execArgv, stdout, stderr } = process;

await runCommand(async (signal) => {
  try {
    const problem = processProblem({ environment, execArgv, inspectorUrl: undefined });
    if (problem !== undefined) throw new FleetError("ConfigInvalid", problem);
    const components = await componentsOf(withTimeout(systemClock, limitMs, signal));
    if (components.length === 0) {
      stdout.write("There are no components: knfleet can be uninstalled\n");
      return 0;
    }
    stderr.write(refusalOf(components));
  } catch (error) {
    stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  }
  return 1;
});

/** `KIND NAMESPACE/NAME` of every component and of every set. */
async function componentsOf(signal: AbortSignal): Promise<readonly string[]> {
  const userAgent = `knfleet-uninstall-check/${packageJson.version}`;
  await using hub = await connectHub({ clock: systemClock, environment, userAgent });
  const lists = kinds.map(async (type) => {
    const resource = { ...type, namespaced: true };
    try {
      const { items } = await hub.client.list({ resource }, { metadataOnly: true }, signal);
      return items.map(({ metadata }) => `${type.kind} ${metadata.namespace}/${metadata.name}`);
    } catch (error) {
      // Without the CRD there are none.
      if (error instanceof ApiError && error.status === 404) return [];
      throw error;
    }
  });
  return (await Promise.all(lists)).flat();
}

function refusalOf(components: readonly string[]): string {
  return `Error: There are components, and without the controller nobody removes what they installed:
${components.map((one) => `  ${one}\n`).join("")}Delete them first. To leave them and what they installed as it is: helm uninstall --no-hooks
`;
}
