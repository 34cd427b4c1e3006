// Finds the program to run as the server: `orgrest.path`; the Python of `orgrest.interpreter` or of the
// Python extension, if it can import orgrest; else the Python of this extension's own environment. No
// code in the folder is run, because the Pythons are tested in isolated mode (`-I`).

export interface Launch {
  command: string;
  args: string[];
  /** The source of the program, for the log. */
  origin: string;
}

export interface Wishes {
  path: string;
  interpreter: string;
  /** Returns the choice of the Python extension; called only if there is no setting. */
  chosen: () => Promise<string | undefined>;
  /** Returns the Python of this extension's own environment, which is created with the Python `base`, if given. */
  own: (base?: string) => Promise<string>;
}

export interface Options {
  /** The maximum number of milliseconds that the program may take. */
  patience?: number;
  env?: { [name: string]: string };
  signal?: AbortSignal;
}

/** Runs a program and returns its output; rejects if it fails or does not exist. */
export type Run = (command: string, args: string[], options?: Options) => Promise<string>;

/** Thrown if a setting names a program that cannot run orgrest; the message is for the user. */
export class Unusable extends Error {}

/** Thrown if no Python was found that can run orgrest. */
export class NoPython extends Unusable {}

const VERSIONS = ["3.14", "3.13", "3.12", "3.11"];
const PROBE =
  "import sys; from importlib.util import find_spec; " +
  "print(sys.implementation.name == 'cpython' and (3, 11) <= sys.version_info[:2] <= (3, 14), " +
  "find_spec('orgrest') is not None, sys.executable)";

interface Probed {
  /** Whether the extension's own environment can be created with it. */
  fits: boolean;
  hasOrgrest: boolean;
  executable: string;
}

/** Return the program to run as the server. Throws Unusable. */
export async function findServer(wishes: Wishes, run: Run): Promise<Launch> {
  const { path, interpreter } = wishes;
  if (path) return { command: path, args: [], origin: "the setting orgrest.path" };
  if (interpreter) {
    const found = await probe([interpreter], run);
    const setting = `The setting orgrest.interpreter, ${interpreter},`;
    if (found?.hasOrgrest) return launch(found.executable, "the Python of the setting orgrest.interpreter");
    if (found === undefined) throw new Unusable(`${setting} is not a Python that can be started.`);
    if (!found.fits) throw new Unusable(`${setting} has no orgrest, and is not a CPython from 3.11 to 3.14.`);
    return launch(await wishes.own(found.executable), "the extension's own environment, of that setting");
  }
  const chosen = await wishes.chosen();
  const found = chosen === undefined ? undefined : await probe([chosen], run);
  if (found?.hasOrgrest) return launch(found.executable, "the Python of the Python extension");
  return launch(await wishes.own(), "the extension's own environment");
}

function launch(command: string, origin: string): Launch {
  return { command, args: ["-P", "-m", "orgrest"], origin };
}

/** Return a Python with which the extension's own environment can be created, or undefined. */
export async function findPython(platform: NodeJS.Platform, uv: string, downloads: string, run: Run): Promise<string | undefined> {
  const find = ["python", "find", "--no-project", "--system", "cpython>=3.11,<3.15"];
  for (const env of [{}, { UV_PYTHON_INSTALL_DIR: downloads }]) {
    const managed = (await run(uv, find, { env }).catch(() => "")).trim();
    const found = managed ? await probe([managed], run) : undefined;
    if (found?.fits) return found.executable;
  }
  for (const words of candidates(platform)) {
    const found = await probe(words, run);
    if (found?.fits) return found.executable;
  }
  return undefined;
}

export function candidates(platform: NodeJS.Platform): string[][] {
  if (platform === "win32") return [["py", "-3"], ["python"], ["python3"]];
  return [["python3"], ...VERSIONS.map((one) => [`python${one}`]), ["python"]];
}

export async function probe([command, ...args]: string[], run: Run): Promise<Probed | undefined> {
  if (command === undefined) return undefined;
  try {
    const [fits, has, ...path] = (await run(command, [...args, "-I", "-c", PROBE])).trim().split(" ");
    if (path.length === 0) return undefined;
    return { fits: fits === "True", hasOrgrest: has === "True", executable: path.join(" ") };
  } catch {
    return undefined;
  }
}
