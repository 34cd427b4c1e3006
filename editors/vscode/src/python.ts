// Finds the program to run as the server: `orgrest.path`; the Python of `orgrest.interpreter` or of the
// Python extension, if it can import orgrest; else the Python of this extension's own environment. No
// code in the folder is run, because each Python is probed in isolated mode (`-I`).

export interface Launch {
  command: string;
  args: string[];
  /** The source of the program, for the log. */
  origin: string;
}

export interface Preferences {
  path: string;
  interpreter: string;
  /** Returns the choice of the Python extension; called only if there is no setting. */
  chosen: () => Promise<string | undefined>;
  /** Returns the Python of this extension's own environment, which is created from the Python `base` if that is given. */
  own: (base?: string) => Promise<string>;
}

export interface Options {
  /** The maximum number of milliseconds that the program may take. */
  timeout?: number;
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
  /** Whether the extension's own environment can be created with this Python. */
  fits: boolean;
  hasOrgrest: boolean;
  executable: string;
}

/** Return the program to run as the server, or throw Unusable. */
export async function findServer(preferences: Preferences, run: Run): Promise<Launch> {
  const { path, interpreter } = preferences;
  if (path) return { command: path, args: [], origin: "the setting orgrest.path" };
  if (interpreter) {
    const python = await probe([interpreter], run);
    const setting = `The Python in the setting orgrest.interpreter, ${interpreter},`;
    if (python?.hasOrgrest) return launch(python.executable, "the Python of the setting orgrest.interpreter");
    if (python === undefined) throw new Unusable(`${setting} cannot be started.`);
    if (!python.fits) throw new Unusable(`${setting} does not contain orgrest, and is not CPython 3.11 to 3.14.`);
    return launch(await preferences.own(python.executable), "the extension's own environment, created from the setting orgrest.interpreter");
  }
  const chosen = await preferences.chosen();
  const python = chosen === undefined ? undefined : await probe([chosen], run);
  if (python?.hasOrgrest) return launch(python.executable, "the Python of the Python extension");
  return launch(await preferences.own(), "the extension's own environment");
}

function launch(command: string, origin: string): Launch {
  return { command, args: ["-P", "-m", "orgrest"], origin };
}

/** Return a Python with which the extension's own environment can be created, or undefined. */
export async function findPython(platform: NodeJS.Platform, uv: string, downloads: string, run: Run): Promise<string | undefined> {
  const find = ["python", "find", "--no-project", "--system", "cpython>=3.11,<3.15"];
  for (const env of [{}, { UV_PYTHON_INSTALL_DIR: downloads }]) {
    const managed = (await run(uv, find, { env }).catch(() => "")).trim();
    const python = managed ? await probe([managed], run) : undefined;
    if (python?.fits) return python.executable;
  }
  for (const words of candidates(platform)) {
    const python = await probe(words, run);
    if (python?.fits) return python.executable;
  }
  return undefined;
}

export function candidates(platform: NodeJS.Platform): string[][] {
  if (platform === "win32") return [["py", "-3"], ["python"], ["python3"]];
  return [["python3"], ...VERSIONS.map((version) => [`python${version}`]), ["python"]];
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
