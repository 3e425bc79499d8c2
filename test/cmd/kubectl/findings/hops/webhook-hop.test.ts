import { expect, test } from "vitest";

import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

test("webhooks that may not be looked at are not said to be in order", async () => {
  await using hub = await startStubHub([], ({ path }) => {
    if (path.endsWith("/selfsubjectreviews")) {
      return { body: { status: { userInfo: { username: "viewer" } } } };
    }
    if (path === "/apis/operator.knative.dev/v1beta1") {
      const resources = ["knativeservings", "knativeeventings"].map((name) => ({ name }));
      return { body: { kind: "APIResourceList", resources } };
    }
    return path.endsWith("webhookconfigurations")
      ? { status: 403, body: { kind: "Status", message: "forbidden" } }
      : undefined;
  });
  const { stdout } = await runText(["diagnose", "ks/a"], { env: hub.env });
  expect(stdout).toMatch(/^SKIPPED +webhook +webhook configurations may not be listed$/m);
});
