import type { AdmissionRequest } from "../../webhook/reviews/review.ts";

export type Asked = Pick<AdmissionRequest, "operation" | "object" | "oldObject"> &
  Partial<Pick<AdmissionRequest, "resource" | "dryRun">>;

/** The request of a user who wants something done to the ConfigMap `anchor` in the namespace `guarded`. */
export function anchorRequest(username: string, asked: Asked): AdmissionRequest {
  return {
    uid: "1",
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    subResource: undefined,
    name: "anchor",
    namespace: "guarded",
    userInfo: { username, groups: [], extra: {} },
    dryRun: false,
    ...asked,
  };
}
