import { describe, expect, test } from "vitest";

import { guardPolicyOf } from "../../../controller/guard/policy.ts";

const hubId = "11111111-2222-3333-4444-555555555555";
const guards = ["anchor-guard", "namespace-guard", "crd-guard"] as const;

describe("a guard as a policy", () => {
  test.each(guards)("%s and its binding are the same for the same input", async (guard) => {
    const owner = { hubId, hubUsers: ["system:serviceaccount:knfleet-system:hub"] };
    const made = guardPolicyOf(guard, owner);
    expect(made).toEqual(guardPolicyOf(guard, owner));
    await expect(JSON.stringify(made, undefined, 2)).toMatchFileSnapshot(`golden/${guard}.golden`);
  });

  test.each([
    ['quo"te', '"quo\\"te"'],
    ["back\\slash", '"back\\\\slash"'],
    ["new\nline", '"new\\nline"'],
    ["ünï©ode", '"ünï©ode"'],
  ])("writes the user %j as a CEL text", (user, literal) => {
    const policy = JSON.stringify(
      guardPolicyOf("anchor-guard", { hubId, hubUsers: [user] }).policy,
    );
    expect(policy).toContain(JSON.stringify(`request.userInfo.username == ${literal}`));
  });

  test("writes the users of several identities as a CEL list", () => {
    const hubUsers = ['quo"te', "user"];
    const policy = JSON.stringify(guardPolicyOf("anchor-guard", { hubId, hubUsers }).policy);
    expect(policy).toContain(JSON.stringify('request.userInfo.username in ["quo\\"te", "user"]'));
  });

  test.each([[], [""], ["user", ""], ["lone \ud800 surrogate"]])(
    "is not made for the users %j",
    (...hubUsers) => {
      const make = () => guardPolicyOf("anchor-guard", { hubId, hubUsers });
      expect(make).toThrow("no user name");
    },
  );

  test("reads no field that may be missing without asking for it first", () => {
    for (const guard of guards) {
      const text = JSON.stringify(guardPolicyOf(guard, { hubId, hubUsers: ["hub"] }).policy);
      for (const [, which, field] of text.matchAll(/\b(object|oldObject)\.metadata\.(\w+)/g)) {
        if (field === "name" || field === "uid") continue;
        expect(text).toContain(`has(${which}.metadata.${field})`);
      }
    }
  });
});
