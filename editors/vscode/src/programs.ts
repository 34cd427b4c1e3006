// Programs that this extension starts: without a shell, without input.

import { execFile } from "node:child_process";

import type { Run } from "./python.ts";

const PATIENCE = 20_000;

/** Run a program to its end, in a folder that no document can choose. */
export const run: Run = (command, args) =>
  new Promise((resolve, reject) => {
    const options = { timeout: PATIENCE, cwd: __dirname, windowsHide: true };
    const child = execFile(command, args, options, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout);
    });
    child.stdin?.end();
  });
