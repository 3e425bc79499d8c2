import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startComparingHub } from "../commands/diff/comparing-hub.ts";
import { reviews } from "../reviews.ts";
import { runText, type RunText } from "../run-text.ts";
import { startStubHub } from "../stub-hub.ts";
import { fleetOf } from "../stub-spoke.ts";

/** A hub that answers as API servers do, for the commands that no bundle can serve. */
export interface ServedScene extends AsyncDisposable {
  /** Runs a line; in what comes back nothing is of this machine. Words such as `FILE` stand for what is made for the test. */
  run(line: readonly string[], options: RunText): ReturnType<typeof runText>;
}

const changed = {
  "ServiceAccount/thin": undefined,
  "ConfigMap/config-thin": { data: { size: "2", foreign: "kept" } },
  "Secret/thin": { data: { key: "b3RoZXItc2VjcmV0" } },
};

const component = `apiVersion: operator.knative.dev/v1beta1
kind: KnativeEventing
metadata: { name: knative-eventing, namespace: team-a }
spec: { version: "1.23", config: { thin: { size: "3" } } }
`;

// What it gives out is a credential of nobody.
const plugin = `#!/bin/sh
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-nobody","expirationTimestamp":"2126-11-22T12:00:00Z"}}'
`;

const isAllowed = (right: string): boolean => !/^(?:create|patch) deployments\./.test(right);

/** Eventing on the hub itself, changed by somebody; and a cluster of which there is only the ClusterProfile. */
export async function startServedScene(): Promise<ServedScene> {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startComparingHub(changed, { answer: reviews(isAllowed) }));
  const remote = stack.use(
    await startStubHub(fleetOf("https://eu-1.example.com:6443", "plugin", {})),
  );
  const folder = await mkdtemp(join(tmpdir(), "knfleet-served-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [file, providers] = [join(folder, "eventing.yaml"), join(folder, "providers.json")];
  await writeFile(file, component);
  for (const name of ["plugin", "kubectl-knfleet"]) {
    // oxlint-disable-next-line no-await-in-loop -- two small files
    await writeFile(join(folder, name), plugin);
    // oxlint-disable-next-line no-await-in-loop -- two small files
    await chmod(join(folder, name), 0o755);
  }
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: join(folder, "plugin"),
    provideClusterInfo: true,
  };
  await writeFile(
    providers,
    JSON.stringify({ providers: [{ name: "plugin", execConfig, systemRoots: true }] }),
  );
  const words = { FILE: file, RELEASES: hub.releaseDir, PROVIDERS: providers } as const;
  const plain = (text: string): string =>
    Object.entries({ ...words, FOLDER: folder, KUBECONFIG: remote.kubeconfig })
      .reduce((rest, [word, path]) => rest.replaceAll(path, word), text)
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "https://hub")
      .replaceAll(/after \d+ s/g, "after N s")
      .replaceAll(/("?elapsedSeconds"?: )\d+/g, "$10");
  const resources = stack.move();
  return {
    async run(line, options) {
      const args = line.map(
        (word) => Object.entries(words).find(([name]) => name === word)?.[1] ?? word,
      );
      const { env } = line.includes("PROVIDERS") ? remote : hub;
      // A busy machine answers late.
      const patient = line.includes("completion")
        ? []
        : ["--spoke-timeout", "60s", "--request-timeout", "60s"];
      const ran = await runText([...args, ...patient], {
        ...options,
        env: { ...env, PATH: folder, LANG: "C.UTF-8", ...options.env },
      });
      return { ...ran, stdout: plain(ran.stdout), stderr: plain(ran.stderr) };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
