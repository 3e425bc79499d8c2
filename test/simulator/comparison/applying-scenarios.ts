import { apply, merge, thing, thingsOf, uidOf, versionOf, type Scenario } from "./requests.ts";

/** How managers apply objects, and who owns which field. */
export const applyingScenarios: readonly Scenario[] = [
  {
    name: "applies an object",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      const metadata = { name: "one", labels: { a: "1", b: "1" } };
      await talk.ask(apply(one, thing(metadata, { size: 1, color: "red" })));
      await talk.ask(apply(one, thing(metadata, { size: 1, color: "red" })));
      await talk.ask(apply(one, thing(metadata, { size: 2, color: "red" })));
      await talk.ask(apply(one, thing({ name: "one", labels: { a: "1" } }, { size: 2 })));
      await talk.ask({ path: one });
    },
  },
  {
    name: "applies on top of what somebody else created",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const body = thing({ name: "one", labels: { theirs: "1" } }, { size: 1, color: "red" });
      await talk.ask({ method: "POST", path, body });
      await talk.ask(
        apply(`${path}/one`, thing({ name: "one", labels: { ours: "1" } }, { size: 5 })),
      );
      await talk.ask(apply(`${path}/one`, thing({ name: "one" }, { depth: 5 })));
    },
  },
  {
    name: "keeps what two managers apply",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      await talk.ask(apply(one, thing({ name: "one" }, { size: 1, color: "red" })));
      const query = "fieldManager=two&force=false";
      await talk.ask(apply(one, thing({ name: "one" }, { size: 1, depth: 2 }), query));
      await talk.ask(apply(one, thing({ name: "one" }, { color: "red" })));
      await talk.ask(apply(one, thing({ name: "one" }, { depth: 3 }), query));
    },
  },
  {
    name: "refuses to take a field over, unless it is forced",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      await talk.ask(
        apply(one, thing({ name: "one", labels: { a: "1" } }, { size: 1, color: "red" })),
      );
      const body = thing({ name: "one", labels: { a: "2" } }, { size: 2, color: "red" });
      await talk.ask(apply(one, body, "fieldManager=two&force=false"));
      await talk.ask({ path: one });
      await talk.ask(apply(one, body, "fieldManager=two&force=true"));
      await talk.ask(
        apply(one, thing({ name: "one" }, { size: 1 }), "fieldManager=one&force=false"),
      );
      await talk.ask(
        apply(one, thing({ name: "one" }, { color: "red" }), "fieldManager=one&force=false"),
      );
    },
  },
  {
    name: "gives a field to who changes it",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      await talk.ask(apply(one, thing({ name: "one" }, { size: 1, color: "red" })));
      await talk.ask(merge(one, { spec: { size: 7 } }));
      await talk.ask(
        apply(
          one,
          thing({ name: "one" }, { size: 1, color: "red" }),
          "fieldManager=one&force=false",
        ),
      );
      await talk.ask(merge(one, { spec: { color: "red", depth: 1 } }));
      await talk.ask(apply(one, thing({ name: "one" }, { size: 1, color: "red" })));
      await talk.ask(merge(one, { spec: { color: null } }));
    },
  },
  {
    name: "applies only onto the object with the uid",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      const other = "11111111-2222-3333-4444-555555555555";
      await talk.ask(apply(one, thing({ name: "one", uid: other })));
      const first = await talk.ask(apply(one, thing({ name: "one" })));
      await talk.ask(apply(one, thing({ name: "one", uid: other }, { size: 2 })));
      await talk.ask(apply(one, thing({ name: "one", uid: uidOf(first) }, { size: 2 })));
      await talk.ask(
        apply(one, thing({ name: "one", resourceVersion: versionOf(first) }, { size: 3 })),
      );
    },
  },
];
