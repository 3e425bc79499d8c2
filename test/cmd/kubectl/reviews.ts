import { recordAt, textAt } from "../../../api/fields.ts";
import type { Answer } from "./stub-hub.ts";

interface Reviewed {
  readonly username?: string;
  readonly rules?: object;
}

/** Answers reviews: who we are, which rules hold, and whether a right is there; rights as `VERB RESOURCE.GROUP`. */
export function reviews(
  isAllowed: (right: string) => boolean,
  { username = "jane", rules }: Reviewed = {},
): Answer {
  return ({ path, body }) => {
    if (path.endsWith("/selfsubjectrulesreviews")) {
      return { status: 201, body: { status: rules ?? { incomplete: true, resourceRules: [] } } };
    }
    if (path.endsWith("/selfsubjectreviews")) {
      return { status: 201, body: { status: { userInfo: { username, groups: [] } } } };
    }
    if (!path.endsWith("/selfsubjectaccessreviews")) return undefined;
    const right = recordAt(body, "spec", "resourceAttributes");
    const [verb, group, resource, subresource = ""] = [
      "verb",
      "group",
      "resource",
      "subresource",
    ].map((key) => textAt(right, key));
    const name = subresource === "" ? resource : `${resource}/${subresource}`;
    const allowed = isAllowed(`${verb} ${name}.${group}`);
    return { status: 201, body: { status: { allowed } } };
  };
}
