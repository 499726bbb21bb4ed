// Starts `crosscast server` and connects it with the editor.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("crosscast").get("command");
  const server = { command, args };
  const options = {
    documentSelector: ["python", "shellscript", "yaml"].map((language) => ({
      scheme: "file",
      language,
    })),
  };
  client = new LanguageClient("crosscast", "crosscast", server, options);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `crosscast: the server does not start (${error.message}). ` +
        'Install it with pip install "crosscast[server]", or set crosscast.command.'
    );
  }
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("crosscast.restart", async () => {
      await deactivate();
      await start();
    })
  );
  await start();
}

async function deactivate() {
  const running = client;
  client = undefined;
  if (running) {
    await running.stop();
  }
}

module.exports = { activate, deactivate };
