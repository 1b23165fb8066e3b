import { parentPort } from 'node:worker_threads';
import { isTooDeep } from './nesting.ts';
import { maxItemsAtOnce, type FromParser, type ToParser } from './large-answers.ts';

/** The list in an answer that makes it long: the result itself, or its `value`. It is taken out, and sent in parts. */
function takeList(answer: unknown): readonly unknown[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const holder = answer as Record<string, unknown>;
  const { result } = holder;
  if (Array.isArray(result)) {
    holder['result'] = [];
    return result;
  }
  if (typeof result !== 'object' || result === null) return [];
  const inner = result as Record<string, unknown>;
  const { value } = inner;
  if (!Array.isArray(value)) return [];
  inner['value'] = [];
  return value;
}

if (parentPort === null) throw new TypeError('This is a thread of a process that reads from nodes.');
const port = parentPort;
port.on('message', ({ id, json }: ToParser) => {
  const tell = (message: FromParser): void => port.postMessage(message);
  if (isTooDeep(json)) return tell({ id, kind: 'too_deep' });
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
  } catch {
    return tell({ id, kind: 'malformed' });
  }
  const list = takeList(answer);
  for (let at = 0; at < list.length; at += maxItemsAtOnce) tell({ id, kind: 'items', items: list.slice(at, at + maxItemsAtOnce) });
  tell({ id, kind: 'answer', answer });
});
