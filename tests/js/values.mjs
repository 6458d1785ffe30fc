// The values from Python that the tests hold the scripts to: tests/test_javascript.py writes them and starts node.
import { readFileSync } from "node:fs";

export const values = JSON.parse(readFileSync(process.env.VALUES, "utf8"));
