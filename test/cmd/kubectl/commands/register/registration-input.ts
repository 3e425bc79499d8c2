import { parseProviderFile } from "../../../../../access/providers/provider-config.ts";
import { type ClusterProfile, isClusterProfile } from "../../../../../api/cluster-profile.ts";
import type { KubeObject, ObjectMeta } from "../../../../../api/kubernetes.ts";
import type { HubReaders } from "../../../../../cmd/kubectl/commands/register/choose-reader.ts";
import type { RegisterRequest } from "../../../../../cmd/kubectl/commands/register/register-request.ts";
import type {
  HubFacts,
  SpokeFacts,
} from "../../../../../cmd/kubectl/commands/register/registration-facts.ts";
import {
  objectName,
  shownObjects,
} from "../../../../../cmd/kubectl/commands/register/registration-text.ts";
import {
  planRegistration,
  type Registration,
} from "../../../../../cmd/kubectl/commands/register/registration.ts";
import { spokeRules } from "../../../../../installation/spoke-role.ts";
import { anyCaData } from "../../../../access/builders.ts";

export const execConfig = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "builtin:secretreader",
  provideClusterInfo: true,
};
export const tokens = {
  name: "tokens",
  execConfig,
  allowedNamespaces: ["fleet"],
  requiredConfig: { clusterName: "name" },
};
export const kubeconfigs = {
  name: "kubeconfigs",
  execConfig: { ...execConfig, command: "/plugins/kubeconfig-secretreader" },
  requiredConfig: { name: "name" },
};

export function readers(...providers: readonly object[]): HubReaders {
  return {
    file: parseProviderFile(JSON.stringify({ providers }), { path: "test", format: "json" }),
    place: "ConfigMap knfleet-system/knfleet-providers",
    secretNamespaces: new Map(
      ["tokens", "kubeconfigs"].map((name) => [name, "fleet-credentials"] as const),
    ),
  };
}

export const request: RegisterRequest = {
  profile: { namespace: "fleet", name: "eu-1" },
  displayName: "eu-1",
  context: "eu-1",
  labels: { region: "eu" },
  removedLabels: [],
  account: "knfleet-hub",
};
export const hub: HubFacts = {
  context: "hub",
  uid: "hub-uid",
  isLocal: false,
  hasPods: true,
  hasController: true,
  trusted: { managers: [], namespaces: [] },
  profileVersion: "multicluster.x-k8s.io/v1alpha1",
  servesComponents: true,
  readers: readers(tokens),
  profile: undefined,
  profiles: [],
  unlisted: [],
  components: [],
  secrets: new Map(),
  namespaces: [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "fleet-credentials", uid: "x", resourceVersion: "1" },
    },
  ],
  missingRights: [],
};
export const spoke: SpokeFacts = {
  cluster: { server: "https://eu-1.example.com", "certificate-authority-data": anyCaData },
  addresses: ["203.0.113.7"],
  certificateNames: [],
  uid: "spoke-uid",
  kubernetes: "v1.36.3",
  isReady: true,
  account: undefined,
  namespace: undefined,
  role: undefined,
  binding: undefined,
  anchors: [],
  tokens: [],
  missingRights: [],
};
export const clock = { now: new Date("2026-11-01T00:00:00Z"), suffix: "abc" };

export interface Changes {
  readonly request?: Partial<RegisterRequest>;
  readonly hub?: Partial<HubFacts>;
  readonly spoke?: Partial<SpokeFacts>;
}

export function plan(changes: Changes = {}): ReturnType<typeof planRegistration> {
  const facts = { hub: { ...hub, ...changes.hub }, spoke: { ...spoke, ...changes.spoke } };
  return planRegistration({ ...request, ...changes.request }, facts, clock);
}

export function planned(changes: Changes = {}): Registration {
  const found = plan(changes);
  if ("reader" in found) return found;
  throw new Error(found.map(({ error }) => error).join("; "));
}

export function named(changes: Changes = {}): readonly string[] {
  const shown = shownObjects(planned(changes), { ...request, ...changes.request });
  return shown.map((object) => `${object.cluster} ${objectName(object)}`);
}

export function profileOf({ profile, profileStatus }: Registration): ClusterProfile {
  const stored = { uid: "uid", resourceVersion: "1", namespace: "fleet", name: "eu-1" };
  const { status } = profileStatus;
  const object = { ...profile, metadata: { ...profile.metadata, ...stored }, status };
  if (!isClusterProfile(object)) throw new Error("It has no namespace");
  return object;
}

export function present(kind: string, metadata: ObjectMeta = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind,
    metadata: { ...metadata, name: "x", uid: "x", resourceVersion: "1" },
  };
}

export const own = { "app.kubernetes.io/managed-by": "knfleet-register" };
export const account = (annotations: Readonly<Record<string, string>>): KubeObject =>
  present("ServiceAccount", { labels: own, annotations });

/** A role that somebody else made, with the rights of docs/spoke-role.yaml except the first of them. */
export function roleWithout(count: number): KubeObject {
  return { ...present("ClusterRole"), rules: spokeRules.slice(count) };
}
