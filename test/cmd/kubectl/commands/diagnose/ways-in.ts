import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { providerOf, realProvider, type World } from "./diagnose-world.ts";
import type { Made } from "./fault.ts";

/** The flag that names a provider file. */
export const fileFlag = "--clusterprofile-provider-file";

/** The way to the healthy cluster with another provider file. */
export async function withProvider(
  world: World,
  name: string,
  provider: Readonly<Record<string, unknown>>,
): Promise<Made> {
  return { args: ["fleet/healthy", fileFlag, await world.providers(name, provider)] };
}

/** The way to the healthy cluster with a shell script as plugin. */
export async function withScript(world: World, name: string, text: string): Promise<Made> {
  return withProvider(world, name, providerOf(await world.script(name, text)));
}

/** The real plugin of the fleet, run otherwise. */
export async function withReal(
  world: World,
  name: string,
  exec: Readonly<Record<string, unknown>>,
): Promise<Made> {
  const real = await realProvider(world.providerFile);
  return withProvider(world, name, { ...real, execConfig: { ...real.execConfig, ...exec } });
}

/** A profile that offers one way in, which differs from one that works as given; undefined takes a field away. */
export function withEntry(
  world: World,
  name: string,
  cluster: Readonly<Record<string, unknown>>,
): Promise<Made> {
  return withEntries(world, name, { secretreader: cluster });
}

/** A profile that offers ways in by the names of their providers. */
export async function withEntries(
  world: World,
  name: string,
  entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<Made> {
  const { hub } = world.fleet;
  await world.profile(name);
  const key = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" };
  const usual = firstEntry(await hub.admin.get({ ...key, namespace: "fleet", name }));
  const condition = {
    type: "ControlPlaneHealthy",
    status: "True",
    reason: "Test",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const accessProviders = Object.entries(entries).map(([provider, cluster]) => ({
    name: provider,
    cluster: { ...usual, ...cluster },
  }));
  const status = { conditions: [condition], accessProviders };
  const metadata = { namespace: "fleet", name };
  await hub.admin.apply({ ...key, metadata, status }, { subresource: "status" });
  return { args: [`fleet/${name}`] };
}

/** `cluster` of the first way in that a profile offers. */
function firstEntry(stored: unknown): Readonly<Record<string, unknown>> {
  const text: { status: { accessProviders: { cluster: Record<string, unknown> }[] } } = JSON.parse(
    JSON.stringify(stored),
  );
  return text.status.accessProviders[0]?.cluster ?? {};
}

/** An access entry with this configuration of the plugin. */
export function execConfig(extension: object): Readonly<Record<string, unknown>> {
  return { extensions: [{ name: "client.authentication.k8s.io/exec", extension }] };
}
