// @module-tag release-files
// The same tests on Knative's own files: how many requests a guard costs is told by their number of objects.
import "./first-install.fleet.test.ts";
