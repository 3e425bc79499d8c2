import type { Fleet } from "../../../../fleet/fleet.ts";

/** Texts that nobody may see, each in another place. */
const canaries = {
  password: "canary-password-7c1e94ab02",
  url: "canary-url-login-55d0aa17c9",
  event: "canary-event-bearer-3fa9c06b",
  variable: "canary-variable-90be21d47f",
  yaml: "canary-yaml-value-6a0d13c8e2",
  applied: "canary-applied-token-b81f0273",
} as const;

/** A value that two Secrets share. */
export const secretValue = "canary-shared-value-e0c4a7195d";

/** All of them. */
export const allCanaries: readonly string[] = [...Object.values(canaries), secretValue];

function place(name: string) {
  return { metadata: { namespace: "team-a", name } };
}

/** Puts secrets where people put them, on the hub and on spoke-1, in namespaces that are gathered. Security: T-80. */
export async function hideCanaries(fleet: Fleet): Promise<void> {
  const { admin: hub } = fleet.hub;
  const { admin: spoke } = fleet.spoke("spoke-1");
  const { password, url, event, variable, yaml, applied } = canaries;
  const secret = { apiVersion: "v1", kind: "Secret" };
  const config = { apiVersion: "v1", kind: "ConfigMap" };
  await hub.apply({ ...secret, ...place("shared"), stringData: { one: secretValue } });
  await spoke.apply({
    ...secret,
    ...place("shared"),
    stringData: { other: secretValue, password },
  });
  await spoke.apply({
    ...config,
    ...place("copies"),
    data: {
      plain: `it is ${password}, really`,
      encoded: Buffer.from(`x:${password}`).toString("base64"),
      url: `https://example.com/?next=${encodeURIComponent(`${password}&`)}`,
      begin: `starts with ${password.slice(0, 12)}…`,
      [`key-${password}`]: "a key can tell, too",
      proxy: `http://me:${url}@proxy.example.com:3128`,
      "config.yaml": `env:\n  - name: API_TOKEN\n    value: ${yaml}\n`,
      "config.json": JSON.stringify({
        db: { password: yaml },
        env: [{ name: "A_SECRET", value: variable }],
      }),
    },
  });
  await hub.apply({
    ...config,
    metadata: {
      ...place("applied").metadata,
      annotations: {
        "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ token: applied }),
      },
    },
    data: { "who.json": JSON.stringify({ accessToken: applied }) },
  });
  await spoke.apply({
    apiVersion: "v1",
    kind: "Pod",
    ...place("with-variable"),
    spec: {
      containers: [
        {
          name: "main",
          image: "example.com/x:1",
          env: [{ name: "DB_PASSWORD", value: variable }],
          args: [`--token=${event}`],
        },
      ],
    },
  });
  await spoke.apply({
    apiVersion: "v1",
    kind: "Event",
    ...place("tells"),
    type: "Warning",
    reason: "Told",
    message: `Authorization: Bearer ${event}`,
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "team-a", name: "with-variable" },
  });
}
