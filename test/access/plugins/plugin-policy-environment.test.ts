import { expect, test } from "vitest";

import { pluginEnvironment } from "../../../access/plugins/plugin-policy.ts";

test("a plugin sees where things are, and nothing else of ours (T-41)", () => {
  const seen = {
    PATH: "/bin",
    HOME: "/home/me",
    KUBECONFIG: "/hub.yaml",
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/token",
    HTTPS_PROXY: "http://proxy.test",
  };
  const ours = { NODE_OPTIONS: "--inspect", DATABASE_PASSWORD: "canary", LD_PRELOAD: "/x.so" };
  expect(pluginEnvironment({ ...seen, ...ours, UNSET: undefined })).toEqual(seen);
});
