// @module-tag release-files
// The same walk on Knative's own files.
import "./migrate.fleet.test.ts";
