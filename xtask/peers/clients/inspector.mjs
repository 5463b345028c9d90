// The MCP Inspector 2.12.0 from a command line: `--cli` for single requests, and its connection CLI `mcpdo` where a question must
// be answered. Neither shows progress. usage: CLIENTS_FOLDER=… CLIENTS_ERA=legacy|auto node inspector.mjs http URL | stdio PROGRAM…

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filled, run, where } from './checks.mjs';

const folder = process.env.CLIENTS_FOLDER;
const era = process.env.CLIENTS_ERA ?? 'auto';
const { url, command, args } = where();
const home = mkdtempSync(join(tmpdir(), 'toolwright-inspector-'));
const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory', MCP_INSPECTOR_DAEMON_DIR: join(home, 'daemon') };
env.MCP_INSPECTOR_DAEMON_TOKEN = 'only-for-this-test';
const config = join(home, 'mcp.json');
const entry = url ? { type: 'streamable-http', url: url.href } : { command, args, env: process.env };
writeFileSync(config, JSON.stringify({ mcpServers: { desk: { ...entry, protocolEra: era } } }));

const program = (name) => join(folder, 'node_modules/.bin', name);
const once = ['--cli', '--config', config, '--server', 'desk', '--protocol-era', era, '--format', 'json', '--quiet'];

/// Runs to the end and reads the JSON that was printed, wherever it was.
function execute(name, words) {
  const ended = spawnSync(process.execPath, [program(name), ...words], { env, encoding: 'utf8', timeout: 60_000 });
  for (const text of [ended.stdout, ended.stderr]) {
    const begin = text.indexOf('{');
    if (begin < 0) continue;
    try {
      return JSON.parse(text.slice(begin));
    } catch {
      // Not this one.
    }
  }
  throw new Error(`${name} ${words.join(' ')} ended with ${ended.status} and prints no JSON: ${ended.stdout}${ended.stderr}`);
}

const mcpdo = (...words) => execute('mcpdo', ['--format', 'json', '--connection', 'desk', ...words]);
const result = (printed) => printed.result ?? printed;

const client = {
  progressless: true,
  // It ends without a word, and a session over HTTP outlives that.
  cannot: url && era === 'legacy' ? ['cancels, and the server behind stops'] : [],
  async list() {
    return result(execute('mcp-inspector', [...once, '--method', 'tools/list'])).tools;
  },
  async call(name, input, { signal }) {
    const words = [...once, '--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(input)];
    if (name === 'slow') return interrupted(words, signal);
    if (name !== 'remember') return result(execute('mcp-inspector', words));
    let answer = mcpdo('tools/call', name, '--tool-args-json', JSON.stringify(input));
    for (let pending = answer.elicitationPending ?? answer; pending.elicitationId; pending = answer.elicitationPending ?? answer) {
      const yes = client.answer(JSON.stringify(pending));
      const words = yes ? [JSON.stringify(filledFrom(pending))] : ['--decline'];
      answer = mcpdo('elicitation/respond', pending.elicitationId, ...words);
    }
    return result(answer);
  },
  async close() {
    spawnSync(process.execPath, [program('mcpdo'), 'daemon', 'stop'], { env });
    rmSync(home, { recursive: true, force: true });
  },
};

function filledFrom(pending) {
  return filled(pending.requestedSchema ?? pending.schema ?? pending.params?.requestedSchema, true);
}

/// A person who presses Ctrl-C while the call runs.
function interrupted(words, signal) {
  const child = spawn(process.execPath, [program('mcp-inspector'), ...words], { env, stdio: ['ignore', 'ignore', 'ignore'] });
  signal.addEventListener('abort', () => child.kill('SIGINT'), { once: true });
  return new Promise((resolve) => child.once('exit', (code, name) => resolve({ isError: true, code, name })));
}

execute('mcpdo', ['--format', 'json', '--config', config, 'connect', 'desk', '--era', era]);
await run(client, `inspector-${url ? 'http' : 'stdio'}-${era}`);
