import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Provider, ProviderFile } from "./provider-config.ts";
import { refusedProfile } from "./provider-rules.ts";

/** The provider of the file that a profile is reached with, and the profile's entry for it. */
export interface SelectedProvider {
  readonly provider: Provider;
  readonly entry: AccessProvider;
  readonly source: "accessProviders" | "credentialProviders";
  /** Providers that came earlier in the file and matched, but cannot be used or not by this profile; with the reason. */
  readonly skipped: readonly string[];
}

/**
 * The first usable provider of the file that the profile offers; the order of the profile does not matter.
 *
 * Throws `FleetError`: `MulticlusterDisabled` (code `NoMatchingProvider`) when there is none, `AccessProviderFailed` (code
 * `ProviderInvalid`) when every match is unusable. Spec: cluster-inventory.md 2.3.
 */
export function selectProvider(profile: ClusterProfile, file: ProviderFile): SelectedProvider {
  const offered = offeredBy(profile);
  const skipped: string[] = [];
  const seen = new Set<string>();
  for (const provider of file.providers) {
    const offer = offered.get(provider.name);
    // Of several providers with one name only the first counts, also when it is unusable.
    if (offer === undefined || seen.has(provider.name)) continue;
    seen.add(provider.name);
    const problem =
      provider.exec === undefined
        ? (provider.problem ?? "not usable")
        : refusedProfile(profile, provider.rules);
    if (problem !== undefined) {
      skipped.push(`${quoted(provider.name)}: ${problem}`);
      continue;
    }
    return { provider, ...offer, skipped };
  }
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
    `${name} offers the providers ${listed([...offered.keys()])}, the provider file has ${listed(known)}`,
    { code: "NoMatchingProvider" },
  );
}

type Offer = Pick<SelectedProvider, "entry" | "source">;

function offeredBy(profile: ClusterProfile): ReadonlyMap<string, Offer> {
  const offers = new Map<string, Offer>();
  // The deprecated list first, so that equal names of the new one win.
  for (const source of ["credentialProviders", "accessProviders"] as const) {
    for (const entry of listOf(profile.status?.[source])) {
      // The CRD forbids null and a missing name; other stores may not.
      if (isRecord(entry)) offers.set(textOf(entry.name), { entry, source });
    }
  }
  return offers;
}

// The CRD says that it is one; other stores may not.
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

// Names come from the profile: printable, and not longer than a name should be.
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}

/** Throws `FleetError` `ConfigInvalid` when the file has providers and none of them can be used. One unusable provider leaves the others. */
export function assertSomeUsable(path: string, file: ProviderFile): void {
  const [first, ...others] = file.providers;
  if (first?.problem === undefined || others.some(({ problem }) => problem === undefined)) return;
  const message = `No provider of provider file ${path} can be used; ${first.name}: ${first.problem}`;
  throw new FleetError("ConfigInvalid", message, { code: "ProviderFileInvalid" });
}
