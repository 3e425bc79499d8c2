import { type ProviderFile, parseProviderFile } from "../../access/providers/provider-config.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import type { Attempt } from "../../webhook/reviews/access-review.ts";
import { componentReview } from "../../webhook/reviews/component-review.ts";
import type { FactSources } from "../../webhook/reviews/gather-facts.ts";
import type { StoredProviderFile } from "../../webhook/reviews/hub-facts.ts";
import type { AdmissionRequest, Ruling } from "../../webhook/reviews/review.ts";
import type { StoredComponent } from "../../webhook/rules/rule.ts";
import { requestIn } from "../vectors/recorded-reviews.ts";
import { reviewOf } from "./serving.ts";

/** What the hub holds, and what users may do. */
export interface Stage extends Partial<FactSources> {
  readonly may?: (user: string, attempt: Attempt) => boolean | Error;
  readonly profiles?: readonly ClusterProfile[];
  readonly components?: readonly StoredComponent[];
  readonly files?: readonly StoredProviderFile[];
}

/** The facts of a hub. */
export function factsOf({
  profiles = [],
  components = [],
  files = [],
}: Stage): FactSources["facts"] {
  return {
    profile: async ({ namespace, name }) =>
      profiles.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    components: async (kind) => components.filter((one) => one.kind === kind),
    providerFiles: async () => files,
  };
}

/** Reviews a request on a stage; everybody may use everything unless it says otherwise. */
export async function review(request: AdmissionRequest, stage: Stage = {}): Promise<Ruling> {
  const { may = () => true, profiles: _, components: _c, files: _f, ...sources } = stage;
  const accessReviews = {
    may: async (user: { readonly username: string }, attempt: Attempt) => {
      const answer = may(user.username, attempt);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const all = { facts: factsOf(stage), accessReviews, ...sources };
  return componentReview(all)(request, AbortSignal.timeout(30_000));
}

/** The write of a component: a create, or an update of `before`. */
export function written(
  spec: unknown,
  changes: {
    readonly kind?: string;
    readonly name?: string;
    readonly before?: unknown;
    readonly status?: object;
    readonly metadata?: object;
    readonly user?: string;
  } = {},
): AdmissionRequest {
  const { kind = "KnativeServing", name = "knative", before, status, metadata, user } = changes;
  const object = (one: unknown) => ({
    apiVersion: "operator.knative.dev/v1beta1",
    kind,
    metadata: { name, namespace: "team", ...metadata },
    ...(one === undefined ? {} : { spec: one }),
    ...(status === undefined ? {} : { status }),
  });
  const isUpdate = "before" in changes;
  return requestIn(
    reviewOf({
      kind: { group: "operator.knative.dev", version: "v1beta1", kind },
      operation: isUpdate ? "UPDATE" : "CREATE",
      namespace: "team",
      name,
      object: object(spec),
      oldObject: isUpdate ? object(before) : null,
      ...(user === undefined ? {} : { userInfo: { username: user, groups: [] } }),
    }),
  );
}

/** A ClusterProfile that offers `secretreader`, healthy unless it says otherwise. */
export function profileOf(name: string, health: "True" | "False" = "True"): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: health }],
      accessProviders: [{ name: "secretreader", cluster: { server: "https://spoke:6443" } }],
    },
  };
}

/** A provider file with providers of these names. */
export function fileOf(...names: readonly string[]): ProviderFile {
  const providers = names.map((name) => ({
    name,
    execConfig: { apiVersion: "client.authentication.k8s.io/v1", command: `/plugins/${name}` },
  }));
  return parseProviderFile(JSON.stringify({ providers }), { path: "", format: "json" });
}

/** `path: message` of every violation, with its code in front. */
export function linesOf({ violations }: Ruling): readonly string[] {
  return violations.map(({ code, path, message }) => `${code} ${path}: ${message}`);
}
