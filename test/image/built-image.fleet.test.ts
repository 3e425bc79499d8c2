// @module-tag image
// Here for Helm, a program of the fleet. No cluster takes part: test/charts installs what is built on real ones.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { sampleDirOf } from "../../cmd/release-files.ts";
import { Helm } from "../charts/helm.ts";
import { listAt, type PodTemplate, podsIn } from "../charts/rendered.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { buildImage } from "./build-image.ts";
import { layOutImage } from "./image-folder.ts";
import { ImagePod } from "./image-pod.ts";

const serving = '"msg":"Serving health and metrics"';
const releases = { dir: sampleDirOf(), isKnative: false };
let folder: string;
let root: string;
let pods: readonly PodTemplate[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-built-image-"));
  root = join(folder, "root");
  await using helm = await Helm.open();
  pods = podsIn(await helm.objects({})).filter(({ of }) => of.startsWith("Deployment "));
  await buildImage({ target: root, releases }, new AbortController().signal);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("the Dockerfile builds, and what it copies is what the checkout makes", async () => {
  await using laidOut = await layOutImage();
  const options = { recursive: true } as const;
  const built = (await readdir(join(root, "app"), options)).toSorted();
  expect(built).toEqual((await readdir(laidOut.path("/app"), options)).toSorted());
  expect(await readdir(join(root, "var/lib/knfleet/releases"))).toContain("knative-serving");
});

test("the chart has two Deployments, whose pods write nowhere and are nobody", () => {
  expect(pods.map(({ of }) => of)).toEqual([
    "Deployment knfleet-controller",
    "Deployment knfleet-webhook",
  ]);
  for (const { spec } of pods) {
    expect(valueAt(spec, "securityContext")).toMatchObject({
      runAsUser: 65_532,
      runAsGroup: 65_532,
    });
    expect(valueAt(spec, "containers", 0, "securityContext")).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    });
    expect(listAt(spec, "containers", 0, "volumeMounts")).toEqual([
      { name: "tmp", mountPath: "/tmp" },
    ]);
  }
});

test.each([
  ["controller", 8_080],
  ["webhook", 8_081],
])("the %s starts from the image as its Deployment says, and ends with 0", async (name, port) => {
  const pod = pods.find(({ program }) => program === name);
  await using running = new ImagePod(root, {
    command: ["command", "args"].flatMap((field) =>
      listAt(pod?.spec, "containers", 0, field).map(String),
    ),
    // A hub that is away is no reason to end.
    environment: {
      POD_NAMESPACE: "knfleet-system",
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: "1",
    },
  });
  await waitFor(`the ${name} to serve`, () => running.hasEnded || running.said.includes(serving), {
    timeoutMs: 120_000,
  });
  expect(running.said).toContain(serving);
  expect(await running.statusOf(port, "/healthz")).toBe("200");
  const status = await readFile(`/proc/${await running.pid()}/status`, "utf8");
  expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m);
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  expect(status).toMatch(/^CapEff:\t0+$/m);
  expect(await running.end()).toBe(0);
  expect(running.said).not.toContain("Cannot find");
});

test.each(["/app/x", "/var/lib/knfleet/x", "/x"])("nothing can be written to %s", async (path) => {
  const write = `try { require("fs").writeFileSync("${path}", "") } catch ({ code }) { console.log(code) }`;
  await using running = new ImagePod(root, {
    command: ["/usr/local/bin/node", "--eval", write],
    environment: {},
  });
  expect(await running.ended()).toBe(0);
  expect(running.said).toBe("EROFS\n");
});

test("a build that is stopped leaves nothing", async () => {
  const place = join(folder, "stopped");
  await mkdir(place);
  vi.stubEnv("TMPDIR", place);
  const work = async () =>
    (await readdir(place)).filter((name) => name.startsWith("knfleet-image-build-"));
  try {
    const stop = new AbortController();
    const building = buildImage({ target: join(place, "root"), releases }, stop.signal);
    const ended = building.catch((error: unknown) => error);
    const layers = async () => {
      const [name = ""] = await work();
      return existsSync(join(place, name, "store", "vfs-layers", "layers.json"));
    };
    await waitFor("buildah to make a layer", layers, { timeoutMs: 120_000 });
    stop.abort();
    expect(await ended).toBe(stop.signal.reason);
    expect(await work()).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});
