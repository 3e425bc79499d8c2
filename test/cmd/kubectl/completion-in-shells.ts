import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import type { Fleet } from "../../fleet/fleet.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { kubectlWith, pathWithPlugin, type Kubectl } from "./plugin-folder.ts";

/** What the package bash-completion gives to kubectl's script: the words, not divided at `=` and `:`. */
const bashCompletion = `_get_comp_words_by_ref() {
  words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD
  cur="\${words[cword]}"; prev="\${words[cword-1]}"
}`;

/** Tests of completion through kubectl, and in the shells of this machine, on the fleet of the file that calls it. */
export function testCompletionInShells(fleet: () => Fleet, scene: () => FleetScene): void {
  let kubectl: Kubectl;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    kubectl = await kubectlWith(await pathWithPlugin(fleet().folder));
    // The second that a person waits may be too short for a busy machine.
    env = { KUBECONFIG: scene().kubeconfig, KNFLEET_COMPLETION_TIMEOUT: "60s" };
  });

  /** The words that kubectl offers at the end of a line, and the directive. */
  async function offered(
    line: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<readonly string[]> {
    const ran = await kubectl(["__complete", "knfleet", ...line], { env: { ...env, ...more } });
    expect(ran).toMatchObject({ exitCode: 0 });
    return ran.stdout.trimEnd().split("\n");
  }

  describe("completion by the real kubectl", () => {
    test("is installed beside the plugin", async () => {
      const path = join(fleet().folder, "kubectl_complete-knfleet");
      const installed = await kubectl(["knfleet", "completion", "install"], { env });
      expect(installed).toEqual({ stdout: `${path}\n`, stderr: "", exitCode: 0 });
    });

    test("of kubectl knfleet status -n team-b ke offers ke/knative-eventing", async () => {
      const lines = await offered(["status", "-n", "team-b", "ke"]);
      expect(lines.map((text) => text.split("\t")[0])).toEqual(["ke/knative-eventing", ":4"]);
    });

    test("offers nothing, and ends, when the hub says nothing", async () => {
      const { hub } = fleet();
      await hub.proxy.setMode("blackhole");
      try {
        const silent = await hub.writeKubeconfig("silent.kubeconfig", {
          identity: hub.adminIdentity,
          server: hub.proxy.url,
        });
        // The time of the command itself, which is a second.
        const own = { KUBECONFIG: silent, KNFLEET_COMPLETION_TIMEOUT: "" };
        expect(await offered(["status", ""], own)).toEqual([":4"]);
      } finally {
        await hub.proxy.setMode("open");
      }
    });
  });

  test("bash completes a line of kubectl knfleet with kubectl's own script", async () => {
    const script = join(fleet().folder, "complete.bash");
    await writeFile(
      script,
      `${bashCompletion}
      source <(kubectl completion bash)
      tab() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; COMP_TYPE=9
        __start_kubectl
        printf '%s;' "\${COMPREPLY[@]}"; echo
      }
      tab kubectl knfleet status --no-l
      tab kubectl knfleet status -n team-b ks
      tab kubectl knfleet connect spoke-d
      tab kubectl knfleet get deployments -n team-
      tab kubectl knfleet status --color=al
      `,
    );
    const typed = await kubectl(["--norc", script], { command: "bash", env });
    expect(typed.stdout.split("\n")).toEqual([
      "--no-live;",
      "ks/knative-serving;",
      "spoke-denied;",
      "team-a;team-b;team-c;",
      "always;",
      "",
    ]);
  });
}
