import { describe, expect, test, vi } from "vitest";

import { readControllerFlags } from "../../cmd/service/flags.ts";
import { readWebhookFlags } from "../../cmd/service/webhook-flags.ts";
import type { Values } from "./helm.ts";
import { argumentsOf, listAt, podsIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const helm = useHelm();

const folder = "/var/lib/knfleet/releases";
const volume = { persistentVolumeClaim: { claimName: "knative-releases" } };
const mount = { name: "releases", mountPath: folder, readOnly: true };

/** What each long-lived pod of the chart knows of release files. */
async function podsWith(values: Values) {
  const pods = podsIn(await helm().objects({ values }));
  return pods
    .filter(({ program }) => program === "controller" || program === "webhook")
    .map((pod) => {
      const args = argumentsOf(pod).filter((one) => one.startsWith("--release-dir"));
      const read = pod.program === "controller" ? readControllerFlags : readWebhookFlags;
      const flags = read(args, "1.2.3");
      const volumes = [
        ...listAt(pod.spec, "containers", 0, "volumeMounts"),
        ...listAt(pod.spec, "volumes"),
      ];
      return {
        program: pod.program,
        dir: "exitCode" in flags ? flags.text : flags.releaseDir,
        volumes: volumes.filter((one) => JSON.stringify(one).includes('"releases"')),
      };
    })
    .toSorted((a, b) => (a.program < b.program ? -1 : 1));
}

function both(one: { readonly dir: string | undefined; readonly volumes: readonly unknown[] }) {
  return [
    { program: "controller", ...one },
    { program: "webhook", ...one },
  ];
}

describe("the release files of controller and webhook", () => {
  test("are those of the image without values", async () => {
    expect(await podsWith({})).toEqual(both({ dir: undefined, volumes: [] }));
  });

  test("are those of a volume, which hides the image's and is only read", async () => {
    const mounted = [mount, { name: "releases", ...volume }];
    expect(await podsWith({ releaseFiles: { volume } })).toEqual(
      both({ dir: folder, volumes: mounted }),
    );
    expect(await podsWith({ releaseFiles: { volume, folder: "knative/2026" } })).toEqual(
      both({ dir: `${folder}/knative/2026`, volumes: mounted }),
    );
  });

  test("are those of another folder of the image", async () => {
    const releaseFiles = { folder: "/opt/releases" };
    expect(await podsWith({ releaseFiles })).toEqual(both({ dir: "/opt/releases", volumes: [] }));
    const { code, stderr } = await helm().template({ values: { releaseFiles: { folder: "opt" } } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        'releaseFiles.folder: must be an absolute path of the image without releaseFiles.volume (is "opt")',
      ),
    });
  });

  test("are none beside another operator, whose releases count", async () => {
    const values = { controller: { enabled: false }, releaseFiles: { volume } };
    expect(await podsWith(values)).toEqual([{ program: "webhook", dir: "", volumes: [] }]);
  });

  test.each([{ folder: "a b" }, { folder: 1 }, { volume: "pvc" }, { directory: "/a" }])(
    "are refused as %j",
    async (releaseFiles) => {
      const { code, stderr } = await helm().template({ values: { releaseFiles } });
      expect(code).toBe(1);
      expect(stderr).toContain("releaseFiles");
    },
  );
});
