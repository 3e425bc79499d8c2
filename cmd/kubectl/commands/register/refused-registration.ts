import { rightTexts } from "../../../../access/kube/missing-right.ts";
import { listAt } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { spokeRoleName } from "../../../../installation/spoke-role.ts";
import { isGrantedBy, rightsOf } from "../../rights/access-review.ts";
import { lackText } from "../../rights/missing-rights.ts";
import { spokeRights } from "../../rights/permissions.ts";
import {
  idOf,
  isRegistrars,
  managerText,
  mayOwn,
  otherRegistrant,
  profileAnnotation,
  type Registrant,
  registrar,
  spokeNamespace,
} from "../../rights/spoke-objects.ts";
import type { ChosenReader } from "./choose-reader.ts";
import { otherProfiles, traitsOf } from "./known-cluster.ts";
import type { Refusal } from "./reachable-server.ts";
import type { RegisterRequest } from "./register-request.ts";
import type { HubFacts, SpokeFacts } from "./registration-facts.ts";

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
  const refusals: Refusal[] = [];
  if (!servesComponents)
    refusals.push({
      error: "knfleet is not installed on this hub",
      next: installNext,
      lacksValues: true,
    });
  if (profileVersion === undefined) {
    refusals.push({
      error: "This hub has no ClusterProfiles",
      next: [
        "Install the CRD of the Cluster Inventory API (v0.1.3, config/crd/bases), or choose the hub with --context.",
      ],
    });
  }
  if (servesComponents && typeof readers === "string") refusals.push(noProviderFile(readers));
  if (hub.profile !== undefined && manager !== registrar) {
    refusals.push({
      error: `ClusterProfile ${idOf(profile)} was written by ${managerText(manager)}`,
      next: ["Take another name with --name, or another namespace with -n."],
    });
  }
  const deleted = refusedDeleted("the hub", [
    ...hub.namespaces.map((one) => [`Namespace ${one.metadata.name}`, one] as const),
    ...[...hub.secrets].map(([id, one]) => [`Secret ${id}`, one] as const),
    [`ClusterProfile ${idOf(profile)}`, hub.profile],
  ]);
  return [
    ...refusals,
    ...deleted,
    ...refusedByTrust(profile, hub),
    ...lackOfRights("the hub", missingRights),
  ];
}

function refusedByTrust(
  { namespace }: RegisterRequest["profile"],
  { trusted: { managers, namespaces } }: HubFacts,
): readonly Refusal[] {
  const refusals: Refusal[] = [];
  if (managers.length > 0 && !managers.includes(registrar)) {
    refusals.push({
      error: `The controller does not trust ClusterProfiles of the manager ${registrar}`,
      next: [`Add ${registrar} to references.trustedClusterManagers in the values of the chart.`],
    });
  }
  if (namespaces.length > 0 && !namespaces.includes(namespace)) {
    refusals.push({
      error: `The controller does not trust ClusterProfiles of namespace ${namespace}`,
      next: [`Choose one that it trusts with -n: ${namespaces.join(", ")}.`],
    });
  }
  return refusals;
}

function noProviderFile(why: string): Refusal {
  return {
    error: `The hub has no usable provider file: ${why}`,
    next: [
      "Give the chart the values below (helm upgrade --reuse-values); docs/providers.md has others.",
    ],
    lacksValues: true,
  };
}

/** Why nothing is written while objects that it concerns are being deleted. */
function refusedDeleted(
  where: string,
  objects: readonly (readonly [string, KubeObject | undefined])[],
): readonly Refusal[] {
  const deleted = objects.filter(([, one]) => one?.metadata.deletionTimestamp !== undefined);
  if (deleted.length === 0) return [];
  return [
    {
      error: `Being deleted on ${where}: ${deleted.map(([title]) => title).join(", ")}`,
      next: ["Run the command again when that is done."],
    },
  ];
}

/** Why nothing is done without the rights for it. */
export function lackOfRights(
  where: "the hub" | "the cluster",
  missing: readonly string[],
): readonly Refusal[] {
  if (missing.length === 0) return [];
  return [
    {
      error: lackText(where, missing),
      next: [
        where === "the hub"
          ? "Use a context of an administrator of the hub with --context."
          : "Use a context of an administrator of the cluster with --from-context.",
      ],
    },
  ];
}

function refusedBySpoke(
  { context, account, profile, server }: RegisterRequest,
  { hub, spoke }: { readonly hub: HubFacts; readonly spoke: SpokeFacts },
): readonly Refusal[] {
  const problem = identityProblem({ account, profile, hubUid: hub.uid }, spoke);
  const others = otherProfiles(profile, hub, traitsOf(spoke, server));
  const known =
    others.length === 0 ? "" : `; the cluster is known as ClusterProfile ${others.join(", ")}`;
  return [
    ...(spoke.isReady
      ? []
      : [
          {
            error: `The API server of context "${context}" says at /readyz that it does not work`,
            next: [],
          },
        ]),
    ...(problem === undefined
      ? []
      : [
          {
            error: `${problem}${known}`,
            next: [`Take another account with --account, such as --account ${nextName(account)}.`],
          },
        ]),
    ...refusedDeleted("the cluster", [
      [`Namespace ${spokeNamespace}`, spoke.namespace],
      [`ServiceAccount ${spokeNamespace}/${account}`, spoke.account],
      [`ClusterRole ${spokeRoleName}`, spoke.role],
      [`ClusterRoleBinding ${account}`, spoke.binding],
    ]),
    ...refusedRole(context, spoke),
    ...lackOfRights("the cluster", spoke.missingRights),
  ];
}

/** Why ServiceAccount or binding may not be written; undefined when they may. Both have the name of the account. */
function identityProblem(
  registrant: Registrant,
  { account, binding }: SpokeFacts,
): string | undefined {
  const { account: name } = registrant;
  const titles = [
    [account, `ServiceAccount ${spokeNamespace}/${name}`],
    [binding, `ClusterRoleBinding ${name}`],
  ] as const;
  const [problem] = titles.flatMap(([present, title]) => {
    const other = otherRegistrant(present, registrant);
    if (other !== undefined) return [`${title} of the cluster is in use by ${other}`];
    return mayOwn(present) ? [] : [`${title} of the cluster was not made by register`];
  });
  return problem;
}

/** The name with the next number: `knfleet-hub-2` after `knfleet-hub`. */
function nextName(name: string): string {
  const [, base = name, number = "1"] = /^(.+)-(\d{1,4})$/.exec(name) ?? [];
  return `${base}-${Number(number) + 1}`;
}

const shownRights = 3;

/** A role of somebody else is used as it is, and never changed: it has to hold what every installation needs. */
function refusedRole(context: string, { role }: SpokeFacts): readonly Refusal[] {
  if (role === undefined || mayOwn(role)) return [];
  const rules = listAt(role, "rules");
  const missing = rightTexts(
    spokeRights.flatMap(rightsOf).filter((right) => !isGrantedBy(rules, right)),
  );
  if (missing.length === 0) return [];
  const rest = missing.length - shownRights;
  const names = [...missing.slice(0, shownRights), ...(rest > 0 ? [`${rest} more`] : [])];
  return [
    {
      error: `ClusterRole ${spokeRoleName} of the cluster was not made by register, and lacks rights: ${names.join(", ")}`,
      next: [
        `Whoever made it has to apply docs/spoke-role.yaml to the cluster of context "${context}".`,
      ],
    },
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
      error: `Secret ${idOf(secret)} of the hub ${owner}`,
      next: ["Take another name with --name, or delete that Secret when nothing reads it."],
    },
  ];
}
