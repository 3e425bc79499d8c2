import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { groupOf, identityOf, keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { mirrorOf } from "../../../cmd/release-files.ts";
import { isFields } from "../../../controller/render/fields.ts";
import { owned } from "../../../controller/render/owner.ts";
import { openReleases } from "../../../controller/render/release.ts";
import { render } from "../../../controller/render/render.ts";
import { normalizer, type Vector, vectors } from "./vectors.ts";

/** Fields whose transforms exist; a vector with another one is not compared yet. */
const implemented = new Set([
  "version",
  "config",
  "namespace",
  "ingress",
  "source",
  "security",
  "clusterProfileRef",
]);

/** Where knfleet differs on purpose, or a part of an implemented field has no transform yet. */
const different: Readonly<Record<string, string>> = {
  "eventing-tls-features-forms-disagree": "TLS follows what the ConfigMap says (D-40)",
  "serving-error-version-v-prefix-patch": "a leading v is accepted (D-35)",
  "serving-ingress-istio-gateway-overrides": "Istio's Gateways are not changed yet",
  "eventing-default-broker-user-config-with-class": "the default broker is not changed yet",
  "eventing-default-broker-class-and-namespaced-class": "the default broker is not changed yet",
  "eventing-error-default-broker-bad-yaml": "the default broker is not changed yet",
  "eventing-error-default-broker-empty": "the default broker is not changed yet",
};

const all = await vectors();
const comparable = all.filter(
  ({ name, component, depends }) =>
    Object.keys(component.spec ?? {}).every((field) => implemented.has(field)) &&
    (!depends || name === "eventing-tls-off-deletes-live-certificates") &&
    different[name] === undefined,
);
const mirror = await mirrorOf(process.env);
const releases = all.length === 0 || mirror === undefined ? undefined : await openReleases(mirror);

describe("what upstream was seen to do", () => {
  test("is compared where the shared folder is there", () => {
    expect(comparable.length).toBeGreaterThanOrEqual(all.length === 0 ? 0 : 62);
    expect(releases === undefined).toBe(all.length === 0);
  });

  test("is no longer there for no name in the table of differences", () => {
    const names = all.length === 0 ? Object.keys(different) : all.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(different)));
  });

  test.each(comparable.filter(({ error }) => error === undefined))(
    "$name: the same objects, version and paths",
    async ({ component, objects = [], targetVersion, statusManifests = [] }) => {
      if (releases === undefined) throw new Error("No releases");
      const rendered = await render(component, releases);
      const normalize = await normalizer();
      const own = rendered.manifests.map(owned(ownerOf(component), component.metadata.namespace));
      const guarded = isGuarded(component);
      expect(byIdentity(own.map(normalize), false)).toEqual(
        byIdentity(objects.map(normalize), guarded),
      );
      expect(rendered.version).toBe(targetVersion);
      // Upstream forgets the guard (D-13) and writes absolute paths.
      const paths = statusManifests.map((path) => path.replaceAll("@DATA_DIR@/", ""));
      expect(rendered.paths).toEqual(guarded ? [...paths, "security-guard/0.6"] : paths);
    },
  );

  test.each(comparable.filter(({ error }) => error !== undefined))(
    "$name: the same error",
    async ({ component, error = "" }) => {
      if (releases === undefined) throw new Error("No releases");
      const text = error.replace("Version migration is not eligible with message: ", "");
      await expect(render(component, releases)).rejects.toMatchObject({
        name: "FleetError",
        message: expect.stringContaining(text.replace(/^the /, "")),
      });
    },
  );
});

function ownerOf({ apiVersion, kind, metadata, spec }: Vector["component"]) {
  const { name, uid } = metadata;
  const how = { controller: true, blockOwnerDeletion: true };
  return spec?.clusterProfileRef === undefined
    ? { apiVersion, kind, name, uid, ...how }
    : {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: `${kind.toLowerCase()}-${name}-root-owner`,
        uid: "11111111-2222-3333-4444-555555555555",
        ...how,
      };
}

function isGuarded({ kind, spec }: Vector["component"]): boolean {
  return kind === "KnativeServing" && spec?.security?.securityGuard.enabled === true;
}

/** Objects by identity, with the rules for upstream's duplicates: the first stands, but for the guard; Namespaces are merged. */
function byIdentity(objects: readonly Manifest[], guarded: boolean): Record<string, Manifest> {
  const found: Record<string, Manifest> = {};
  for (const object of objects.map(comparableForm)) {
    const id = identityOf(keyOf(object));
    const first = found[id];
    if (first === undefined || (guarded && object.metadata.name === "config-deployment")) {
      found[id] = object;
    } else if (object.kind === "Namespace") {
      const labels = { ...object.metadata.labels, ...first.metadata.labels };
      found[id] = { ...first, metadata: { ...first.metadata, labels } };
    }
  }
  return found;
}

function comparableForm(object: Manifest): Manifest {
  const { generateName: _, ...metadata } = object.metadata;
  const plain = object.kind === "Job" && groupOf(object.apiVersion) === "batch";
  const form: Manifest = plain ? { ...object, metadata } : object;
  // Upstream writes this text anew, with sorted fields.
  if (metadata.name !== "config-br-defaults" || !isFields(form["data"])) return form;
  const { "default-br-config": text, ...data } = form["data"];
  return { ...form, data: { ...data, "default-br-config": parse(String(text)) } };
}
