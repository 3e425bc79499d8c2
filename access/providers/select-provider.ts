import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import { offersProviders, providerForbids } from "../../api/sentences.ts";
import { type Endpoint, endpointOf } from "../http/endpoint.ts";
import { type ExecPlan, execPlan } from "../plugins/exec-plan.ts";
import type { Provider, ProviderFile } from "./provider-config.ts";
import { allowsProxy, allowsServer, refusedProfile } from "./provider-rules.ts";

/** The provider that is used for a profile, and the profile's entry for it. */
export interface SelectedProvider {
  readonly provider: Provider;
  readonly entry: AccessProvider;
  readonly source: "accessProviders" | "credentialProviders";
  /** Why earlier matches of the file, and earlier entries of the profile, are not used, one text for each. */
  readonly skipped: readonly string[];
}

/**
 * Selects the first provider of the file that the profile offers and may use, with an entry of the profile that can be used. The order in the profile
 * does not matter. When none of the entries can be used, the first one is returned, so that what is wrong with it is told.
 *
 * Throws `FleetError` `MulticlusterDisabled` (code `NoMatchingProvider`) when no provider matches, and `AccessProviderFailed` (code
 * `ProviderInvalid`) when none of the matches is usable. Spec: cluster-inventory.md 2.3.
 */
export function selectProvider(profile: ClusterProfile, file: ProviderFile): SelectedProvider {
  const offered = offeredBy(profile);
  const skipped: string[] = [];
  const seen = new Set<string>();
  let first: SelectedProvider | undefined;
  for (const provider of file.providers) {
    const offers = offered.get(provider.name);
    // Of several providers with one name only the first counts, even if it is unusable.
    if (offers === undefined || seen.has(provider.name)) continue;
    seen.add(provider.name);
    const problem = problemOf(profile, provider);
    if (problem !== undefined) {
      skipped.push(`${quoted(provider.name)}: ${problem}`);
      continue;
    }
    for (const offer of offers) {
      const selected = { provider, ...offer, skipped: [...skipped] };
      const dead = deadEnd({ profile, provider, entry: offer.entry });
      if (dead === undefined) return selected;
      first ??= selected;
      skipped.push(`${quoted(provider.name)}: ${dead}`);
    }
  }
  if (first !== undefined) return first;
  const name = describe({ kind: "ClusterProfile", ...profile.metadata });
  if (skipped.length > 0) {
    throw new FleetError(
      "AccessProviderFailed",
      `Every provider that ${name} offers is unusable for it in the provider file: ${skipped.join("; ")}`,
      { code: "ProviderInvalid" },
    );
  }
  const known = file.providers.map((provider) => provider.name);
  throw new FleetError(
    "MulticlusterDisabled",
    `${name} ${offersProviders.of(listed([...offered.keys()]))} the provider file has ${listed(known)}`,
    { code: "NoMatchingProvider" },
  );
}

type Offer = Pick<SelectedProvider, "entry" | "source">;

/** The entries of a profile by name: that of the new list before that of the deprecated one. */
function offeredBy(profile: ClusterProfile): ReadonlyMap<string, readonly Offer[]> {
  const lists = (["accessProviders", "credentialProviders"] as const).map((source) => {
    const offers = new Map<string, Offer>();
    for (const entry of listOf(profile.status?.[source])) {
      // The CRD forbids null and missing names, but the object may come from an API server with another CRD.
      if (isRecord(entry)) offers.set(textOf(entry.name), { entry, source });
    }
    return offers;
  });
  const names = new Set(lists.flatMap((offers) => [...offers.keys()]));
  return new Map([...names].map((name) => [name, lists.flatMap((list) => list.get(name) ?? [])]));
}

function problemOf(profile: ClusterProfile, provider: Provider): string | undefined {
  return provider.exec === undefined
    ? (provider.problem ?? "not usable")
    : refusedProfile(profile, provider.rules);
}

// The CRD allows only lists, but the object may come from an API server with another CRD.
function listOf<Item>(list: readonly Item[] | null | undefined): readonly (Item | undefined)[] {
  return Array.isArray(list) ? list : [];
}

function textOf(name: unknown): string {
  return typeof name === "string" ? name : "";
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return "(none)";
  return names.toSorted().slice(0, 16).map(quoted).join(", ");
}

// Names come from the profile, so they are escaped and cut.
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}

/** Throws `FleetError` `ConfigInvalid` when the file has providers and all of them are unusable. */
export function assertSomeUsable(path: string, file: ProviderFile): void {
  const [first, ...others] = file.providers;
  if (first?.problem === undefined || others.some(({ problem }) => problem === undefined)) return;
  const message = `No provider of provider file ${path} can be used; ${first.name}: ${first.problem}`;
  throw new FleetError("ConfigInvalid", message, { code: "ProviderFileInvalid" });
}

/** An entry of a profile, and the provider of the file that has its name. */
interface OfferedWay {
  readonly profile: ClusterProfile;
  readonly provider: Provider;
  readonly entry: AccessProvider;
}

/**
 * Where an entry leads and which plugin gets the credential for it. `nowMs` is the wall clock, for certificates that have expired.
 *
 * Throws `FleetError` `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function wayOf(
  { profile, provider, entry }: OfferedWay,
  nowMs: number,
): { readonly endpoint: Endpoint; readonly plan: ExecPlan } {
  const { systemRoots, allowInsecure, rules } = provider;
  const endpoint = endpointOf(entry.cluster, { systemRoots, allowInsecure, nowMs });
  if (!allowsServer(rules, endpoint.server)) {
    throw notAllowed(provider, providerForbids.server, `server ${new URL(endpoint.server).host}`);
  }
  if (!allowsProxy(rules, endpoint.proxy)) {
    const { host = "", port = 0 } = endpoint.proxy ?? {};
    throw notAllowed(provider, providerForbids.proxy, `proxy ${host}:${port}`);
  }
  return { endpoint, plan: execPlan(provider, { profile, cluster: entry.cluster ?? {} }) };
}

/** Why an entry can never be used as it is; undefined when it can. Time does not count: no certificate is too old. */
function deadEnd(way: OfferedWay): string | undefined {
  try {
    wayOf(way, 0);
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error.sentence;
    throw error;
  }
}

const longestHost = 128;

function notAllowed(
  { name }: Provider,
  rule: typeof providerForbids.server,
  what: string,
): FleetError {
  return new FleetError(
    "RemoteClientCreationFailed",
    `${rule.of(JSON.stringify(name))} does not hold the ${what.slice(0, longestHost)} of the profile`,
    { code: "EndpointInvalid" },
  );
}
