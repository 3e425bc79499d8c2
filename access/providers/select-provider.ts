import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Provider, ProviderFile } from "./provider-config.ts";
import { refusedProfile } from "./provider-rules.ts";

/** The provider that is used for a profile, and the profile's entry for it. */
export interface SelectedProvider {
  readonly provider: Provider;
  readonly entry: AccessProvider;
  readonly source: "accessProviders" | "credentialProviders";
  /** Why providers that match and come earlier in the file are not used, one text for each. */
  readonly skipped: readonly string[];
}

/**
 * Selects the first provider of the file that the profile offers and may use. The order in the profile does not matter.
 *
 * Throws `FleetError` `MulticlusterDisabled` (code `NoMatchingProvider`) when no provider matches, and `AccessProviderFailed` (code
 * `ProviderInvalid`) when none of the matches is usable. Spec: cluster-inventory.md 2.3.
 */
export function selectProvider(profile: ClusterProfile, file: ProviderFile): SelectedProvider {
  const offered = offeredBy(profile);
  const skipped: string[] = [];
  const seen = new Set<string>();
  for (const provider of file.providers) {
    const offer = offered.get(provider.name);
    // Of several providers with one name only the first counts, even if it is unusable.
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
      // The CRD forbids null and missing names, but the object may come from an API server with another CRD.
      if (isRecord(entry)) offers.set(textOf(entry.name), { entry, source });
    }
  }
  return offers;
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
