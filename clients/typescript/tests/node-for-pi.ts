import { needsService } from "./support.js";

/** A Node that pi runs with; none here. */
export const nodeForPi = process.env["CONTEXTD_TEST_NODE"];

/** Options of a test that runs pi with a real service. */
export const needsPi = needsService.skip
  ? needsService
  : { skip: nodeForPi ? false : "pi needs Node 22.19: see the script `test`" };
