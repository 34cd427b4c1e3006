// Shows the prompts of requests (`# @prompt`, `{{$password}}`) in input boxes. If the user wants it, a hidden
// answer is kept in VS Code's secret storage for this prompt of this document. Next time, the box already
// contains the answer, and nothing is sent before the user presses Enter.

import * as vscode from "vscode";

export interface Prompt {
  textDocument: { uri: string };
  message: string;
  hidden: boolean;
}

const REMEMBER = { iconPath: new vscode.ThemeIcon("save"), tooltip: "Remember it in VS Code's secret storage" };
const FORGET = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Forget it" };

export async function ask(
  { textDocument, message, hidden }: Prompt,
  secrets: vscode.SecretStorage,
): Promise<{ text: string } | null> {
  const key = `${textDocument.uri}\n${message}`;
  let kept = hidden ? await secrets.get(key) : undefined;
  let remember = kept !== undefined;
  const box = vscode.window.createInputBox();
  const show = (): void => {
    box.prompt = remember ? `${message} (remembered with Enter)` : message;
    box.buttons = hidden ? [remember ? FORGET : REMEMBER] : [];
  };
  Object.assign(box, { password: hidden, ignoreFocusOut: true, value: kept ?? "" });
  show();
  box.onDidTriggerButton(async (button) => {
    remember = button === REMEMBER;
    if (!remember) {
      await secrets.delete(key);
      kept = undefined;
      box.value = "";
    }
    show();
  });
  const text = await new Promise<string | undefined>((resolve) => {
    box.onDidAccept(() => resolve(box.value));
    box.onDidHide(() => resolve(undefined));
    box.show();
  });
  box.dispose();
  if (text === undefined) return null;
  if (remember && text !== kept) await secrets.store(key, text);
  return { text };
}
