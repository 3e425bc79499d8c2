import { type SecretReader, secretReaderOf } from "../../../../access/plugins/built-in-plugins.ts";
import {
  credentialKeys,
  type CredentialSecret,
  profileManifest,
  type ProfileSource,
  profileStatusManifest,
} from "../../../../access/profiles/profile-objects.ts";
import type { Provider, ProviderFile } from "../../../../access/providers/provider-config.ts";
import { refusedProfile } from "../../../../access/providers/provider-rules.ts";
import { resolveAccess } from "../../../../access/spokes/resolved-access.ts";
import { type ClusterProfile, isClusterProfile } from "../../../../api/cluster-profile.ts";
import { FleetError } from "../../../../api/errors.ts";
import type { NamespacedName } from "../../../../api/kubernetes.ts";
import type { Refusal } from "./reachable-server.ts";

/** A provider file, and where its readers look for Secrets. */
export interface HubReaders {
  readonly file: ProviderFile;
  /** `ConfigMap namespace/name`, or the path of a file. */
  readonly place: string;
  /** By name of the provider: the namespace in which it looks. */
  readonly secretNamespaces: ReadonlyMap<string, string>;
}

/** A provider that reads the credential from a Secret of the hub. */
export interface ChosenReader {
  /** Name of the provider. */
  readonly provider: string;
  readonly reader: SecretReader;
  readonly secret: CredentialSecret;
}

/** The providers of the file that read a Secret of the hub, each with the Secret of a profile. */
export function readersFor(
  { file, secretNamespaces }: HubReaders,
  { name }: NamespacedName,
): readonly ChosenReader[] {
  return file.providers.flatMap((provider) => {
    const reader = readerOf(provider);
    const namespace = secretNamespaces.get(provider.name);
    if (reader === undefined || namespace === undefined) return [];
    // Rules of providers usually ask for the name of the profile (`requiredConfig`).
    const secret = { namespace, name, key: credentialKeys[reader] };
    return [{ provider: provider.name, reader, secret }];
  });
}

/** The reader that a provider runs; undefined when it runs something else or is not usable. */
export function readerOf({ exec }: Provider): SecretReader | undefined {
  if (exec === undefined || exec.args.length > 0 || !exec.provideClusterInfo) return undefined;
  return secretReaderOf(exec.command);
}

/**
 * Chooses the first reader of the file that the profile may use, and resolves the access as the controller does. `sourceOf`: the profile with a reader.
 */
export function chooseReader(
  readers: HubReaders,
  named: NamespacedName,
  sourceOf: (reader: ChosenReader) => ProfileSource,
): ChosenReader | Refusal {
  const { file, place } = readers;
  const refusals: string[] = [];
  for (const chosen of readersFor(readers, named)) {
    const profile = profileOf(sourceOf(chosen));
    const { rules } = file.providers.find(({ name }) => name === chosen.provider) ?? {};
    const refusal = rules === undefined ? undefined : refusedProfile(profile, rules);
    if (refusal !== undefined) {
      refusals.push(`${chosen.provider}: ${refusal}`);
      continue;
    }
    const problem = problemOf(profile, file);
    return problem === undefined
      ? chosen
      : { error: problem, next: [`The provider file is ${place}.`] };
  }
  if (refusals.length === 0) {
    return {
      error: `No provider of ${place} reads a Secret of the hub (secretreader or kubeconfig-secretreader)`,
      next: ["Add the provider below to the values of the chart; docs/providers.md has others."],
      lacksValues: true,
    };
  }
  return {
    error: `No provider of ${place} may be used for this profile: ${refusals.join("; ")}`,
    next: [
      "Choose the namespace of the profile with -n, or change the rules in the values of the chart.",
    ],
  };
}

/** The profile as the hub would return it. */
function profileOf(source: ProfileSource): ClusterProfile {
  const { metadata, ...manifest } = profileManifest(source);
  const { status } = profileStatusManifest(source, undefined, new Date(0));
  const { name, namespace } = source;
  const object = {
    ...manifest,
    metadata: { ...metadata, namespace, name, uid: "", resourceVersion: "" },
    status,
  };
  if (!isClusterProfile(object)) throw new Error("A ClusterProfile has a namespace");
  return object;
}

function problemOf(profile: ClusterProfile, file: ProviderFile): string | undefined {
  try {
    resolveAccess(profile, file, Date.now());
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error.sentence;
    throw error;
  }
}
