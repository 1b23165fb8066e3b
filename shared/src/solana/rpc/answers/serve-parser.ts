import type { MessagePort } from 'node:worker_threads';
import { isRecord } from '../../encoding/json-forms.ts';
import { isTooDeep } from './nesting.ts';
import { blockIn } from './keep-transactions.ts';
import { longLists, maxItemsAtOnce, maxTransactionsAtOnce, type BlockReader, type FromParser, type ToParser } from './large-answers.ts';

interface LongList {
  readonly items: readonly unknown[];
  /** Items that one message contains. */
  readonly atOnce: number;
}

const noList: LongList = { items: [], atOnce: maxItemsAtOnce };

/** Removes the list that makes an answer long, so that it can be sent in parts: the result itself, or one of its `longLists`. */
function removeList(answer: unknown): LongList {
  if (!isRecord(answer)) return noList;
  const { result } = answer;
  if (Array.isArray(result)) {
    answer['result'] = [];
    return { items: result, atOnce: maxItemsAtOnce };
  }
  const inner = blockIn(answer);
  if (!isRecord(inner)) return noList;
  for (const name of longLists) {
    const items = inner[name];
    if (!Array.isArray(items)) continue;
    inner[name] = [];
    return { items, atOnce: name === 'transactions' ? maxTransactionsAtOnce : maxItemsAtOnce };
  }
  return noList;
}

/** Parses the answers that this port receives, and reads their blocks. */
export function serveParser(port: MessagePort, read: BlockReader['read']): void {
  port.on('message', ({ id, json, keep }: ToParser) => {
    const send = (message: FromParser): void => port.postMessage(message);
    if (isTooDeep(json)) return send({ id, kind: 'too_deep' });
    let answer: unknown;
    try {
      answer = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
    } catch {
      return send({ id, kind: 'malformed' });
    }
    if (keep !== null) read(answer, keep);
    const { items, atOnce } = removeList(answer);
    for (let at = 0; at < items.length; at += atOnce) send({ id, kind: 'items', items: items.slice(at, at + atOnce) });
    send({ id, kind: 'answer', answer });
  });
}
