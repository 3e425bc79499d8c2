import type { Manifest } from "../../../api/kubernetes.ts";
import type { ResourcePatch } from "../../../render/patches/patch.ts";
import { type Patched, applyPatches } from "../../../render/patches/patches.ts";
import { serving } from "../components.ts";

export const activator: Manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "activator", namespace: "knative-serving", labels: { app: "activator" } },
  spec: {
    template: {
      spec: {
        containers: [
          {
            name: "activator",
            image: "example.com/activator",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
              { name: "C", value: "3" },
            ],
            ports: [{ containerPort: 8012 }, { containerPort: 8013 }],
          },
        ],
      },
    },
  },
};

/** A patch of the Deployment activator, or of another target. */
export function patchOf(
  type: ResourcePatch["patch"]["type"],
  content: string,
  target: Partial<ResourcePatch["target"]> = {},
): ResourcePatch {
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "activator" };
  return { target: { ...deployment, ...target }, patch: { type, content } };
}

/** The objects, by default the Deployment activator, with patches. */
export function patchedWith(
  patches: readonly ResourcePatch[],
  manifests: readonly Manifest[] = [activator],
): Patched {
  return applyPatches(serving({ patches }), manifests);
}

/** The Deployment activator with one patch. */
export function activatorWith(type: ResourcePatch["patch"]["type"], content: string): Manifest {
  const [manifest = activator] = patchedWith([patchOf(type, content)]).manifests;
  return manifest;
}
