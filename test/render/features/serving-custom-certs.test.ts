import { describe, expect, test } from "vitest";

import { customCerts } from "../../../render/features/serving.ts";
import { eventing, serving } from "../components.ts";
import { workload } from "../workload-objects.ts";

const certs = (type: string, name: string) =>
  customCerts(serving({ "controller-custom-certs": { type, name } }));

const mount = { name: "custom-certs-ca", mountPath: "/custom-certs" };
const variable = { name: "SSL_CERT_DIR", value: "/custom-certs" };

describe("custom certificates", () => {
  test.each([
    { type: "ConfigMap", source: { configMap: { name: "ca" } } },
    { type: "Secret", source: { secret: { secretName: "ca" } } },
  ])("in a $type are mounted in the first container", ({ type, source }) => {
    const env = [{ name: "A", value: "1" }];
    const old = { name: "old", mountPath: "/old" };
    const before = workload("controller", {
      containers: [{ name: "a", env, volumeMounts: [old] }, { name: "b" }],
      volumes: [{ name: "old" }],
    });
    expect(certs(type, "ca")(before)).toEqual(
      workload("controller", {
        containers: [
          { name: "a", env: [...env, variable], volumeMounts: [old, mount] },
          { name: "b" },
        ],
        volumes: [{ name: "old" }, { name: "custom-certs-ca", ...source }],
      }),
    );
  });

  test.each([
    { type: "", name: "ca", text: "unknown CustomCerts type: " },
    { type: "File", name: "", text: "unknown CustomCerts type: File" },
    { type: "Secret", name: "", text: "the CustomCerts name for Secret is required" },
  ])("of type '$type' and name '$name' are refused", ({ type, name, text }) => {
    const controller = workload("controller", { containers: [{ name: "a" }] });
    expect(() => certs(type, name)(controller)).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: `spec.controller-custom-certs: ${text}`,
      }),
    );
    const other = workload("other");
    expect(certs(type, name)(other)).toBe(other);
  });

  test.each([{}, { containers: [] }, { containers: [null] }])("need a container: %j", (pod) => {
    expect(() => certs("Secret", "ca")(workload("controller", pod))).toThrow(
      expect.objectContaining({ reason: "ManifestInvalid" }),
    );
  });

  test("that are not named change nothing", () => {
    const controller = workload("controller", { containers: [{ name: "a" }] });
    expect(certs("", "")(controller)).toBe(controller);
    expect(customCerts(serving())(controller)).toBe(controller);
    expect(customCerts(eventing())(controller)).toBe(controller);
  });
});
