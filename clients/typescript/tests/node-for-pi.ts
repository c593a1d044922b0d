import { needsService } from "./support.js";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 19);

/** A Node that pi runs with; none here. */
export const nodeForPi = process.env["CONTEXTD_TEST_NODE"] ?? (isNewEnough ? process.execPath : undefined);

/** Options of a test that runs pi with a real service. */
export const needsPi = needsService.skip
  ? needsService
  : { skip: nodeForPi ? false : "pi needs Node 22.19: see the script `test`" };
