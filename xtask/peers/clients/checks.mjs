// What every client does with `toolwright serve`, in front of `desk.mjs`; prints `ok NAME` or `not ok NAME: why` a check.
// A client is `{ list(), call(name, input, { progress, signal }), answer }`: `answer(question)` is set here and called by it.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const HANGS_MS = 30_000;

const must = (truth, why) => {
  if (!truth) throw new Error(why);
};
const shown = (value) => JSON.stringify(value)?.slice(0, 600);
const events = () => readFileSync(process.env.CLIENTS_LOG, 'utf8').split('\n');
const happened = (event) => events().filter((line) => line === event).length;
async function eventually(event, why) {
  for (let tries = 0; tries < 150; tries += 1) {
    if (happened(event)) return;
    await sleep(100);
  }
  throw new Error(`${why}: ${event} is not in the server's log: ${events().slice(-8).join('; ')}`);
}

/// The content of a form that says yes or no, for whatever form is asked: a truth value, or one of some words.
export function filled(schema, yes) {
  const [wanted, other] = [/^(yes|approve|allow|accept|once)/i, /^(no|den|decline|refuse|reject)/i];
  const content = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const words = property.enum ?? property.oneOf?.map((one) => one.const);
    if (property.type === 'boolean') content[name] = yes;
    else if (words) content[name] = words.find((word) => (yes ? wanted : other).test(word)) ?? words[0];
    else if (schema.required?.includes(name)) content[name] = 'because a test says so';
  }
  return content;
}

function checks(client, mark) {
  const subject = (what) => `${mark}-${what}`;
  return {
    async 'lists the tools under names that fit'() {
      const tools = await client.list();
      for (const { name } of tools) must(NAME.test(name), `\`${name}\` does not fit`);
      const names = tools.map(({ name }) => name);
      for (const name of ['desk_look', 'desk_note', 'desk_wait', 'report', 'remember', 'slow']) {
        must(names.includes(name), `\`${name}\` is not among ${names}`);
      }
      const report = tools.find(({ name }) => name === 'report');
      must(report.outputSchema?.properties?.letters, `no output schema: ${shown(report)}`);
      must(!tools.find(({ name }) => name === 'remember').annotations?.readOnlyHint, 'what writes is said to be read-only');
    },

    async 'calls a composite with progress and gets structured content'() {
      const seen = [];
      const result = await client.call('report', { subject: subject('report') }, { progress: ({ progress }) => seen.push(progress) });
      must(!result.isError, shown(result));
      must(result.structuredContent?.letters === subject('report').length, shown(result));
      must(result.content?.some(({ type }) => type === 'text'), `no text for a client that knows no structure: ${shown(result)}`);
      if (client.progressless) return;
      must(seen.length >= 2, `progress of two steps came as ${shown(seen)}`);
      must(seen.every((at, index) => index === 0 || at > seen[index - 1]), `progress does not rise: ${seen}`);
    },

    async 'is asked, says yes, and the write happens once'() {
      const asked = [];
      client.answer = (question) => (asked.push(question), true);
      const result = await client.call('remember', { subject: subject('yes') }, {});
      must(asked.length === 1, `asked ${asked.length} times: ${shown(asked)} ${shown(result)}`);
      must(/desk_note/.test(asked[0]) && asked[0].includes(subject('yes')), `the question shows neither tool nor arguments: ${asked[0]}`);
      must(!result.isError && result.structuredContent?.kept === subject('yes'), shown(result));
      must(happened(`done note ${subject('yes')}`) === 1, 'the note was not written once');
    },

    async 'is asked, says no, and nothing is written'() {
      let asked = 0;
      client.answer = () => ((asked += 1), false);
      const result = await client.call('remember', { subject: subject('no') }, {});
      must(asked === 1, `asked ${asked} times: ${shown(result)}`);
      must(result.isError && /approval_denied/.test(shown(result)), shown(result));
      must(happened(`done look ${subject('no')}`) === 1, 'the read before it did not run');
      must(!happened(`called note ${subject('no')}`), 'the note was written');
    },

    async 'cancels, and the server behind stops'() {
      client.answer = () => false;
      const abort = new AbortController();
      const begun = eventually(`called wait ${subject('slow')}`, 'it did not begin');
      const call = client.call('slow', { subject: subject('slow') }, { signal: abort.signal, progress: () => {} });
      const ended = call.then(shown, (error) => `${error.name}: ${error.message}`);
      await begun;
      await sleep(300);
      abort.abort(new Error('no longer wanted'));
      await eventually(`cancelled wait ${subject('slow')}`, 'the call upstream was not cancelled');
      await ended;
      must(!happened(`called note ${subject('slow')}`), 'the step after it ran');
      const result = await client.call('report', { subject: subject('after') }, {});
      must(result.structuredContent?.letters === subject('after').length, `afterwards: ${shown(result)}`);
    },
  };
}

/// Runs all checks with a connected client, and ends the process.
export async function run(client, mark) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks(client, mark))) {
    if (client.cannot?.includes(name)) {
      console.log(`left out ${name}: this client cannot`);
      continue;
    }
    try {
      await Promise.race([
        check(),
        sleep(HANGS_MS, undefined, { ref: false }).then(() => {
          throw new Error(`no end after ${HANGS_MS / 1000} s`);
        }),
      ]);
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok ${name}: ${String(error?.message ?? error).replaceAll('\n', ' ')}`);
    }
  }
  await client.close?.();
  process.exit(failed ? 1 : 0);
}

/// Where the server is: `http URL`, or `stdio PROGRAM ARGUMENT…`.
export function where() {
  const [kind, first, ...rest] = process.argv.slice(2);
  return kind === 'http' ? { url: new URL(first) } : { command: first, args: rest };
}
