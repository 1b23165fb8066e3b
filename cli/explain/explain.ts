import { readFileSync, statSync } from 'node:fs';
import { Gatherer, type Gathered } from '@sluice/programs/explain/gather.ts';
import { neededTables } from '@sluice/programs/explain/read-answer.ts';
import { runExplain } from '@sluice/programs/explain/run.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { signatureFromText } from '@sluice/shared/solana/transaction/transaction.ts';
import { action, CommandError, flag, inQuotes, loadConfig } from '../command-line/command.ts';
import { venueEventsOf } from './venue-events.ts';
import { explanationText } from './explanation-text.ts';
import { nodeOption, rpcOf, withNode } from './node.ts';

const maxFileBytes = 16_777_216;

export const command = action({
  about: 'Explain a transaction: its instructions, what changed by wallet, fees and tips, events, and why it failed.',
  args: { 'SIGNATURE|FILE': 'a signature; or a file with an answer of getTransaction, or with a transaction in base64' },
  options: { rpc: nodeOption, offline: flag('ask no node: use only the IDLs in IDL_DIR. For files') },
  json: 'print the explanation in the form of GET /explain/{signature}',
  more: 'Names are from the IDLs in IDL_DIR, and for other programs from the IDLs that they published on chain.',
  examples: ['explain 5wHu1qwD7q4…', 'explain recorded.json --offline'],
  async run(values, [what = '']) {
    const { idlDir } = loadConfig();
    const gatherer = new Gatherer(values.offline ? noNode : rpcOf(values.rpc), idlDir);
    const gathered = await gather(what, gatherer, values.offline);
    const outcome = runExplain(gathered, idlDir, venueEventsOf);
    if (!outcome.ok) throw new CommandError(`The transaction cannot be explained: ${outcome.reason}.`);
    return { json: outcome.explanation, text: explanationText(outcome.explanation) };
  },
});

const noNode = { call: () => Promise.reject(new CommandError('--offline: no node is asked.')) };

async function gather(what: string, gatherer: Gatherer, offline: boolean): Promise<Gathered> {
  if (signatureFromText(what) !== null) {
    const found = await withNode((signal) => gatherer.bySignature(what, signal));
    if (found === null) throw new CommandError('No node knows a confirmed transaction with this signature.');
    return found;
  }
  const text = fileText(what);
  const answer = answerIn(text);
  if (answer === null) return withNode((signal) => gatherer.ofWire(text, neededTables(text), signal));
  return offline ? { source: { answer }, published: {} } : withNode((signal) => gatherer.ofAnswer(answer, signal));
}

function fileText(file: string): string {
  try {
    if (statSync(file).size > maxFileBytes) throw new CommandError(`${inQuotes(file)} has more than ${maxFileBytes} bytes.`);
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${inQuotes(file)} is no signature, and no file that can be read: ${reason}`, { cause: error });
  }
}

/** The answer of `getTransaction`, with or without the envelope of JSON-RPC; null if the text is no JSON. */
function answerIn(text: string): unknown {
  if (!text.startsWith('{')) return null;
  try {
    const json: unknown = JSON.parse(text);
    return isRecord(json) && isRecord(json['result']) ? json['result'] : json;
  } catch (error) {
    throw new CommandError(`The file is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
