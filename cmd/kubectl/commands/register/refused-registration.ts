import type { ChosenReader } from "./choose-reader.ts";
import type { Refusal } from "./reachable-server.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { HubFacts, SpokeFacts } from "./registration-facts.ts";
import {
  idOf,
  isRegistrars,
  managerText,
  otherRegistrant,
  profileAnnotation,
  registrar,
  spokeNamespace,
} from "./spoke-objects.ts";

/** Why a cluster is not registered, apart from its address and the provider: all reasons at once. */
export function refusedRegistration(
  request: RegisterRequest,
  facts: { readonly hub: HubFacts; readonly spoke: SpokeFacts },
): readonly Refusal[] {
  return [...refusedByHub(request, facts.hub), ...refusedBySpoke(request, facts)];
}

const installNext: readonly string[] = [
  "docs/install.md says how to install it. With the values below in values.yaml: helm install knfleet oci://ghcr.io/knfleet/charts/knfleet --namespace knfleet-system --create-namespace --values values.yaml",
  "Or choose the hub with --context.",
];

function refusedByHub({ profile }: RegisterRequest, hub: HubFacts): readonly Refusal[] {
  const { servesComponents, profileVersion, readers, missingRights } = hub;
  const manager = hub.profile?.spec?.clusterManager?.name ?? "";
  const why: Refusal[] = [];
  if (!servesComponents)
    why.push({
      why: "knfleet is not installed on this hub",
      next: installNext,
      lacksValues: true,
    });
  if (profileVersion === undefined) {
    why.push({
      why: "This hub has no ClusterProfiles",
      next: [
        "Install the CRD of the Cluster Inventory API (v0.1.3, config/crd/bases), or choose the hub with --context.",
      ],
    });
  }
  if (servesComponents && typeof readers === "string") why.push(noProviderFile(readers));
  if (hub.profile !== undefined && manager !== registrar) {
    why.push({
      why: `ClusterProfile ${idOf(profile)} was written by ${managerText(manager)}`,
      next: ["Take another name with --name, or another namespace with -n."],
    });
  }
  return [...why, ...refusedByTrust(profile, hub), ...lackOfRights("the hub", missingRights)];
}

function refusedByTrust(
  { namespace }: RegisterRequest["profile"],
  { trusted: { managers, namespaces } }: HubFacts,
): readonly Refusal[] {
  const why: Refusal[] = [];
  if (managers.length > 0 && !managers.includes(registrar)) {
    why.push({
      why: `The controller does not trust ClusterProfiles of the manager ${registrar}`,
      next: [`Add ${registrar} to references.trustedClusterManagers in the values of the chart.`],
    });
  }
  if (namespaces.length > 0 && !namespaces.includes(namespace)) {
    why.push({
      why: `The controller does not trust ClusterProfiles of namespace ${namespace}`,
      next: [`Choose one that it trusts with -n: ${namespaces.join(", ")}.`],
    });
  }
  return why;
}

function noProviderFile(why: string): Refusal {
  return {
    why: `The hub has no usable provider file: ${why}`,
    next: [
      "Give the chart the values below (helm upgrade --reuse-values); docs/providers.md has others.",
    ],
    lacksValues: true,
  };
}

function lackOfRights(where: string, missing: readonly string[]): readonly Refusal[] {
  if (missing.length === 0) return [];
  return [
    {
      why: `You lack rights on ${where}: ${missing.join(", ")}`,
      next: [
        where === "the hub"
          ? "Use a context of an administrator of the hub with --context."
          : "Use a context of an administrator of the cluster with --from-context.",
      ],
    },
  ];
}

function refusedBySpoke(
  { context, account, profile }: RegisterRequest,
  { hub, spoke }: { readonly hub: HubFacts; readonly spoke: SpokeFacts },
): readonly Refusal[] {
  const other = otherRegistrant(spoke.account, { profile, hubUid: hub.uid });
  return [
    ...(spoke.isReady
      ? []
      : [
          {
            why: `The API server of context "${context}" says at /readyz that it does not work`,
            next: [],
          },
        ]),
    ...(other === undefined
      ? []
      : [
          {
            why: `The ServiceAccount ${spokeNamespace}/${account} of the cluster is in use by ${other}`,
            next: ["Take another one with --account, such as --account knfleet-hub-2."],
          },
        ]),
    ...lackOfRights("the cluster", spoke.missingRights),
  ];
}

/** Why the Secret of the hub may not be written. */
export function refusedSecret(
  { secret }: ChosenReader,
  { profile }: RegisterRequest,
  { secrets }: HubFacts,
): readonly Refusal[] {
  const present = secrets.get(idOf(secret));
  if (present === undefined) return [];
  const user = present.metadata.annotations?.[profileAnnotation];
  if (isRegistrars(present) && user === idOf(profile)) return [];
  const owner = user === undefined ? "was not made by register" : `is for ClusterProfile ${user}`;
  return [
    {
      why: `Secret ${idOf(secret)} of the hub ${owner}`,
      next: ["Take another name with --name, or delete that Secret when nothing reads it."],
    },
  ];
}
