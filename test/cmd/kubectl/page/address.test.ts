import { describe, expect, test } from "vitest";

import { fleetAddress, type Route, routeOf } from "../../../../cmd/kubectl/page/address.ts";
import { type FleetFilter, keyOf } from "../../../../cmd/kubectl/page/fleet-view.ts";
import { itemOf } from "./sample-items.ts";

const nothing: FleetFilter = { text: "", state: null };
const fleet: Route = { page: "fleet", filter: nothing };

describe("an address", () => {
  test.each<[hash: string, route: Route]>([
    ["", fleet],
    ["#/", fleet],
    ["#/nothing", fleet],
    ["#/installation/KnativeServing/a", fleet],
    ["#/installation/KnativeServing/a/b/c", fleet],
    ["#/installation/KnativeServing/a/%E0%A4%A", fleet],
    ["#/installation/KnativeServing//b", fleet],
    ["#/cluster/a", fleet],
    ["#/cluster/a/b/c", fleet],
    ["#/cluster/a/", fleet],
    ["#/clusters/a", fleet],
  ])("%j is the fleet", (hash, route) => {
    expect(routeOf(hash)).toEqual(route);
  });

  test.each(["b", "a/b", "<img src=x>", "%2F", "ü", "#"])("names an installation %j", (name) => {
    const key = keyOf(itemOf({ name }));
    expect(routeOf(`#/installation/${key}`)).toEqual({ page: "installation", key });
  });
});

test("an address names a cluster", () => {
  expect(routeOf("#/cluster/fleet/eu-1")).toEqual({ page: "cluster", key: "fleet/eu-1" });
});

test("an address names the list of clusters", () => {
  expect(routeOf("#/clusters")).toEqual({ page: "clusters", key: "" });
});

test("an address names a fleet set", () => {
  expect(routeOf("#/set/KnativeServingSet/a/b")).toEqual({
    page: "set",
    key: "KnativeServingSet/a/b",
  });
});

test.each<[filter: FleetFilter, address: string]>([
  [nothing, "#/"],
  [{ text: "  ", state: null }, "#/"],
  [{ text: "label:env=prod eu", state: null }, "#/?filter=label%3Aenv%3Dprod+eu"],
  [{ text: "", state: "bad" }, "#/?state=bad"],
  [
    { text: "a&state=x?#/ü<b>", state: "healthy" },
    "#/?filter=a%26state%3Dx%3F%23%2F%C3%BC%3Cb%3E&state=healthy",
  ],
])("the filter %j is in the address, and comes back from it", (filter, address) => {
  expect(fleetAddress(filter)).toBe(address);
  expect(routeOf(address)).toEqual({
    page: "fleet",
    filter: { ...filter, text: filter.text.trim() },
  });
});

test("a state that does not exist is no filter", () => {
  expect(routeOf("#/?state=constructor")).toEqual(fleet);
});
