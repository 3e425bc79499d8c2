import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { Attempt } from "../../../../webhook/reviews/access-review.ts";
import type { AdmissionRequest, Ruling } from "../../../../webhook/reviews/review.ts";
import { setReview, type SetSources } from "../../../../webhook/reviews/set-review.ts";
import { requestIn } from "../../../vectors/recorded-reviews.ts";
import { profileOf } from "../../component-stage.ts";
import { reviewOf } from "../../serving.ts";

/** What the hub holds, and what users may do. */
export interface SetStage extends Partial<SetSources> {
  readonly may?: (user: string, attempt: Attempt) => boolean | Error;
  readonly profiles?: readonly ClusterProfile[] | Error;
}

/** Reviews a request on a stage; everybody may do everything unless it says otherwise. */
export async function reviewSet(request: AdmissionRequest, stage: SetStage = {}): Promise<Ruling> {
  const { may = () => true, profiles = [], ...sources } = stage;
  const all: SetSources = {
    facts: {
      profiles: async () => {
        if (profiles instanceof Error) throw profiles;
        return profiles;
      },
    },
    accessReviews: {
      may: async ({ username }, attempt) => {
        const answer = may(username, attempt);
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    manifestRight: false,
    spokeNamespace: "Canonical",
    checkSources: [{ origin: "https://checks.example", path: "/" }],
    clock: { date: () => new Date("2026-11-25T12:00:00Z") },
    ...sources,
  };
  return setReview(all)(request, AbortSignal.timeout(30_000));
}

/** The question whether a user may approve stages of the set `platform/prod`. */
export const approveProd: Attempt = {
  verb: "approve",
  group: "knfleet.dev",
  resource: "knativeservingsets",
  namespace: "platform",
  name: "prod",
};

/** A spec that nothing is wrong with. */
export const goodSpec = {
  clusters: { from: "Selector", selector: { namespaces: ["fleet"], matchLabels: { env: "prod" } } },
  template: { spec: { version: "1.23", registry: { default: "r.example.com/${NAME}" } } },
} as const;

interface SetChanges {
  readonly kind?: string;
  readonly name?: string | undefined;
  readonly before?: unknown;
  readonly user?: string;
  readonly annotations?: unknown;
  readonly oldAnnotations?: unknown;
  readonly metadata?: unknown;
  readonly operation?: string;
  readonly subResource?: string;
  readonly dryRun?: boolean;
}

/** The write of the set `platform/prod`: a create, or an update of `before`. */
export function writtenSet(spec: unknown, changes: SetChanges = {}): AdmissionRequest {
  const { kind = "KnativeServingSet", before, user = "alice", annotations, metadata } = changes;
  const name = "name" in changes ? changes.name : "prod";
  const object = (one: unknown, marks: unknown) => ({
    apiVersion: "knfleet.dev/v1alpha1",
    kind,
    metadata: { name, namespace: "platform", annotations: marks, ...Object(metadata) },
    spec: one,
  });
  const isUpdate = "before" in changes;
  return requestIn(
    reviewOf({
      kind: { group: "knfleet.dev", version: "v1alpha1", kind },
      resource: { group: "knfleet.dev", version: "v1alpha1", resource: `${kind.toLowerCase()}s` },
      operation: changes.operation ?? (isUpdate ? "UPDATE" : "CREATE"),
      namespace: "platform",
      name,
      object: object(spec, annotations),
      oldObject: isUpdate ? object(before, changes.oldAnnotations) : null,
      userInfo: { username: user, groups: [] },
      subResource: changes.subResource,
      dryRun: changes.dryRun ?? false,
    }),
  );
}

/** A ClusterProfile of namespace fleet that `goodSpec` selects, with further labels. */
export function prodProfile(name: string, labels: Readonly<Record<string, string>> = {}) {
  const profile = profileOf(name);
  return { ...profile, metadata: { ...profile.metadata, labels: { env: "prod", ...labels } } };
}
