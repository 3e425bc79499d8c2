import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { guardOf, isGuarded, refusalOf } from "../../../api/guard/guard-decision.ts";
import { admissionRequestOf } from "../../../webhook/review.ts";

const folder = resolve(
  process.env["KNFLEET_ADMISSION_VECTORS"] ??
    join(import.meta.dirname, "../../../../shared/vectors/admission"),
);
const readme = existsSync(folder) ? readFileSync(join(folder, "README.md"), "utf8") : "";
const rows = [...readme.matchAll(/^\| \[([\w-]+\.json)\].*\| (deny|allow|-) \|$/gm)].map(
  ([, file = "", decision = ""]) => ({ file, decision }),
);

const owner = {
  hubId: "11111111-2222-3333-4444-555555555555",
  hubUsers: ["system:serviceaccount:knfleet-system:hub"],
};

describe.runIf(rows.length > 0)("the recorded requests of a real API server", () => {
  test("are all there", () => expect(rows.length).toBeGreaterThanOrEqual(28));

  test.each(rows)("$file: $decision", ({ file, decision }) => {
    const request = admissionRequestOf(JSON.parse(readFileSync(join(folder, file), "utf8")));
    if (typeof request === "string") throw new Error(request);
    const { resource, subResource, userInfo } = request;
    const guard = guardOf({ ...resource, subResource });
    expect(guard === undefined).toBe(decision === "-");
    if (guard === undefined) return;
    const seen = { ...request, username: userInfo.username };
    const namespaceTerminating = userInfo.username.endsWith(":namespace-controller");
    const facts = { namespaceTerminating, mayUnprotect: false };
    const refusal = refusalOf(guard, seen, { owner, facts });
    expect(refusal === undefined ? "allow" : "deny").toBe(decision);
    // Another hub's guard has nothing to do with it.
    expect(isGuarded(guard, seen, "another-hub")).toBe(false);
  });
});
