import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ensureBinaries, ensureModuleFiles } from "./binaries.ts";
import { MissingToolError } from "./go-tool.ts";

let folder: string;
let env: NodeJS.ProcessEnv;
let lines: string[];
const log = (line: string) => void lines.push(line);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet binaries "));
  lines = [];
  env = { PATH: join(folder, "bin"), KNFLEET_CACHE_DIR: join(folder, "cache") };
  await mkdir(join(folder, "bin"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe("programs that the user has already", () => {
  test("are taken from a variable of their own first, then from KUBEBUILDER_ASSETS", async () => {
    const etcd = await program("mine/etcd");
    const assets = { KUBEBUILDER_ASSETS: join(folder, "assets"), TEST_ASSET_ETCD: etcd };
    const apiServer = await program("assets/kube-apiserver");
    await program("assets/etcd");
    const binary = await ensureBinaries(["etcd", "kube-apiserver"], { env: { ...env, ...assets } });
    expect(binary("etcd")).toBe(etcd);
    expect(binary("kube-apiserver")).toBe(apiServer);
  });

  test("are refused by name when the variable names nothing that can be run", async () => {
    const wrong = { ...env, TEST_ASSET_KUBE_APISERVER: join(folder, "nothing") };
    await expect(ensureBinaries(["kube-apiserver"], { env: wrong })).rejects.toThrow(
      "TEST_ASSET_KUBE_APISERVER",
    );
  });
});

describe("programs that are missing", () => {
  test("are built once each, one build for a module, with progress", async () => {
    await fakeGo();
    const binary = await ensureBinaries(["etcd", "kubectl", "kwok"], { env, log });
    expect(await readFile(binary("etcd"), "utf8")).toContain("go.etcd.io/etcd/server/v3");
    expect(await readFile(binary("kubectl"), "utf8")).toContain("k8s.io/kubernetes/cmd/kubectl");
    expect(lines).toEqual([
      "Building etcd, kubectl (0 s)",
      "Built etcd, kubectl (0 s)",
      "Building kwok (0 s)",
      "Built kwok (0 s)",
    ]);
    const again = await ensureBinaries(["etcd", "kubectl", "kwok"], { env });
    expect(again("kwok")).toBe(binary("kwok"));
    expect(await builds()).toBe(2);
  });

  test("are built without debug information, by compilers that share the free memory", async () => {
    await fakeGo();
    const share = Math.floor(process.availableMemory() / (availableParallelism() + 1));
    await ensureBinaries(["kwok"], { env });
    const [gc, limit, ...args] = (await readFile(join(folder, "build"), "utf8")).split(" ");
    expect(args).toContain("-gcflags=all=-dwarf=false");
    expect(gc).toBe(share < 2 ** 29 ? "" : "off");
    expect(Number(limit)).toBeLessThanOrEqual(2 ** 31);
  });

  test("are built in turn where Go would write both to one file", async () => {
    await fakeGo();
    const names = ["secretreader", "kubeconfig-secretreader", "managed-serviceaccount"] as const;
    const binary = await ensureBinaries(names, { env });
    const texts = await Promise.all(names.map((name) => readFile(binary(name), "utf8")));
    expect(texts).toEqual([
      expect.stringContaining("/secretreader/cmd/plugin"),
      expect.stringContaining("/kubeconfig-secretreader/cmd/plugin"),
      expect.stringContaining("managed-serviceaccount/cmd"),
    ]);
    expect(await builds()).toBe(2);
  });

  test("are built again by another Go", async () => {
    await fakeGo();
    const before = await ensureBinaries(["kwok"], { env });
    await fakeGo({ version: "go1.27.0" });
    const after = await ensureBinaries(["kwok"], { env });
    expect(after("kwok")).not.toBe(before("kwok"));
    expect(await builds()).toBe(2);
  });

  test("are built by one of two that ask at the same time", async () => {
    await fakeGo({ seconds: 0.5 });
    const [one, other] = await Promise.all([
      ensureBinaries(["kwok"], { env, log }),
      ensureBinaries(["kwok"], { env, log }),
    ]);
    expect(one("kwok")).toBe(other("kwok"));
    expect(await builds()).toBe(1);
    expect(lines).toContainEqual(expect.stringMatching(/^Waiting for process \d+/));
  });

  test("are built after the one that was building died", async () => {
    await fakeGo();
    const first = await ensureBinaries(["kwok"], { env });
    const versionFolder = join(first("kwok"), "..");
    await rm(first("kwok"));
    await mkdir(`${versionFolder}.lock`);
    // The largest process id of Linux and one more: nobody has it.
    await writeFile(join(`${versionFolder}.lock`, "owner"), String(2 ** 22 + 1));
    await ensureBinaries(["kwok"], { env });
    expect(await builds()).toBe(2);
  });

  test("leave nothing half-built and show the last lines when a build fails", async () => {
    await fakeGo({ failure: "cmd/x.go:1:1: no such thing" });
    const failure = ensureBinaries(["kwok"], { env });
    await expect(failure).rejects.toThrow(/go build sigs\.k8s\.io\/kwok.* failed[^]*no such thing/);
    const [module = ""] = await readdir(join(folder, "cache", "binaries"));
    const left = await readdir(join(folder, "cache", "binaries", module), { recursive: true });
    expect(left).toEqual(["go1.26.8"]);
  });

  test("are found in the cache without Go", async () => {
    await fakeGo();
    const built = await ensureBinaries(["kwok"], { env });
    await rm(join(folder, "bin", "go"));
    const found = await ensureBinaries(["kwok"], { env });
    expect(found("kwok")).toBe(built("kwok"));
  });

  test("are named without Go, with what was tried and what to install", async () => {
    const failure = await ensureBinaries(["etcd", "kube-apiserver"], { env }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toBeInstanceOf(MissingToolError);
    const message = String(failure);
    expect(message).toContain("etcd, kube-apiserver");
    expect(message).toContain("TEST_ASSET_KUBE_APISERVER; KUBEBUILDER_ASSETS; the cache folder");
    expect(message).toContain("Install Go 1.26 or newer");
  });

  test.each(["go1.25.9", "go1.9", "devel"])("are not built by %s", async (version) => {
    await fakeGo({ version });
    const failure = ensureBinaries(["kwok"], { env });
    await expect(failure).rejects.toThrow(`Go 1.26 or newer is needed`);
    await expect(failure).rejects.toThrow(version);
  });
});

describe("files of a Go module", () => {
  test("are copied out of the module once and need no Go afterwards", async () => {
    const source = join(folder, "module", "config", "crd", "bases");
    await mkdir(source, { recursive: true });
    await writeFile(join(source, "a.yaml"), "kind: CustomResourceDefinition");
    await fakeGo({ download: join(folder, "module") });
    const crds = await ensureModuleFiles("inventory-crds", { env });
    await rm(join(folder, "bin", "go"));
    expect(await ensureModuleFiles("inventory-crds", { env })).toBe(crds);
    expect(await readdir(crds)).toEqual(["a.yaml"]);
    expect(crds).toMatch(/cluster-inventory-api@v0\.\d+\.\d+$/);
  });

  test("are named when there is no Go", async () => {
    await expect(ensureModuleFiles("inventory-crds", { env })).rejects.toThrow(MissingToolError);
  });
});

/** Puts a `go` on PATH that answers like the real one and "builds" files that name their package. */
async function fakeGo({
  version = "go1.26.8",
  seconds = 0,
  failure = "",
  download = "",
}: {
  readonly version?: string;
  readonly seconds?: number;
  readonly failure?: string;
  readonly download?: string;
} = {}): Promise<void> {
  await program(
    "bin/go",
    `PATH=/usr/bin:/bin
case $1 in
  env) printf '%s\\n' ${version} linux amd64; exit 0 ;;
  mod) printf '{"Dir": "%s"}' "${download}"; exit 0 ;;
esac
echo build >> "${folder}/builds"
echo "$GOGC $GOMEMLIMIT $*" > "${folder}/build"
sleep ${seconds}
if [ -n "${failure}" ]; then echo "${failure}" >&2; exit 1; fi
while [ "$1" != -o ]; do shift; done
to=$2
shift 2
for package; do
  path=\${package%/v3}
  echo "#!/bin/sh $package" > "$to\${path##*/}"
  chmod 755 "$to\${path##*/}"
done`,
  );
}

async function program(file: string, body = ""): Promise<string> {
  const path = join(folder, file);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

async function builds(): Promise<number> {
  const text = await readFile(join(folder, "builds"), "utf8").catch(() => "");
  return text.split("\n").length - 1;
}
