import { valueAt } from "../../fleet/json-record.ts";
import type { Ask, Reply } from "./conversation.ts";
import {
  apply,
  changed,
  definition,
  definitionSpec,
  definitionsPath,
  generationOf,
  isAvailable,
  isGone,
  statusOf,
  typesIn,
  type Scenario,
} from "./requests.ts";

/** What controllers of a cluster and those that share one do. */
export const controllingScenarios: readonly Scenario[] = [
  {
    name: "gives a Lease to one",
    play: async (talk, namespace) => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "one" },
      };
      const spec = { holderIdentity: "a", leaseDurationSeconds: 15 };
      const first = await talk.ask({ method: "POST", path, body: { ...lease, spec } });
      await talk.ask({ method: "POST", path, body: { ...lease, spec } });
      const take = (reply: Reply, holderIdentity: string): Ask => {
        const body = changed(reply, { spec: { ...spec, holderIdentity } });
        return { method: "PUT", path: `${path}/one`, body };
      };
      await talk.ask(take(first, "b"));
      await talk.ask(take(first, "c"));
      await talk.ask({ path: `${path}/one` });
    },
  },
  {
    name: "serves a kind while it is defined",
    play: async (talk, namespace) => {
      const body = {
        ...definition,
        metadata: { name: "boxes.compared.test" },
        spec: definitionSpec("boxes", "Box"),
      };
      const path = `/apis/compared.test/v1/namespaces/${namespace}/boxes`;
      await talk.ask({ path });
      await talk.look(
        { method: "POST", path: definitionsPath, body },
        () => true,
        ({ status }) => status,
      );
      await talk.look(
        { path: `${definitionsPath}/boxes.compared.test` },
        (reply) => typesIn(reply).length === 2,
        typesIn,
      );
      await talk.askUntil({ path }, ({ status }) => status === 200);
      await talk.ask({
        method: "POST",
        path,
        body: { apiVersion: "compared.test/v1", kind: "Box", metadata: { name: "one" } },
      });
      await talk.look(
        { method: "DELETE", path: `${definitionsPath}/boxes.compared.test` },
        () => true,
        ({ status }) => status,
      );
      await talk.askUntil({ path: `${definitionsPath}/boxes.compared.test` }, isGone);
      await talk.askUntil({ path: `${path}/one` }, isGone);
    },
  },
  {
    name: "makes a workload available",
    play: async (talk, namespace) => {
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web`;
      const template = {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "web:1" }] },
      };
      const deployment = (spec: object): object => {
        const all = { selector: { matchLabels: { app: "web" } }, template, ...spec };
        return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: all };
      };
      const look = (spec: object, replicas: number) => async () => {
        await talk.look(apply(path, deployment(spec)), () => true, generationOf);
        await talk.look({ path }, (reply) => isAvailable(reply, replicas), statusOf);
      };
      await look({ replicas: 2 }, 2)();
      await look({ replicas: 3 }, 3)();
    },
  },
  {
    name: "runs a Job to its end",
    play: async (talk, namespace) => {
      const path = `/apis/batch/v1/namespaces/${namespace}/jobs`;
      const spec = { restartPolicy: "Never", containers: [{ name: "run", image: "run:1" }] };
      const body = {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "run" },
        spec: { template: { spec } },
      };
      await talk.look(
        { method: "POST", path, body },
        () => true,
        ({ status }) => status,
      );
      await talk.look(
        { path: `${path}/run` },
        (reply) => typesIn(reply).includes("Complete"),
        (reply) => [typesIn(reply), valueAt(reply.body, "status", "succeeded")],
      );
    },
  },
];
