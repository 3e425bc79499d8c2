// @module-tag release-files
// The same tests on Knative's own files: an adoption reads and rewrites each object, and only Knative's objects show that it loses none of their fields.
import "./adoption.fleet.test.ts";
