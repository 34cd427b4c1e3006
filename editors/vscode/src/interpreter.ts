// Lets the user choose the Python that runs orgrest, which becomes the setting orgrest.interpreter.

import * as vscode from "vscode";

import { run } from "./programs.ts";
import { candidates } from "./python.ts";

const VERSION = "import sys; print(sys.executable, '%d.%d.%d' % sys.version_info[:3], sep='\\n')";
const DOWNLOADS = "https://www.python.org/downloads/";

interface Item extends vscode.QuickPickItem {
  choose: () => Promise<string | undefined>;
}

export async function selectInterpreter(): Promise<void> {
  const picked = await vscode.window.showQuickPick(items(), {
    title: "The Python that runs orgrest",
    placeHolder: "Python 3.11 or later",
  });
  const chosen = await picked?.choose();
  if (chosen === undefined) return;
  const settings = vscode.workspace.getConfiguration("orgrest");
  await settings.update("interpreter", chosen, vscode.ConfigurationTarget.Global);
}

async function items(): Promise<Item[]> {
  const known = new Map<string, string>();
  for (const [command = "", ...args] of candidates(process.platform)) {
    const found = await run(command, [...args, "-I", "-c", VERSION]).catch(() => "");
    const [path, version] = found.trim().split(/\r?\n/);
    if (path && version) known.set(path, version);
  }
  return [
    ...[...known].map(([path, version]) => ({
      label: `Python ${version}`,
      description: path,
      choose: () => Promise.resolve(path),
    })),
    { label: "$(folder) Browse...", choose: browse },
    { label: "$(search) Look for it again, in the usual places", choose: () => Promise.resolve("") },
    { label: "$(link-external) Download Python", choose: download },
  ];
}

async function browse(): Promise<string | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: "Python", canSelectMany: false })) ?? [];
  return file?.fsPath;
}

async function download(): Promise<undefined> {
  await vscode.env.openExternal(vscode.Uri.parse(DOWNLOADS));
}
