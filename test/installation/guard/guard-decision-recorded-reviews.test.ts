import { describe, expect, test } from "vitest";

import { guardOf, isGuarded, guardRefusal } from "../../../installation/guard/guard-decision.ts";
import { recordedReviews, requestIn } from "../../vectors/recorded-reviews.ts";

const reviews = recordedReviews();

const owner = {
  hubId: "11111111-2222-3333-4444-555555555555",
  hubUsers: ["system:serviceaccount:knfleet-system:hub"],
};

describe("the recorded requests of a real API server", () => {
  test("are all there", () => expect(reviews).toHaveLength(28));

  test.each(reviews)("$name: $guard", ({ guard: decision, review }) => {
    const request = requestIn(review);
    const { resource, subResource, userInfo } = request;
    const guard = guardOf({ ...resource, subResource });
    expect(guard === undefined).toBe(decision === "-");
    if (guard === undefined) return;
    const seen = { ...request, username: userInfo.username };
    const namespaceTerminating = userInfo.username.endsWith(":namespace-controller");
    const facts = { namespaceTerminating, mayUnprotect: false };
    const refusal = guardRefusal(guard, seen, { owner, facts });
    expect(refusal === undefined ? "allow" : "deny").toBe(decision);
    // Another hub's guard has nothing to do with it.
    expect(isGuarded(guard, seen, "another-hub")).toBe(false);
  });
});
